#include "learn/matrix.h"

#include <stddef.h>
#include <string.h>

/* Below, a call costs more than it saves. */
#define LARGE 20000u

void (*ff__multiply_large)(const struct ff__product *, const float *, const float *,
                           float *) = ff__multiply_plain;

/* Columns of c that are made together, in registers. */
#define TOGETHER 12u

/* How far apart elements of a matrix lie that follow each other in a column, and in a row. */
struct steps {
    size_t down, right;
};

/* `width` neighbouring elements of a row of c, in registers. Each is a sum in the order of l, with
 * any width. */
static inline __attribute__((always_inline)) void add_row(size_t width, uint32_t k, const float *a,
                                                          size_t along_a, const float *b,
                                                          struct steps of_b, float *c,
                                                          bool from_zero) {
    float sum[TOGETHER];
    for (size_t j = 0; j < width; j++)
        sum[j] = from_zero ? 0 : c[j];
    for (size_t l = 0; l < k; l++)
        for (size_t j = 0; j < width; j++)
            sum[j] += a[l * along_a] * b[l * of_b.down + j * of_b.right];
    for (size_t j = 0; j < width; j++)
        c[j] = from_zero ? c[j] + sum[j] : sum[j];
}

/* All rows of `n` columns of c. Dots of rows are added to c when they are complete, other products
 * one by one: what models were trained with. */
static inline __attribute__((always_inline)) void add_rows(const struct ff__product *p,
                                                           const float *a, const float *b,
                                                           struct steps of_b, float *c, size_t n,
                                                           bool from_zero) {
    struct steps of_a = {p->turn_a ? 1 : p->k, p->turn_a ? p->m : 1};
    for (size_t i = 0; i < p->m; i++) {
        const float *row = a + i * of_a.down;
        size_t j = 0;
        for (; j + TOGETHER <= n; j += TOGETHER)
            add_row(TOGETHER, p->k, row, of_a.right, b + j * of_b.right, of_b, c + i * p->n + j,
                    from_zero);
        for (; j + 4 <= n; j += 4)
            add_row(4, p->k, row, of_a.right, b + j * of_b.right, of_b, c + i * p->n + j,
                    from_zero);
        for (; j < n; j++)
            add_row(1, p->k, row, of_a.right, b + j * of_b.right, of_b, c + i * p->n + j,
                    from_zero);
    }
}

static void by_rows(const struct ff__product *p, const float *a, const float *b, float *c) {
    add_rows(p, a, b, (struct steps){p->n, 1}, c, p->n, false);
}

/* Rows of b that a buffer takes when they are turned into columns: neighbours are added at once
 * only where they lie side by side. */
#define TURNED_MOST 1024u

static void by_dots(const struct ff__product *p, const float *a, const float *b, float *c) {
    float turned[TURNED_MOST * TOGETHER];
    size_t j = 0;
    for (; p->m > 1 && p->k <= TURNED_MOST && j + TOGETHER <= p->n; j += TOGETHER) {
        for (size_t l = 0; l < p->k; l++)
            for (size_t r = 0; r < TOGETHER; r++)
                turned[l * TOGETHER + r] = b[(j + r) * p->k + l];
        add_rows(p, a, turned, (struct steps){TOGETHER, 1}, c + j, TOGETHER, true);
    }
    add_rows(p, a, b + j * p->k, (struct steps){1, p->k}, c + j, p->n - j, true);
}

void ff__multiply_plain(const struct ff__product *product, const float *a, const float *b,
                        float *c) {
    if (!product->add)
        memset(c, 0, (size_t)product->m * product->n * sizeof *c);
    (product->turn_b ? by_dots : by_rows)(product, a, b, c);
}

void ff__multiply(const struct ff__product *product, const float *a, const float *b, float *c) {
    bool large = (uint64_t)product->m * product->n * product->k >= LARGE;
    (large ? ff__multiply_large : ff__multiply_plain)(product, a, b, c);
}
