/* Functions by their names: cuGetProcAddress(), and the flavours of functions whose default stream
 * is the thread's. */
#include "cuda/driver/internal.h"

#include "preload/preload.h"

#include <stdio.h>
#include <string.h>

/* ---- the flavours ---- */

#define FF_CUDA(name, version, since, parameters)
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)                 \
    CUresult name##version##_##flavour parameters {                                                \
        ff__cuda_per_thread(true);                                                                 \
        CUresult result = name##version arguments;                                                 \
        ff__cuda_per_thread(false);                                                                \
        return result;                                                                             \
    }
#include <farfault/driver.def>
#undef FF_CUDA
#undef FF_CUDA_STREAM

/* ---- the table ---- */

static const struct cuda_function {
    const char *name;
    int since, since_per_thread; /* CUDA versions */
    void *plain, *per_thread;    /* the second: NULL where there is but one */
} functions[] = {
#define FF_CUDA(name, version, since, parameters) {#name, since, 0, (void *)name##version, NULL},
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)                 \
    {#name, since, from, (void *)name##version, (void *)name##version##_##flavour},
#include <farfault/driver.def>
#undef FF_CUDA
#undef FF_CUDA_STREAM
};

/* Of the forms that a version has, the newest is meant. */
void *ff__cuda_lookup(const char *name, int version, bool per_thread, bool *known) {
    void *found = NULL;
    int newest = -1;
    *known = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct cuda_function *function = &functions[i];
        if (strcmp(function->name, name) != 0)
            continue;
        *known = true;
        if (function->since > version || function->since < newest)
            continue;
        newest = function->since;
        found = per_thread && function->per_thread != NULL && function->since_per_thread <= version
                    ? function->per_thread
                    : function->plain;
    }
    return found;
}

/* What a program gets for a name that is not known: run times look up all names that there are, and
 * call few of them. */
static CUresult not_supported(void) {
    ff__fall_back("unknown CUDA driver functions", NULL);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- what is there to be refused ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define FF_CUDA(name, version, since, parameters)
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)
#define FF_CUDA_REFUSED(name, version, since, parameters)                                          \
    CUresult name##version parameters {                                                            \
        ff__fall_back("CUDA virtual memory management", NULL);                                     \
        return CUDA_ERROR_NOT_SUPPORTED;                                                           \
    }
#include <farfault/driver.def>
#undef FF_CUDA
#undef FF_CUDA_STREAM
#pragma GCC diagnostic pop

/* ---- cuGetProcAddress ---- */

#define PER_THREAD_STREAM 2u /* of CUdriverProcAddress_flags; 0 and 1: the legacy stream */

static CUresult get(const char *symbol, void **function, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult unwanted;
    bool known;
    if (status == NULL)
        status = &unwanted;
    if (symbol == NULL || function == NULL || flags > PER_THREAD_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *function = ff__cuda_lookup(symbol, version, flags == PER_THREAD_STREAM, &known);
    *status = *function != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
              : known           ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (*function != NULL || known || strncmp(symbol, "cu", 2) != 0)
        return *function != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    *function = (void *)not_supported;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags) {
    return get(symbol, function, version, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    return get(symbol, function, version, flags, status);
}
