/* Functions of the runtime in the forms that C++ has of them, and headers under the names that
 * programs know. Prints what is wrong, and returns 0 if nothing is. */
#include <builtin_types.h>
#include <channel_descriptor.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <device_atomic_functions.h>
#include <device_functions.h>
#include <device_launch_parameters.h>
#include <host_defines.h>
#include <math_functions.h>
#include <surface_types.h>
#include <texture_types.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <cstdio>
#include <cstring>

#define COUNT 64

__device__ int shift = 3;

extern "C" __global__ void add(int *to, int value) {
    to[blockIdx.x * blockDim.x + threadIdx.x] += value + shift;
}

static int failures;

static void check(bool is_good, const char *what) {
    if (!is_good)
        std::printf("wrong: %s\n", what);
    failures += !is_good;
}

static bool all_are(const int *numbers, int value) {
    if (cudaDeviceSynchronize())
        return false;
    for (int i = 0; i < COUNT; i++)
        if (numbers[i] != value)
            return false;
    return true;
}

static void check_graphs(int *numbers, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t failed;
    cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
    std::memset(numbers, 0, COUNT * sizeof *numbers);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<1, COUNT, 0, stream>>>(numbers, 1);
    cudaStreamEndCapture(stream, &graph);
    check(!cudaGraphInstantiate(&exec, graph, NULL, NULL, 0), "cudaGraphInstantiate");
    check(!cudaGraphExecUpdate(exec, graph, &failed, &result) &&
              result == cudaGraphExecUpdateSuccess,
          "cudaGraphExecUpdate");
    cudaGraphLaunch(exec, stream);
    check(all_are(numbers, 4), "a graph");
    cudaGraph_t empty;
    cudaGraphCreate(&empty, 0);
    check(cudaGraphExecUpdate(exec, empty, &failed, &result) == cudaErrorGraphExecUpdateFailure &&
              result == cudaGraphExecUpdateErrorTopologyChanged,
          "cudaGraphExecUpdate with another graph");
    cudaGetLastError();
    cudaGraphDestroy(empty);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

static void check_kernels(int *numbers) {
    cudaKernel_t kernel;
    cudaLaunchConfig_t config = {};
    const char *name = "";
    int value = 1, blocks = 0, threads = 0, more = 0;
    std::memset(numbers, 0, COUNT * sizeof *numbers);
    check(!cudaGetKernel(&kernel, add), "cudaGetKernel");
    void *arguments[] = {&numbers, &value};
    check(!cudaLaunchKernel(kernel, 1, COUNT, arguments), "cudaLaunchKernel of a handle");
    config.gridDim = 1;
    config.blockDim = COUNT;
    check(!cudaLaunchKernelEx(&config, kernel, numbers, value), "cudaLaunchKernelEx of a handle");
    check(!cudaLaunchKernelEx(&config, add, numbers, value), "cudaLaunchKernelEx");
    check(all_are(numbers, 12), "launches");
    check(!cudaFuncGetName(&name, add) && !std::strcmp(name, "add"), "cudaFuncGetName");
    check(!cudaFuncSetSharedMemConfig(add, cudaSharedMemBankSizeEightByte),
          "cudaFuncSetSharedMemConfig");
    check(!cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, add) && threads == 1024,
          "cudaOccupancyMaxPotentialBlockSize");
    check(!cudaOccupancyMaxPotentialBlockSizeWithFlags(&more, &threads, add, 0, 256) &&
              threads == 256 && more > blocks,
          "cudaOccupancyMaxPotentialBlockSizeWithFlags");
    check(cudaOccupancyMaxPotentialBlockSizeWithFlags(&more, &threads, add, 0, 0, 8) ==
              cudaErrorInvalidValue,
          "a flag that there is not");
}

static void check_library(const char *ptx) {
    cudaLibrary_t library;
    int *place = NULL, *same = NULL, value = 0;
    size_t size = 0;
    check(!cudaLibraryLoadFromFile(&library, ptx, NULL, NULL, 0, NULL, NULL, 0),
          "cudaLibraryLoadFromFile");
    check(!cudaLibraryGetGlobal(&place, &size, library, "shift") && size == sizeof value,
          "cudaLibraryGetGlobal");
    check(!cudaLibraryGetManaged(&same, &size, library, "shift") && same == place,
          "cudaLibraryGetManaged");
    cudaMemcpy(&value, place, sizeof value, cudaMemcpyDeviceToHost);
    check(value == 3, "a variable of a library");
    cudaLibraryUnload(library);
}

static void check_memory(int *numbers, cudaStream_t stream) {
    cudaMemPool_t pool;
    int *there;
    check(!cudaDeviceGetDefaultMemPool(&pool, 0) && !cudaMallocAsync(&there, 64, pool, stream) &&
              !cudaFreeAsync(there, stream),
          "cudaMallocAsync from a pool");
    check(!cudaStreamAttachMemAsync(stream, numbers) && !cudaStreamSynchronize(stream),
          "cudaStreamAttachMemAsync");
}

int main(int argc, char **argv) {
    int *numbers;
    cudaStream_t stream;
    if (argc != 2 || cudaMallocManaged(&numbers, COUNT * sizeof *numbers) ||
        cudaStreamCreate(&stream))
        return 1;
    cudaProfilerStart();
    check_graphs(numbers, stream);
    check_kernels(numbers);
    check_library(argv[1]);
    check_memory(numbers, stream);
    check(!cudaStreamDestroy(stream) && !cudaFree(numbers), "the end");
    return failures != 0;
}
