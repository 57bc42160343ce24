/* Matrices that are larger than the device's memory: results are right, and what is moved is a few
 * times the matrices. Each case is a process of its own, whose summary says what it moved. */
#include "cuda/blas.h"

/* ---- the processes ---- */

/* Square matrices of whole numbers, most of them 0, so that all sums are exact. */
static void fill(cudaDataType type, void *data, int n, uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    memset(data, 0, (size_t)n * (size_t)n * size_of(type));
    for (int i = 0; i < 8 * n; i++)
        put(type, data, ff__random_below(&random, (uint32_t)(n * n)), whole(&random, type));
}

/* y = op(a) x. */
static void apply(cudaDataType type, const void *a, int n, bool turned, const double *x,
                  double *y) {
    memset(y, 0, (size_t)n * sizeof *y);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double value = creal(get(type, a, (size_t)i + (size_t)j * (size_t)n));
            y[turned ? j : i] += value * x[turned ? i : j];
        }
}

static int multiply(int n, cudaDataType ab, cudaDataType c, cublasComputeType_t compute,
                    cublasOperation_t operation) {
    double one = 1, zero = 0;
    const float narrow_one = 1, narrow_zero = 0;
    bool wide = compute == CUBLAS_COMPUTE_64F;
    size_t count = (size_t)n * (size_t)n;
    void *a = device_memory(count * size_of(ab)), *b = device_memory(count * size_of(ab));
    void *product = device_memory(count * size_of(c));
    fill(ab, a, n, 1);
    fill(ab, b, n, 2);
    OK(cublasGemmEx(handle, operation, CUBLAS_OP_N, n, n, n, wide ? (void *)&one : &narrow_one, a,
                    ab, n, b, ab, n, wide ? (void *)&zero : &narrow_zero, product, c, n, compute,
                    CUBLAS_GEMM_DEFAULT));
    wait_for_all();
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    double *z = malloc((size_t)n * sizeof *z);
    for (int i = 0; i < n; i++)
        x[i] = i % 5 + 1;
    apply(ab, b, n, false, x, y);
    apply(ab, a, n, operation != CUBLAS_OP_N, y, z);
    apply(c, product, n, false, x, y);
    bool right = memcmp(y, z, (size_t)n * sizeof *y) == 0;
    free(x);
    free(y);
    free(z);
    device_free(a);
    device_free(b);
    device_free(product);
    return right ? 0 : 1;
}

static const struct large {
    const char *kernel;
    cudaDataType ab, c;
    cublasComputeType_t compute;
    cublasOperation_t operation;
} cases[] = {
    {"sgemm", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_N},
    {"sgemm", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_T},
    {"dgemm", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUBLAS_OP_N},
    {"hgemm", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_OP_N},
    {"bfgemm", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_T},
};
#define CASES (sizeof cases / sizeof *cases)

static int run_case(const struct large *large, int n) {
    begin(NULL);
    int status = multiply(n, large->ab, large->c, large->compute, large->operation);
    end(NULL);
    return status;
}

/* ---- the tests ---- */

static const char *program;

/* MiB that the kernel has brought in, by its row of the summary. */
static double brought_in(const char *summary, const char *kernel) {
    char row[32], unit[4];
    double value = 0;
    snprintf(row, sizeof row, "\n    %s ", kernel);
    const char *at = strstr(summary, row);
    /* its launches, operands, faults and refaults are before it */
    if (at == NULL || sscanf(at + strlen(row), "%*d %*f %*s %*d %*d %lf %3s", &value, unit) != 2 ||
        strcmp(unit, "MiB") != 0)
        fail_msg("no row of %s in: %s", kernel, summary);
    return value;
}

/* At twice the memory each matrix is moved in a few times; a BLAS that knows nothing of it moves
 * five times the matrices, and more the larger they are. */
static void moves_little_more_than_the_matrices(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        int memory = SANITIZED ? 8 : 16; /* MiB */
        double bytes = 2 * (double)size_of(cases[i].ab) + (double)size_of(cases[i].c);
        int n = (int)sqrt(2 * memory * 1048576.0 / bytes);
        char command[1024], out[16384];
        snprintf(
            command, sizeof command,
            "FARFAULT_MEMORY=%dM FARFAULT_SYSTEM=nvidia FARFAULT_SUMMARY=text '%s' %zu %d 2>&1",
            memory, program, i, n);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
        if (pclose(pipe) != 0)
            fail_msg("%s: %s", cases[i].kernel, out);
        double in = brought_in(out, cases[i].kernel);
        if (in > 3.5 * 2 * memory)
            fail_msg("%s: %g MiB in, of matrices of %d: %s", cases[i].kernel, in, 2 * memory, out);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_little_more_than_the_matrices)};
    program = argv[0];
    if (argc == 3)
        return run_case(&cases[atoi(argv[1])], atoi(argv[2]));
    return cmocka_run_group_tests_name("blas.large", tests, NULL, NULL);
}
