/* Devices: how many there are, and what they say of themselves. */
#include "cuda/driver/internal.h"

#include "preload/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ff__cuda_device ff__cuda_devices[FF_CUDA_DEVICES];

static struct ff_context *farfault;
static bool is_passive;
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static CUresult open_result;

/* What GPUs that a program may be told of have: rows from data/gpus, made by CMake. */
static const struct cuda_gpu {
    const char *name;
    int major, minor;     /* compute capability */
    int sms, warps, ctas; /* of an SM: the last two */
    uint64_t clock_hz, memory_rate;
} gpus[] = {
#include "gpus.inc"
};
static const struct cuda_gpu *gpu = &gpus[0];

static void choose_gpu(void) {
    const char *name = getenv("FARFAULT_CUDA_GPU");
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (strcmp(gpus[i].name, name != NULL ? name : "v100-32g") == 0) {
            gpu = &gpus[i];
            return;
        }
    ff__say("FARFAULT_CUDA_GPU='%s' is none of `farfault list gpus`; taken for v100-32g", name);
}

/* In a passive run there is a context all the same, for its workers: nothing is allocated in it.
 * The handlers of kernels' faults are before the program's, too. */
static void open_devices(void) {
    struct ff_error error;
    ff__sigbus_opens(true);
    ff__ptx_catch_faults();
    ff__sigbus_opens(false);
    choose_gpu();
    is_passive = ff__mode() != FF__MANAGED;
    farfault = ff__context();
    if (farfault == NULL) {
        is_passive = true;
        if (ff_open(ff__config(), &farfault, &error) != 0) {
            ff__say("no CUDA device: %s", error.message);
            open_result = CUDA_ERROR_NO_DEVICE;
            return;
        }
    }
}

CUresult ff__cuda_open(void) {
    if (ff__in_child())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_once(&opened, open_devices);
    return open_result;
}

struct ff_context *ff__cuda_farfault(void) {
    return farfault;
}

int ff__cuda_device_count(void) {
    return (int)ff__config()->devices;
}

uint64_t ff__cuda_device_memory(void) {
    return ff__config()->memory;
}

bool ff__cuda_is_passive(void) {
    return is_passive;
}

CUresult ff__cuda_device_check(CUdevice device) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    return device < 0 || device >= ff__cuda_device_count() ? CUDA_ERROR_INVALID_DEVICE
                                                           : CUDA_SUCCESS;
}

/* ---- which there are ---- */

CUresult cuDeviceGet(CUdevice *device, int number) {
    CUresult result = ff__cuda_device_check_with(device, number);
    if (result == CUDA_SUCCESS)
        *device = number;
    return result;
}

CUresult cuDeviceGetCount(int *count) {
    CUresult result = ff__cuda_started_with(count);
    if (result == CUDA_SUCCESS)
        *count = ff__cuda_device_count();
    return result;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "farfault software device (%s)", gpu->name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    if (uuid == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_device_check(device);
    if (result == CUDA_SUCCESS) {
        memcpy(uuid->bytes, "farfault-device", sizeof uuid->bytes);
        uuid->bytes[15] = (char)device;
    }
    return result;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    return cuDeviceGetUuid(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
    CUresult result = ff__cuda_device_check_with(size, device);
    if (result == CUDA_SUCCESS)
        *size = ff__cuda_device_memory();
    return result;
}

/* A bus for each: 0000:01:00.0 is the first. */
CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (id == NULL || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)size, "0000:%02X:00.0", (unsigned)device + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
    CUresult result = ff__cuda_started();
    unsigned domain = 0, bus, slot;
    if (device == NULL || id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(id, "%x:%x", &bus, &slot) != 2)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain != 0 || slot != 0 || bus < 1 || bus > (unsigned)ff__cuda_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    *device = (CUdevice)bus - 1;
    return CUDA_SUCCESS;
}

/* ---- attributes ---- */

static int attribute_of_gpu(CUdevice_attribute attribute) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return gpu->major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return gpu->minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return gpu->sms;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return 32 * gpu->warps;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return gpu->ctas;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: /* in kHz */
        return (int)(gpu->clock_hz / 1000);
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: /* of a bus of 4096 bits, twice a cycle */
        return (int)(gpu->memory_rate / 1024 / 1000);
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return 4096;
    default:
        return 0;
    }
}

/* What the executor has, and what every device has since compute capability 7.0. */
static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, UINT16_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, UINT16_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 96 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 96 << 10},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT32_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 6 << 20},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 128 << 10},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 128 << 20},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 128 << 10},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16 << 10},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16 << 10},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16 << 10},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
};

int ff__cuda_attribute(CUdevice_attribute attribute) {
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute)
            return attributes[i].value;
    return attribute_of_gpu(attribute);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (value == NULL || attribute < CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK ||
        attribute > CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value =
        attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : ff__cuda_attribute(attribute);
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    if (major == NULL || minor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_device_check(device);
    if (result == CUDA_SUCCESS) {
        *major = gpu->major;
        *minor = gpu->minor;
    }
    return result;
}

/* ---- peers: all memory is that of the process ---- */

static CUresult check_pair(CUdevice device, CUdevice peer) {
    CUresult result = ff__cuda_device_check(device);
    return result == CUDA_SUCCESS ? ff__cuda_device_check(peer) : result;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    if (can == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_pair(device, peer);
    if (result == CUDA_SUCCESS)
        *can = device != peer;
    return result;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                 CUdevice to) {
    if (value == NULL || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_pair(from, to);
    if (result == CUDA_SUCCESS && from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
                 attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    return result;
}
