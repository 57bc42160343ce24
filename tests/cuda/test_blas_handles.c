/* Handles and their modes, copies between host and device, streams, captures, both versions. */
#include "cuda/blas.h"

#include <dlfcn.h>
#include <pthread.h>

#define KEEPS(name, type, wrong, good)                                                             \
    do {                                                                                           \
        type kept = good;                                                                          \
        OK(cublasSet##name(handle, good));                                                         \
        OK(cublasGet##name(handle, &kept));                                                        \
        assert_true(kept == (good));                                                               \
        REFUSED(cublasSet##name(handle, wrong));                                                   \
        REFUSED(cublasGet##name(handle, NULL));                                                    \
        GIVES(NOT_INITIALIZED, cublasSet##name(NULL, good));                                       \
        GIVES(NOT_INITIALIZED, cublasGet##name(NULL, &kept));                                      \
    } while (0)

static void keeps_modes(void **state) {
    (void)state;
    KEEPS(PointerMode, cublasPointerMode_t, 2, CUBLAS_POINTER_MODE_DEVICE);
    KEEPS(PointerMode, cublasPointerMode_t, 99, CUBLAS_POINTER_MODE_HOST);
    KEEPS(AtomicsMode, cublasAtomicsMode_t, 2, CUBLAS_ATOMICS_ALLOWED);
    KEEPS(MathMode, cublasMath_t, 99, CUBLAS_TF32_TENSOR_OP_MATH);
    KEEPS(MathMode, cublasMath_t, 99,
          CUBLAS_PEDANTIC_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    KEEPS(SmCountTarget, int, -1, 7);
    OK(cublasSetWorkspace(handle, NULL, 0));
    OK(cublasSetWorkspace(handle, &state, 8));
    REFUSED(cublasSetWorkspace(handle, NULL, 8));
    GIVES(NOT_INITIALIZED, cublasSetWorkspace(NULL, NULL, 0));
}

static void keeps_streams(void **state) {
    CUstream stream, kept = NULL;
    (void)state;
    CU_OK(cuStreamCreate(&stream, 0));
    OK(cublasSetStream(handle, stream));
    OK(cublasGetStream(handle, &kept));
    assert_ptr_equal(kept, stream);
    REFUSED(cublasGetStream(handle, NULL));
    GIVES(NOT_INITIALIZED, cublasSetStream(NULL, NULL));
    GIVES(NOT_INITIALIZED, cublasGetStream(NULL, &kept));
    OK(cublasSetStream(handle, NULL));
    CU_OK(cuStreamDestroy(stream));
}

static void log_nothing(const char *message) {
    (void)message;
}

static void says_what_it_is(void **state) {
    int value = 0;
    cublasLogCallback callback = NULL;
    (void)state;
    OK(cublasGetVersion(handle, &value));
    assert_int_equal(value, 120800);
    REFUSED(cublasGetVersion(handle, NULL));
    OK(cublasGetProperty(MAJOR_VERSION, &value));
    assert_int_equal(value, 12);
    OK(cublasGetProperty(MINOR_VERSION, &value));
    assert_int_equal(value, 8);
    OK(cublasGetProperty(PATCH_LEVEL, &value));
    assert_int_equal(value, 0);
    REFUSED(cublasGetProperty(3, &value));
    REFUSED(cublasGetProperty(MAJOR_VERSION, NULL));
    assert_int_equal(cublasGetCudartVersion(), 12080);
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_ARCH_MISMATCH),
                        "CUBLAS_STATUS_ARCH_MISMATCH");
    assert_string_equal(cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED), "out of memory");
    assert_string_equal(cublasGetStatusName(2), "an unknown status");
    OK(cublasLoggerConfigure(1, 1, 0, NULL));
    OK(cublasSetLoggerCallback(log_nothing));
    OK(cublasGetLoggerCallback(&callback));
    assert_true(callback == log_nothing);
    REFUSED(cublasGetLoggerCallback(NULL));
}

static void is_there_in_version_13(void **state) {
    cublasStatus_t (*property)(libraryPropertyType type, int *value);
    int value = 0;
    (void)state;
    void *library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    *(void **)&property = dlsym(library, "cublasGetProperty");
    assert_non_null(property);
    OK(property(MAJOR_VERSION, &value));
    assert_int_equal(value, 13);
    assert_non_null(dlvsym(library, "cublasSgemm_v2", "libcublas.so.13"));
    assert_non_null(dlvsym(RTLD_DEFAULT, "cublasSgemm_v2", "libcublas.so.12"));
    dlclose(library);
}

static void is_created_and_destroyed(void **state) {
    cublasHandle_t other;
    (void)state;
    REFUSED(cublasCreate(NULL));
    GIVES(NOT_INITIALIZED, cublasDestroy(NULL));
    OK(cublasCreate(&other));
    OK(cublasDestroy(other));
}

/* ---- copies ---- */

static void copies_vectors(void **state) {
    (void)state;
    int from[12], back[12];
    int *there = device_memory(sizeof from);
    for (int i = 0; i < 12; i++)
        from[i] = i;
    memset(there, 0, sizeof from);
    OK(cublasSetVector(4, sizeof(int), from, 3, there, 2));
    for (int i = 0; i < 4; i++)
        assert_int_equal(there[2 * i], 3 * i);
    assert_int_equal(there[1], 0);
    OK(cublasGetVector_64(4, sizeof(int), there, 2, back, 1));
    assert_int_equal(back[3], 9);
    OK(cublasSetVectorAsync_64(12, sizeof(int), from, 1, there, 1, NULL));
    OK(cublasGetVectorAsync(6, sizeof(int), there, 2, back, 1, NULL));
    wait_for_all();
    assert_int_equal(back[5], 10);
    OK(cublasSetVector_64(12, sizeof(int), from, 1, there, 1));
    OK(cublasSetVectorAsync(1, sizeof(int), from + 5, 1, there, 1, NULL));
    OK(cublasGetVector(1, sizeof(int), there, 1, back, 1));
    OK(cublasGetVectorAsync_64(1, sizeof(int), there + 1, 1, back + 1, 1, NULL));
    wait_for_all();
    assert_int_equal(back[0], 5);
    assert_int_equal(back[1], 1);
    REFUSED(cublasSetVector(1, 0, from, 1, there, 1));
    REFUSED(cublasSetVector(1, 4, from, 0, there, 1));
    REFUSED(cublasGetVector(1, 4, there, 1, back, -1));
    REFUSED(cublasGetVector(-1, 4, there, 1, back, 1));
    OK(cublasSetVector(0, 4, NULL, 1, NULL, 1));
    device_free(there);
}

static void copies_matrices(void **state) {
    (void)state;
    short from[5 * 4], back[3 * 4];
    short *there = device_memory(4 * 4 * sizeof *there);
    for (int i = 0; i < 20; i++)
        from[i] = (short)i;
    OK(cublasSetMatrix(3, 4, sizeof *from, from, 5, there, 4));
    assert_int_equal(there[4 * 3 + 2], 17);
    OK(cublasGetMatrix_64(3, 4, sizeof *from, there, 4, back, 3));
    assert_int_equal(back[3 * 2 + 1], 11);
    OK(cublasSetMatrixAsync(2, 2, sizeof *from, from + 5, 5, there, 4, NULL));
    OK(cublasGetMatrixAsync(2, 2, sizeof *from, there, 4, back, 3, NULL));
    OK(cublasSetMatrix_64(1, 1, sizeof *from, from, 1, there + 15, 1));
    OK(cublasSetMatrixAsync_64(1, 1, sizeof *from, from + 3, 1, there + 14, 1, NULL));
    OK(cublasGetMatrix(1, 1, sizeof *from, there + 15, 1, back + 10, 1));
    OK(cublasGetMatrixAsync_64(1, 1, sizeof *from, there + 14, 1, back + 11, 1, NULL));
    wait_for_all();
    assert_int_equal(back[3 + 1], 11);
    assert_int_equal(back[10], 0);
    assert_int_equal(back[11], 3);
    REFUSED(cublasSetMatrix(3, 4, 2, from, 2, there, 4));
    REFUSED(cublasSetMatrix(3, 4, 2, from, 5, there, 2));
    REFUSED(cublasGetMatrix(3, 4, 0, there, 4, back, 3));
    REFUSED(cublasGetMatrix(-1, 4, 2, there, 4, back, 3));
    REFUSED(cublasGetMatrix(0, -1, 2, there, 4, back, 3));
    OK(cublasGetMatrix(0, 4, 2, there, 4, back, 3));
    device_free(there);
}

/* ---- order ---- */

/* c = 2 c + c, by products of 1 x 1. */
static void step(float *c, float *two) {
    const float one = 1;
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, two, 1, c, 1, &one, c + 1, 1));
    CU_OK(cuMemcpyDtoDAsync((uintptr_t)c, (uintptr_t)(c + 1), sizeof *c, NULL));
}

static void runs_in_the_order_of_its_stream(void **state) {
    float *c = device_memory(2 * sizeof *c), *two = device_memory(sizeof *two);
    (void)state;
    *two = 2;
    c[0] = 1, c[1] = 1;
    for (int i = 0; i < 5; i++) /* 3, 9, ... */
        step(c, two);
    wait_for_all();
    assert_int_equal((int)c[0], 243);
    device_free(c);
    device_free(two);
}

/* What a node shows is a function of one parameter, which other nodes and launches may have. */
static void nodes_show_kernels(void **state) {
    const float one = 1, two = 2;
    float *a = device_memory(sizeof *a), *c = device_memory(2 * sizeof *c);
    CUDA_KERNEL_NODE_PARAMS params[2], wrong;
    CUgraphNode nodes[2], copy;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;
    CUmodule module;
    CUlibrary library;
    size_t count = 2, offset, size;
    const char *name;
    int value;
    (void)state;
    CU_OK(cuStreamCreate(&stream, 0));
    *a = 3, c[0] = 1, c[1] = 5;
    OK(cublasSetStream(handle, stream));
    CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &two, a, 1, a, 1, &one, c, 1));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &one, c + 1, 1));
    CU_OK(cuStreamEndCapture(stream, &graph));
    OK(cublasSetStream(handle, NULL));
    CU_OK(cuGraphGetNodes(graph, nodes, &count));
    for (int i = 0; i < 2; i++) {
        CU_OK(cuGraphKernelNodeGetParams(nodes[i], &params[i]));
        assert_int_equal(params[i].gridDimX * params[i].gridDimY * params[i].gridDimZ, 1);
        assert_int_equal(params[i].blockDimX * params[i].blockDimY * params[i].blockDimZ, 1);
    }
    assert_ptr_equal(params[0].func, params[1].func);
    CU_OK(cuFuncGetName(&name, params[0].func));
    assert_string_equal(name, "sgemm");
    CU_OK(cuFuncGetParamInfo(params[0].func, 0, &offset, &size));
    assert_true(offset == 0 && size > 0);
    CU_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, params[0].func));
    assert_int_equal(value, 1);
    CU_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, params[0].func));
    assert_int_equal(cuFuncGetModule(&module, params[0].func), CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(cuKernelGetLibrary(&library, (CUkernel)params[0].func),
                     CUDA_ERROR_NOT_SUPPORTED);
    wrong = params[0];
    wrong.gridDimX = 2;
    assert_int_equal(cuGraphKernelNodeSetParams(nodes[0], &wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = params[0];
    wrong.blockDimX = 2;
    assert_int_equal(cuGraphKernelNodeSetParams(nodes[0], &wrong),
                     CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    wrong = params[0];
    wrong.kernelParams = NULL;
    assert_int_equal(cuGraphKernelNodeSetParams(nodes[0], &wrong), CUDA_ERROR_INVALID_VALUE);

    /* c[0] += 18, c[1] += 9, and once more as another node and as a launch */
    CU_OK(cuGraphAddKernelNode(&copy, graph, nodes, 2, &params[1]));
    CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU_OK(cuGraphLaunch(exec, stream));
    CU_OK(
        cuLaunchKernel(params[1].func, 1, 1, 1, 1, 1, 1, 0, stream, params[1].kernelParams, NULL));
    wait_for_all();
    assert_int_equal((int)c[0], 1 + 18);
    assert_int_equal((int)c[1], 5 + 27);
    /* the first does what the second does */
    CU_OK(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params[1]));
    CU_OK(cuGraphLaunch(exec, stream));
    wait_for_all();
    assert_int_equal((int)c[0], 1 + 18);
    assert_int_equal((int)c[1], 5 + 27 + 27);
    CU_OK(cuGraphExecDestroy(exec));
    CU_OK(cuGraphDestroy(graph));
    CU_OK(cuStreamDestroy(stream));
    device_free(a);
    device_free(c);
}

static void is_captured(void **state) {
    const float one = 1, two = 2;
    float *a = device_memory(sizeof *a), *c = device_memory(sizeof *c);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphNodeType type;
    size_t count = 1;
    (void)state;
    CU_OK(cuStreamCreate(&stream, 0));
    *a = 3, *c = 1;
    OK(cublasSetStream(handle, stream));
    CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &two, a, 1, a, 1, &one, c, 1));
    CU_OK(cuStreamEndCapture(stream, &graph));
    OK(cublasSetStream(handle, NULL));
    CU_OK(cuGraphGetNodes(graph, &node, &count));
    CU_OK(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU_OK(cuGraphLaunch(exec, stream));
    CU_OK(cuGraphLaunch(exec, stream));
    wait_for_all();
    assert_int_equal((int)*c, 1 + 2 * 18);
    CU_OK(cuGraphExecDestroy(exec));
    CU_OK(cuGraphDestroy(graph));
    CU_OK(cuStreamDestroy(stream));
    device_free(a);
    device_free(c);
}

/* A stream that waits for another holds the product back; its parameters are copied. */
static void waits_for_events(void **state) {
    float *a = device_memory(sizeof *a), *c = device_memory(sizeof *c);
    const float one = 1;
    CUstream first, second;
    CUevent event, read;
    (void)state;
    CU_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CU_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CU_OK(cuEventCreate(&event, 0));
    CU_OK(cuEventCreate(&read, 0));
    *a = 1, *c = 0;
    OK(cublasSetStream(handle, second));
    for (int i = 0; i < 20; i++) {
        float factor = 2;
        CU_OK(cuStreamWaitEvent(first, read, 0)); /* the product before has read it */
        CU_OK(cuMemsetD32Async((uintptr_t)a, 0x40400000, 1, first)); /* 3 */
        CU_OK(cuEventRecord(event, first));
        CU_OK(cuStreamWaitEvent(second, event, 0));
        OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &factor, a, 1, a, 1, &one, c, 1));
        CU_OK(cuEventRecord(read, second));
        factor = 1000;
    }
    wait_for_all();
    assert_int_equal((int)*c, 20 * 18);
    OK(cublasSetStream(handle, NULL));
    CU_OK(cuStreamDestroy(first));
    CU_OK(cuStreamDestroy(second));
    CU_OK(cuEventDestroy(event));
    CU_OK(cuEventDestroy(read));
    device_free(a);
    device_free(c);
}

/* ---- threads ---- */

/* A thread without a context; each has its own handle and stream. */
static void *multiply_often(void *argument) {
    enum { N = 40 };
    const float one = 1, zero = 0;
    cublasHandle_t own;
    CUstream stream;
    (void)argument;
    OK(cublasCreate(&own));
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cublasSetStream(own, stream));
    float *a = device_memory(N * N * sizeof *a), *c = device_memory(N * N * sizeof *c);
    for (int i = 0; i < N * N; i++)
        a[i] = 1;
    for (int i = 0; i < (SANITIZED ? 20 : 200); i++)
        OK(cublasSgemm(own, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, a, N, &zero, c, N));
    CU_OK(cuStreamSynchronize(stream));
    for (int i = 0; i < N * N; i++)
        assert_int_equal((int)c[i], N);
    CU_OK(cuStreamDestroy(stream));
    OK(cublasDestroy(own));
    device_free(a);
    device_free(c);
    return NULL;
}

static void threads_work_at_the_same_time(void **state) {
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_modes),
        cmocka_unit_test(keeps_streams),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(is_there_in_version_13),
        cmocka_unit_test(is_created_and_destroyed),
        cmocka_unit_test(copies_vectors),
        cmocka_unit_test(copies_matrices),
        cmocka_unit_test(runs_in_the_order_of_its_stream),
        cmocka_unit_test(is_captured),
        cmocka_unit_test(nodes_show_kernels),
        cmocka_unit_test(waits_for_events),
        cmocka_unit_test(threads_work_at_the_same_time),
    };
    return cmocka_run_group_tests_name("blas.handles", tests, begin, end);
}
