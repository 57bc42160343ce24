/* PoCL's CPU devices, shown as the GPUs that the program looks for, or, with
 * FARFAULT_DEVICE_TYPE=cpu, as what they are: a program may have other kernels for CPUs.
 *
 * Only the PoCL platform is shown, for only its devices work on managed memory in place. What the
 * program reads about them is the same in passive mode, so that it does the same. */
#include "preload/opencl/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEVICES_MAX 64

static const char pocl_name[] = "Portable Computing Language";

static struct {
    cl_platform_id platform; /* NULL: there is no PoCL */
    cl_uint platform_count;  /* of all */
    cl_device_id devices[DEVICES_MAX];
    cl_uint device_count;
} pocl;

static pthread_once_t found = PTHREAD_ONCE_INIT;

/* What kind the program takes the devices for: the kind it asked for last, GPUs unless that was
 * CPUs alone. */
static cl_device_type shown_type = CL_DEVICE_TYPE_GPU;
static bool disguised = true;

/* ---- finding PoCL ---- */

static bool is_pocl(cl_platform_id platform) {
    char name[sizeof pocl_name] = "";
    return REAL(clGetPlatformInfo)(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, pocl_name) == 0;
}

static void read_kind(void) {
    const char *kind = getenv("FARFAULT_DEVICE_TYPE");
    disguised = !kind || strcmp(kind, "cpu") != 0;
    if (!disguised || !kind || strcmp(kind, "gpu") == 0)
        return;
    ff__say("FARFAULT_DEVICE_TYPE=%s: must be gpu or cpu", kind);
    ff__leave_if_required();
}

static void find_pocl(void) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    read_kind();
    if (REAL(clGetPlatformIDs)(16, platforms, &count) != CL_SUCCESS)
        count = 0;
    pocl.platform_count = count;
    for (cl_uint i = 0; i < count && i < 16 && !pocl.platform; i++)
        if (is_pocl(platforms[i]))
            pocl.platform = platforms[i];
    if (!pocl.platform) {
        ff__say("there is no PoCL here (Debian: pocl-opencl-icd); OpenCL runs without farfault");
        return;
    }
    if (REAL(clGetDeviceIDs)(pocl.platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, pocl.devices,
                             &pocl.device_count) != CL_SUCCESS)
        pocl.device_count = 0;
    if (pocl.device_count > DEVICES_MAX)
        pocl.device_count = DEVICES_MAX;
}

static bool have_pocl(void) {
    if (ff__in_child())
        return false;
    ff__config();
    pthread_once(&found, find_pocl);
    if (!pocl.platform)
        ff__leave_if_required();
    return pocl.platform != NULL;
}

/* The first of ours, itself or an ancestor of this sub-device; false if it is another platform's.
 */
static bool find_device(cl_device_id device, cl_uint *index) {
    while (device && have_pocl()) {
        for (*index = 0; *index < pocl.device_count; (*index)++)
            if (pocl.devices[*index] == device)
                return true;
        if (REAL(clGetDeviceInfo)(device, CL_DEVICE_PARENT_DEVICE, sizeof device, &device, NULL))
            return false;
    }
    return false;
}

bool ff__device_of_queue(cl_command_queue queue, uint32_t *device) {
    cl_device_id id = NULL;
    cl_uint index;
    if (REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL) ||
        !find_device(id, &index))
        return false;
    *device = index % ff__config()->devices;
    return true;
}

/* ---- platforms ---- */

FF_HOOKED cl_int CL_API_CALL clGetPlatformIDs(cl_uint capacity, cl_platform_id *platforms,
                                              cl_uint *count) {
    if (!have_pocl() || (platforms && capacity == 0) || (!platforms && !count))
        return REAL(clGetPlatformIDs)(capacity, platforms, count);
    if (platforms)
        platforms[0] = pocl.platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

/* No platform means the loader's default one, which need not be the one that is shown. */
static cl_platform_id or_pocl(cl_platform_id platform) {
    return platform || !have_pocl() ? platform : pocl.platform;
}

FF_HOOKED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
                                               size_t size, void *value, size_t *size_out) {
    return REAL(clGetPlatformInfo)(or_pocl(platform), what, size, value, size_out);
}

/* ---- kinds of devices ---- */

/* What to ask PoCL for when the program asks for this; remembers what to show. */
static cl_device_type real_type(cl_device_type type) {
    const cl_device_type stand_in = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    if (!disguised)
        return type;
    if (type & stand_in)
        __atomic_store_n(&shown_type, CL_DEVICE_TYPE_GPU, __ATOMIC_RELAXED);
    else if (type & CL_DEVICE_TYPE_CPU)
        __atomic_store_n(&shown_type, CL_DEVICE_TYPE_CPU, __ATOMIC_RELAXED);
    if (type == CL_DEVICE_TYPE_ALL || !(type & stand_in))
        return type;
    return (type & ~stand_in) | CL_DEVICE_TYPE_CPU;
}

FF_HOOKED cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type,
                                            cl_uint capacity, cl_device_id *devices,
                                            cl_uint *count) {
    platform = or_pocl(platform);
    if (have_pocl() && platform == pocl.platform) {
        type = real_type(type);
        ff__context(); /* opens it, so that a failure is known before the program sets out */
    }
    return REAL(clGetDeviceIDs)(platform, type, capacity, devices, count);
}

static bool names_platform(const cl_context_properties *properties, cl_platform_id *platform) {
    for (; properties && properties[0]; properties += 2) {
        if (properties[0] == CL_CONTEXT_PLATFORM) {
            *platform = (cl_platform_id)properties[1];
            return true;
        }
    }
    return false;
}

FF_HOOKED cl_context CL_API_CALL
clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                        void *user, cl_int *status) {
    cl_platform_id platform = NULL;
    bool named = names_platform(properties, &platform);
    const cl_context_properties ours[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)or_pocl(NULL),
                                          0};
    if (!properties && have_pocl() && pocl.platform_count > 1)
        properties = ours; /* else the loader takes its default platform */
    if (have_pocl() && (!named || platform == pocl.platform)) {
        type = real_type(type);
        ff__context();
    }
    return REAL(clCreateContextFromType)(properties, type, notify, user, status);
}

/* ---- what a device says of itself ---- */

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Three quarters of the RAM, which is ours. Asked for once: each buffer wants to know. */
static uint64_t ram_for_memory(void) {
    static uint64_t known;
    uint64_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (bytes == 0) {
        bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (uint64_t)sysconf(_SC_PAGESIZE);
        __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
    }
    return bytes;
}

/* More than the budget, or there would be no point, but no more than the host tier can hold. */
uint64_t ff__memory_shown(void) {
    const struct ff_config *config = ff__config();
    uint64_t room = ram_for_memory();
    struct statvfs disk;
    if (config->host_file && statvfs(config->host_file, &disk) == 0)
        room = (uint64_t)disk.f_bavail * disk.f_frsize;
    room = smaller(room, config->address_space);
    return room > config->memory ? room : config->memory;
}

size_t ff__size_allowed(size_t size) {
    return size > ff__memory_shown() ? SIZE_MAX : size;
}

/* Replaces what the real call has put into `value`. */
static void adjust(cl_device_info what, void *value) {
    const cl_device_type stand_in = CL_DEVICE_TYPE_GPU;
    cl_device_type *type = value;
    cl_ulong *bytes = value;
    switch (what) {
    case CL_DEVICE_TYPE:
        if (disguised && __atomic_load_n(&shown_type, __ATOMIC_RELAXED) == stand_in &&
            (*type & CL_DEVICE_TYPE_CPU))
            *type = (*type & ~(cl_device_type)CL_DEVICE_TYPE_CPU) | stand_in;
        break;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        *bytes = ff__memory_shown();
        break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: /* PoCL's is higher with limits.c */
        *bytes = smaller(*bytes, ff__memory_shown());
        break;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        *(cl_bool *)value = CL_FALSE;
        break;
    default:
        break;
    }
}

FF_HOOKED cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size,
                                             void *value, size_t *size_out) {
    cl_uint index;
    cl_int status = REAL(clGetDeviceInfo)(device, what, size, value, size_out);
    if (status == CL_SUCCESS && value && find_device(device, &index))
        adjust(what, value);
    return status;
}
