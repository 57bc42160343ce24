/* Launches, and what is asked of kernels. */
#include "cuda/runtime/internal.h"
#include "cuda/runtime/registration.h"

#include <string.h>

/* ---- configurations ---- */

#define NESTED 8u /* launches in arguments of launches */

struct configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
};

static _Thread_local struct configuration configurations[NESTED];
static _Thread_local unsigned configuration_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    if (configuration_count == NESTED)
        return ff__rt_fail(cudaErrorLaunchOutOfResources);
    configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (configuration_count == 0)
        return ff__rt_fail(cudaErrorMissingConfiguration);
    const struct configuration *last = &configurations[--configuration_count];
    *grid = last->grid;
    *block = last->block;
    *shared = last->shared;
    *(void **)stream = last->stream;
    return cudaSuccess;
}

/* ---- launches ---- */

/* What the driver calls a wrong value is a wrong grid or block here. */
static cudaError_t end_launch(CUresult result) {
    return result == CUDA_ERROR_INVALID_VALUE ? ff__rt_fail(cudaErrorInvalidConfiguration)
                                              : ff__rt_end(result);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream) {
    CUfunction function;
    cudaError_t error = ff__rt_kernel(kernel, &function);
    if (error)
        return ff__rt_fail(error);
    return end_launch(cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                     (unsigned)shared, ff__rt_stream(stream), arguments, NULL));
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream) {
    CUfunction function;
    cudaError_t error = ff__rt_kernel(kernel, &function);
    if (error)
        return ff__rt_fail(error);
    return end_launch(cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                                                block.z, (unsigned)shared, ff__rt_stream(stream),
                                                arguments));
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "one layout");

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments) {
    CUfunction function;
    if (!config)
        return ff__rt_fail(cudaErrorInvalidValue);
    cudaError_t error = ff__rt_kernel(kernel, &function);
    if (error)
        return ff__rt_fail(error);
    const CUlaunchConfig same = {
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = ff__rt_stream(config->stream),
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    return end_launch(cuLaunchKernelEx(&same, function, arguments, NULL));
}

FF_RT_FORWARD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t call, void *user),
              cuLaunchHostFunc(ff__rt_stream(stream), call, user))

/* The handle is the host function itself. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    *kernel = (cudaKernel_t)(uintptr_t)host;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared,
                            stream ? stream : cudaStreamPerThread);
}

/* ---- kernels ---- */

#define FF_RT_OF_KERNEL(name, parameters, call)                                                    \
    cudaError_t name parameters {                                                                  \
        CUfunction function;                                                                       \
        cudaError_t error = ff__rt_kernel(kernel, &function);                                      \
        return error ? ff__rt_fail(error) : ff__rt_end(call);                                      \
    }

FF_RT_OF_KERNEL(cudaFuncSetAttribute,
                (const void *kernel, enum cudaFuncAttribute attribute, int value),
                cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value))
FF_RT_OF_KERNEL(cudaFuncSetCacheConfig, (const void *kernel, enum cudaFuncCache config),
                cuFuncSetCacheConfig(function, (CUfunc_cache)config))
FF_RT_OF_KERNEL(cudaFuncSetSharedMemConfig, (const void *kernel, enum cudaSharedMemConfig config),
                cuFuncSetSharedMemConfig(function, (CUsharedconfig)config))
FF_RT_OF_KERNEL(cudaFuncGetName, (const char **name, const void *kernel),
                cuFuncGetName(name, function))
FF_RT_OF_KERNEL(cudaFuncGetParamInfo,
                (const void *kernel, size_t number, size_t *offset, size_t *size),
                cuFuncGetParamInfo(function, number, offset, size))
FF_RT_OF_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
                (int *blocks, const void *kernel, int threads, size_t shared),
                cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared))
FF_RT_OF_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                (int *blocks, const void *kernel, int threads, size_t shared, unsigned flags),
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                     shared, flags))
FF_RT_OF_KERNEL(cudaOccupancyAvailableDynamicSMemPerBlock,
                (size_t * shared, const void *kernel, int blocks, int threads),
                cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, threads))

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *kernel) {
    cudaError_t error = function ? ff__rt_kernel(kernel, function) : cudaErrorInvalidValue;
    return error ? ff__rt_fail(error) : cudaSuccess;
}

static int attribute_of(CUfunction function, CUfunction_attribute which) {
    int value = 0;
    return cuFuncGetAttribute(&value, which, function) ? 0 : value;
}

static void read_attributes(CUfunction function, struct cudaFuncAttributes *out) {
#define READ(member, name)                                                                         \
    out->member = (__typeof__(out->member))attribute_of(function, CU_FUNC_ATTRIBUTE_##name)
    READ(sharedSizeBytes, SHARED_SIZE_BYTES);
    READ(constSizeBytes, CONST_SIZE_BYTES);
    READ(localSizeBytes, LOCAL_SIZE_BYTES);
    READ(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    READ(numRegs, NUM_REGS);
    READ(ptxVersion, PTX_VERSION);
    READ(binaryVersion, BINARY_VERSION);
    READ(cacheModeCA, CACHE_MODE_CA);
    READ(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES);
    READ(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT);
    READ(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET);
    READ(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH);
    READ(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT);
    READ(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH);
    READ(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    READ(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
#undef READ
}

/* In CUDA 11 the structure ends before the members on clusters. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel) {
    struct cudaFuncAttributes all = {0};
    CUfunction function;
    cudaError_t error = attributes ? ff__rt_kernel(kernel, &function) : cudaErrorInvalidValue;
    if (error)
        return ff__rt_fail(error);
    read_attributes(function, &all);
    memcpy(attributes, &all,
           ff__rt_version < 12000 ? offsetof(struct cudaFuncAttributes, clusterDimMustBeSet)
                                  : sizeof all);
    return cudaSuccess;
}
