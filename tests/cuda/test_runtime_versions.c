/* What differs between the versions of the CUDA runtime: all three are in this process. */
#include "cuda/runtime_program.h"

#include <dlfcn.h>
#include <stdio.h>

static void *v11, *v13;

static void *open_version(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        print_error("%s\n", dlerror());
    return library;
}

static int open_versions(void **state) {
    (void)state;
    v11 = open_version("libcudart.so.11.0");
    v13 = open_version("libcudart.so.13");
    return v11 && v13 ? 0 : -1;
}

/* With the version node of its library, as programs ask for it. */
static void *find(void *library, const char *name) {
    void *function =
        dlvsym(library, name, library == v11 ? "libcudart.so.11.0" : "libcudart.so.13");
    if (!function)
        print_error("%s\n", dlerror());
    assert_non_null(function);
    return function;
}

#define CALL(library, name, type) ((__typeof__(type) *)find(library, name))

static void numbers_of_versions(void **state) {
    int version;
    (void)state;
    GOOD(CALL(v11, "cudaRuntimeGetVersion", cudaError_t(int *))(&version));
    assert_int_equal(version, 11080);
    GOOD(CALL(v13, "cudaRuntimeGetVersion", cudaError_t(int *))(&version));
    assert_int_equal(version, 13000);
}

/* Each fills as much as it has, and no more. */
static void properties(void **state) {
    static const size_t sizes[] = {728, 1008};
    struct cudaDeviceProp all;
    unsigned char bytes[2048];
    (void)state;
    GOOD(cudaGetDeviceProperties(&all, 0));
    for (int i = 0; i < 2; i++) {
        void *library = i == 0 ? v11 : v13;
        memset(bytes, 0xee, sizeof bytes);
        GOOD(CALL(library, "cudaGetDeviceProperties", cudaError_t(void *, int))(bytes, 0));
        assert_string_equal((char *)bytes, all.name);
        for (size_t k = sizes[i]; k < sizeof bytes; k++)
            assert_int_equal(bytes[k], 0xee);
    }
    /* CUDA 13 has no clockRate before these */
    assert_memory_equal(bytes + 360, &all.major, sizeof all.major);
    assert_memory_equal(bytes + 384, &all.multiProcessorCount, sizeof(int));
    assert_memory_equal(bytes + 704, &all.hostRegisterSupported, sizeof(int));
}

static void managed_memory(void **state) {
    const struct cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    void *p;
    (void)state;
    GOOD(cudaMallocManaged(&p, 4096, cudaMemAttachGlobal));
    GOOD(CALL(v11, "cudaMemAdvise",
              cudaError_t(void *, size_t, int, int))(p, 4096, cudaMemAdviseSetReadMostly, 0));
    GOOD(CALL(v13, "cudaMemAdvise", cudaError_t(void *, size_t, int, struct cudaMemLocation))(
        p, 4096, cudaMemAdviseSetPreferredLocation, host));
    GOOD(CALL(v11, "cudaMemPrefetchAsync_ptsz", cudaError_t(void *, size_t, int, void *))(p, 4096,
                                                                                          0, NULL));
    GOOD(CALL(v13, "cudaMemPrefetchAsync_ptsz",
              cudaError_t(void *, size_t, struct cudaMemLocation, unsigned, void *))(p, 4096, host,
                                                                                     0, NULL));
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaFree(p));
}

static void graphs(void **state) {
    cudaGraphNode_t a, b, failed;
    cudaGraphEdgeData edge = {0};
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
    size_t count = 1;
    char log[16];
    (void)state;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    GOOD(cudaGraphAddEmptyNode(&b, graph, NULL, 0));
    GOOD(CALL(v13, "cudaGraphAddDependencies",
              cudaError_t(void *, void *, void *, void *, size_t))(graph, &a, &b, NULL, 1));
    GOOD(CALL(v13, "cudaGraphGetEdges",
              cudaError_t(void *, void *, void *, void *, size_t *))(graph, &a, &b, NULL, &count));
    assert_int_equal(count, 1);
    GOOD(CALL(v13, "cudaGraphNodeGetDependencies",
              cudaError_t(void *, void *, void *, size_t *))(b, &a, &edge, &count));
    GOOD(CALL(v13, "cudaGraphNodeGetDependentNodes",
              cudaError_t(void *, void *, void *, size_t *))(a, &b, &edge, &count));
    GOOD(CALL(v13, "cudaGraphRemoveDependencies",
              cudaError_t(void *, void *, void *, void *, size_t))(graph, &a, &b, NULL, 1));
    GOOD(CALL(v11, "cudaGraphInstantiate", cudaError_t(void *, void *, void *, char *, size_t))(
        &exec, graph, &failed, log, sizeof log));
    GOOD(CALL(v11, "cudaGraphExecUpdate",
              cudaError_t(void *, void *, void *, void *))(exec, graph, &failed, &result));
    assert_int_equal(result, cudaGraphExecUpdateSuccess);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(graph));
}

static void captures(void **state) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id;
    cudaStream_t stream;
    cudaGraph_t graph;
    size_t count;
    (void)state;
    GOOD(cudaStreamCreate(&stream));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GOOD(CALL(v11, "cudaStreamGetCaptureInfo", cudaError_t(void *, void *, void *))(stream, &status,
                                                                                    &id));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    status = cudaStreamCaptureStatusNone;
    GOOD(CALL(v13, "cudaStreamGetCaptureInfo",
              cudaError_t(void *, void *, void *, void *, void *, void *, size_t *))(
        stream, &status, &id, NULL, NULL, NULL, &count));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    GOOD(CALL(v13, "cudaStreamUpdateCaptureDependencies",
              cudaError_t(void *, void *, void *, size_t, unsigned))(stream, NULL, NULL, 0, 0));
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaStreamDestroy(stream));
}

static void entry_points(void **state) {
    void *function = NULL;
    (void)state;
    GOOD(CALL(v11, "cudaGetDriverEntryPoint",
              cudaError_t(const char *, void **, unsigned long long))("cuInit", &function, 0));
    assert_non_null(function);
}

/* In CUDA 11 the structure ends before the members on clusters. */
static void attributes(void **state) {
    unsigned char bytes[200];
    void **image11;
    (void)state;
    image11 = CALL(v11, "__cudaRegisterFatBinary", void **(void *))(&wrapper);
    CALL(v11, "__cudaRegisterFunction",
         void(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *,
              int *))
    (image11, &add, &add, "add", -1, NULL, NULL, NULL, NULL, NULL);
    memset(bytes, 0xee, sizeof bytes);
    GOOD(CALL(v11, "cudaFuncGetAttributes", cudaError_t(void *, const void *))(bytes, &add));
    assert_int_equal(bytes[52], 0xee);
    CALL(v11, "__cudaUnregisterFatBinary", void(void **))(image11);
}

/* Handles of kernels came with CUDA 12. */
static void libraries(void **state) {
    static const char *const names[] = {"cudaLibraryLoadData",
                                        "cudaLibraryLoadFromFile",
                                        "cudaLibraryUnload",
                                        "cudaLibraryGetKernel",
                                        "cudaLibraryGetGlobal",
                                        "cudaLibraryGetManaged",
                                        "cudaLibraryGetKernelCount",
                                        "cudaLibraryEnumerateKernels",
                                        "cudaGetKernel",
                                        "cudaKernelSetAttributeForDevice",
                                        "__cudaGetKernel",
                                        "__cudaLaunchKernel",
                                        "__cudaLaunchKernel_ptsz"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(dlsym(v11, names[i]));
        find(v13, names[i]);
    }
}

/* A default stream of the thread's own does not wait for the legacy one. */
static void own_streams(void **state) {
    unsigned long long legacy, own, again;
    (void)state;
    GOOD(cudaStreamGetId(NULL, &legacy));
    GOOD(CALL(v13, "cudaStreamGetId_ptsz", cudaError_t(void *, unsigned long long *))(NULL, &own));
    GOOD(CALL(v13, "cudaStreamGetId", cudaError_t(void *, unsigned long long *))(NULL, &again));
    assert_int_not_equal(legacy, own);
    assert_int_equal(legacy, again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_versions),
        cmocka_unit_test(properties),
        cmocka_unit_test(managed_memory),
        cmocka_unit_test(graphs),
        cmocka_unit_test(captures),
        cmocka_unit_test(entry_points),
        cmocka_unit_test_setup_teardown(attributes, register_program, unregister_program),
        cmocka_unit_test(libraries),
        cmocka_unit_test(own_streams),
    };
    return cmocka_run_group_tests(tests, open_versions, NULL);
}
