/* Creating buffers and sub-buffers: contents, flags, errors, and the end of them. */
#include "client.h"

#include <time.h>

#define SIZE  (3 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static void check_info(cl_mem buffer, cl_mem_flags flags, size_t size, const void *host) {
    cl_mem_flags got_flags = 0;
    size_t got_size = 0, needed = 0, offset = 1;
    void *got_host = &got_size;
    cl_uint references = 0, maps = 1;
    cl_mem whole = buffer;
    cl_bool svm = CL_TRUE;
    OK(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof got_flags, &got_flags, &needed));
    CHECK(got_flags == flags && needed == sizeof flags);
    OK(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof got_size, &got_size, NULL));
    CHECK(got_size == size);
    OK(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof got_host, &got_host, NULL));
    CHECK(got_host == host);
    OK(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references == 1);
    OK(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
    CHECK(maps == 0);
    OK(clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL));
    CHECK(whole == NULL);
    OK(clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof offset, &offset, NULL));
    CHECK(offset == 0);
    OK(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof svm, &svm, NULL));
    CHECK(svm == CL_FALSE);
    OK(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, 0, NULL, &needed));
    CHECK(needed == sizeof flags);
    EXPECT(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, CL_MEM_FLAGS, 1, &got_flags, NULL));
}

static void test_flags(const struct client *client) {
    static const struct {
        cl_mem_flags given, seen;
    } cases[] = {
        {0, CL_MEM_READ_WRITE},
        {CL_MEM_READ_WRITE, CL_MEM_READ_WRITE},
        {CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY},
        {CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS},
        {CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR},
        {CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR},
        {CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR},
        {CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
         CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR},
    };
    cl_int *host = client_numbers(COUNT, 0, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool uses = cases[i].given & CL_MEM_USE_HOST_PTR;
        bool takes = uses || (cases[i].given & CL_MEM_COPY_HOST_PTR);
        cl_mem buffer = client_buffer(client, cases[i].given, SIZE, takes ? host : NULL);
        check_info(buffer, cases[i].seen, SIZE, uses ? host : NULL);
        if (takes)
            CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 0, 1));
        OK(clReleaseMemObject(buffer));
    }
    free(host);
}

static void expect_refused(const struct client *client, cl_int wanted, cl_mem_flags flags,
                           size_t size, void *host) {
    cl_int status = CL_SUCCESS;
    CHECK(clCreateBuffer(client->context, flags, size, host, &status) == NULL);
    CHECK(status == wanted);
    CHECK(clCreateBuffer(client->context, flags, size, host, NULL) == NULL);
    status = CL_SUCCESS;
    CHECK(clCreateBufferWithProperties(client->context, NULL, flags, size, host, &status) == NULL);
    CHECK(status == wanted);
}

static void test_errors(const struct client *client) {
    cl_ulong largest = 0;
    char host[64];
    cl_int status = CL_SUCCESS;
    OK(clGetDeviceInfo(client->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest,
                       NULL));
    expect_refused(client, CL_INVALID_BUFFER_SIZE, CL_MEM_READ_WRITE, 0, NULL);
    expect_refused(client, CL_INVALID_BUFFER_SIZE, CL_MEM_READ_WRITE, (size_t)-1 / 2, NULL);
    expect_refused(client, CL_INVALID_HOST_PTR, CL_MEM_USE_HOST_PTR, 64, NULL);
    expect_refused(client, CL_INVALID_HOST_PTR, CL_MEM_COPY_HOST_PTR, 64, NULL);
    expect_refused(client, CL_INVALID_HOST_PTR, CL_MEM_READ_WRITE, 64, host);
    expect_refused(client, CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 64, host);
    expect_refused(client, CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 64, host);
    expect_refused(client, CL_INVALID_VALUE, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, NULL);
    expect_refused(client, CL_INVALID_VALUE, (cl_mem_flags)1 << 40, 64, NULL);
    CHECK(clCreateBuffer(NULL, CL_MEM_READ_WRITE, 64, NULL, &status) == NULL);
    CHECK(status == CL_INVALID_CONTEXT);
    CHECK(largest >= 128 * MIB);
}

/* Later changes of the host array do not show. */
static void test_copied_content(const struct client *client) {
    cl_int *host = client_numbers(COUNT, 5, 3);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, host);
    memset(host, 0, SIZE);
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 5, 3));
    OK(clReleaseMemObject(buffer));
    /* an odd size, from an odd address */
    size_t odd = 70001;
    char *bytes = (char *)host, *back = malloc(odd);
    CHECK(back);
    for (size_t i = 0; i <= odd; i++)
        bytes[i] = (char)(i * 7);
    buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, odd, bytes + 1);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, odd, back, 0, NULL, NULL));
    CHECK(memcmp(bytes + 1, back, odd) == 0);
    OK(clReleaseMemObject(buffer));
    free(back);
    free(host);
}

static void test_properties(const struct client *client) {
    static const cl_mem_properties none[] = {0};
    cl_int *host = client_numbers(COUNT, 1, 1), status;
    cl_mem buffer = clCreateBufferWithProperties(client->context, none, CL_MEM_COPY_HOST_PTR, SIZE,
                                                 host, &status);
    OK(status);
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 1, 1));
    OK(clReleaseMemObject(buffer));
    free(host);
}

/* ---- sub-buffers ---- */

static cl_mem sub_buffer(cl_mem parent, cl_mem_flags flags, size_t origin, size_t size) {
    const cl_buffer_region region = {origin, size};
    cl_int status;
    cl_mem part = clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    return part;
}

static void test_sub_buffers(const struct client *client) {
    cl_int *host = client_numbers(COUNT, 0, 1);
    cl_mem whole = client_buffer(client, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, SIZE, host);
    cl_mem part = sub_buffer(whole, CL_MEM_READ_ONLY, MIB, MIB);
    cl_mem_flags flags = 0;
    void *pointer = NULL;
    size_t offset = 0;
    cl_mem parent = NULL;
    OK(clGetMemObjectInfo(part, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    CHECK(flags == (CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR));
    OK(clGetMemObjectInfo(part, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
    CHECK(pointer == (char *)host + MIB);
    OK(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof offset, &offset, NULL));
    CHECK(offset == MIB);
    OK(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    CHECK(parent == whole);
    CHECK(client_buffer_is_series(client->queue, part, MIB / sizeof(cl_int),
                                  (cl_int)(MIB / sizeof(cl_int)), 1));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
    free(host);

    whole = client_buffer(client, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, SIZE, NULL);
    part = sub_buffer(whole, 0, MIB, MIB);
    OK(clGetMemObjectInfo(part, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    CHECK(flags == (CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR));
    OK(clGetMemObjectInfo(part, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
    CHECK(pointer == NULL);
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
}

static void test_sub_buffer_errors(const struct client *client) {
    cl_mem whole = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    const cl_buffer_region bad[] = {{1, 64}, {0, 0}, {SIZE - 128, 256}};
    const cl_int wanted[] = {CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_INVALID_BUFFER_SIZE,
                             CL_INVALID_VALUE};
    cl_int status;
    for (int i = 0; i < 3; i++) {
        CHECK(!clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &bad[i], &status));
        CHECK(status == wanted[i]);
    }
    CHECK(!clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &status));
    CHECK(status == CL_INVALID_VALUE);
    const cl_buffer_region good = {0, 1024};
    cl_mem part = sub_buffer(whole, 0, 0, MIB);
    CHECK(!clCreateSubBuffer(part, 0, CL_BUFFER_CREATE_TYPE_REGION, &good, &status));
    CHECK(status == CL_INVALID_MEM_OBJECT);
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
}

/* Parts write where the whole reads; the whole outlives its release while a part lives. */
static void test_sub_buffer_content(const struct client *client) {
    cl_mem whole = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_mem parts[3];
    cl_kernel add = client_kernel(client, "add");
    cl_int zero = 0;
    OK(clEnqueueFillBuffer(client->queue, whole, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        parts[i] = sub_buffer(whole, 0, (size_t)i * MIB, MIB);
        client_launch(client->queue, add, parts[i], i + 1, MIB / sizeof(cl_int));
    }
    cl_int *all = client_numbers(COUNT, -1, 0);
    OK(clEnqueueReadBuffer(client->queue, whole, CL_TRUE, 0, SIZE, all, 0, NULL, NULL));
    for (size_t i = 0; i < 3; i++)
        CHECK(client_is_series(all + i * MIB / sizeof(cl_int), MIB / sizeof(cl_int), (cl_int)i + 1,
                               0));
    OK(clReleaseMemObject(whole));
    for (int i = 0; i < 3; i++) {
        CHECK(client_buffer_is_series(client->queue, parts[i], MIB / sizeof(cl_int), i + 1, 0));
        OK(clReleaseMemObject(parts[i]));
    }
    OK(clReleaseKernel(add));
    free(all);
}

/* ---- the end ---- */

static int order[8], ended;

static void CL_CALLBACK on_end(cl_mem buffer, void *user) {
    (void)buffer;
    order[ended++] = *(int *)user;
}

static void test_destructors(const struct client *client) {
    static int ids[] = {0, 1, 2, 3};
    cl_mem whole = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_mem part = sub_buffer(whole, 0, 0, MIB);
    ended = 0;
    OK(clSetMemObjectDestructorCallback(whole, on_end, &ids[0]));
    OK(clSetMemObjectDestructorCallback(whole, on_end, &ids[1]));
    OK(clSetMemObjectDestructorCallback(part, on_end, &ids[2]));
    OK(clSetMemObjectDestructorCallback(part, on_end, &ids[3]));
    OK(clRetainMemObject(whole));
    OK(clReleaseMemObject(whole));
    OK(clReleaseMemObject(whole));
    CHECK(ended == 0);
    OK(clReleaseMemObject(part));
    CHECK(ended == 4);
    CHECK(order[0] == 3 && order[1] == 2 && order[2] == 1 && order[3] == 0);
    EXPECT(CL_INVALID_MEM_OBJECT, clSetMemObjectDestructorCallback(NULL, on_end, NULL));
}

/* Far more than there is memory for, one after another: what is freed can be used again. */
static void test_many(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    for (cl_int i = 0; i < 64; i++) {
        cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
        cl_int zero = 0;
        OK(clEnqueueFillBuffer(client->queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
        client_launch(client->queue, add, buffer, i, COUNT);
        if (i % 8 == 0)
            CHECK(client_buffer_is_series(client->queue, buffer, COUNT, i, 0));
        OK(clReleaseMemObject(buffer)); /* with the kernel perhaps still running */
    }
    OK(clFinish(client->queue));
    OK(clReleaseKernel(add));
}

/* The only time that passes is after a buffer was created with data and before the only command. */
static void create_and_wait(const struct client *client) {
    const struct timespec tenth = {0, 100000000};
    cl_int number = 1;
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, sizeof number, &number);
    nanosleep(&tenth, NULL);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, sizeof number, &number, 0, NULL,
                           NULL));
    OK(clReleaseMemObject(buffer));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    if (getenv("TEST_CLOCK")) {
        create_and_wait(&client);
        client_close(&client);
        return 0;
    }
    test_flags(&client);
    test_errors(&client);
    test_copied_content(&client);
    test_properties(&client);
    test_sub_buffers(&client);
    test_sub_buffer_errors(&client);
    test_sub_buffer_content(&client);
    test_destructors(&client);
    test_many(&client);
    client_close(&client);
    return 0;
}
