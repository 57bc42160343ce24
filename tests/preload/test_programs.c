/* Programs in every way that OpenCL has to make them, in several threads, and kernels that print
 * much. */
#include "client.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SIZE    (6 * MIB)
#define COUNT   (SIZE / sizeof(cl_int))
#define THREADS 2
#define PRINTS  64u /* one of so many work-items prints */

static struct client client;

static cl_program program_of(const char *source) {
    cl_int status;
    cl_program program = clCreateProgramWithSource(client.context, 1, &source, NULL, &status);
    OK(status);
    return program;
}

/* Its kernel `work` makes this series of the one from 5 in steps of 3. */
static void check_work(cl_program program, cl_int first, cl_int step) {
    cl_int *numbers = client_numbers(COUNT, 5, 3), status;
    cl_command_queue queue = client_queue(&client, client.device, 0);
    cl_kernel kernel = clCreateKernel(program, "work", &status);
    OK(status);
    cl_mem buffer = client_buffer(&client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    client_launch(queue, kernel, buffer, 10, COUNT);
    CHECK(client_buffer_is_series(queue, buffer, COUNT, first, step));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    OK(clReleaseCommandQueue(queue));
    free(numbers);
}

static void test_compile_and_link(void) {
    const char *name = "twice.h";
    cl_int status;
    cl_program header = program_of("#define TWICE(x) (2 * (x))\n");
    cl_program parts[2] = {
        program_of("#include \"twice.h\"\n"
                   "int raised(int);\n"
                   "kernel void work(global int *a, int v) {\n"
                   "    size_t i = get_global_id(0);\n"
                   "    a[i] = TWICE(a[i]) + raised(v);\n"
                   "}\n"),
        program_of("int raised(int v) { return v + BY; }\n"),
    };
    OK(clCompileProgram(parts[0], 0, NULL, NULL, 1, &header, &name, NULL, NULL));
    OK(clCompileProgram(parts[1], 0, NULL, "-DBY=7", 0, NULL, NULL, NULL, NULL));
    cl_program linked = clLinkProgram(client.context, 0, NULL, NULL, 2, parts, NULL, NULL, &status);
    OK(status);
    check_work(linked, 27, 6);
    const cl_program all[] = {header, parts[0], parts[1], linked};
    for (int i = 0; i < 4; i++)
        OK(clReleaseProgram(all[i]));
}

static void CL_CALLBACK on_built(cl_program program, void *done) {
    (void)program;
    __atomic_store_n((bool *)done, true, __ATOMIC_RELEASE);
}

static void *build_two(void *argument) {
    int number = *(int *)argument;
    char source[128];
    for (int i = 0; i < 2; i++) {
        bool done = i == 0;
        int by = 2 * number + i;
        snprintf(source, sizeof source,
                 "kernel void work(global int *a, int v) { a[get_global_id(0)] += v + %d; }", by);
        cl_program program = program_of(source);
        OK(clBuildProgram(program, 0, NULL, NULL, i ? on_built : NULL, i ? &done : NULL));
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
            usleep(1000);
        check_work(program, 15 + by, 3);
        OK(clReleaseProgram(program));
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, build_two, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void test_mistakes(void) {
    cl_program program = program_of("kernel void work(global int *a) { nonsense }");
    char log[512] = "";
    EXPECT(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    OK(clGetProgramBuildInfo(program, client.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
    CHECK(strstr(log, "nonsense"));
    OK(clReleaseProgram(program));
    program = program_of("kernel void work(global int *a, int v) { a[get_global_id(0)] += v; }");
    EXPECT(CL_INVALID_BUILD_OPTIONS, clBuildProgram(program, 0, NULL, "-nonsense", NULL, NULL));
    OK(clBuildProgram(program, 0, NULL, "-cl-mad-enable", NULL, NULL));
    OK(clReleaseProgram(program));
}

static void check_options(cl_program program, const char *expected) {
    char options[128] = "";
    size_t size = 0, needed = strlen(expected) + 1;
    OK(clGetProgramBuildInfo(program, client.device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size));
    CHECK(size == needed);
    OK(clGetProgramBuildInfo(program, client.device, CL_PROGRAM_BUILD_OPTIONS, size, options,
                             NULL));
    CHECK(strcmp(options, expected) == 0);
    EXPECT(CL_INVALID_VALUE, clGetProgramBuildInfo(program, client.device, CL_PROGRAM_BUILD_OPTIONS,
                                                   size - 1, options, NULL));
}

/* They are the program's own. */
static void test_options(void) {
    static const char *const given[] = {NULL, "-cl-mad-enable", "-cl-kernel-arg-info",
                                        "-cl-kernel-arg-info -DBY=7"};
    for (int i = 0; i < 4; i++) {
        cl_program program = program_of("");
        check_options(program, "");
        if (i % 2)
            OK(clCompileProgram(program, 0, NULL, given[i], 0, NULL, NULL, NULL, NULL));
        else
            OK(clBuildProgram(program, 0, NULL, given[i], NULL, NULL));
        check_options(program, given[i] ? given[i] : "");
        OK(clReleaseProgram(program));
    }
    cl_program wrong = program_of("kernel void work(global int *a, int v) { nonsense }");
    EXPECT(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(wrong, 0, NULL, "-cl-mad-enable", NULL, NULL));
    check_options(wrong, "-cl-mad-enable");
    EXPECT(CL_INVALID_DEVICE,
           clGetProgramBuildInfo(wrong, NULL, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, NULL));
    OK(clReleaseProgram(wrong));
}

/* What standard output gets meanwhile, as a file. */
static FILE *capture(void (*function)(cl_program program), cl_program program) {
    FILE *file = tmpfile();
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    CHECK(file && kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    function(program);
    fflush(stdout);
    CHECK(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    rewind(file);
    return file;
}

static void work(cl_program program) {
    check_work(program, 15, 3);
}

static void test_print(void) {
    char source[256], line[64];
    snprintf(source, sizeof source,
             "kernel void work(global int *a, int v) {\n"
             "    size_t i = get_global_id(0);\n"
             "    a[i] += v;\n"
             "    if (i %% %u == 0) printf(\"%%u is %%d\\n\", (uint)i, a[i]);\n"
             "}\n",
             PRINTS);
    cl_program program = program_of(source);
    OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    FILE *printed = capture(work, program);
    size_t lines = 0;
    for (unsigned i; fgets(line, sizeof line, printed); lines++) {
        cl_int value;
        CHECK(sscanf(line, "%u is %d\n", &i, &value) == 2);
        CHECK(i % PRINTS == 0 && value == 15 + 3 * (cl_int)i);
    }
    CHECK(lines == COUNT / PRINTS);
    fclose(printed);
    OK(clReleaseProgram(program));
}

int main(void) {
    client_open(&client, 0);
    test_compile_and_link();
    test_threads();
    test_mistakes();
    test_options();
    test_print();
    client_close(&client);
    return 0;
}
