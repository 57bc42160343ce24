/* A program that uses OpenCL and libfarfault.so itself: under the preload, which has a farfault of
 * its own, each keeps its memory, whoever takes SIGBUS first. */
#include "client.h"

#include <farfault/farfault.h>

#include <errno.h>

#define SIZE  (12 * MIB) /* three times the device */
#define COUNT (SIZE / sizeof(cl_int))

struct own {
    struct ff_context *context;
    cl_int *data;
};

static struct own open_own(void) {
    struct own own;
    struct ff_config config;
    void *memory;
    ff_config_init(&config);
    CHECK(ff_config_from_environment(&config, NULL) == 0);
    config.memory = 4 * MIB;
    int status = ff_open(&config, &own.context, NULL);
    if (status == -EPERM || status == -ENOSYS)
        exit(77); /* this machine cannot manage memory */
    CHECK(status == 0);
    CHECK(ff_mem_alloc(own.context, SIZE, &memory) == 0);
    own.data = memory;
    return own;
}

static void write_own(const struct own *own, cl_int first) {
    for (size_t i = 0; i < COUNT; i++)
        own->data[i] = first + (cl_int)i;
}

static void close_own(const struct own *own) {
    struct ff_stats stats;
    ff_stats_read(own->context, &stats);
    CHECK(stats.faults > 0 && stats.evictions > 0);
    ff_mem_free(own->context, own->data);
    ff_close(own->context);
}

int main(void) {
    struct client client;
    struct own before = open_own();
    write_own(&before, 1);
    client_open(&client, 0);
    struct own after = open_own();
    cl_int *numbers = client_numbers(COUNT, 5, 1);
    cl_mem buffer = client_buffer(&client, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_kernel kernel = client_kernel(&client, "add");
    write_own(&after, 2);
    client_launch(client.queue, kernel, buffer, 3, COUNT);
    CHECK(client_buffer_is_series(client.queue, buffer, COUNT, 8, 1));
    CHECK(client_is_series(before.data, COUNT, 1, 1) && client_is_series(after.data, COUNT, 2, 1));
    close_own(&before);
    CHECK(client_buffer_is_series(client.queue, buffer, COUNT, 8, 1));
    close_own(&after);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    free(numbers);
    client_close(&client);
    return 0;
}
