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

struct large {
    const char *kernel;
    int (*run)(const struct large *large, int n);
    cudaDataType ab, c;
    cublasComputeType_t compute;
    cublasOperation_t operation;
    int bytes; /* of an element of all matrices */
};

static int multiply(const struct large *large, int n) {
    double one = 1, zero = 0;
    const float narrow_one = 1, narrow_zero = 0;
    bool wide = large->compute == CUBLAS_COMPUTE_64F;
    size_t count = (size_t)n * (size_t)n;
    void *a = device_memory(count * size_of(large->ab));
    void *b = device_memory(count * size_of(large->ab));
    void *product = device_memory(count * size_of(large->c));
    fill(large->ab, a, n, 1);
    fill(large->ab, b, n, 2);
    OK(cublasGemmEx(handle, large->operation, CUBLAS_OP_N, n, n, n,
                    wide ? (void *)&one : &narrow_one, a, large->ab, n, b, large->ab, n,
                    wide ? (void *)&zero : &narrow_zero, product, large->c, n, large->compute,
                    CUBLAS_GEMM_DEFAULT));
    wait_for_all();
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    double *z = malloc((size_t)n * sizeof *z);
    for (int i = 0; i < n; i++)
        x[i] = i % 5 + 1;
    apply(large->ab, b, n, false, x, y);
    apply(large->ab, a, n, large->operation != CUBLAS_OP_N, y, z);
    apply(large->c, product, n, false, x, y);
    bool right = memcmp(y, z, (size_t)n * sizeof *y) == 0;
    free(x);
    free(y);
    free(z);
    device_free(a);
    device_free(b);
    device_free(product);
    return right ? 0 : 1;
}

/* A triangle with ones on its diagonal, and two more in each column, times columns of the numbers
 * of their rows: these must come out. */
static int solve(const struct large *large, int n) {
    size_t count = (size_t)n * (size_t)n, rows = (size_t)n, wrong = 0;
    float *a = device_memory(count * sizeof *a), *b = device_memory(count * sizeof *b);
    const float one = 1;
    (void)large;
    memset(a, 0, count * sizeof *a);
    for (size_t j = 0; j < rows; j++) {
        a[j + j * rows] = 1;
        for (size_t i = j + 1; i < rows && i <= j + 700; i += 333)
            a[i + j * rows] = 1;
    }
    float *sums = calloc(rows, sizeof *sums);
    for (size_t j = 0; j < rows; j++)
        for (size_t i = j; i < rows; i++)
            sums[i] += a[i + j * rows] * (float)(j % 7);
    for (size_t j = 0; j < rows; j++)
        memcpy(b + j * rows, sums, rows * sizeof *sums);
    OK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                   CUBLAS_DIAG_NON_UNIT, n, n, &one, a, n, b, n));
    wait_for_all();
    for (size_t i = 0; i < count; i++)
        wrong += b[i] != (float)(i % rows % 7);
    free(sums);
    device_free(a);
    device_free(b);
    return wrong == 0 ? 0 : 1;
}

#define PRODUCT(kernel, ab, c, compute, operation, bytes)                                          \
    { kernel, multiply, ab, c, compute, operation, bytes }
static const struct large cases[] = {
    PRODUCT("sgemm", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_N, 12),
    PRODUCT("sgemm", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_T, 12),
    PRODUCT("dgemm", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUBLAS_OP_N, 24),
    PRODUCT("hgemm", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_OP_N, 6),
    PRODUCT("bfgemm", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_OP_T, 8),
    {.kernel = "strsm", .run = solve, .bytes = 8},
};
#define CASES (sizeof cases / sizeof *cases)

static int run_case(const struct large *large, int n) {
    begin(NULL);
    int status = large->run(large, n);
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
        const int memory = 16; /* MiB: fewer blocks than eight are too few for three matrices */
        int n = (int)sqrt(2 * memory * 1048576.0 / cases[i].bytes);
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
