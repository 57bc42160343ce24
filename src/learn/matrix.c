#include "learn/matrix.h"

#include <stddef.h>
#include <string.h>

/* Below, a call costs more than it saves. */
#define LARGE 20000u

void (*ff__multiply_large)(const struct ff__product *, const float *, const float *,
                           float *) = ff__multiply_plain;

/* Rows of c as sums of rows of b, so that the inner loop runs along memory. */
static void by_rows(const struct ff__product *p, const float *a, const float *b, float *c) {
    for (size_t i = 0; i < p->m; i++)
        for (size_t l = 0; l < p->k; l++) {
            float factor = p->turn_a ? a[l * p->m + i] : a[i * p->k + l];
            for (size_t j = 0; j < p->n; j++)
                c[i * p->n + j] += factor * b[l * p->n + j];
        }
}

static void by_dots(const struct ff__product *p, const float *a, const float *b, float *c) {
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = 0;
            for (size_t l = 0; l < p->k; l++)
                sum += (p->turn_a ? a[l * p->m + i] : a[i * p->k + l]) * b[j * p->k + l];
            c[i * p->n + j] += sum;
        }
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
