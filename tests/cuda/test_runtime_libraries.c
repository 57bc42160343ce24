/* Libraries that the runtime loads, and handles of kernels: what they can be used for, and what is
 * refused. */
#include "cuda/runtime_program.h"

#include <cuda.h>
#include <stdio.h>

#define COUNT         64
#define LOAD(library) GOOD(cudaLibraryLoadData(library, text, NULL, NULL, 0, NULL, NULL, 0))

static const dim3 grid = {1, 1, 1}, block = {COUNT, 1, 1};
static char unregistered;
static int *numbers; /* managed */

static int make_numbers(void **state) {
    (void)state;
    if (cudaMallocManaged((void **)&numbers, COUNT * sizeof(int), cudaMemAttachGlobal))
        return -1;
    memset(numbers, 0, COUNT * sizeof(int));
    return 0;
}

static int free_numbers(void **state) {
    (void)state;
    cudaGetLastError();
    return cudaDeviceSynchronize() || cudaFree(numbers) ? -1 : 0;
}

static int one = 1;
#define ARGUMENTS ((void *[]){&numbers, &one})

static void assert_all(int value) {
    GOOD(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(numbers[i], value);
}

/* ---- libraries ---- */

static void kernels_of_libraries_run(void **state) {
    cudaLibrary_t library;
    cudaKernel_t kernel, all[4] = {0};
    unsigned count;
    (void)state;
    LOAD(&library);
    GOOD(cudaLibraryGetKernel(&kernel, library, "add"));
    GOOD(cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_all(6);
    GOOD(cudaLaunchCooperativeKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    const cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block};
    GOOD(cudaLaunchKernelExC(&config, (const void *)kernel, ARGUMENTS));
    assert_all(18);
    GOOD(cudaLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 1);
    GOOD(cudaLibraryEnumerateKernels(all, 4, library));
    assert_ptr_equal(all[0], kernel);
    assert_null(all[1]);
    GOOD(cudaLibraryUnload(library));
    FAILS(InvalidDeviceFunction,
          cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
}

static void listed_kernels_run(void **state) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    (void)state;
    LOAD(&library);
    GOOD(cudaLibraryEnumerateKernels(&kernel, 1, library));
    GOOD(cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_all(6);
    GOOD(cudaLibraryUnload(library));
}

/* What one library's end leaves of the others. */
static void many_libraries(void **state) {
    cudaLibrary_t libraries[40];
    cudaKernel_t kernels[40];
    (void)state;
    for (int i = 0; i < 40; i++) {
        LOAD(&libraries[i]);
        GOOD(cudaLibraryGetKernel(&kernels[i], libraries[i], "add"));
    }
    for (int i = 0; i < 40; i += 2)
        GOOD(cudaLibraryUnload(libraries[i]));
    for (int i = 0; i < 40; i++)
        assert_int_equal(
            cudaLaunchKernel((const void *)kernels[i], grid, block, ARGUMENTS, 0, NULL),
            i % 2 ? cudaSuccess : cudaErrorInvalidDeviceFunction);
    assert_all(20 * 6);
    for (int i = 1; i < 40; i += 2)
        GOOD(cudaLibraryUnload(libraries[i]));
}

static void libraries_have_variables_of_their_own(void **state) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *address, *same;
    size_t size = 0;
    int value = 9;
    (void)state;
    LOAD(&library);
    GOOD(cudaLibraryGetGlobal(&address, &size, library, "shift"));
    assert_int_equal(size, 4);
    GOOD(cudaLibraryGetGlobal(NULL, &size, library, "shift"));
    GOOD(cudaLibraryGetManaged(&same, NULL, library, "shift"));
    assert_ptr_equal(same, address);
    GOOD(cudaMemcpy(address, &value, 4, cudaMemcpyHostToDevice));
    GOOD(cudaLibraryGetKernel(&kernel, library, "add"));
    GOOD(cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_all(10);
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, NULL));
    assert_all(16);
    GOOD(cudaLibraryUnload(library));
}

static void files(void **state) {
    const enum cudaLibraryOption preserved = cudaLibraryBinaryIsPreserved;
    char path[] = "/tmp/farfault-library-XXXXXX";
    void *yes = (void *)1;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    (void)state;
    int file = mkstemp(path);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
    GOOD(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    GOOD(cudaLibraryGetKernel(&kernel, library, "add"));
    GOOD(cudaLibraryUnload(library));
    FAILS(InvalidValue, cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0,
                                                (enum cudaLibraryOption *)&preserved, &yes, 1));
    FAILS(InvalidValue, cudaLibraryLoadFromFile(NULL, path, NULL, NULL, 0, NULL, NULL, 0));
    remove(path);
    FAILS(InvalidValue, cudaLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(FileNotFound, cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
}

static void libraries_are_refused(void **state) {
    static const char bad[] = ".version 7.0\n.target sm_70\nbad";
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *address;
    size_t size;
    unsigned count;
    (void)state;
    FAILS(InvalidValue, cudaLibraryLoadData(NULL, text, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(InvalidValue, cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(InvalidValue, cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 1));
    FAILS(InvalidPtx, cudaLibraryLoadData(&library, bad, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(InvalidPtx, cudaGetLastError());
    LOAD(&library);
    FAILS(SymbolNotFound, cudaLibraryGetKernel(&kernel, library, "none"));
    FAILS(InvalidValue, cudaLibraryGetKernel(NULL, library, "add"));
    FAILS(InvalidValue, cudaLibraryGetKernel(&kernel, library, NULL));
    FAILS(InvalidResourceHandle, cudaLibraryGetKernel(&kernel, NULL, "add"));
    FAILS(SymbolNotFound, cudaLibraryGetGlobal(&address, &size, library, "none"));
    FAILS(SymbolNotFound, cudaLibraryGetManaged(&address, &size, library, "none"));
    FAILS(InvalidValue, cudaLibraryGetGlobal(NULL, NULL, library, "shift"));
    FAILS(InvalidValue, cudaLibraryGetManaged(NULL, NULL, library, "shift"));
    FAILS(InvalidValue, cudaLibraryGetGlobal(&address, &size, library, NULL));
    FAILS(InvalidValue, cudaLibraryGetManaged(&address, &size, library, NULL));
    FAILS(InvalidResourceHandle, cudaLibraryGetGlobal(&address, &size, NULL, "shift"));
    FAILS(InvalidResourceHandle, cudaLibraryGetManaged(&address, &size, NULL, "shift"));
    FAILS(InvalidValue, cudaLibraryGetKernelCount(NULL, library));
    FAILS(InvalidResourceHandle, cudaLibraryGetKernelCount(&count, NULL));
    FAILS(InvalidValue, cudaLibraryEnumerateKernels(NULL, 1, library));
    FAILS(InvalidResourceHandle, cudaLibraryEnumerateKernels(&kernel, 1, NULL));
    GOOD(cudaLibraryUnload(library));
    FAILS(InvalidValue, cudaLibraryUnload(NULL));
}

/* ---- handles of host functions ---- */

static void host_functions_have_kernels(void **state) {
    cudaKernel_t kernel;
    const char *name;
    (void)state;
    GOOD(cudaGetKernel(&kernel, &add));
    GOOD(cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_all(6);
    GOOD(cudaFuncGetName(&name, (const void *)kernel));
    assert_string_equal(name, "add");
    assert_int_equal(cuKernelGetName(&name, (CUkernel)kernel), CUDA_SUCCESS);
    assert_int_equal(
        cuLaunchKernel((CUfunction)kernel, 1, 1, 1, COUNT, 1, 1, 0, NULL, ARGUMENTS, NULL),
        CUDA_SUCCESS);
    assert_all(12);
    GOOD(cudaDeviceReset()); /* what the handle stands for is loaded anew */
    assert_int_equal(make_numbers(state), 0);
    GOOD(cudaLaunchKernel((const void *)kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_all(6);
    FAILS(InvalidValue, cudaGetKernel(NULL, &add));
    FAILS(InvalidDeviceFunction, cudaGetKernel(&kernel, &unregistered));
    FAILS(InvalidDeviceFunction, cudaGetKernel(&kernel, &shift));
    FAILS(InvalidDeviceFunction, cudaGetKernel(&kernel, &missing));
}

#define LIMIT(value)                                                                               \
    cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, value, 0)

static void assert_limit(cudaKernel_t kernel, int expected) {
    struct cudaFuncAttributes attributes;
    GOOD(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    assert_int_equal(attributes.maxDynamicSharedSizeBytes, expected);
}

static void kernels_have_attributes(void **state) {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    (void)state;
    GOOD(cudaGetKernel(&kernel, &add));
    for (int i = 0; i < 2; i++) {
        GOOD(LIMIT(60000 + i));
        assert_limit(kernel, 60000 + i);
        FAILS(InvalidValue, LIMIT(1 << 30));
        FAILS(InvalidDevice, cudaKernelSetAttributeForDevice(
                                 kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50, 7));
        FAILS(InvalidValue,
              cudaKernelSetAttributeForDevice(kernel, (enum cudaFuncAttribute)0, 1, 0));
        if (i == 0) {
            LOAD(&library);
            GOOD(cudaLibraryGetKernel(&kernel, library, "add"));
        }
    }
    GOOD(cudaLibraryUnload(library));
    FAILS(InvalidDeviceFunction, LIMIT(60000));
    kernel = NULL;
    FAILS(InvalidDeviceFunction, LIMIT(60000));
}

/* ---- graphs ---- */

static void graphs_have_handles(void **state) {
    struct cudaKernelNodeParams params = {.gridDim = grid, .blockDim = block}, same;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    (void)state;
    LOAD(&library);
    GOOD(cudaLibraryGetKernel(&kernel, library, "add"));
    params.func = kernel;
    params.kernelParams = ARGUMENTS;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    GOOD(cudaGraphKernelNodeGetParams(node, &same));
    assert_ptr_equal(same.func, kernel);
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphLaunch(exec, NULL));
    assert_all(6);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaLibraryUnload(library));
}

/* As cuBLAS's are: the runtime knows no name of theirs. */
static void kernels_of_the_driver_have_no_names(void **state) {
    struct cudaKernelNodeParams same;
    CUgraphNode node;
    CUgraph graph;
    CUmodule module;
    CUDA_KERNEL_NODE_PARAMS params = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = ARGUMENTS};
    (void)state;
    assert_int_equal(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&params.func, module, "add"), CUDA_SUCCESS);
    GOOD(cudaGraphCreate(&graph, 0));
    assert_int_equal(cuGraphAddKernelNode(&node, graph, NULL, 0, &params), CUDA_SUCCESS);
    FAILS(InvalidDeviceFunction, cudaGraphKernelNodeGetParams(node, &same));
    GOOD(cudaGraphDestroy(graph));
    assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, make_numbers, free_numbers)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH(kernels_of_libraries_run),
        WITH(listed_kernels_run),
        WITH(many_libraries),
        WITH(libraries_have_variables_of_their_own),
        cmocka_unit_test(files),
        cmocka_unit_test(libraries_are_refused),
        WITH(host_functions_have_kernels),
        cmocka_unit_test(kernels_have_attributes),
        WITH(graphs_have_handles),
        WITH(kernels_of_the_driver_have_no_names),
    };
    return cmocka_run_group_tests(tests, register_program, unregister_program);
}
