/* Launches of kernels. */
#include "cuda/driver/internal.h"

#include "base/parse.h"
#include "preload/preload.h"
#include "ptx/heap.h"
#include "ptx/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- the block of parameters ---- */

static CUresult from_pointers(const struct ff__ptx_function *code, void *const *params,
                              char *block) {
    if (params == NULL && code->parameter_count != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < code->parameter_count; i++) {
        if (params[i] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(block + code->parameter_offsets[i], params[i], code->parameters[i].size);
    }
    return CUDA_SUCCESS;
}

/* A list of names and values. */
static CUresult from_buffer(const struct ff__ptx_function *code, void *const *extra, char *block) {
    const void *buffer = NULL;
    const size_t *size = NULL;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (code->parameter_count == 0)
        return CUDA_SUCCESS;
    const struct ff__ptx_variable *last = &code->parameters[code->parameter_count - 1];
    size_t used = code->parameter_offsets[code->parameter_count - 1] + last->size;
    if (buffer == NULL || size == NULL || *size < used)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(block, buffer, used);
    return CUDA_SUCCESS;
}

/* Too many threads are another error than what can be no launch at all. */
static CUresult check_sizes(CUfunction function, const CUDA_KERNEL_NODE_PARAMS *params) {
    uint64_t threads = (uint64_t)params->blockDimX * params->blockDimY * params->blockDimZ;
    uint64_t most = function->kernel->max_threads != 0 ? function->kernel->max_threads : 1024;
    if (threads == 0 || params->gridDimX == 0 || params->gridDimY == 0 || params->gridDimZ == 0 ||
        params->gridDimX > INT32_MAX || params->gridDimY > UINT16_MAX ||
        params->gridDimZ > UINT16_MAX || params->blockDimX > 1024 || params->blockDimY > 1024 ||
        params->blockDimZ > 64 || threads > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (threads > most)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return params->sharedMemBytes > (unsigned)ff__cuda_dynamic_shared(function)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* The context's, made when code is first launched that may call malloc(). The lock is free. */
static CUresult find_heap(CUcontext context, struct ff__ptx_heap **out) {
    CUdeviceptr address;
    ff__lock_acquire(&ff__cuda_lock);
    *out = context->heap;
    size_t size = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE];
    ff__lock_release(&ff__cuda_lock);
    if (*out != NULL || size == 0)
        return CUDA_SUCCESS;
    CUresult result =
        ff__cuda_alloc(context, size, FF_CUDA_KERNELS, CU_MEM_ATTACH_GLOBAL, &address);
    if (result != CUDA_SUCCESS)
        return result;
    void *memory = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    struct ff__ptx_heap *heap = ff__ptx_heap_make(memory, size), *made = heap;
    ff__lock_acquire(&ff__cuda_lock);
    if (context->heap == NULL) {
        context->heap = heap;
        heap = NULL;
    }
    *out = context->heap;
    ff__lock_release(&ff__cuda_lock);
    if (heap != NULL || made == NULL) /* another thread was faster, or there is none */
        ff__cuda_free(address);
    ff__ptx_heap_free(heap);
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A function of the processor runs once, whatever there is of it. */
static CUresult native_of(CUfunction function, const CUDA_KERNEL_NODE_PARAMS *params,
                          const void *block, struct ff__cuda_command *out) {
    if (params->gridDimX != 1 || params->gridDimY != 1 || params->gridDimZ != 1)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct ff__cuda_command){.kind = FF_CUDA_NATIVE,
                                     .native = {.name = function->name,
                                                .run = function->native,
                                                .argument = block,
                                                .size = function->kernel->parameter_size}};
    return CUDA_SUCCESS;
}

CUresult ff__cuda_launch_of(const CUDA_KERNEL_NODE_PARAMS *params, bool cooperative,
                            struct ff__cuda_command *out) {
    CUfunction function = params->func != NULL ? params->func : (CUfunction)params->kern;
    if (function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = cuFuncLoad(function);
    if (result == CUDA_SUCCESS)
        result = check_sizes(function, params);
    if (result != CUDA_SUCCESS)
        return result;
    if (params->kernelParams != NULL && params->extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = function->kernel->parameter_size;
    char *block = calloc(1, size + 16);
    if (block == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = params->extra != NULL ? from_buffer(function->code, params->extra, block)
                                   : from_pointers(function->code, params->kernelParams, block);
    struct ff__ptx_heap *heap = NULL;
    if (result == CUDA_SUCCESS && function->native == NULL && function->module->allocates)
        result = find_heap(ff__cuda_current(), &heap);
    if (result == CUDA_SUCCESS && function->native != NULL)
        result = native_of(function, params, block, out);
    if (result != CUDA_SUCCESS)
        free(block);
    if (result != CUDA_SUCCESS || function->native != NULL)
        return result;
    *out = (struct ff__cuda_command){
        .kind = FF_CUDA_KERNEL,
        .kernel = {.function = function,
                   .launch = {.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                              .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                              .shared = params->sharedMemBytes,
                              .parameters = block,
                              .parameter_size = size,
                              .cooperative = cooperative,
                              .heap = heap}}};
    return CUDA_SUCCESS;
}

/* ---- launching ---- */

/* As many blocks as the GPU that the device stands for can hold. */
static CUresult check_cooperative(const CUDA_KERNEL_NODE_PARAMS *params) {
    int threads = (int)(params->blockDimX * params->blockDimY * params->blockDimZ), blocks;
    CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, params->func, threads,
                                                                  params->sharedMemBytes);
    uint64_t most =
        (uint64_t)blocks * (uint64_t)ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (result == CUDA_SUCCESS &&
        (uint64_t)params->gridDimX * params->gridDimY * params->gridDimZ > most)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return result;
}

static bool finds_races;

static void read_races(void) {
    const char *text = getenv("FARFAULT_RACES");
    int64_t value = 0;
    finds_races = text != NULL && ff__parse_bool(text, &value) == 0 && value != 0;
}

/* Launches that are recorded have no results yet, and a function of the processor no threads. */
static bool runs_twice(CUstream stream, const struct ff__cuda_command *command) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUstreamCaptureStatus status;
    pthread_once(&once, read_races);
    return finds_races && command->kind == FF_CUDA_KERNEL &&
           cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult launch(const CUDA_KERNEL_NODE_PARAMS *params, bool cooperative, CUstream stream) {
    CUcontext context;
    struct ff__cuda_command command;
    CUresult result = ff__cuda_enter(&context);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_launch_of(params, cooperative, &command);
    if (result != CUDA_SUCCESS)
        return result;
    if (cooperative)
        result = check_cooperative(params);
    if (result == CUDA_SUCCESS)
        result = runs_twice(stream, &command) ? ff__cuda_execute(stream, &command)
                                              : ff__cuda_enqueue(stream, &command);
    if (result == CUDA_SUCCESS)
        ff__count_launch();
    ff__cuda_parameters_free(&command);
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **params, void **extra) {
    const CUDA_KERNEL_NODE_PARAMS launched = {
        .func = function,
        .gridDimX = grid_x,
        .gridDimY = grid_y,
        .gridDimZ = grid_z,
        .blockDimX = block_x,
        .blockDimY = block_y,
        .blockDimZ = block_z,
        .sharedMemBytes = shared,
        .kernelParams = params,
        .extra = extra,
    };
    return launch(&launched, false, stream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void **params) {
    const CUDA_KERNEL_NODE_PARAMS launched = {
        .func = function,
        .gridDimX = grid_x,
        .gridDimY = grid_y,
        .gridDimZ = grid_z,
        .blockDimX = block_x,
        .blockDimY = block_y,
        .blockDimZ = block_z,
        .sharedMemBytes = shared,
        .kernelParams = params,
    };
    return launch(&launched, true, stream);
}

/* Clusters are refused; the other attributes are about speed. */
static CUresult read_attributes(const CUlaunchConfig *config, bool *cooperative) {
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            *cooperative = attribute->value.cooperative != 0;
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                 (attribute->value.clusterDim.x > 1 || attribute->value.clusterDim.y > 1 ||
                  attribute->value.clusterDim.z > 1))
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra) {
    bool cooperative = false;
    if (config == NULL || (config->numAttrs != 0 && config->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_KERNEL_NODE_PARAMS launched = {
        .func = function,
        .gridDimX = config->gridDimX,
        .gridDimY = config->gridDimY,
        .gridDimZ = config->gridDimZ,
        .blockDimX = config->blockDimX,
        .blockDimY = config->blockDimY,
        .blockDimZ = config->blockDimZ,
        .sharedMemBytes = config->sharedMemBytes,
        .kernelParams = params,
        .extra = extra,
    };
    CUresult result = read_attributes(config, &cooperative);
    return result == CUDA_SUCCESS ? launch(&launched, cooperative, config->hStream) : result;
}
