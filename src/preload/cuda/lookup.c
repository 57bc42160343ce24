/* The table of the driver's functions, and how programs look them up. */
#include "preload/cuda/internal.h"

#include "preload/lookup.h"

#include <string.h>

static struct ff__cuda_real table;

#define ITEM(symbol, hook)                                                                         \
    { #symbol, offsetof(struct ff__cuda_real, symbol), (void *)(hook) }
static const struct ff__hook items[] = {
#define FF_HOOK(name, version, since) ITEM(name##version, name##version),
#define FF_HOOK_STREAM(name, version, since, from)                                                 \
    ITEM(name##version, name##version), ITEM(name##version##_ptsz, name##version##_ptsz),
#define FF_REAL(name, version) ITEM(name##version, NULL),
#include "preload/cuda/hooks.def"
};

const struct ff__hooks ff__hooks = {items, sizeof items / sizeof items[0], &table, "libcuda.so.1"};

const struct ff__cuda_real *ff__cuda_real(void) {
    ff__hooks_load();
    return &table;
}

/* ---- cuGetProcAddress ---- */

#define PER_THREAD_STREAM 2u /* of CUdriverProcAddress_flags */

/* The form of a name is its CUDA version: the same name at another version is another interface. */
static const struct procedure {
    const char *name;
    int since, since_per_thread;
    void *plain, *per_thread;
} procedures[] = {
#define FF_HOOK(name, version, since) {#name, since, 0, (void *)name##version, NULL},
#define FF_HOOK_STREAM(name, version, since, from)                                                 \
    {#name, since, from, (void *)name##version, (void *)name##version##_ptsz},
#include "preload/cuda/hooks.def"
};

static void *hook_of(const char *name, int version, bool per_thread) {
    void *hook = NULL;
    int newest = -1;
    for (size_t i = 0; i < sizeof procedures / sizeof *procedures; i++) {
        const struct procedure *of = &procedures[i];
        if (strcmp(of->name, name) != 0 || of->since > version || of->since < newest)
            continue;
        newest = of->since;
        hook = per_thread && of->per_thread && of->since_per_thread <= version ? of->per_thread
                                                                               : of->plain;
    }
    return hook;
}

/* The driver answers first, so that what it does not have stays so. */
static void replace(CUresult result, const char *name, void **function, int version,
                    cuuint64_t flags) {
    if (result != CUDA_SUCCESS || !name || !function || !*function)
        return;
    void *hook = hook_of(name, version, flags == PER_THREAD_STREAM);
    if (hook)
        *function = hook;
}

FF_HOOKED CUresult cuGetProcAddress(const char *name, void **function, int version,
                                    cuuint64_t flags) {
    CUresult result = REAL(cuGetProcAddress)(name, function, version, flags);
    replace(result, name, function, version, flags);
    return result;
}

FF_HOOKED CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                       cuuint64_t flags, CUdriverProcAddressQueryResult *status) {
    CUresult result = REAL(cuGetProcAddress_v2)(name, function, version, flags, status);
    replace(result, name, function, version, flags);
    return result;
}
