/* The table of OpenCL's functions, and those by which a program looks functions up. */
#include "preload/opencl/internal.h"

#include "preload/lookup.h"

static struct ff__real table;

static const struct ff__hook items[] = {
#define FF_HOOK(name) {#name, offsetof(struct ff__real, name), (void *)name},
#define FF_REAL(name) {#name, offsetof(struct ff__real, name), NULL},
#include "preload/opencl/hooks.def"
};

const struct ff__hooks ff__hooks = {items, sizeof items / sizeof items[0], &table,
                                    "libOpenCL.so.1"};

const struct ff__real *ff__real(void) {
    ff__hooks_load();
    return &table;
}

FF_HOOKED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    return ff__hook_in_place_of(name, REAL(clGetExtensionFunctionAddress)(name));
}

FF_HOOKED void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                     const char *name) {
    return ff__hook_in_place_of(name,
                                REAL(clGetExtensionFunctionAddressForPlatform)(platform, name));
}
