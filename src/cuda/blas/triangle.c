#include "cuda/blas/triangle.h"

#include "base/scratch.h"
#include "cuda/blas/product.h"

#include <cblas.h>
#include <errno.h>

/* Rows of a triangle that is a block: products with others take most of the time. Ours. */
#define ROWS    256
#define COLUMNS 1024

struct triangle_job {
    struct ff__blas_matrix a, b;
    int64_t m, n;
    struct ff__blas_number alpha;
    bool wide, solves;
};

/* ---- blocks ---- */

#define CALL(letter, operation, alpha, T)                                                          \
    cblas_##letter##operation(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, m, \
                              n, alpha, (T)a, m, (T)b, m)
#define CALL_EITHER(letter, alpha, T)                                                              \
    (job->solves ? CALL(letter, trsm, alpha, T) : CALL(letter, trmm, alpha, T))

static void compute(const struct triangle_job *job, void *a, void *b) {
    const float narrow[] = {(float)job->alpha.re, (float)job->alpha.im};
    bool is_complex = (job->b.type & FF_BLAS_COMPLEX) != 0;
    int m = (int)job->m, n = (int)job->n;
    ff__blas_lock();
    if (is_complex && job->wide)
        CALL_EITHER(z, &job->alpha, void *);
    else if (is_complex)
        CALL_EITHER(c, narrow, void *);
    else if (job->wide)
        CALL_EITHER(d, job->alpha.re, double *);
    else
        CALL_EITHER(s, narrow[0], float *);
    ff__blas_unlock();
}

static int compute_block(const struct triangle_job *job) {
    size_t size = (job->wide ? sizeof(double) : sizeof(float)) * ff__blas_parts(job->b.type);
    size_t column = (size_t)job->m * size;
    char *a = ff__scratch(column * (size_t)(job->m + job->n)), *b = a + column * (size_t)job->m;
    if (a == NULL)
        return -ENOMEM;
    for (int64_t j = 0; j < job->m; j++)
        ff__blas_load(&job->a, 0, j, job->m, job->wide, a + (size_t)j * column);
    for (int64_t j = 0; j < job->n; j++)
        ff__blas_load(&job->b, 0, j, job->m, job->wide, b + (size_t)j * column);
    compute(job, a, b);
    for (int64_t j = 0; j < job->n; j++)
        ff__blas_store(&job->b, 0, j, job->m, job->wide, b + (size_t)j * column);
    return 0;
}

/* ---- halves, of a lower triangle ---- */

static int run(const struct triangle_job *job);

static int halve_columns(const struct triangle_job *job) {
    struct triangle_job first = *job, second = *job;
    first.n = ff__blas_half(job->n);
    second.n -= first.n;
    second.b = ff__blas_from(&job->b, 0, first.n);
    int code = run(&first);
    return code == 0 ? run(&second) : code;
}

/* The square between the halves: of a solution, what the upper half is in the lower one is taken
 * away from it before; of a product, added at last. */
static int halve_rows(const struct triangle_job *job) {
    static const struct ff__blas_number one = {1, 0}, less = {-1, 0};
    struct triangle_job upper = *job, lower = *job;
    int64_t half = upper.m = ff__blas_half(job->m);
    lower.m -= half;
    lower.a = ff__blas_from(&job->a, half, half);
    lower.b = ff__blas_from(&job->b, half, 0);
    if (job->solves)
        lower.alpha = one;
    struct ff__blas_product square = {.m = lower.m,
                                      .n = job->n,
                                      .k = half,
                                      .a = ff__blas_from(&job->a, half, 0),
                                      .b = job->b,
                                      .c = lower.b,
                                      .wide = job->wide};
    square.a.form = FF_BLAS_FULL;
    square.a.is_unit = false;
    int code = run(job->solves ? &upper : &lower);
    if (code == 0)
        code = job->solves ? ff__blas_multiply(&square, less, job->alpha)
                           : ff__blas_multiply(&square, job->alpha, one);
    return code == 0 ? run(job->solves ? &lower : &upper) : code;
}

static int run(const struct triangle_job *job) {
    if (job->m <= ROWS && job->n <= COLUMNS)
        return compute_block(job);
    return job->m > ROWS && (job->n <= COLUMNS || job->n <= job->m) ? halve_rows(job)
                                                                    : halve_columns(job);
}

/* An upper triangle is a lower one from its end on. */
static struct ff__blas_matrix reversed(const struct ff__blas_matrix *matrix, int64_t m,
                                       bool columns) {
    struct ff__blas_matrix other = ff__blas_from(matrix, m - 1, columns ? m - 1 : 0);
    other.row = -matrix->row;
    other.column = columns ? -matrix->column : matrix->column;
    other.is_upper = false;
    return other;
}

int ff__blas_triangle(const struct ff__blas_matrix *a, const struct ff__blas_matrix *b, int64_t m,
                      int64_t n, struct ff__blas_number alpha, bool solves) {
    static const struct ff__blas_number none = {0, 0};
    struct triangle_job job = {*a, *b, m, n, alpha, ff__blas_is_wide(b->type), solves};
    if (alpha.re == 0 && alpha.im == 0)
        return ff__blas_multiply(
            &(struct ff__blas_product){.m = m, .n = n, .a = *a, .b = *b, .c = *b, .wide = job.wide},
            none, none);
    if (a->is_upper) {
        job.a = reversed(a, m, true);
        job.b = reversed(b, m, false);
    }
    return run(&job);
}
