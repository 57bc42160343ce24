/* Functions and kernels: what they say of themselves. */
#include "cuda/driver/internal.h"

#include "ptx/program.h"

static CUresult check(CUfunction function, const void *out) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    return out == NULL || function == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static int most_threads(CUfunction function) {
    return function->kernel->max_threads != 0 ? (int)function->kernel->max_threads : 1024;
}

int ff__cuda_dynamic_shared(CUfunction function) {
    int most = ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    int used = (int)function->kernel->code->static_shared;
    if (function->dynamic_shared >= 0)
        return function->dynamic_shared;
    return used < most ? most - used : 0;
}

static CUresult attribute_of(CUfunction function, CUfunction_attribute attribute, int *value) {
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = most_threads(function);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)function->kernel->code->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)function->kernel->code->local_size;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = function->code->register_count < 255 ? (int)function->code->register_count : 255;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = function->module != NULL ? (int)function->module->arch : 0;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = ff__cuda_dynamic_shared(function);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = -1;
        break;
    default:
        *value = 0;
        return (unsigned)attribute > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    CUresult result = check(function, value);
    if (result == CUDA_SUCCESS)
        result = cuFuncLoad(function);
    return result == CUDA_SUCCESS ? attribute_of(function, attribute, value) : result;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    CUresult result = check(function, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return value < -1 || value > 100 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    result = cuFuncLoad(function);
    if (result != CUDA_SUCCESS)
        return result;
    int most = ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
               (int)function->kernel->code->static_shared;
    if (value < 0 || value > most)
        return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared = value;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
    CUresult result = check(function, &function);
    return result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
    CUresult result = check(function, &function);
    return result == CUDA_SUCCESS && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
    CUresult result = check(function, module);
    if (result == CUDA_SUCCESS && function->module == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        *module = function->module;
    return result;
}

CUresult cuFuncGetName(const char **name, CUfunction function) {
    CUresult result = check(function, name);
    if (result == CUDA_SUCCESS)
        *name = function->name;
    return result;
}

/* The size may not be asked for. */
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    CUresult result = check(function, offset);
    if (result != CUDA_SUCCESS)
        return result;
    if (index >= function->code->parameter_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->code->parameter_offsets[index];
    if (size != NULL)
        *size = function->code->parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    CUresult result = check(function, state);
    if (result == CUDA_SUCCESS)
        *state = __atomic_load_n(&function->kernel, __ATOMIC_RELAXED) != NULL
                     ? CU_FUNCTION_LOADING_STATE_LOADED
                     : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return result;
}

/* ---- kernels: the same by another name ---- */

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(function, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (kernel == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    return result == CUDA_SUCCESS ? cuFuncGetAttribute(value, attribute, (CUfunction)kernel)
                                  : result;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    return result == CUDA_SUCCESS ? cuFuncSetAttribute((CUfunction)kernel, attribute, value)
                                  : result;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel) {
    return cuFuncGetName(name, (CUfunction)kernel);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size) {
    return cuFuncGetParamInfo((CUfunction)kernel, index, offset, size);
}

/* ---- occupancy: how many blocks an SM of the GPU would hold that the device stands for ---- */

static int blocks_of(CUfunction function, int threads, size_t shared) {
    int warps = (threads + 31) / 32;
    int most = ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32 / warps;
    int ctas = ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    int memory = ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    size_t used = shared + function->kernel->code->static_shared;
    int by_shared = used == 0 ? ctas : used > (size_t)memory ? 0 : (int)((size_t)memory / used);
    if (threads > most_threads(function))
        return 0;
    most = most < ctas ? most : ctas;
    return most < by_shared ? most : by_shared;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned flags) {
    CUresult result = check(function, blocks);
    if (result == CUDA_SUCCESS)
        result = cuFuncLoad(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (threads <= 0 || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = blocks_of(function, threads, shared);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}

/* The size with the most threads at a time, and of these the largest. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *blocks, int *threads, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit, unsigned flags) {
    CUresult result = check(function, threads);
    if (blocks == NULL || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuFuncLoad(function);
    if (result != CUDA_SUCCESS)
        return result;
    int most = most_threads(function), best = 0;
    if (limit > 0 && limit < most)
        most = limit;
    *threads = *blocks = 0;
    for (int size = (most + 31) / 32 * 32; size > 0; size -= 32) {
        int of = size < most ? size : most;
        int active = blocks_of(function, of, shared_of != NULL ? shared_of(of) : shared);
        if (active * of > best) {
            best = active * of;
            *threads = of;
            *blocks = active * ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        }
    }
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *blocks, int *threads, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(blocks, threads, function, shared_of, shared,
                                                     limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, CUfunction function, int blocks,
                                                 int threads) {
    CUresult result = check(function, shared);
    if (blocks <= 0 || threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuFuncLoad(function);
    if (result != CUDA_SUCCESS)
        return result;
    size_t each =
        (size_t)ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
        (size_t)blocks;
    size_t own = function->kernel->code->static_shared;
    *shared = each > own ? each - own : 0;
    return CUDA_SUCCESS;
}
