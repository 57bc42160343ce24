/* With FARFAULT_EXTENTS=on: whatever is known of launches, and of kernels of which nothing can be,
 * they do the same. TEST_SLICES: instead, launches that each use a slice of a large buffer.
 * test_summary counts what is known, and what is asked for. */
#include "client.h"

#define SIZE   (8 * MIB)
#define COUNT  (SIZE / sizeof(cl_int))
#define SLICES 8u
#define SLICE  (COUNT / SLICES)

static struct client client;

static cl_kernel kernel_of(cl_program program, const char *name) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    OK(status);
    return kernel;
}

static void launch_at(cl_kernel kernel, size_t offset, size_t items, const size_t *local) {
    OK(clEnqueueNDRangeKernel(client.queue, kernel, 1, &offset, &items, local, 0, NULL, NULL));
    OK(clFinish(client.queue));
}

static cl_mem series(size_t count, cl_int first, cl_int step) {
    cl_int *numbers = client_numbers(count, first, step);
    cl_mem buffer = client_buffer(&client, CL_MEM_COPY_HOST_PTR, count * sizeof *numbers, numbers);
    free(numbers);
    return buffer;
}

static void check_part(cl_mem buffer, size_t from, size_t count, cl_int first, cl_int step) {
    cl_int *numbers = malloc(count * sizeof *numbers);
    CHECK(numbers);
    OK(clEnqueueReadBuffer(client.queue, buffer, CL_TRUE, from * sizeof *numbers,
                           count * sizeof *numbers, numbers, 0, NULL, NULL));
    CHECK(client_is_series(numbers, count, first, step));
    free(numbers);
}

/* ---- launches that are known: six ---- */

static void test_offset(void) {
    cl_kernel kernel = client_kernel(&client, "add");
    cl_mem buffer = series(COUNT, 0, 1);
    cl_int value = 5;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    launch_at(kernel, SLICE, SLICE, NULL);
    check_part(buffer, 0, SLICE, 0, 1);
    check_part(buffer, SLICE, SLICE, (cl_int)SLICE + 5, 1);
    check_part(buffer, 2 * SLICE, COUNT - 2 * SLICE, 2 * (cl_int)SLICE, 1);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

/* And of a clone, which has its arguments. */
static void test_part_of_a_buffer(void) {
    cl_kernel kernel = client_kernel(&client, "add"), clone;
    cl_mem whole = series(COUNT, 0, 1);
    cl_buffer_region region = {SIZE / 2, SIZE / 4};
    cl_int value = 7, status;
    cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    OK(clSetKernelArg(kernel, 0, sizeof part, &part));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    clone = clCloneKernel(kernel, &status);
    OK(status);
    OK(clReleaseKernel(kernel));
    launch_at(clone, 0, COUNT / 4, NULL);
    check_part(whole, 0, COUNT / 2, 0, 1);
    check_part(whole, COUNT / 2, COUNT / 4, (cl_int)COUNT / 2 + 7, 1);
    check_part(whole, COUNT / 4 * 3, COUNT / 4, (cl_int)COUNT / 4 * 3, 1);
    OK(clReleaseKernel(clone));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
}

static void test_local_memory(void) {
    cl_kernel kernel = client_kernel(&client, "scaled");
    cl_mem buffer = series(COUNT, 0, 0);
    size_t local = 32;
    cl_int value = 3;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    OK(clSetKernelArg(kernel, 2, local * sizeof(cl_int), NULL));
    launch_at(kernel, 0, COUNT, &local);
    check_part(buffer, 0, COUNT, 0, 3);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

static void test_shared_memory(void) {
    cl_kernel kernel = client_kernel(&client, "add");
    cl_int *memory = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0), value = 2;
    CHECK(memory);
    for (size_t i = 0; i < COUNT; i++)
        memory[i] = (cl_int)i;
    OK(clSetKernelArgSVMPointer(kernel, 0, memory + SLICE));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    launch_at(kernel, 0, SLICE, NULL);
    CHECK(client_is_series(memory, SLICE, 0, 1));
    CHECK(client_is_series(memory + SLICE, SLICE, (cl_int)SLICE + 2, 1));
    clSVMFree(client.context, memory);
    OK(clReleaseKernel(kernel));
}

static cl_program built(const char *source, const char *options) {
    cl_int status;
    cl_program program = clCreateProgramWithSource(client.context, 1, &source, NULL, &status);
    OK(status);
    OK(clBuildProgram(program, 0, NULL, options, NULL, NULL));
    return program;
}

static void run_on_series(cl_kernel kernel, cl_int by) {
    cl_mem buffer = series(COUNT, 1, 1);
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch_at(kernel, 0, COUNT, NULL);
    check_part(buffer, 0, COUNT, 1 + by, 1);
    OK(clReleaseMemObject(buffer));
}

static void test_options(void) {
    cl_program program = built("kernel void work(global int *a) { a[INDEX(0)] += BY; }",
                               "-DINDEX=get_global_id -D BY=4");
    cl_kernel kernel = kernel_of(program, "work");
    run_on_series(kernel, 4);
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(program));
}

/* With another offset, what it accesses is in no allocation. */
static void test_far_offset(void) {
    cl_program program = built("kernel void work(global int *a) {\n"
                               "    a[get_global_id(0) - (1 << 30)] += 8;\n"
                               "}",
                               "");
    cl_kernel kernel = kernel_of(program, "work");
    cl_mem buffer = series(COUNT, 0, 1);
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch_at(kernel, (size_t)1 << 30, COUNT, NULL);
    check_part(buffer, 0, COUNT, 8, 1);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(program));
}

/* ---- and those that are not ---- */

static void test_binary(void) {
    const char *source = "kernel void work(global int *a) { a[get_global_id(0)] += 6; }";
    cl_program first = built(source, "");
    unsigned char *binaries[8] = {NULL};
    size_t sizes[8];
    cl_int status;
    OK(clGetProgramInfo(first, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL));
    for (cl_uint i = 0; i < client.device_count; i++)
        CHECK((binaries[i] = malloc(sizes[i])));
    OK(clGetProgramInfo(first, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL));
    cl_program second =
        clCreateProgramWithBinary(client.context, client.device_count, client.devices, sizes,
                                  (const unsigned char **)binaries, NULL, &status);
    OK(status);
    OK(clBuildProgram(second, 0, NULL, "", NULL, NULL));
    cl_kernel kernel = kernel_of(second, "work");
    run_on_series(kernel, 6);
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(second));
    OK(clReleaseProgram(first));
    for (cl_uint i = 0; i < client.device_count; i++)
        free(binaries[i]);
}

static void test_large_argument(void) {
    cl_program program = built("struct numbers { int of[32]; };\n"
                               "kernel void work(global int *a, struct numbers n) {\n"
                               "    a[get_global_id(0)] += n.of[31];\n"
                               "}",
                               "");
    cl_int numbers[32] = {[31] = 9};
    cl_kernel kernel = kernel_of(program, "work");
    OK(clSetKernelArg(kernel, 1, sizeof numbers, numbers));
    run_on_series(kernel, 9);
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(program));
}

/* Its index comes from memory. */
static void test_indirect(void) {
    cl_program program =
        built("kernel void work(global int *a) { a[a[get_global_id(0)] - 1] += 1; }", "");
    cl_kernel kernel = kernel_of(program, "work");
    cl_mem buffer = series(64, 1, 1);
    size_t one = 1;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch_at(kernel, 20, 1, &one);
    check_part(buffer, 20, 1, 22, 1);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(program));
}

/* ---- slices ---- */

/* Far from each other, one launch after the other. */
static void test_slices(void) {
    cl_kernel kernel = client_kernel(&client, "add");
    cl_mem buffer = series(COUNT, 0, 1);
    cl_int value = 1;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    for (unsigned i = 0; i < 8 * SLICES; i++)
        launch_at(kernel, i * 3 % SLICES * SLICE, SLICE, NULL);
    check_part(buffer, 0, COUNT, 8, 1);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

int main(void) {
    client_open(&client, 0);
    if (getenv("TEST_SLICES")) {
        test_slices();
    } else {
        test_offset();
        test_part_of_a_buffer();
        test_local_memory();
        test_shared_memory();
        test_options();
        test_far_offset();
        test_binary();
        test_large_argument();
        test_indirect();
    }
    client_close(&client);
    return 0;
}
