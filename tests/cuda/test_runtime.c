/* The CUDA runtime on farfault's driver: each function with right arguments and with wrong ones. */
#include "cuda/runtime_program.h"

static char unregistered;

#define COUNT 256
#define SIZE  (COUNT * sizeof(int))

/* ---- layouts, which programs that were compiled before have in them ---- */

_Static_assert(sizeof(struct cudaDeviceProp) == 1032, "");
_Static_assert(offsetof(struct cudaDeviceProp, totalGlobalMem) == 288, "");
_Static_assert(offsetof(struct cudaDeviceProp, major) == 360, "");
_Static_assert(offsetof(struct cudaDeviceProp, multiProcessorCount) == 388, "");
_Static_assert(offsetof(struct cudaDeviceProp, hostRegisterSupported) == 728, "");
_Static_assert(sizeof(struct cudaFuncAttributes) == 144, "");
_Static_assert(offsetof(struct cudaFuncAttributes, clusterDimMustBeSet) == 52, "");
_Static_assert(sizeof(struct cudaPointerAttributes) == 24, "");
_Static_assert(sizeof(struct cudaMemcpy3DParms) == 160, "");
_Static_assert(sizeof(struct cudaMemcpy3DPeerParms) == 168, "");
_Static_assert(sizeof(struct cudaKernelNodeParams) == 56, "");
_Static_assert(sizeof(struct cudaMemPoolProps) == 88, "");
_Static_assert(sizeof(struct cudaTextureDesc) == 72, "");
_Static_assert(sizeof(cudaLaunchAttribute) == 72, "");
_Static_assert(sizeof(cudaLaunchConfig_t) == 56, "");
_Static_assert(sizeof(dim3) == 12 && sizeof(float4) == 16 && sizeof(double3) == 24, "");
_Static_assert(_Alignof(int2) == 8 && _Alignof(float4) == 16 && _Alignof(float3) == 4, "");

/* ---- errors ---- */

static void errors_have_names_and_texts(void **state) {
    (void)state;
    assert_string_equal(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
    assert_string_equal(cudaGetErrorName(cudaErrorInvalidSymbol), "cudaErrorInvalidSymbol");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
    assert_string_equal(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}

static void errors_are_kept(void **state) {
    (void)state;
    cudaGetLastError();
    FAILS(InvalidDevice, cudaSetDevice(1000));
    FAILS(InvalidDevice, cudaPeekAtLastError());
    GOOD(cudaFree(NULL));
    FAILS(InvalidDevice, cudaGetLastError());
    GOOD(cudaGetLastError());
}

/* ---- devices ---- */

static void devices(void **state) {
    struct cudaDeviceProp properties;
    int count, device = -1, value, version;
    char id[32];
    (void)state;
    GOOD(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, CUDART_VERSION);
    FAILS(InvalidValue, cudaRuntimeGetVersion(NULL));
    GOOD(cudaDriverGetVersion(&version));
    assert_true(version >= 12000);
    GOOD(cudaGetDeviceCount(&count));
    assert_int_equal(count, 1);
    GOOD(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    FAILS(InvalidValue, cudaGetDevice(NULL));
    GOOD(cudaSetDevice(0));
    FAILS(InvalidDevice, cudaSetDevice(-1));
    GOOD(cudaInitDevice(0, 0, 0));
    GOOD(cudaSetValidDevices(&device, 1));
    FAILS(InvalidValue, cudaSetValidDevices(NULL, 1));
    GOOD(cudaGetDeviceProperties(&properties, 0));
    FAILS(InvalidDevice, cudaGetDeviceProperties(&properties, 7));
    FAILS(InvalidValue, cudaGetDeviceProperties(NULL, 0));
    GOOD(cudaGetDeviceProperties(&properties, 0));
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    assert_int_equal(properties.multiProcessorCount, value);
    assert_int_equal(properties.warpSize, 32);
    assert_int_equal(properties.maxThreadsDim[2], 64);
    assert_true(properties.totalGlobalMem > 0 && properties.name[0]);
    GOOD(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    GOOD(cudaDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 0);
}

static void limits_and_settings(void **state) {
    size_t value = 0, free_bytes, total;
    unsigned flags;
    int least, greatest, can;
    enum cudaFuncCache cache;
    enum cudaSharedMemConfig banks;
    (void)state;
    GOOD(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
    GOOD(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    assert_int_equal(value, 1 << 20);
    assert_int_not_equal(cudaDeviceGetLimit(&value, (enum cudaLimit)1000), cudaSuccess);
    GOOD(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    GOOD(cudaDeviceGetCacheConfig(&cache));
    GOOD(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
    GOOD(cudaDeviceGetSharedMemConfig(&banks));
    GOOD(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest <= least);
    GOOD(cudaGetDeviceFlags(&flags));
    GOOD(cudaSetDeviceFlags(flags));
    FAILS(InvalidValue, cudaSetDeviceFlags(0x8000));
    GOOD(cudaCtxResetPersistingL2Cache());
    GOOD(cudaMemGetInfo(&free_bytes, &total));
    assert_true(free_bytes <= total && total > 0);
    GOOD(cudaDeviceCanAccessPeer(&can, 0, 0));
    assert_int_not_equal(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1000),
                         cudaSuccess);
    assert_int_not_equal(cudaDeviceEnablePeerAccess(1000, 0), cudaSuccess);
    assert_int_not_equal(cudaDeviceDisablePeerAccess(1000), cudaSuccess);
    GOOD(cudaProfilerStart());
    GOOD(cudaProfilerStop());
}

static void processes_are_refused(void **state) {
    cudaIpcMemHandle_t memory = {{0}};
    cudaIpcEventHandle_t event = {{0}};
    cudaEvent_t opened;
    void *p;
    (void)state;
    GOOD(cudaEventCreate(&opened));
    FAILS(NotSupported, cudaIpcGetEventHandle(&event, opened));
    GOOD(cudaEventDestroy(opened));
    GOOD(cudaMalloc(&p, 16));
    FAILS(NotSupported, cudaIpcGetMemHandle(&memory, p));
    FAILS(NotSupported, cudaIpcOpenMemHandle(&p, memory, 0));
    FAILS(NotSupported, cudaIpcCloseMemHandle(p));
    FAILS(NotSupported, cudaIpcOpenEventHandle(&opened, event));
    GOOD(cudaFree(p));
}

static void entry_points(void **state) {
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    (void)state;
    GOOD(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &found));
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    assert_non_null(function);
    GOOD(cudaGetDriverEntryPointByVersion("cuInit", &function, 12000, 0, &found));
    FAILS(InvalidValue, cudaGetDriverEntryPoint(NULL, &function, 0, &found));
}

/* ---- kernels ---- */

static int *numbers; /* managed, from 0 on */

static int make_numbers(void **state) {
    (void)state;
    if (cudaMallocManaged((void **)&numbers, SIZE, cudaMemAttachGlobal))
        return -1;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    return 0;
}

static int free_numbers(void **state) {
    (void)state;
    cudaGetLastError();
    return cudaDeviceSynchronize() || cudaFree(numbers) ? -1 : 0;
}

static void assert_numbers(int more) {
    GOOD(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(numbers[i], i + more);
}

static int ten = 10;
#define ARGUMENTS ((void *[]){&numbers, &ten})

static const dim3 grid = {COUNT / 64, 1, 1}, block = {64, 1, 1}, nothing = {0, 1, 1};

static void launches(void **state) {
    (void)state;
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, NULL));
    assert_numbers(15);
    GOOD(cudaLaunchCooperativeKernel(&add, grid, block, ARGUMENTS, 0, NULL));
    const cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block};
    GOOD(cudaLaunchKernelExC(&config, &add, ARGUMENTS));
    assert_numbers(45);
    FAILS(InvalidDeviceFunction, cudaLaunchKernel(&unregistered, grid, block, ARGUMENTS, 0, NULL));
    FAILS(InvalidDeviceFunction, cudaLaunchKernel(&missing, grid, block, ARGUMENTS, 0, NULL));
    FAILS(InvalidDeviceFunction, cudaLaunchKernel(&shift, grid, block, ARGUMENTS, 0, NULL));
    FAILS(InvalidConfiguration, cudaLaunchKernel(&add, nothing, block, ARGUMENTS, 0, NULL));
    FAILS(InvalidConfiguration, cudaLaunchKernel(&add, grid, nothing, ARGUMENTS, 0, NULL));
    FAILS(InvalidValue, cudaLaunchKernelExC(NULL, &add, ARGUMENTS));
    assert_numbers(45);
}

static void compilers_launch(void **state) {
    dim3 there, threads;
    size_t shared;
    void *stream;
    cudaKernel_t kernel;
    (void)state;
    FAILS(MissingConfiguration, __cudaPopCallConfiguration(&there, &threads, &shared, &stream));
    assert_int_equal(__cudaPushCallConfiguration(grid, block, 3, cudaStreamLegacy), 0);
    assert_int_equal(__cudaPushCallConfiguration(block, grid, 4, NULL), 0);
    GOOD(__cudaPopCallConfiguration(&there, &threads, &shared, &stream));
    assert_int_equal(there.x, 64);
    GOOD(__cudaPopCallConfiguration(&there, &threads, &shared, &stream));
    assert_int_equal(there.x, grid.x);
    assert_int_equal(threads.x, 64);
    assert_int_equal(shared, 3);
    assert_ptr_equal(stream, cudaStreamLegacy);
    for (int i = 0; i < 8; i++)
        assert_int_equal(__cudaPushCallConfiguration(grid, block, 0, NULL), 0);
    assert_int_not_equal(__cudaPushCallConfiguration(grid, block, 0, NULL), 0);
    for (int i = 0; i < 8; i++)
        GOOD(__cudaPopCallConfiguration(&there, &threads, &shared, &stream));
    GOOD(__cudaGetKernel(&kernel, &add));
    GOOD(__cudaLaunchKernel(kernel, grid, block, ARGUMENTS, 0, NULL));
    GOOD(__cudaLaunchKernel_ptsz(kernel, grid, block, ARGUMENTS, 0, NULL));
    assert_numbers(30);
    assert_int_not_equal(__cudaInitModule(handle), 0);
}

static void kernels_are_described(void **state) {
    struct cudaFuncAttributes attributes;
    const char *name;
    cudaFunction_t function;
    size_t offset, size, shared;
    int blocks = 0;
    (void)state;
    GOOD(cudaFuncGetAttributes(&attributes, &add));
    assert_int_equal(attributes.maxThreadsPerBlock, 1024);
    assert_int_equal(attributes.ptxVersion, 70);
    FAILS(InvalidValue, cudaFuncGetAttributes(NULL, &add));
    FAILS(InvalidDeviceFunction, cudaFuncGetAttributes(&attributes, &unregistered));
    GOOD(cudaFuncSetAttribute(&add, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    assert_int_not_equal(
        cudaFuncSetAttribute(&add, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
        cudaSuccess);
    GOOD(cudaFuncSetCacheConfig(&add, cudaFuncCachePreferL1));
    GOOD(cudaFuncSetSharedMemConfig(&add, cudaSharedMemBankSizeDefault));
    GOOD(cudaFuncGetName(&name, &add));
    assert_string_equal(name, "add");
    GOOD(cudaFuncGetParamInfo(&add, 1, &offset, &size));
    assert_int_equal(offset, 8);
    assert_int_equal(size, 4);
    GOOD(cudaGetFuncBySymbol(&function, &add));
    assert_non_null(function);
    FAILS(InvalidValue, cudaGetFuncBySymbol(NULL, &add));
    GOOD(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add, 256, 0));
    assert_true(blocks > 0);
    GOOD(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &add, 256, 0, 0));
    GOOD(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, &add, 1, 64));
    FAILS(InvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, &add, 256, 0));
}

static void count_call(void *user) {
    ++*(int *)user;
}

static void call_back(cudaStream_t stream, cudaError_t status, void *user) {
    (void)stream;
    *(int *)user += status == cudaSuccess ? 100 : 0;
}

static void host_functions(void **state) {
    int calls = 0;
    (void)state;
    GOOD(cudaLaunchHostFunc(NULL, count_call, &calls));
    GOOD(cudaStreamAddCallback(NULL, call_back, &calls, 0));
    GOOD(cudaStreamSynchronize(NULL));
    assert_int_equal(calls, 101);
    FAILS(InvalidValue, cudaLaunchHostFunc(NULL, NULL, NULL));
}

/* ---- variables ---- */

static void variables(void **state) {
    void *address;
    size_t size;
    int value = 0;
    (void)state;
    GOOD(cudaGetSymbolSize(&size, &shift));
    assert_int_equal(size, 4);
    GOOD(cudaGetSymbolAddress(&address, &shift));
    GOOD(cudaMemcpyFromSymbol(&value, &shift, 4, 0, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 5);
    value = 6;
    GOOD(cudaMemcpyToSymbol(&shift, &value, 4, 0, cudaMemcpyHostToDevice));
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, NULL));
    assert_numbers(16);
    value = 5;
    GOOD(cudaMemcpyToSymbolAsync(&shift, &value, 4, 0, cudaMemcpyHostToDevice, NULL));
    GOOD(cudaMemcpyFromSymbolAsync(&value, &shift, 4, 0, cudaMemcpyDeviceToHost, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    FAILS(InvalidSymbol, cudaGetSymbolAddress(&address, &unregistered));
    FAILS(InvalidSymbol, cudaGetSymbolSize(&size, &add));
    FAILS(InvalidValue, cudaGetSymbolSize(NULL, &shift));
    FAILS(InvalidValue, cudaMemcpyToSymbol(&shift, &value, 4, 1, cudaMemcpyHostToDevice));
    FAILS(InvalidValue, cudaMemcpyFromSymbol(&value, &shift, 8, 0, cudaMemcpyDeviceToHost));
    FAILS(InvalidMemcpyDirection, cudaMemcpyToSymbol(&shift, &value, 4, 0, cudaMemcpyDeviceToHost));
    FAILS(InvalidMemcpyDirection,
          cudaMemcpyFromSymbol(&value, &shift, 4, 0, cudaMemcpyHostToDevice));
}

/* ---- memory ---- */

static void allocations(void **state) {
    struct cudaPitchedPtr box;
    void *p, *device;
    size_t pitch;
    unsigned flags;
    (void)state;
    GOOD(cudaMalloc(&p, 1000));
    GOOD(cudaFree(p));
    FAILS(InvalidValue, cudaMalloc(NULL, 1000));
    FAILS(MemoryAllocation, cudaMalloc(&p, (size_t)1 << 50));
    GOOD(cudaMalloc(&p, 0));
    assert_null(p);
    FAILS(InvalidValue, cudaFree(&flags));
    GOOD(cudaMallocPitch(&p, &pitch, 100, 10));
    assert_true(pitch >= 100);
    GOOD(cudaFree(p));
    GOOD(cudaMalloc3D(&box, (struct cudaExtent){100, 10, 2}));
    assert_int_equal(box.xsize, 100);
    assert_int_equal(box.ysize, 10);
    GOOD(cudaFree(box.ptr));
    FAILS(InvalidValue, cudaMalloc3D(&box, (struct cudaExtent){1, SIZE_MAX, 2}));
    FAILS(InvalidValue, cudaMallocManaged(&p, 0, cudaMemAttachGlobal));
    GOOD(cudaMallocHost(&p, 100));
    GOOD(cudaHostGetFlags(&flags, p));
    GOOD(cudaHostGetDevicePointer(&device, p, 0));
    GOOD(cudaFreeHost(p));
    GOOD(cudaFreeHost(NULL));
    GOOD(cudaHostAlloc(&p, 100, cudaHostAllocMapped));
    GOOD(cudaFreeHost(p));
    FAILS(InvalidValue, cudaHostAlloc(NULL, 100, 0));
}

static void registered_memory(void **state) {
    static char bytes[8192] __attribute__((aligned(4096)));
    void *device;
    (void)state;
    GOOD(cudaHostRegister(bytes, sizeof bytes, cudaHostRegisterDefault));
    GOOD(cudaHostGetDevicePointer(&device, bytes, 0));
    GOOD(cudaHostUnregister(bytes));
    FAILS(HostMemoryNotRegistered, cudaHostUnregister(bytes));
}

static void pointers(void **state) {
    struct cudaPointerAttributes attributes;
    void *p;
    (void)state;
    GOOD(cudaPointerGetAttributes(&attributes, numbers));
    assert_int_equal(attributes.type, cudaMemoryTypeManaged);
    assert_ptr_equal(attributes.devicePointer, numbers);
    GOOD(cudaMalloc(&p, 100));
    GOOD(cudaPointerGetAttributes(&attributes, p));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, 0);
    GOOD(cudaFree(p));
    GOOD(cudaMallocHost(&p, 100));
    GOOD(cudaPointerGetAttributes(&attributes, p));
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    assert_ptr_equal(attributes.hostPointer, p);
    GOOD(cudaFreeHost(p));
    GOOD(cudaPointerGetAttributes(&attributes, &p));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    FAILS(InvalidValue, cudaPointerGetAttributes(NULL, p));
}

static void managed(void **state) {
    const struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    int value = -1;
    void *data[] = {&value};
    size_t sizes[] = {sizeof value};
    enum cudaMemRangeAttribute asked[] = {cudaMemRangeAttributeReadMostly};
    (void)state;
    GOOD(cudaMemAdvise(numbers, SIZE, cudaMemAdviseSetReadMostly, 0));
    GOOD(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, numbers,
                                  SIZE));
    assert_int_equal(value, 1);
    GOOD(cudaMemRangeGetAttributes(data, sizes, asked, 1, numbers, SIZE));
    GOOD(cudaMemAdvise_v2(numbers, SIZE, cudaMemAdviseUnsetReadMostly, device));
    GOOD(cudaMemPrefetchAsync(numbers, SIZE, 0, NULL));
    GOOD(cudaMemPrefetchAsync(numbers, SIZE, cudaCpuDeviceId, NULL));
    GOOD(cudaMemPrefetchAsync_v2(numbers, SIZE, device, 0, NULL));
    FAILS(InvalidDevice, cudaMemPrefetchAsync(numbers, SIZE, 1000, NULL));
    FAILS(InvalidValue, cudaMemAdvise(&value, 4, cudaMemAdviseSetReadMostly, 0));
    GOOD(cudaStreamAttachMemAsync(NULL, numbers, 0, cudaMemAttachGlobal));
    assert_numbers(0);
}

/* ---- copies and sets ---- */

static void copies(void **state) {
    int from[COUNT], to[COUNT] = {0};
    void *p, *q;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        from[i] = i * 3;
    GOOD(cudaMalloc(&p, SIZE));
    GOOD(cudaMalloc(&q, SIZE));
    GOOD(cudaMemcpy(p, from, SIZE, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpy(q, p, SIZE, cudaMemcpyDeviceToDevice));
    GOOD(cudaMemcpy(to, q, SIZE, cudaMemcpyDeviceToHost));
    assert_memory_equal(from, to, SIZE);
    memset(to, 0, SIZE);
    GOOD(cudaMemcpyAsync(to, q, SIZE, cudaMemcpyDefault, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    assert_memory_equal(from, to, SIZE);
    GOOD(cudaMemcpy(to, from, 4, cudaMemcpyHostToHost));
    GOOD(cudaMemcpyPeer(q, 0, p, 0, SIZE));
    GOOD(cudaMemcpyPeerAsync(q, 0, p, 0, SIZE, NULL));
    FAILS(InvalidDevice, cudaMemcpyPeer(q, 99, p, 0, SIZE));
    FAILS(InvalidMemcpyDirection, cudaMemcpy(p, from, SIZE, (enum cudaMemcpyKind)9));
    FAILS(InvalidValue, cudaMemcpy(p, from, SIZE + 1, cudaMemcpyHostToDevice));
    FAILS(InvalidValue, cudaMemcpy(p + 1, from, SIZE, cudaMemcpyHostToDevice));
    FAILS(InvalidValue, cudaMemcpy(to, (void *)4096, 4, cudaMemcpyDeviceToHost));
    GOOD(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
    GOOD(cudaFree(p));
    GOOD(cudaFree(q));
}

static void rows(void **state) {
    char from[4][8], to[4][8] = {{0}};
    void *p;
    size_t pitch;
    (void)state;
    memset(from, 'x', sizeof from);
    GOOD(cudaMallocPitch(&p, &pitch, 8, 4));
    GOOD(cudaMemcpy2D(p, pitch, from, 8, 8, 4, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpy2DAsync(to, 8, p, pitch, 5, 4, cudaMemcpyDeviceToHost, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    assert_memory_equal(to[3], "xxxxx\0\0\0", 8);
    FAILS(InvalidPitchValue, cudaMemcpy2D(p, 4, from, 8, 8, 4, cudaMemcpyHostToDevice));
    FAILS(InvalidMemcpyDirection, cudaMemcpy2D(p, 8, from, 8, 8, 1, (enum cudaMemcpyKind)7));
    GOOD(cudaMemset2D(p, pitch, 'y', 3, 2));
    GOOD(cudaMemset2DAsync(p, pitch, 'z', 1, 1, NULL));
    GOOD(cudaMemcpy2D(to, 8, p, pitch, 8, 4, cudaMemcpyDefault));
    assert_memory_equal(to[0], "zyyxxxxx", 8);
    assert_memory_equal(to[1], "yyyxxxxx", 8);
    assert_memory_equal(to[2], "xxxxxxxx", 8);
    GOOD(cudaMemset(p, 0, 8));
    FAILS(InvalidValue, cudaMemset((void *)4096, 0, 8));
    GOOD(cudaMemsetAsync(p, 1, 4, NULL));
    GOOD(cudaMemcpy(to, p, 8, cudaMemcpyDeviceToHost));
    assert_memory_equal(to[0], "\1\1\1\1\0\0\0\0", 8);
    GOOD(cudaFree(p));
}

static void boxes(void **state) {
    char from[2][3][8], to[2][3][8] = {{{0}}};
    struct cudaPitchedPtr p;
    const struct cudaExtent extent = {8, 3, 2};
    (void)state;
    memset(from, 'x', sizeof from);
    GOOD(cudaMalloc3D(&p, extent));
    struct cudaMemcpy3DParms up = {
        .srcPtr = {from, 8, 8, 3}, .dstPtr = p, .extent = extent, .kind = cudaMemcpyHostToDevice};
    GOOD(cudaMemcpy3D(&up));
    GOOD(cudaMemset3D(p, 'a', (struct cudaExtent){2, 1, 2}));
    GOOD(cudaMemset3DAsync(p, 'b', (struct cudaExtent){1, 1, 1}, NULL));
    struct cudaMemcpy3DParms down = {
        .srcPtr = p, .dstPtr = {to, 8, 8, 3}, .extent = extent, .kind = cudaMemcpyDeviceToHost};
    GOOD(cudaMemcpy3DAsync(&down, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    assert_memory_equal(to[0][0], "baxxxxxx", 8);
    assert_memory_equal(to[1][0], "aaxxxxxx", 8);
    assert_memory_equal(to[1][2], "xxxxxxxx", 8);
    const struct cudaMemcpy3DPeerParms peer = {
        .srcPtr = p, .dstPtr = {to, 8, 8, 3}, .extent = {1, 1, 1}};
    GOOD(cudaMemcpy3DPeer(&peer));
    GOOD(cudaMemcpy3DPeerAsync(&peer, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    FAILS(InvalidValue, cudaMemcpy3D(NULL));
    FAILS(InvalidValue, cudaMemcpy3DPeer(NULL));
    FAILS(InvalidValue, cudaMemcpy3DPeerAsync(NULL, NULL));
    GOOD(cudaFree(p.ptr));
}

static void arrays_and_textures(void **state) {
    const struct cudaChannelFormatDesc format =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    const struct cudaChannelFormatDesc odd =
        cudaCreateChannelDesc(32, 8, 0, 0, cudaChannelFormatKindFloat);
    struct cudaChannelFormatDesc same;
    struct cudaExtent extent;
    float from[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, to[2][4] = {{0}};
    unsigned flags;
    cudaArray_t array;
    cudaTextureObject_t object;
    (void)state;
    GOOD(cudaMallocArray(&array, &format, 4, 2, cudaArrayDefault));
    GOOD(cudaArrayGetInfo(&same, &extent, &flags, array));
    assert_memory_equal(&same, &format, sizeof same);
    assert_int_equal(extent.width, 4);
    GOOD(cudaGetChannelDesc(&same, array));
    GOOD(cudaMemcpy2DToArray(array, 0, 0, from, 16, 16, 2, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpy2DFromArray(to, 16, array, 0, 0, 16, 2, cudaMemcpyDeviceToHost));
    assert_memory_equal(from, to, sizeof from);
    GOOD(cudaMemcpyToArray(array, 0, 0, from, sizeof from, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpy2DToArrayAsync(array, 4, 1, from, 16, 4, 1, cudaMemcpyHostToDevice, NULL));
    GOOD(cudaMemcpy2DFromArrayAsync(to, 16, array, 0, 0, 16, 2, cudaMemcpyDeviceToHost, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    assert_true(to[1][1] == 1);
    const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                              .res.array.array = array};
    const struct cudaTextureDesc texture = {.readMode = cudaReadModeElementType};
    GOOD(cudaCreateTextureObject(&object, &resource, &texture, NULL));
    GOOD(cudaDestroyTextureObject(object));
    FAILS(InvalidValue, cudaCreateTextureObject(&object, &resource, NULL, NULL));
    FAILS(InvalidValue, cudaCreateTextureObject(&object, NULL, &texture, NULL));
    FAILS(InvalidChannelDescriptor, cudaMallocArray(&array, &odd, 4, 2, 0));
    FAILS(InvalidValue, cudaMallocArray(&array, NULL, 4, 2, 0));
    FAILS(InvalidPitchValue,
          cudaMemcpy2DToArray(array, 0, 0, from, 8, 16, 2, cudaMemcpyHostToDevice));
    GOOD(cudaFreeArray(array));
    GOOD(cudaFreeArray(NULL));
    const struct cudaResourceDesc linear = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {numbers, {32, 0, 0, 0, cudaChannelFormatKindSigned}, SIZE}};
    GOOD(cudaCreateTextureObject(&object, &linear, &texture, NULL));
    GOOD(cudaDestroyTextureObject(object));
}

static void surfaces(void **state) {
    const struct cudaChannelFormatDesc format =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array;
    cudaSurfaceObject_t object;
    (void)state;
    GOOD(cudaMalloc3DArray(&array, &format, (struct cudaExtent){4, 2, 2},
                           cudaArraySurfaceLoadStore));
    const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                              .res.array.array = array};
    GOOD(cudaCreateSurfaceObject(&object, &resource));
    GOOD(cudaDestroySurfaceObject(object));
    FAILS(InvalidValue, cudaCreateSurfaceObject(&object, NULL));
    GOOD(cudaFreeArray(array));
    FAILS(InvalidValue, cudaMalloc3DArray(&array, NULL, (struct cudaExtent){4, 2, 2}, 0));
}

/* ---- stream-ordered allocation ---- */

static void pools(void **state) {
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {cudaMemLocationTypeDevice, 0},
    };
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    const struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0},
                                             cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags;
    cudaMemPool_t pool, own;
    uint64_t threshold = 4096;
    void *p;
    (void)state;
    GOOD(cudaMallocAsync(&p, 100, NULL));
    GOOD(cudaFreeAsync(p, NULL));
    GOOD(cudaDeviceGetDefaultMemPool(&pool, 0));
    GOOD(cudaMemPoolCreate(&own, &properties));
    GOOD(cudaMallocFromPoolAsync(&p, 100, own, NULL));
    GOOD(cudaFreeAsync(p, NULL));
    GOOD(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    GOOD(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    assert_int_equal(threshold, 4096);
    GOOD(cudaMemPoolTrimTo(own, 0));
    GOOD(cudaMemPoolSetAccess(own, &access, 1));
    GOOD(cudaMemPoolGetAccess(&flags, own, &device));
    assert_int_equal(flags, cudaMemAccessFlagsProtReadWrite);
    GOOD(cudaDeviceSetMemPool(0, own));
    GOOD(cudaDeviceGetMemPool(&pool, 0));
    assert_ptr_equal(pool, own);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaMemPoolDestroy(own));
    FAILS(InvalidValue, cudaMemPoolCreate(&own, NULL));
    FAILS(InvalidDevice, cudaDeviceGetMemPool(&pool, 44));
}

/* ---- streams and events ---- */

static void streams(void **state) {
    cudaStream_t stream, other;
    cudaEvent_t start, end;
    unsigned flags;
    unsigned long long id;
    int priority;
    float ms;
    (void)state;
    GOOD(cudaStreamCreate(&stream));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaStreamGetFlags(stream, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    GOOD(cudaStreamCreateWithPriority(&other, cudaStreamDefault, 0));
    GOOD(cudaStreamGetPriority(other, &priority));
    GOOD(cudaStreamGetId(other, &id));
    GOOD(cudaEventCreate(&start));
    GOOD(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    GOOD(cudaEventRecord(start, stream));
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, stream));
    GOOD(cudaEventRecordWithFlags(end, stream, cudaEventRecordDefault));
    GOOD(cudaStreamWaitEvent(other, end, 0));
    GOOD(cudaStreamSynchronize(other));
    GOOD(cudaEventSynchronize(end));
    GOOD(cudaEventQuery(end));
    GOOD(cudaEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0);
    assert_numbers(15);
    GOOD(cudaStreamQuery(stream));
    FAILS(InvalidValue, cudaStreamCreate(NULL));
    FAILS(InvalidValue, cudaEventCreateWithFlags(&start, 0x1000));
    GOOD(cudaEventDestroy(start));
    GOOD(cudaEventDestroy(end));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamDestroy(other));
}

/* ---- graphs ---- */

static void captures(void **state) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    enum cudaStreamCaptureStatus status;
    cudaStream_t stream;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo info;
    unsigned long long id;
    const cudaGraphNode_t *nodes;
    size_t count;
    (void)state;
    GOOD(cudaStreamCreate(&stream));
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, stream));
    GOOD(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    GOOD(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &count));
    assert_int_equal(count, 1);
    GOOD(cudaStreamUpdateCaptureDependencies(stream, NULL, 0, cudaStreamAddCaptureDependencies));
    GOOD(cudaLaunchKernel(&add, grid, block, ARGUMENTS, 0, stream));
    GOOD(cudaStreamEndCapture(stream, &graph));
    assert_numbers(0);
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphUpload(exec, stream));
    GOOD(cudaGraphLaunch(exec, stream));
    GOOD(cudaStreamSynchronize(stream));
    assert_numbers(30);
    GOOD(cudaGraphClone(&clone, graph));
    GOOD(cudaGraphExecUpdate(exec, clone, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    GOOD(cudaGraphExecDestroy(exec));
    cudaGraphInstantiateParams params = {.uploadStream = stream};
    GOOD(cudaGraphInstantiateWithParams(&exec, graph, &params));
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(clone));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaStreamDestroy(stream));
}

static void graphs_keep_things(void **state) {
    struct cudaMemAllocNodeParams memory = {.poolProps = {.allocType = cudaMemAllocationTypePinned,
                                                          .location = {cudaMemLocationTypeDevice,
                                                                       0}},
                                            .bytesize = 4096},
                                  same;
    cudaGraph_t graph;
    cudaGraphNode_t alloc, release;
    cudaUserObject_t object;
    void *freed = NULL;
    uint64_t bytes = 0;
    int calls = 0;
    (void)state;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    GOOD(cudaGraphAddMemFreeNode(&release, graph, &alloc, 1, memory.dptr));
    GOOD(cudaGraphMemAllocNodeGetParams(alloc, &same));
    GOOD(cudaGraphMemFreeNodeGetParams(release, &freed));
    assert_ptr_equal(same.dptr, memory.dptr);
    assert_ptr_equal(freed, memory.dptr);
    GOOD(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
    assert_int_equal(bytes, 4096);
    bytes = 0;
    GOOD(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &bytes));
    GOOD(cudaDeviceGraphMemTrim(0));
    GOOD(cudaUserObjectCreate(&object, &calls, count_call, 1, cudaUserObjectNoDestructorSync));
    GOOD(cudaUserObjectRetain(object, 1));
    GOOD(cudaGraphRetainUserObject(graph, object, 2, cudaGraphUserObjectMove));
    GOOD(cudaGraphReleaseUserObject(graph, object, 1));
    GOOD(cudaGraphRetainUserObject(graph, object, 1, 0));
    GOOD(cudaUserObjectRetain(object, 1));
    GOOD(cudaUserObjectRelease(object, 1));
    GOOD(cudaGraphDestroy(graph));
    assert_int_equal(calls, 1);
    FAILS(InvalidValue, cudaUserObjectRelease(NULL, 1));
}

static void built_graphs(void **state) {
    cudaGraph_t graph, child;
    cudaGraphExec_t exec;
    cudaGraphNode_t kernel, copy, set, host, empty, record, wait, sub, list[8];
    cudaEvent_t event;
    enum cudaGraphNodeType type;
    int calls = 0, to[COUNT] = {0};
    size_t count = 8;
    struct cudaKernelNodeParams params = {
        .func = &add, .gridDim = grid, .blockDim = block, .kernelParams = ARGUMENTS};
    struct cudaKernelNodeParams same;
    const struct cudaHostNodeParams call = {count_call, &calls};
    const struct cudaMemsetParams zero = {numbers, 0, 0, 1, 4, 1};
    (void)state;
    GOOD(cudaEventCreate(&event));
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphCreate(&child, 0));
    GOOD(cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &params));
    GOOD(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, to, numbers, SIZE,
                                  cudaMemcpyDeviceToHost));
    GOOD(cudaGraphAddMemsetNode(&set, graph, &copy, 1, &zero));
    GOOD(cudaGraphAddHostNode(&host, graph, &set, 1, &call));
    GOOD(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    GOOD(cudaGraphAddEventRecordNode(&record, graph, NULL, 0, event));
    GOOD(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    GOOD(cudaGraphAddChildGraphNode(&sub, graph, NULL, 0, child));
    GOOD(cudaGraphAddDependencies(graph, &empty, &host, 1));
    GOOD(cudaGraphRemoveDependencies(graph, &empty, &host, 1));
    GOOD(cudaGraphGetEdges(graph, NULL, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    GOOD(cudaGraphGetNodes(graph, list, &count));
    assert_int_equal(count, 8);
    GOOD(cudaGraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    GOOD(cudaGraphNodeGetDependencies(copy, list, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(list[0], kernel);
    GOOD(cudaGraphNodeGetDependentNodes(kernel, list, &count));
    assert_ptr_equal(list[0], copy);
    GOOD(cudaGraphNodeGetType(set, &type));
    assert_int_equal(type, cudaGraphNodeTypeMemset);
    GOOD(cudaGraphDestroyNode(empty));
    GOOD(cudaGraphKernelNodeGetParams(kernel, &same));
    assert_ptr_equal(same.func, &add);
    assert_int_equal(same.gridDim.x, grid.x);
    GOOD(cudaGraphKernelNodeSetParams(kernel, &params));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
    GOOD(cudaGraphLaunch(exec, NULL));
    GOOD(cudaStreamSynchronize(NULL));
    assert_int_equal(to[7], 7 + 15);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(calls, 1);
    params.func = &unregistered;
    FAILS(InvalidDeviceFunction, cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &params));
    FAILS(InvalidDeviceFunction, cudaGraphKernelNodeSetParams(kernel, &params));
    FAILS(InvalidDeviceFunction, cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
    FAILS(InvalidValue, cudaGraphAddKernelNode(&kernel, graph, NULL, 0, NULL));
    FAILS(InvalidValue, cudaGraphKernelNodeGetParams(kernel, NULL));
    FAILS(InvalidValue, cudaGraphAddMemcpyNode(&copy, graph, NULL, 0, NULL));
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphDestroy(child));
    GOOD(cudaEventDestroy(event));
}

/* ---- the end ---- */

static void reset(void **state) {
    void *p;
    (void)state;
    GOOD(cudaMalloc(&p, 100));
    GOOD(cudaDeviceReset());
    assert_int_not_equal(cudaFree(p), cudaSuccess); /* it went with the context */
    int value = 0;
    GOOD(cudaMemcpyFromSymbol(&value, &shift, 4, 0, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 5); /* loaded anew */
    GOOD(cudaThreadSynchronize());
    GOOD(cudaThreadExit());
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, make_numbers, free_numbers)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_names_and_texts),
        cmocka_unit_test(errors_are_kept),
        cmocka_unit_test(devices),
        cmocka_unit_test(limits_and_settings),
        cmocka_unit_test(processes_are_refused),
        cmocka_unit_test(entry_points),
        WITH(launches),
        WITH(compilers_launch),
        WITH(kernels_are_described),
        cmocka_unit_test(host_functions),
        WITH(variables),
        cmocka_unit_test(allocations),
        cmocka_unit_test(registered_memory),
        WITH(pointers),
        WITH(managed),
        cmocka_unit_test(copies),
        cmocka_unit_test(rows),
        cmocka_unit_test(boxes),
        WITH(arrays_and_textures),
        cmocka_unit_test(surfaces),
        cmocka_unit_test(pools),
        WITH(streams),
        WITH(captures),
        WITH(built_graphs),
        cmocka_unit_test(graphs_keep_things),
        cmocka_unit_test(reset),
    };
    return cmocka_run_group_tests(tests, register_program, unregister_program);
}
