/* The runtime API in C++: pointers of any type, kernels and variables by their names, and what the
 * compiler calls for kernel<<<grid, block>>>(...). */
#ifndef FF_CUDA_HOST_H
#define FF_CUDA_HOST_H

extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                void *stream = 0);

/* ---- memory ---- */

template <class T> static inline cudaError_t cudaMalloc(T **address, size_t size) {
    return cudaMalloc((void **)address, size);
}
template <class T>
static inline cudaError_t cudaMallocPitch(T **address, size_t *pitch, size_t width, size_t height) {
    return cudaMallocPitch((void **)address, pitch, width, height);
}
template <class T>
static inline cudaError_t cudaMallocManaged(T **address, size_t size,
                                            unsigned flags = cudaMemAttachGlobal) {
    return cudaMallocManaged((void **)address, size, flags);
}
template <class T>
static inline cudaError_t cudaHostAlloc(T **address, size_t size, unsigned flags) {
    return cudaHostAlloc((void **)address, size, flags);
}
static inline cudaError_t cudaMallocHost(void **address, size_t size, unsigned flags) {
    return cudaHostAlloc(address, size, flags);
}
template <class T>
static inline cudaError_t cudaMallocHost(T **address, size_t size, unsigned flags = 0) {
    return cudaHostAlloc((void **)address, size, flags);
}
template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags) {
    return cudaHostGetDevicePointer((void **)device, host, flags);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **address, size_t size, cudaStream_t stream) {
    return cudaMallocAsync((void **)address, size, stream);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **address, size_t size, cudaMemPool_t pool,
                                          cudaStream_t stream) {
    return cudaMallocFromPoolAsync((void **)address, size, pool, stream);
}
template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *address, size_t size = 0,
                                                   unsigned flags = cudaMemAttachSingle) {
    return cudaStreamAttachMemAsync(stream, (void *)address, size, flags);
}
template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **address, size_t size, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
    return cudaMallocFromPoolAsync((void **)address, size, pool, stream);
}

/* ---- variables of the device ---- */

template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t size,
                                             size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol((const void *)&symbol, from, size, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t size,
                                                  size_t offset = 0,
                                                  enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t stream = 0) {
    return cudaMemcpyToSymbolAsync((const void *)&symbol, from, size, offset, kind, stream);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size,
                                               size_t offset = 0,
                                               enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbol(to, (const void *)&symbol, size, offset, kind);
}
template <class T>
static inline cudaError_t
cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t size, size_t offset = 0,
                          enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                          cudaStream_t stream = 0) {
    return cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, size, offset, kind, stream);
}
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **address, const T &symbol) {
    return cudaGetSymbolAddress(address, (const void *)&symbol);
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol) {
    return cudaGetSymbolSize(size, (const void *)&symbol);
}

/* ---- kernels ---- */

template <class T>
static inline cudaError_t cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **arguments,
                                           size_t shared = 0, cudaStream_t stream = 0) {
    return cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}
template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *kernel, dim3 grid, dim3 block,
                                                      void **arguments, size_t shared = 0,
                                                      cudaStream_t stream = 0) {
    return cudaLaunchCooperativeKernel((const void *)kernel, grid, block, arguments, shared,
                                       stream);
}
template <class... Parameters, class... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Parameters...),
                                             Arguments &&...arguments) {
    return [&](Parameters... values) {
        void *addresses[] = {(void *)&values..., nullptr};
        return cudaLaunchKernelExC(config, (const void *)kernel, addresses);
    }(static_cast<Arguments &&>(arguments)...);
}
template <class... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, cudaKernel_t kernel,
                                             Arguments &&...arguments) {
    void *addresses[] = {(void *)&arguments..., nullptr};
    return cudaLaunchKernelExC(config, (const void *)kernel, addresses);
}
template <class T>
static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel) {
    return cudaFuncGetAttributes(attributes, (const void *)kernel);
}
template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute,
                                               int value) {
    return cudaFuncSetAttribute((const void *)kernel, attribute, value);
}
template <class T>
static inline cudaError_t cudaFuncSetCacheConfig(T *kernel, enum cudaFuncCache config) {
    return cudaFuncSetCacheConfig((const void *)kernel, config);
}
template <class T>
static inline cudaError_t cudaFuncSetSharedMemConfig(T *kernel, enum cudaSharedMemConfig config) {
    return cudaFuncSetSharedMemConfig((const void *)kernel, config);
}
template <class T> static inline cudaError_t cudaFuncGetName(const char **name, T *kernel) {
    return cudaFuncGetName(name, (const void *)kernel);
}
template <class T>
static inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, T *kernel) {
    return cudaGetFuncBySymbol(function, (const void *)kernel);
}
template <class T> static inline cudaError_t cudaGetKernel(cudaKernel_t *kernel, T *host) {
    return cudaGetKernel(kernel, (const void *)host);
}
template <class T>
static inline cudaError_t cudaLibraryGetGlobal(T **address, size_t *size, cudaLibrary_t library,
                                               const char *name) {
    return cudaLibraryGetGlobal((void **)address, size, library, name);
}
template <class T>
static inline cudaError_t cudaLibraryGetManaged(T **address, size_t *size, cudaLibrary_t library,
                                                const char *name) {
    return cudaLibraryGetManaged((void **)address, size, library, name);
}

/* ---- occupancy ---- */

template <class T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *kernel, int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel, threads,
                                                         shared);
}
template <class T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T *kernel, int threads,
                                                       size_t shared, unsigned flags) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)kernel,
                                                                  threads, shared, flags);
}
template <class T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, T *kernel,
                                                                    int blocks, int threads) {
    return cudaOccupancyAvailableDynamicSMemPerBlock(shared, (const void *)kernel, blocks, threads);
}

/* The largest occupancy by the most threads a block, in steps of a warp; *blocks fill the device.
 */
template <class Shared, class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *blocks, int *threads, T *kernel,
                                               Shared shared_of, int limit = 0) {
    struct cudaFuncAttributes attributes;
    int device = 0, processors = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (!error)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (!error)
        error = cudaFuncGetAttributes(&attributes, kernel);
    int first = error ? 0 : attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < first)
        first = limit;
    for (int size = (first + 31) / 32 * 32; size > 0 && !error; size -= 32) {
        int count = 0, now = size < first ? size : first;
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, now,
                                                              (size_t)shared_of(now));
        if (!error && count * now > most) {
            most = count * now;
            *threads = now;
            *blocks = count * processors;
        }
    }
    return error;
}
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, T *kernel,
                                                             size_t shared = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        blocks, threads, kernel, [shared](int) { return shared; }, limit);
}

/* Nothing is what a flag would change. */
template <class Shared, class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *blocks, int *threads, T *kernel,
                                                        Shared shared_of, int limit = 0,
                                                        unsigned flags = 0) {
    if (flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        return cudaErrorInvalidValue;
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(blocks, threads, kernel, shared_of,
                                                          limit);
}
template <class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeWithFlags(int *blocks, int *threads, T *kernel, size_t shared = 0,
                                            int limit = 0, unsigned flags = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        blocks, threads, kernel, [shared](int) { return shared; }, limit, flags);
}

/* ---- graphs: as CUDA 11 has them ---- */

static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphNode_t *failed, char *log, size_t size) {
    (void)failed, (void)log, (void)size;
    return cudaGraphInstantiate(exec, graph, 0);
}
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphNode_t *failed,
                                              enum cudaGraphExecUpdateResult *result) {
    cudaGraphExecUpdateResultInfo info;
    info.errorNode = NULL;
    info.result = cudaGraphExecUpdateError;
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    if (failed)
        *failed = info.errorNode;
    if (result)
        *result = info.result;
    return error;
}

/* ---- others ---- */

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) {
    return cudaEventCreateWithFlags(event, flags);
}

/* The format of an element of one, two or four numbers. */
#define FF_CUDA_FORMAT(type, x, y, z, w, kind)                                                     \
    template <> inline struct cudaChannelFormatDesc cudaCreateChannelDesc<type>() {                \
        return cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind);                     \
    }
#define FF_CUDA_FORMATS(name, type, bits, kind)                                                    \
    FF_CUDA_FORMAT(type, bits, 0, 0, 0, kind)                                                      \
    FF_CUDA_FORMAT(name##1, bits, 0, 0, 0, kind)                                                   \
    FF_CUDA_FORMAT(name##2, bits, bits, 0, 0, kind)                                                \
    FF_CUDA_FORMAT(name##4, bits, bits, bits, bits, kind)
template <class T> inline struct cudaChannelFormatDesc cudaCreateChannelDesc();
FF_CUDA_FORMATS(char, signed char, 8, Signed)
FF_CUDA_FORMATS(uchar, unsigned char, 8, Unsigned)
FF_CUDA_FORMATS(short, short, 16, Signed)
FF_CUDA_FORMATS(ushort, unsigned short, 16, Unsigned)
FF_CUDA_FORMATS(int, int, 32, Signed)
FF_CUDA_FORMATS(uint, unsigned, 32, Unsigned)
FF_CUDA_FORMATS(float, float, 32, Float)
#undef FF_CUDA_FORMATS
#undef FF_CUDA_FORMAT

#endif
