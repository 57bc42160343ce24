#include "learn/blas/blas.h"

#include "learn/matrix.h"

#include <cblas.h>

static void multiply(const struct ff__product *p, const float *a, const float *b, float *c) {
    cblas_sgemm(CblasRowMajor, p->turn_a ? CblasTrans : CblasNoTrans,
                p->turn_b ? CblasTrans : CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, 1, a,
                (int)(p->turn_a ? p->m : p->k), b, (int)(p->turn_b ? p->k : p->n), p->add ? 1 : 0,
                c, (int)p->n);
}

bool ff__blas_use(void) {
    ff__multiply_large = multiply;
    return true;
}
