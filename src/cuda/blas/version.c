/* What a version of the library says of itself. */
#include "cuda/blas/internal.h"

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
    (void)handle; /* may be NULL */
    if (version == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = FF_CUBLAS_MAJOR * 10000 + FF_CUBLAS_MINOR * 100;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    if (value == NULL || (unsigned)type > PATCH_LEVEL)
        return CUBLAS_STATUS_INVALID_VALUE;
    static const int values[] = {FF_CUBLAS_MAJOR, FF_CUBLAS_MINOR, 0};
    *value = values[type];
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void) {
    return FF_CUBLAS_MAJOR * 1000 + FF_CUBLAS_MINOR * 10;
}
