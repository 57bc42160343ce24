/* Errors: the thread's last one, names and texts. */
#include "cuda/runtime/internal.h"

static _Thread_local cudaError_t last;

cudaError_t ff__rt_fail(cudaError_t error) {
    last = error;
    return error;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last;
}

static const struct runtime_error {
    cudaError_t error;
    const char *name, *text;
} rows[] = {
#define FF_CUDART_ERROR(name, value, text) {name, #name, text},
#include <farfault/runtime_errors.def>
};

static const struct runtime_error *find(cudaError_t error) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return &rows[i];
    return NULL;
}

const char *cudaGetErrorName(cudaError_t error) {
    const struct runtime_error *row = find(error);
    return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    const struct runtime_error *row = find(error);
    const char *text = NULL;
    if (row && row->text[0])
        return row->text;
    if (!row || cuGetErrorString((CUresult)error, &text) || !text)
        return "unrecognized error code";
    return text;
}
