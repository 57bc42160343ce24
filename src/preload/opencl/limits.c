/* How large buffers may be.
 *
 * PoCL allows a buffer, an image or shared virtual memory of about a quarter of what hwloc says is
 * the memory of the machine, less where a part of it is not there yet (lib/CL/devices/common.c,
 * pocl_setup_device_for_system_memory). Managed memory may be as large as the host tier. So PoCL is
 * told of a machine that is four times as large as that. */
#include "preload/opencl/internal.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <string.h>

#define STRING_OF(x) #x
#define SONAME(n)    "libhwloc.so." STRING_OF(n)

/* The library that these headers are of; PoCL has loaded it, but not for everybody. */
#if HWLOC_API_VERSION >= 0x00020000
#define HWLOC_SONAME SONAME(15)
#endif

/* PoCL keeps so much for the system. */
#define KEPT_BACK (UINT64_C(2) << 30)

static void *find(const char *name) {
    void *library = dlopen(HWLOC_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library); /* whoever calls has it open */
    return found;
}

static bool is_in_pocl(const void *address) {
    Dl_info of;
    return dladdr(address, &of) && of.dli_fname && strstr(of.dli_fname, "libpocl") != NULL;
}

static void enlarge(hwloc_topology_t topology) {
    __typeof__(hwloc_get_obj_by_depth) *get =
        (__typeof__(get))(uintptr_t)find("hwloc_get_obj_by_depth");
    hwloc_obj_t machine = get ? get(topology, 0, 0) : NULL;
    uint64_t wanted = 4 * ff__memory_shown() + KEPT_BACK;
    if (machine && machine->total_memory < wanted)
        machine->total_memory = wanted;
}

FF_HOOKED int hwloc_topology_load(hwloc_topology_t topology) {
    __typeof__(hwloc_topology_load) *real =
        (__typeof__(real))(uintptr_t)find("hwloc_topology_load");
    if (!real)
        return -1;
    int status = real(topology);
    if (status == 0 && !ff__in_child() && is_in_pocl(__builtin_return_address(0)))
        enlarge(topology);
    return status;
}
