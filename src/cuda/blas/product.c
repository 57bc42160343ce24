#include "cuda/blas/product.h"

#include "base/scratch.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Rows i to i + m, columns j to j + n of the result, and l to l + k of what is summed up. */
struct part {
    int64_t i, j, l, m, n, k;
    bool begins; /* nothing was added to this part of the result before */
    bool turns;  /* the second of its halves comes first */
};

struct product_job {
    struct ff__blas_product of;
    struct ff__blas_number alpha, beta;
    size_t size; /* of an element of blocks */
    /* Elements of the result are shorter: sums stay outside of it until they are whole */
    bool keeps_sums;
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- blocks: by columns, or by rows where those are what lies together ---- */

struct block {
    char *numbers;
    CBLAS_TRANSPOSE order;
    int ld;
};

static struct block load(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t rows,
                         int64_t columns, bool wide, char *numbers) {
    bool by_rows = matrix->column == 1 && matrix->row != 1;
    struct ff__blas_matrix lines = by_rows ? ff__blas_transposed(matrix) : *matrix;
    int64_t length = by_rows ? columns : rows, count = by_rows ? rows : columns;
    size_t size = (wide ? sizeof(double) : sizeof(float)) * ff__blas_parts(matrix->type);
    for (int64_t line = 0; line < count; line++)
        ff__blas_load(&lines, by_rows ? j : i, (by_rows ? i : j) + line, length, wide,
                      numbers + (size_t)(line * length) * size);
    return (struct block){numbers, by_rows ? CblasTrans : CblasNoTrans, (int)length};
}

/* What the sums begin with: a part of the result times beta. */
static void begin(const struct product_job *job, const struct part *part, char *sums) {
    const struct ff__blas_matrix *c = &job->of.c;
    struct ff__blas_number beta = part->begins ? job->beta : (struct ff__blas_number){1, 0};
    int64_t count = part->m * part->n;
    if (beta.re == 0 && beta.im == 0) {
        memset(sums, 0, (size_t)count * job->size);
        return;
    }
    for (int64_t j = 0; j < part->n; j++)
        ff__blas_load(c, part->i, part->j + j, part->m, job->of.wide,
                      sums + (size_t)(j * part->m) * job->size);
    if (beta.re == 1 && beta.im == 0)
        return;
    const float narrow[] = {(float)beta.re, (float)beta.im};
    if ((c->type & FF_BLAS_COMPLEX) != 0 && job->of.wide)
        cblas_zscal((int)count, &beta, sums, 1);
    else if ((c->type & FF_BLAS_COMPLEX) != 0)
        cblas_cscal((int)count, narrow, sums, 1);
    else if (job->of.wide)
        cblas_dscal((int)count, beta.re, (double *)(void *)sums, 1);
    else
        cblas_sscal((int)count, narrow[0], (float *)(void *)sums, 1);
}

static pthread_mutex_t blas = PTHREAD_MUTEX_INITIALIZER;

void ff__blas_lock(void) {
    pthread_mutex_lock(&blas);
}

void ff__blas_unlock(void) {
    pthread_mutex_unlock(&blas);
}

/* Adds alpha a b to the sums; `ld`: from one of their columns to the next. */
static void add_blocks(const struct product_job *job, int m, int n, int k, const struct block *a,
                       const struct block *b, char *sums, int ld) {
    static const double one[] = {1, 0};
    static const float narrow_one[] = {1, 0};
    const float narrow[] = {(float)job->alpha.re, (float)job->alpha.im};
    bool is_complex = (job->of.c.type & FF_BLAS_COMPLEX) != 0;
    ff__blas_lock();
    if (is_complex && job->of.wide)
        cblas_zgemm(CblasColMajor, a->order, b->order, m, n, k, &job->alpha, a->numbers, a->ld,
                    b->numbers, b->ld, one, sums, ld);
    else if (is_complex)
        cblas_cgemm(CblasColMajor, a->order, b->order, m, n, k, narrow, a->numbers, a->ld,
                    b->numbers, b->ld, narrow_one, sums, ld);
    else if (job->of.wide)
        cblas_dgemm(CblasColMajor, a->order, b->order, m, n, k, job->alpha.re,
                    (double *)(void *)a->numbers, a->ld, (double *)(void *)b->numbers, b->ld, 1,
                    (double *)(void *)sums, ld);
    else
        cblas_sgemm(CblasColMajor, a->order, b->order, m, n, k, narrow[0],
                    (float *)(void *)a->numbers, a->ld, (float *)(void *)b->numbers, b->ld, 1,
                    (float *)(void *)sums, ld);
    ff__blas_unlock();
}

/* ---- parts whose sums are in memory of ours ---- */

/* What is computed without halving it. Of each part a and the sums are copied once, so that it has
 * as many columns, and as much is added up, as makes that little beside multiplying; columns may be
 * long, which lie together, as far as their sums fit into so much memory. Ours. */
#define SUMS      (32 << 20)
#define COLUMNS   256
#define DEPTH     512
#define BLOCK     (1 << 19) /* elements of a that are copied at a time */
#define MOST_OF_B (2 * COLUMNS * DEPTH)

static bool is_small(const struct product_job *job, const struct part *part) {
    bool is_shallow = job->keeps_sums || part->k <= DEPTH;
    return part->n <= (job->keeps_sums ? 2 * COLUMNS : COLUMNS) && is_shallow &&
           part->m * part->n <= SUMS / (int64_t)job->size;
}

/* Adds what rows i to i + m of the part get from l to l + k, with a block of b that is loaded. */
static void add(const struct product_job *job, const struct part *part, int64_t i, int64_t l,
                int64_t m, int64_t k, const struct block *b, char *sums) {
    char *numbers = b->numbers + (size_t)(least(part->k, DEPTH) * part->n) * job->size;
    struct block a = load(&job->of.a, part->i + i, part->l + l, m, k, job->of.wide, numbers);
    add_blocks(job, (int)m, (int)part->n, (int)k, &a, b, sums + (size_t)i * job->size,
               (int)part->m);
}

static void add_all(const struct product_job *job, const struct part *part, char *sums) {
    const struct ff__blas_product *of = &job->of;
    char *numbers = sums + (size_t)(part->m * part->n) * job->size;
    int64_t deep = least(part->k, DEPTH), high = deep == 0 ? 0 : least(part->m, BLOCK / deep);
    bool by_rows = of->a.row != 1; /* what lies together in a is multiplied in a row */
    int64_t outer = by_rows ? high : part->m;
    for (int64_t from = 0; deep != 0 && from < part->m; from += outer)
        for (int64_t l = 0; l < part->k; l += deep) {
            int64_t k = least(part->k - l, deep), end = least(part->m, from + outer);
            struct block b = load(&of->b, part->l + l, part->j, k, part->n, of->wide, numbers);
            for (int64_t i = from; i < end; i += high)
                add(job, part, i, l, least(end - i, high), k, &b, sums);
        }
}

static void compute(const struct product_job *job, const struct part *part, char *sums) {
    begin(job, part, sums);
    add_all(job, part, sums);
    for (int64_t j = 0; j < part->n; j++)
        ff__blas_store(&job->of.c, part->i, part->j + j, part->m, job->of.wide,
                       sums + (size_t)(j * part->m) * job->size);
}

/* ---- halves ---- */

/* What lies together moves together: halves of less are moved with each other. As much as the
 * smallest piece that drivers bring at a fault. */
#define TOGETHER (64 << 10)

/* Bytes of a part of a matrix that are accessed for both halves of a dimension in which its
 * elements are `stride` apart; 0: it has none. */
static double shared(const struct ff__blas_matrix *matrix, int64_t rows, int64_t columns,
                     int64_t size, int64_t stride) {
    double element = (double)ff__blas_size(matrix->type);
    double apart = (double)(size - ff__blas_half(size)) * (double)(stride < 0 ? -stride : stride);
    return stride != 0 && apart * element >= TOGETHER ? 0
                                                      : (double)rows * (double)columns * element;
}

enum dimension { NONE, M, N, K };

/* The dimension whose halves have least in common. */
static enum dimension best(const struct product_job *job, const struct part *part) {
    const struct ff__blas_matrix *a = &job->of.a, *b = &job->of.b, *c = &job->of.c;
    const struct {
        int64_t size, a, b, c; /* strides in it */
    } all[] = {{0},
               {part->m, a->row, 0, c->row},
               {part->n, 0, b->column, c->column},
               {job->keeps_sums ? 0 : part->k, a->column, b->row, 0}};
    enum dimension found = NONE;
    double least_cost = 0;
    for (enum dimension d = M; d <= K; d++) {
        if (all[d].size <= FF_BLAS_LEAST)
            continue;
        double cost = shared(a, part->m, part->k, all[d].size, all[d].a) +
                      shared(b, part->k, part->n, all[d].size, all[d].b) +
                      shared(c, part->m, part->n, all[d].size, all[d].c);
        if (found == NONE || cost < least_cost)
            found = d, least_cost = cost;
    }
    return found;
}

/* Whether the result is a triangle that has nothing of the part. */
static bool is_left_out(const struct ff__blas_matrix *c, const struct part *part) {
    return c->form != FF_BLAS_FULL &&
           (c->is_upper ? part->i >= part->j + part->n : part->j >= part->i + part->m);
}

/* The end of one half is where the next one begins: what it has used last is there. */
static void multiply(const struct product_job *job, struct part part, char *sums) {
    if (is_left_out(&job->of.c, &part))
        return;
    enum dimension dimension = is_small(job, &part) ? NONE : best(job, &part);
    struct part other = part;
    if (dimension == NONE) {
        compute(job, &part, sums);
        return;
    }
    int64_t *sizes[] = {NULL, &part.m, &part.n, &part.k}, half = ff__blas_half(*sizes[dimension]);
    *sizes[dimension] = half;
    switch (dimension) {
    case M:
        other.i += half, other.m -= half;
        break;
    case N:
        other.j += half, other.n -= half;
        break;
    default:
        other.l += half, other.k -= half;
    }
    struct part *first = part.turns ? &other : &part, *second = part.turns ? &part : &other;
    second->turns = !second->turns;
    if (dimension == K)
        second->begins = false;
    multiply(job, *first, sums);
    multiply(job, *second, sums);
}

/* Results whose rows lie together are those of the transposed product. */
static void turn(struct ff__blas_product *product) {
    struct ff__blas_matrix a = product->a;
    int64_t m = product->m;
    if (product->c.row == 1 || product->c.column != 1)
        return;
    product->a = ff__blas_transposed(&product->b);
    product->b = ff__blas_transposed(&a);
    product->c = ff__blas_transposed(&product->c);
    product->m = product->n;
    product->n = m;
}

int ff__blas_multiply(const struct ff__blas_product *product, struct ff__blas_number alpha,
                      struct ff__blas_number beta) {
    size_t part = product->wide ? sizeof(double) : sizeof(float);
    struct product_job job = {.of = *product, .alpha = alpha, .beta = beta};
    job.size = part * ff__blas_parts(product->c.type);
    if (alpha.re == 0 && alpha.im == 0)
        job.of.k = 0;
    turn(&job.of);
    job.keeps_sums = ff__blas_size(product->c.type) < job.size;
    char *sums = ff__scratch((size_t)(least(job.of.m * job.of.n, SUMS / (int64_t)job.size) +
                                      least(job.of.m * job.of.k, BLOCK) +
                                      least(job.of.k * job.of.n, MOST_OF_B)) *
                             job.size);
    if (sums == NULL)
        return -ENOMEM;
    multiply(&job, (struct part){.m = job.of.m, .n = job.of.n, .k = job.of.k, .begins = true},
             sums);
    return 0;
}
