/* Matrix products, and what is made of them. */
#include "workload/dnn/layers.h"

#include "workload/dnn/nest.h"

/* c = a b; all three as they lie in memory, row by row. */
struct product {
    uint32_t a, b, c;
    uint64_t batch, m, k, n;
};

static void multiply(struct ff__tape *tape, const char *name, const struct product *p) {
    double flops = 2.0 * (double)p->batch * (double)p->m * (double)p->k * (double)p->n;
    ff__kernel_begin(tape, name, flops / FF__GEMM_SHARE);
    struct ff__operand a = ff__nest_rows(p->batch * p->m, p->k, p->n);
    struct ff__operand b = ff__nest_rows(p->batch * p->k, p->n, p->m);
    struct ff__operand c = ff__nest_rows(p->batch * p->m, p->n, p->n);
    ff__kernel_nest(tape, p->a, false, 1, &a);
    ff__kernel_nest(tape, p->b, false, 1, &b);
    ff__kernel_nest(tape, p->c, true, 1, &c);
    ff__kernel_end(tape);
}

/* ---- linear ---- */

enum { ROWS, IN, OUT, WEIGHT, BIAS };

static void linear_back(struct ff__tape *tape, const struct ff__node *node) {
    uint64_t rows = node->size[ROWS], in = node->size[IN], out = node->size[OUT];
    uint32_t grad = tape->grad, x = node->saved[0];
    uint32_t weight = (uint32_t)node->size[WEIGHT], bias = (uint32_t)node->size[BIAS];
    if (node->in[0] != FF__NO_TENSOR) {
        uint32_t dx = ff__tensor_new(tape, rows * in);
        multiply(tape, "gemm_dx", &(struct product){grad, weight, dx, 1, rows, out, in});
        ff__grad_give(tape, node->in[0], dx);
    }
    uint32_t dw = ff__tensor_new(tape, in * out);
    multiply(tape, "gemm_dw", &(struct product){x, grad, dw, 1, in, rows, out});
    ff__grad_give(tape, weight, dw);
    if (bias == FF__NO_TENSOR)
        return;
    uint32_t db = ff__tensor_new(tape, out);
    ff__kernel_map(tape, "sum_rows", grad, FF__NO_TENSOR, FF__NO_TENSOR, db);
    ff__grad_give(tape, bias, db);
}

static uint32_t linear(struct ff__tape *tape, uint32_t x, uint32_t weight, uint32_t bias,
                       const uint64_t size[3], bool data) {
    uint32_t y = ff__tensor_new(tape, size[ROWS] * size[OUT]);
    multiply(tape, "gemm", &(struct product){x, weight, y, 1, size[ROWS], size[IN], size[OUT]});
    ff__tape_node(tape,
                  &(struct ff__node){.backward = linear_back,
                                     .in = {data ? FF__NO_TENSOR : x},
                                     .out = y,
                                     .saved = {x},
                                     .size = {size[ROWS], size[IN], size[OUT], weight, bias}});
    return y;
}

uint32_t ff__layer_linear(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t in,
                          uint64_t out, bool bias, bool data) {
    uint32_t w = ff__tape_param(tape, in * out);
    uint32_t b = bias ? ff__tape_param(tape, out) : FF__NO_TENSOR;
    return linear(tape, x, w, b, (const uint64_t[]){rows, in, out}, data);
}

uint32_t ff__layer_tied(struct ff__tape *tape, uint32_t x, uint32_t weight, uint64_t rows,
                        uint64_t in, uint64_t out) {
    return linear(tape, x, weight, FF__NO_TENSOR, (const uint64_t[]){rows, in, out}, false);
}

/* ---- products of activations ---- */

enum { BATCH, M, K, N };

static void bmm_back(struct ff__tape *tape, const struct ff__node *node) {
    uint64_t batch = node->size[BATCH], m = node->size[M], k = node->size[K], n = node->size[N];
    uint32_t grad = tape->grad;
    uint32_t da = ff__tensor_new(tape, batch * m * k);
    multiply(tape, "bmm_da", &(struct product){grad, node->saved[1], da, batch, m, n, k});
    ff__grad_give(tape, node->in[0], da);
    uint32_t db = ff__tensor_new(tape, batch * k * n);
    multiply(tape, "bmm_db", &(struct product){node->saved[0], grad, db, batch, k, m, n});
    ff__grad_give(tape, node->in[1], db);
}

uint32_t ff__layer_bmm(struct ff__tape *tape, uint32_t a, uint32_t b, uint64_t batch, uint64_t m,
                       uint64_t k, uint64_t n) {
    uint32_t c = ff__tensor_new(tape, batch * m * n);
    multiply(tape, "bmm", &(struct product){a, b, c, batch, m, k, n});
    ff__tape_node(tape, &(struct ff__node){.backward = bmm_back,
                                           .in = {a, b},
                                           .out = c,
                                           .saved = {a, b},
                                           .size = {batch, m, k, n}});
    return c;
}
