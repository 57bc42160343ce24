/* Wrong arguments: what each function of cuBLAS makes of them. */
#include "cuda/blas.h"

#include "cuda/arguments.h"

#define FF_CUBLAS_INT                                         int
#define FF_CUBLAS(name, version, parameters)                  TESTED(name, parameters)
#define FF_CUBLAS_PLACE(name, version, parameters)            TESTED(name, parameters)
#define FF_CUBLAS_SIZED(name, version, parameters, arguments) TESTED(name, parameters)
static const struct tested functions[] = {
#include <farfault/blas.def>
#include <farfault/blas_types.h>
};
#define FUNCTIONS                      (sizeof functions / sizeof *functions)

#define EXCEPT(name, argument, result) {#name, #argument, CUBLAS_STATUS_##result},
static const struct exception exceptions[] = {
#include "blas_arguments.def"
};
#define EXCEPTIONS (sizeof exceptions / sizeof *exceptions)

static const char *result_name(int result) {
    return cublasGetStatusName((cublasStatus_t)result);
}

/* Vectors with odd steps are accepted: the kernel reads the memory of the arguments. */
static void wait_for_kernels(void) {
    CU_OK(cuCtxSynchronize());
}

static void each_wrong_argument_is_refused(void **state) {
    bool used[EXCEPTIONS] = {false};
    (void)state;
    const int value = CUBLAS_STATUS_INVALID_VALUE, unsupported = CUBLAS_STATUS_NOT_SUPPORTED;
    const uintptr_t negative = UINTPTR_MAX;
    const struct kind kinds[] = {
        {"cublasHandle_t *", PLACE, 0, value},
        {"cublasHandle_t ", (uintptr_t)handle, 0, CUBLAS_STATUS_NOT_INITIALIZED},
        {"*alpha", PLACE, 0, value},
        {"*beta", PLACE, 0, value},
        {"*mode", PLACE, 0, value},
        {"*result", PLACE, 0, value},
        {"*", PLACE, 0, 0}, /* matrices are not looked at */
        {"cudaDataType type", CUDA_R_32F, WRONG, unsupported},
        {"Mode_t ", 0, WRONG, value},
        {"ComputeType_t ", CUBLAS_COMPUTE_32F, WRONG, unsupported},
        {"Type_t ", 0, WRONG, value},
        {"Operation_t ", CUBLAS_OP_N, WRONG, value},
        {"int ld", 1, 0, value},
        {"int inc", 1, 0, value},
        {"int ", 1, negative, value},
        {"long long", 0, 0, 0},
        {"size_t", 0, 0, 0},
        {"cu", 0, 0, 0},
        {"library", 0, WRONG, value},
    };
    const struct arguments all = {.kinds = kinds,
                                  .kind_count = sizeof kinds / sizeof *kinds,
                                  .exceptions = exceptions,
                                  .exception_count = EXCEPTIONS,
                                  .left_out = "cublasDestroy",
                                  .prepare = wait_for_kernels,
                                  .result_name = result_name};
    check_arguments(&all, functions, FUNCTIONS, used);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_wrong_argument_is_refused)};
    return cmocka_run_group_tests(tests, begin, end);
}
