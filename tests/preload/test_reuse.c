/* Buffers that come and go: OpenCL gives a new one the handle of one that is gone. */
#include "client.h"

#define SIZE   (2 * MIB)
#define COUNT  (SIZE / sizeof(cl_int))
#define ROUNDS 8

static cl_mem series(const struct client *client, cl_int first) {
    cl_int *numbers = client_numbers(COUNT, first, 1);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    free(numbers);
    return buffer;
}

int main(void) {
    struct client client;
    cl_mem kept[ROUNDS];
    client_open(&client, 0);
    for (cl_int round = 0; round < ROUNDS; round++) {
        cl_mem brief = series(&client, 1000 * round);
        CHECK(client_buffer_is_series(client.queue, brief, COUNT, 1000 * round, 1));
        OK(clReleaseMemObject(brief));
        kept[round] = series(&client, round);
        for (cl_int earlier = 0; earlier <= round; earlier++)
            CHECK(client_buffer_is_series(client.queue, kept[earlier], COUNT, earlier, 1));
    }
    for (int round = 0; round < ROUNDS; round++)
        OK(clReleaseMemObject(kept[round]));
    client_close(&client);
    return 0;
}
