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

#include <cublas_v2.h>
#include <cuda.h>

/* What programs look for to see what they may use */
#if !defined __CUDA_RUNTIME_H__ || !defined __CUDA_RUNTIME_API_H__ ||                              \
    !defined __DRIVER_TYPES_H__ || !defined __cuda_cuda_h__ || !defined CUBLAS_API_H_
#error "a header does not say that it was included"
#endif

#define COUNT 64

__device__ int shift = 3;

extern "C" __global__ void add(int *to, int value) {
    to[blockIdx.x * blockDim.x + threadIdx.x] += value + shift;
}

#define ATOMICS 9

/* Of each scope: by 64 threads, once each. */
__global__ void scopes(int *ints, float *floats, double *doubles, unsigned long long *longs) {
    int i = (int)threadIdx.x;
    atomicAdd_block(&ints[0], 2);
    atomicAdd_system(&ints[0], 1);
    atomicMax_block(&ints[1], i);
    atomicMin_system(&ints[2], -i);
    atomicInc_system((unsigned *)&ints[3], 40u);
    atomicSub_block(&ints[4], 1);
    atomicCAS_system(&ints[5], 0, 5);
    atomicOr_block(&ints[6], 1 << i % 8);
    atomicAnd_system(&ints[7], ~(1 << i % 4));
    atomicXor_block(&ints[8], 1);
    atomicAdd_system(floats, 1.0f);
    atomicAdd_block(doubles, 0.5);
    atomicCAS_block(longs, 0ull, ullmax(umin(9, (unsigned)i + 9), 3));
    atomicExch_system(floats + 1, 2.0f);
}

struct numbers {
    int list[16];
};

/* A parameter that is not copied, functions of string.h, and two types of numbers. */
__global__ void copies(const __grid_constant__ numbers from, int *to, int count) {
    numbers own;
    memcpy(&own, &from, sizeof own);
    memset(to, 1, (size_t)count * sizeof *to);
    for (int i = 0; i < 16; i++)
        to[i] += own.list[i];
    to[16] = (int)(max(3.0f, 4.0) + min(2, 3u) + (double)max(5ll, 4ull));
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

static void check_scopes(int *ints) {
    static const int expected[ATOMICS] = {3 * COUNT, COUNT - 1, 1 - COUNT, COUNT - 41, -COUNT, 5,
                                          255,       240,       0};
    float *floats;
    cudaMallocManaged(&floats, 32);
    std::memset(ints, 0, ATOMICS * sizeof *ints);
    std::memset(floats, 0, 32);
    ints[7] = 255;
    double *doubles = (double *)(floats + 2);
    unsigned long long *longs = (unsigned long long *)(floats + 4);
    scopes<<<1, COUNT>>>(ints, floats, doubles, longs);
    check(!cudaDeviceSynchronize(), "atomic functions");
    for (int i = 0; i < ATOMICS; i++)
        check(ints[i] == expected[i], "an atomic function of integers");
    check(floats[0] == COUNT && floats[1] == 2 && *doubles == COUNT / 2 && *longs == 9,
          "an atomic function of others");
    cudaFree(floats);
}

static void check_copies(int *ints) {
    numbers from;
    for (int i = 0; i < 16; i++)
        from.list[i] = i;
    copies<<<1, 1>>>(from, ints, 20);
    check(!cudaDeviceSynchronize() && ints[15] == 0x01010110 && ints[19] == 0x01010101 &&
              ints[16] == 11,
          "copies in kernels");
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
    check_scopes(numbers);
    check_copies(numbers);
    check_graphs(numbers, stream);
    check_kernels(numbers);
    check_library(argv[1]);
    check_memory(numbers, stream);
    check(!cudaStreamDestroy(stream) && !cudaFree(numbers), "the end");
    return failures != 0;
}
