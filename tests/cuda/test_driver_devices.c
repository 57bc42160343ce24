/* Start, devices, contexts and the threads that have them, and names of functions and results.
 * There are two devices. */
#include "cuda/driver.h"

#include <pthread.h>

static void nothing_works_before_the_start(void **state) {
    CUdevice device;
    int count;
    (void)state;
    GIVES(ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    GIVES(ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
    GIVES(ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&context, 0));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxCreate_v2(&context, 0, 0));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxDestroy_v2((CUcontext)state));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxPushCurrent_v2((CUcontext)state));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxPopCurrent_v2(&context));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxSetCurrent(NULL));
    GIVES(ERROR_NOT_INITIALIZED, cuCtxSynchronize());
    GIVES(ERROR_NOT_INITIALIZED, cuModuleLoad(&module, DRIVER_PTX));
    GIVES(ERROR_NOT_INITIALIZED, cuStreamSynchronize(NULL));
    GIVES(ERROR_NOT_INITIALIZED, cuProfilerStart());
    GIVES(ERROR_NOT_INITIALIZED, cuProfilerStop());
    REFUSED(cuInit(1));
    GIVES(ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    OK(cuInit(0));
    OK(cuInit(0));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    GIVES(ERROR_INVALID_CONTEXT, cuProfilerStart());
}

static void devices_say_what_they_are(void **state) {
    CUdevice device = 7;
    CUuuid one, other;
    char text[64];
    size_t size;
    int count, value, minor;
    (void)state;
    OK(cuDriverGetVersion(&value));
    assert_true(value >= 12080);
    REFUSED(cuDriverGetVersion(NULL));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
    REFUSED(cuDeviceGetCount(NULL));
    OK(cuDeviceGet(&device, 1));
    assert_int_equal(device, 1);
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    REFUSED(cuDeviceGet(NULL, 0));
    OK(cuDeviceGetName(text, sizeof text, 0));
    assert_non_null(strstr(text, "farfault"));
    OK(cuDeviceGetName(text, 5, 0));
    assert_int_equal(strlen(text), 4);
    REFUSED(cuDeviceGetName(text, 0, 0));
    REFUSED(cuDeviceGetName(NULL, 5, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetName(text, 5, 2));
    OK(cuDeviceGetUuid(&one, 0));
    OK(cuDeviceGetUuid_v2(&other, 1));
    assert_memory_not_equal(&one, &other, sizeof one);
    REFUSED(cuDeviceGetUuid(NULL, 0));
    REFUSED(cuDeviceGetUuid_v2(NULL, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetUuid_v2(&one, 2));
    OK(cuDeviceTotalMem_v2(&size, 0));
    assert_int_equal(size, 8 << 20);
    REFUSED(cuDeviceTotalMem_v2(NULL, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2(&size, 3));
    OK(cuDeviceComputeCapability(&value, &minor, 0));
    assert_int_equal(10 * value + minor, 70);
    REFUSED(cuDeviceComputeCapability(NULL, &minor, 0));
    REFUSED(cuDeviceComputeCapability(&value, NULL, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceComputeCapability(&value, &minor, 2));
}

static void devices_have_attributes(void **state) {
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } rows[] = {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 80},
                {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
                {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
                {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
                {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
                {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 2}};
    int value;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OK(cuDeviceGetAttribute(&value, rows[i].attribute, 1));
        assert_int_equal(value, rows[i].value);
    }
    REFUSED(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    REFUSED(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2));
}

static void devices_have_places_on_a_bus(void **state) {
    CUdevice device;
    char text[16];
    (void)state;
    OK(cuDeviceGetPCIBusId(text, sizeof text, 1));
    assert_string_equal(text, "0000:02:00.0");
    OK(cuDeviceGetByPCIBusId(&device, text));
    assert_int_equal(device, 1);
    OK(cuDeviceGetByPCIBusId(&device, "01:00"));
    assert_int_equal(device, 0);
    OK(cuDeviceGetByPCIBusId(&device, "0000:01:00"));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:03:00.0"));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0001:01:00.0"));
    REFUSED(cuDeviceGetByPCIBusId(&device, "none"));
    REFUSED(cuDeviceGetByPCIBusId(NULL, text));
    REFUSED(cuDeviceGetByPCIBusId(&device, NULL));
    REFUSED(cuDeviceGetPCIBusId(NULL, 5, 0));
    REFUSED(cuDeviceGetPCIBusId(text, 0, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetPCIBusId(text, 5, 2));
}

static void devices_are_peers(void **state) {
    CUcontext one, other;
    int value;
    (void)state;
    OK(cuDeviceCanAccessPeer(&value, 0, 1));
    assert_int_equal(value, 1);
    OK(cuDeviceCanAccessPeer(&value, 1, 1));
    assert_int_equal(value, 0);
    REFUSED(cuDeviceCanAccessPeer(NULL, 0, 1));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&value, 0, 2));
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    assert_int_equal(value, 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 1, 0));
    REFUSED(cuDeviceGetP2PAttribute(NULL, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    REFUSED(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)9, 0, 1));
    GIVES(ERROR_INVALID_DEVICE,
          cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1));
    OK(cuCtxCreate_v2(&one, 0, 1));
    OK(cuCtxCreate_v2(&other, 0, 0));
    GIVES(ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(one));
    OK(cuCtxEnablePeerAccess(one, 0));
    GIVES(ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(one, 0));
    REFUSED(cuCtxEnablePeerAccess(one, 1));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
    GIVES(ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(other, 0));
    OK(cuCtxDisablePeerAccess(one));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess(NULL));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxDestroy_v2(one));
}

/* ---- contexts ---- */

static void contexts_are_a_stack(void **state) {
    CUcontext one, other, got;
    CUdevice device;
    (void)state;
    GIVES(ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&got));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    OK(cuCtxCreate_v2(&one, CU_CTX_SCHED_YIELD, 0));
    OK(cuCtxCreate_v2(&other, 0, 1));
    OK(cuCtxGetCurrent(&got));
    assert_ptr_equal(got, other);
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuCtxGetDevice_v2(&device, one));
    assert_int_equal(device, 0);
    OK(cuCtxPopCurrent_v2(&got));
    assert_ptr_equal(got, other);
    OK(cuCtxGetCurrent(&got));
    assert_ptr_equal(got, one);
    OK(cuCtxSetCurrent(other));
    OK(cuCtxGetCurrent(&got));
    assert_ptr_equal(got, other);
    OK(cuCtxPushCurrent_v2(one));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&got));
    assert_null(got);
    GIVES(ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(NULL));
    REFUSED(cuCtxGetCurrent(NULL));
    REFUSED(cuCtxGetDevice(NULL));
    REFUSED(cuCtxGetDevice_v2(NULL, one));
    for (int i = 0; i < 64; i++)
        OK(cuCtxPushCurrent_v2(one));
    GIVES(ERROR_OUT_OF_MEMORY, cuCtxPushCurrent_v2(one));
    GIVES(ERROR_OUT_OF_MEMORY, cuCtxCreate_v2(&got, 0, 0));
    for (int i = 0; i < 64; i++)
        OK(cuCtxPopCurrent_v2(NULL));
    OK(cuCtxDestroy_v2(one));
    OK(cuCtxDestroy_v2(other));
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxDestroy_v2(one));
    REFUSED(cuCtxDestroy_v2(NULL));
}

static void *use_destroyed(void *argument) {
    CUcontext *destroyed = argument;
    unsigned flags;
    OK(cuCtxSetCurrent(destroyed[0]));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy_v2(destroyed[0]));
    OK(cuCtxSetCurrent(destroyed[1]));
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxGetFlags(&flags));
    return NULL;
}

static void a_destroyed_context_is_known_as_such(void **state) {
    CUcontext contexts[2], got;
    pthread_t thread;
    (void)state;
    OK(cuCtxCreate_v2(&contexts[0], 0, 0));
    OK(cuCtxCreate_v2(&contexts[1], 0, 0));
    CUdeviceptr memory = allocate(4096);
    assert_int_not_equal(memory, 0);
    OK(cuCtxDestroy_v2(contexts[1])); /* with its memory; and it is popped */
    GIVES(ERROR_INVALID_VALUE, cuMemFree_v2(memory));
    OK(cuCtxGetCurrent(&got));
    assert_ptr_equal(got, contexts[0]);
    assert_int_equal(pthread_create(&thread, NULL, use_destroyed, contexts), 0);
    pthread_join(thread, NULL);
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cuCtxPopCurrent_v2(NULL));
}

static void contexts_are_made_with_flags(void **state) {
    CUcontext one, got;
    unsigned long long id, other;
    unsigned flags, version;
    CUctxCreateParams nothing = {.cigParams = NULL}, affine = {.numExecAffinityParams = 1};
    CUctxCreateParams graphics = {.cigParams = (void *)&one};
    (void)state;
    REFUSED(cuCtxCreate_v2(NULL, 0, 0));
    REFUSED(cuCtxCreate_v2(&one, 0x1000, 0));
    GIVES(ERROR_INVALID_DEVICE, cuCtxCreate_v2(&one, 0, 2));
    GIVES(ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v3(&one, NULL, 1, 0, 0));
    GIVES(ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v4(&one, &affine, 0, 0));
    GIVES(ERROR_NOT_SUPPORTED, cuCtxCreate_v4(&one, &graphics, 0, 0));
    OK(cuCtxCreate_v3(&one, NULL, 0, CU_CTX_SCHED_SPIN, 0));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_SPIN);
    OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_YIELD);
    REFUSED(cuCtxSetFlags(0x1000));
    REFUSED(cuCtxGetFlags(NULL));
    OK(cuCtxGetId(NULL, &id));
    OK(cuCtxCreate_v4(&got, NULL, 0, 0));
    OK(cuCtxDestroy_v2(got));
    OK(cuCtxCreate_v4(&got, &nothing, 0, 0));
    OK(cuCtxGetId(got, &other));
    assert_true(id != other);
    OK(cuCtxGetId(one, &other));
    assert_true(id == other);
    REFUSED(cuCtxGetId(one, NULL));
    OK(cuCtxGetApiVersion(one, &version));
    OK(cuCtxGetApiVersion(NULL, &version));
    assert_true(version >= 3010);
    REFUSED(cuCtxGetApiVersion(one, NULL));
    OK(cuCtxSynchronize_v2(one));
    OK(cuCtxDestroy_v2(got));
    OK(cuCtxDestroy_v2(one));
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize_v2(one));
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxGetId(one, &id));
}

static void contexts_keep_settings(void **state) {
    CUcontext one;
    CUfunc_cache cache;
    CUsharedconfig shared;
    size_t size;
    int least, greatest;
    (void)state;
    GIVES(ERROR_INVALID_CONTEXT, cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxResetPersistingL2Cache());
    OK(cuCtxCreate_v2(&one, 0, 0));
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
    OK(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
    assert_int_equal(size, 5000);
    OK(cuCtxGetLimit(&size, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(size, 8 << 20);
    GIVES(ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit((CUlimit)77, 0));
    GIVES(ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&size, (CUlimit)-1));
    REFUSED(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxGetCacheConfig(&cache));
    assert_int_equal(cache, CU_FUNC_CACHE_PREFER_L1);
    REFUSED(cuCtxGetCacheConfig(NULL));
    REFUSED(cuCtxSetCacheConfig((CUfunc_cache)4));
    OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    OK(cuCtxGetSharedMemConfig(&shared));
    assert_int_equal(shared, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    REFUSED(cuCtxGetSharedMemConfig(NULL));
    REFUSED(cuCtxSetSharedMemConfig((CUsharedconfig)3));
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < least);
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
    OK(cuCtxResetPersistingL2Cache());
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    OK(cuCtxDestroy_v2(one));
    GIVES(ERROR_INVALID_CONTEXT, cuCtxGetStreamPriorityRange(&least, &greatest));
}

/* ---- primary contexts ---- */

static void check_primary(CUdevice device, unsigned flags, int active) {
    unsigned got;
    int is_active;
    OK(cuDevicePrimaryCtxGetState(device, &got, &is_active));
    assert_int_equal(got, flags);
    assert_int_equal(is_active, active);
}

static void primary_contexts_are_shared(void **state) {
    CUcontext one, other;
    unsigned flags;
    int active;
    (void)state;
    check_primary(1, 0, 0);
    GIVES(ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));
    OK(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_YIELD));
    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    assert_ptr_equal(one, other);
    check_primary(1, CU_CTX_SCHED_YIELD, 1);
    GIVES(ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(one));
    OK(cuDevicePrimaryCtxRelease(1));
    check_primary(1, CU_CTX_SCHED_YIELD, 1);
    OK(cuDevicePrimaryCtxRelease_v2(1));
    check_primary(1, CU_CTX_SCHED_YIELD, 0);
    OK(cuCtxPushCurrent_v2(one));
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cuDevicePrimaryCtxSetFlags(1, 0));
    OK(cuCtxPopCurrent_v2(NULL));
    REFUSED(cuDevicePrimaryCtxSetFlags(1, 0x1000));
    REFUSED(cuDevicePrimaryCtxSetFlags_v2(1, 0x1000));
    REFUSED(cuDevicePrimaryCtxRetain(NULL, 1));
    REFUSED(cuDevicePrimaryCtxGetState(1, NULL, &active));
    REFUSED(cuDevicePrimaryCtxGetState(1, &flags, NULL));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&one, 2));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRelease(2));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRelease_v2(2));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxReset(2));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxReset_v2(2));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxSetFlags_v2(2, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDevicePrimaryCtxGetState(2, &flags, &active));
}

/* Who has retained it keeps that, and releases it in the end. */
static void a_reset_frees_what_a_primary_context_has(void **state) {
    CUcontext one, other;
    (void)state;
    OK(cuDevicePrimaryCtxReset(1)); /* there is none */
    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuCtxPushCurrent_v2(one));
    CUdeviceptr memory = allocate(4096);
    OK(cuDevicePrimaryCtxReset_v2(1));
    check_primary(1, 0, 0);
    GIVES(ERROR_CONTEXT_IS_DESTROYED, cuMemFree_v2(memory));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    check_primary(1, 0, 1);
    OK(cuCtxPushCurrent_v2(other));
    REFUSED(cuMemFree_v2(memory));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    check_primary(1, 0, 1);
    OK(cuDevicePrimaryCtxRelease_v2(1));
    check_primary(1, 0, 0);
    GIVES(ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));
    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuDevicePrimaryCtxReset_v2(1));
    OK(cuDevicePrimaryCtxRelease_v2(1)); /* of one that is no more */
    GIVES(ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));
}

/* ---- names ---- */

static void results_have_names(void **state) {
    const char *text;
    (void)state;
#define FF_CUDA_ERROR(name, value, words)                                                          \
    OK(cuGetErrorName(name, &text));                                                               \
    assert_string_equal(text, #name);                                                              \
    OK(cuGetErrorString(name, &text));                                                             \
    assert_string_equal(text, words);                                                              \
    assert_int_equal(name, value);
#include "farfault/errors.def"
#undef FF_CUDA_ERROR
    REFUSED(cuGetErrorName((CUresult)12345, &text));
    assert_null(text);
    REFUSED(cuGetErrorString((CUresult)12345, &text));
    assert_null(text);
    REFUSED(cuGetErrorName(CUDA_SUCCESS, NULL));
    REFUSED(cuGetErrorString(CUDA_SUCCESS, NULL));
}

static const struct {
    const char *name;
    int since, from;
    void *plain, *flavour;
} functions[] = {
#define FF_CUDA(name, version, since, parameters) {#name, since, 0, (void *)name##version, NULL},
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)                 \
    {#name, since, from, (void *)name##version, (void *)name##version##_##flavour},
#include "farfault/driver.def"
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* Whether there is another form of the same function, that came later, but not after `version`. */
static bool is_replaced(size_t i, int version) {
    for (size_t j = 0; j < FUNCTIONS; j++)
        if (strcmp(functions[i].name, functions[j].name) == 0 &&
            functions[j].since > functions[i].since && functions[j].since <= version)
            return true;
    return false;
}

static void functions_are_found_by_their_names(void **state) {
    CUdriverProcAddressQueryResult status;
    void *found;
    (void)state;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const char *name = functions[i].name;
        OK(cuGetProcAddress_v2(name, &found, functions[i].since, 0, &status));
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        assert_ptr_equal(found, functions[i].plain);
        OK(cuGetProcAddress(name, &found, functions[i].since, 1));
        assert_ptr_equal(found, functions[i].plain);
        if (!is_replaced(i, 13000)) {
            OK(cuGetProcAddress_v2(name, &found, 13000, 1, NULL));
            assert_ptr_equal(found, functions[i].plain);
        }
        int version =
            functions[i].from > functions[i].since ? functions[i].from : functions[i].since;
        if (functions[i].flavour == NULL || is_replaced(i, version))
            continue;
        OK(cuGetProcAddress_v2(name, &found, version, 2, &status));
        assert_ptr_equal(found, functions[i].flavour);
        OK(cuGetProcAddress(name, &found, version, 2));
        assert_ptr_equal(found, functions[i].flavour);
    }
}

static void others_answer_that_they_are_not_supported(void **state) {
    CUdriverProcAddressQueryResult status;
    CUresult (*unknown)(int, int);
    void *found;
    (void)state;
    OK(cuGetProcAddress_v2("cuMulticastCreate", &found, 12000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    memcpy(&unknown, &found, sizeof unknown);
    GIVES(ERROR_NOT_SUPPORTED, unknown(1, 2));
    GIVES(ERROR_NOT_FOUND, cuGetProcAddress_v2("glFlush", &found, 12000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    GIVES(ERROR_NOT_FOUND, cuGetProcAddress_v2("cuStreamGetId", &found, 11000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_null(found);
    REFUSED(cuGetProcAddress_v2(NULL, &found, 12000, 0, &status));
    REFUSED(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, &status));
    REFUSED(cuGetProcAddress_v2("cuInit", &found, 12000, 3, &status));
    REFUSED(cuGetProcAddress(NULL, &found, 12000, 0));
    GIVES(ERROR_NOT_FOUND, cuGetProcAddress("glFlush", &found, 12000, 0));
}

static void tables_of_others_are_not_there(void **state) {
    const void *table = state;
    CUuuid id = {"private"};
    (void)state;
    GIVES(ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
    assert_null(table);
    REFUSED(cuGetExportTable(NULL, &id));
    REFUSED(cuGetExportTable(&table, NULL));
}

static void processes_share_nothing(void **state) {
    CUipcMemHandle memory = {.reserved = {0}};
    CUipcEventHandle event_handle = {.reserved = {0}};
    CUdeviceptr address;
    CUcontext one;
    CUevent event;
    (void)state;
    OK(cuCtxCreate_v2(&one, 0, 0));
    OK(cuEventCreate(&event, 0));
    GIVES(ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&memory, 4096));
    REFUSED(cuIpcGetMemHandle(NULL, 4096));
    GIVES(ERROR_NOT_SUPPORTED, cuIpcOpenMemHandle_v2(&address, memory, 1));
    REFUSED(cuIpcOpenMemHandle_v2(NULL, memory, 1));
    GIVES(ERROR_NOT_SUPPORTED, cuIpcCloseMemHandle(4096));
    GIVES(ERROR_NOT_SUPPORTED, cuIpcGetEventHandle(&event_handle, event));
    REFUSED(cuIpcGetEventHandle(NULL, event));
    REFUSED(cuIpcGetEventHandle(&event_handle, NULL));
    OK(cuEventDestroy_v2(event));
    GIVES(ERROR_NOT_SUPPORTED, cuIpcOpenEventHandle(&event, event_handle));
    REFUSED(cuIpcOpenEventHandle(NULL, event_handle));
    GIVES(ERROR_NOT_SUPPORTED, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    OK(cuCtxDestroy_v2(one));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_works_before_the_start),
                                       cmocka_unit_test(devices_say_what_they_are),
                                       cmocka_unit_test(devices_have_attributes),
                                       cmocka_unit_test(devices_have_places_on_a_bus),
                                       cmocka_unit_test(devices_are_peers),
                                       cmocka_unit_test(contexts_are_a_stack),
                                       cmocka_unit_test(a_destroyed_context_is_known_as_such),
                                       cmocka_unit_test(contexts_are_made_with_flags),
                                       cmocka_unit_test(contexts_keep_settings),
                                       cmocka_unit_test(primary_contexts_are_shared),
                                       cmocka_unit_test(a_reset_frees_what_a_primary_context_has),
                                       cmocka_unit_test(results_have_names),
                                       cmocka_unit_test(functions_are_found_by_their_names),
                                       cmocka_unit_test(others_answer_that_they_are_not_supported),
                                       cmocka_unit_test(tables_of_others_are_not_there),
                                       cmocka_unit_test(processes_share_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
