/* Images, which are OpenCL's own, beside managed buffers and made of them: every command on them,
 * every kind of them, each larger than the device. */
#include "client.h"

#define SIDE  1024u
#define COUNT ((size_t)SIDE * SIDE * 2)
#define SIZE  (COUNT * sizeof(cl_int)) /* twice the device */

static const cl_image_format words = {CL_R, CL_SIGNED_INT32};

static const char source[] =
    "kernel void read2(read_only image2d_t from, global int *to) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    to[y * get_image_width(from) + x] = read_imagei(from, (int2)(x, y)).x;\n"
    "}\n"
    "kernel void write2(write_only image2d_t to, global const int *from) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    write_imagei(to, (int2)(x, y), (int4)(from[y * get_image_width(to) + x], 0, 0, 0));\n"
    "}\n";

struct shape {
    cl_mem_object_type type;
    size_t region[3]; /* in pixels, rows or images, layers */
};

static const struct shape shapes[] = {
    {CL_MEM_OBJECT_IMAGE1D, {8192, 1, 1}},
    {CL_MEM_OBJECT_IMAGE1D_ARRAY, {8192, COUNT / 8192, 1}},
    {CL_MEM_OBJECT_IMAGE2D, {SIDE, COUNT / SIDE, 1}},
    {CL_MEM_OBJECT_IMAGE2D_ARRAY, {SIDE, SIDE, 2}},
    {CL_MEM_OBJECT_IMAGE3D, {256, 256, COUNT / 65536}},
};

static size_t pixels(const struct shape *shape) {
    return shape->region[0] * shape->region[1] * shape->region[2];
}

static cl_mem image(const struct client *client, const struct shape *shape, cl_mem_flags flags,
                    void *host) {
    const cl_image_desc description = {
        .image_type = shape->type,
        .image_width = shape->region[0],
        .image_height = shape->region[1],
        .image_depth = shape->region[2],
        .image_array_size =
            shape->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? shape->region[1] : shape->region[2],
    };
    cl_int status;
    cl_mem made = clCreateImage(client->context, flags, &words, &description, host, &status);
    OK(status);
    return made;
}

static const size_t origin[3] = {0, 0, 0};

/* Through managed buffers, another image and the host, and back. */
static void test_copies(const struct client *client, const struct shape *shape) {
    size_t count = pixels(shape), size = count * sizeof(cl_int);
    cl_int *numbers = client_numbers(count, 3, 5), *back = client_numbers(count, 0, 0);
    cl_mem first = image(client, shape, CL_MEM_READ_WRITE, NULL);
    cl_mem second = image(client, shape, CL_MEM_READ_WRITE, NULL);
    cl_mem from = client_buffer(client, CL_MEM_COPY_HOST_PTR, size, numbers);
    cl_mem to = client_buffer(client, CL_MEM_USE_HOST_PTR, size, back);
    OK(clEnqueueCopyBufferToImage(client->queue, from, first, 0, origin, shape->region, 0, NULL,
                                  NULL));
    OK(clEnqueueCopyImage(client->queue, first, second, origin, origin, shape->region, 0, NULL,
                          NULL));
    OK(clEnqueueCopyImageToBuffer(client->queue, second, to, origin, shape->region, 0, 0, NULL,
                                  NULL));
    CHECK(client_buffer_is_series(client->queue, to, count, 3, 5));
    OK(clEnqueueWriteImage(client->queue, first, CL_FALSE, origin, shape->region, 0, 0, numbers, 0,
                           NULL, NULL));
    OK(clEnqueueReadImage(client->queue, first, CL_TRUE, origin, shape->region, 0, 0, back, 0, NULL,
                          NULL));
    CHECK(client_is_series(back, count, 3, 5));
    const cl_mem all[] = {first, second, from, to};
    for (int i = 0; i < 4; i++)
        OK(clReleaseMemObject(all[i]));
    free(numbers);
    free(back);
}

static void test_fill_and_map(const struct client *client, const struct shape *shape) {
    const cl_int color[4] = {77, 0, 0, 0};
    size_t count = pixels(shape), row = 0, slice = 0;
    cl_mem filled = image(client, shape, CL_MEM_READ_WRITE, NULL);
    cl_int status;
    OK(clEnqueueFillImage(client->queue, filled, color, origin, shape->region, 0, NULL, NULL));
    cl_int *mapped = clEnqueueMapImage(client->queue, filled, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                       origin, shape->region, &row, &slice, 0, NULL, NULL, &status);
    OK(status);
    CHECK(client_is_series(mapped, count, 77, 0));
    for (size_t i = 0; i < count; i++)
        mapped[i] = (cl_int)i;
    OK(clEnqueueUnmapMemObject(client->queue, filled, mapped, 0, NULL, NULL));
    cl_int *back = client_numbers(count, 0, 0);
    OK(clEnqueueReadImage(client->queue, filled, CL_TRUE, origin, shape->region, 0, 0, back, 0,
                          NULL, NULL));
    CHECK(client_is_series(back, count, 0, 1));
    OK(clReleaseMemObject(filled));
    free(back);
}

/* Kernels that use both. */
static void test_kernels(const struct client *client, const struct shape *shape) {
    const char *text = source;
    cl_int *numbers = client_numbers(COUNT, 1, 2), status;
    cl_program program = clCreateProgramWithSource(client->context, 1, &text, NULL, &status);
    OK(status);
    OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel kernels[2] = {clCreateKernel(program, "write2", &status),
                            clCreateKernel(program, "read2", &status)};
    cl_mem between = image(client, shape, CL_MEM_READ_WRITE, NULL);
    cl_mem buffers[2] = {client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers),
                         client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL)};
    for (int i = 0; i < 2; i++) {
        OK(clSetKernelArg(kernels[i], 0, sizeof between, &between));
        OK(clSetKernelArg(kernels[i], 1, sizeof buffers[i], &buffers[i]));
        OK(clEnqueueNDRangeKernel(client->queue, kernels[i], 2, NULL, shape->region, NULL, 0, NULL,
                                  NULL));
    }
    CHECK(client_buffer_is_series(client->queue, buffers[1], COUNT, 1, 2));
    OK(clReleaseMemObject(between));
    for (int i = 0; i < 2; i++) {
        OK(clReleaseMemObject(buffers[i]));
        OK(clReleaseKernel(kernels[i]));
    }
    OK(clReleaseProgram(program));
    free(numbers);
}

/* In the program's memory, of which some is managed, or copied from it. */
static void test_host_pointers(const struct client *client, const struct shape *shape) {
    cl_int *host = client_numbers(COUNT, 4, 1), *back = client_numbers(COUNT, 0, 0);
    cl_int *svm = clSVMAlloc(client->context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(svm);
    memcpy(svm, host, SIZE);
    cl_int *const memory[] = {host, svm, host};
    for (int i = 0; i < 3; i++) {
        cl_mem_flags flags = i < 2 ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
        cl_mem whole = image(client, shape, flags, memory[i]);
        OK(clEnqueueReadImage(client->queue, whole, CL_TRUE, origin, shape->region, 0, 0, back, 0,
                              NULL, NULL));
        CHECK(client_is_series(back, COUNT, 4, 1));
        memset(back, 0, SIZE);
        OK(clReleaseMemObject(whole));
    }
    clSVMFree(client->context, svm);
    free(host);
    free(back);
}

/* ---- what they say of the buffer that they are made of ---- */

static const cl_mem_flags host_flags =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

static void check_seen(cl_mem seen, cl_mem_flags flags, const void *host) {
    cl_mem_flags seen_flags = 0;
    void *seen_host = NULL;
    size_t size = 0;
    OK(clGetMemObjectInfo(seen, CL_MEM_FLAGS, sizeof seen_flags, &seen_flags, &size));
    CHECK(size == sizeof seen_flags && seen_flags == flags);
    OK(clGetMemObjectInfo(seen, CL_MEM_HOST_PTR, sizeof seen_host, &seen_host, NULL));
    CHECK(seen_host == host);
}

/* Flags and address are those that the program gave, not those of the memory that it is in. */
static void test_seen_flags(const struct client *client) {
    static const cl_mem_flags given[] = {0, CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR,
                                         CL_MEM_COPY_HOST_PTR};
    const cl_buffer_region half = {MIB, MIB};
    cl_int *host = client_numbers(2 * MIB / sizeof(cl_int), 0, 1), status;
    for (int i = 0; i < 4; i++) {
        bool named = given[i] & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
        char *seen = given[i] & CL_MEM_USE_HOST_PTR ? (char *)host : NULL;
        cl_mem whole =
            client_buffer(client, CL_MEM_READ_WRITE | given[i], 2 * MIB, named ? host : NULL);
        cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION,
                                        &half, &status);
        OK(status);
        cl_image_desc shape = {
            .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 64, .mem_object = whole};
        cl_mem made =
            clCreateImage(client->context, CL_MEM_READ_ONLY, &words, &shape, NULL, &status);
        OK(status);
        check_seen(whole, CL_MEM_READ_WRITE | (given[i] & host_flags), seen);
        check_seen(part, CL_MEM_READ_ONLY | (given[i] & host_flags), seen ? seen + MIB : NULL);
        check_seen(made, CL_MEM_READ_ONLY | (given[i] & host_flags), seen);
        OK(clReleaseMemObject(made));
        OK(clReleaseMemObject(part));
        OK(clReleaseMemObject(whole));
    }
    free(host);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        test_copies(&client, &shapes[i]);
        test_fill_and_map(&client, &shapes[i]);
    }
    test_kernels(&client, &shapes[2]);
    test_host_pointers(&client, &shapes[2]);
    test_seen_flags(&client);
    client_close(&client);
    return 0;
}
