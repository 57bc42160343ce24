/* Products of what is no memory. Each case is a process of its own, because its error stays. */
#include "cuda/blas.h"

static const float one = 1;

/* The kernel fails, and from then on every call does; another context goes on. */
static void stray(void) {
    CUcontext other;
    cublasHandle_t second;
    float *nowhere = (float *)4096; // NOLINT(performance-no-int-to-ptr)
    float *c = device_memory(sizeof *c);
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nowhere, 1, c, 1, &one, c, 1));
    /* it does nothing, and may hear of the failure already */
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, c, 1, c, 1, &one, c, 1);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(EXECUTION_FAILED,
          cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, c, 1, c, 1, &one, c, 1));
    CU_OK(cuCtxCreate(&other, 0, 0));
    OK(cublasCreate(&second));
    c = device_memory(sizeof *c);
    *c = 2;
    OK(cublasSgemm(second, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, c, 1, c, 1, &one, c, 1));
    CU_OK(cuCtxSynchronize());
    OK(cublasDestroy(second));
    CU_OK(cuCtxDestroy(other));
}

/* Of alpha, of the pointers of a batch, of what is written. */
static void run_stray(const float *alpha, float **matrices) {
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, alpha, (void *)matrices, 1,
                          (void *)matrices, 1, alpha, matrices, 1, 1));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void factor(void) {
    run_stray((float *)4096, device_memory(8)); // NOLINT(performance-no-int-to-ptr)
}

static void pointers(void) {
    run_stray(device_memory(8), (float **)4096); // NOLINT(performance-no-int-to-ptr)
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"stray", stray}, {"factor", factor}, {"pointers", pointers}};
#define CASES (sizeof cases / sizeof *cases)

static const char *program;

static void each_process_is_told(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        char command[1024], out[4096];
        snprintf(command, sizeof command, "'%s' %s 2>&1", program, cases[i].name);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
        int status = pclose(pipe);
        const char *line = strstr(out, "farfault: ");
        if (status != 0 || line == NULL || strstr(line + 1, "farfault: ") != NULL ||
            strstr(line, "kernel 'sgemm': an access to 0x1000, which is no memory") == NULL)
            fail_msg("%s: status %d: %s", cases[i].name, status, out);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_process_is_told)};
    program = argv[0];
    for (size_t i = 0; argc > 1 && i < CASES; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            begin(NULL);
            cases[i].run();
            return 0;
        }
    return cmocka_run_group_tests_name("blas.failures", tests, NULL, NULL);
}
