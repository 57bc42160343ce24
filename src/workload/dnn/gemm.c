/* Matrix products, and what is made of them. */
#include "workload/dnn/operation.h"

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

static void linear(struct ff__operation_call *call, uint32_t weight, uint32_t bias, uint64_t rows,
                   uint64_t in, uint64_t out) {
    uint32_t x = ff__in(call, 0), y = ff__tensor_new(call->tape, rows * out);
    multiply(call->tape, "gemm", &(struct product){x, weight, y, 1, rows, in, out});
    ff__tape_node(call->tape, &(struct ff__node){.backward = linear_back,
                                                 .in = {call->in[0]->data ? FF__NO_TENSOR : x},
                                                 .out = y,
                                                 .saved = {x},
                                                 .size = {rows, in, out, weight, bias}});
    ff__give(call, y, rows, out);
}

enum { O_IN, O_NO_BIAS };

/* rows x in times in x out, and a bias. */
void ff__op_linear(struct ff__operation_call *call) {
    uint64_t width = ff__width(call->in[0]), in = ff__option(call, O_IN, width);
    uint64_t rows = in ? call->in[0]->is.n * width / in : 0, out = call->number[0];
    if (!ff__fits(call->tape, rows, out) || !ff__fits(call->tape, in, out))
        return;
    uint32_t weight = ff__tape_param(call->tape, in * out);
    uint32_t bias = ff__has(call, O_NO_BIAS) ? FF__NO_TENSOR : ff__tape_param(call->tape, out);
    linear(call, weight, bias, rows, in, out);
}

/* The same with a parameter that another layer owns (tied weights), without a bias. */
void ff__op_tied(struct ff__operation_call *call) {
    uint64_t rows = call->in[0]->is.n, in = ff__width(call->in[0]), out = call->in[1]->is.n;
    if (ff__fits(call->tape, rows, out) && ff__fits(call->tape, in, out))
        linear(call, ff__in(call, 1), FF__NO_TENSOR, rows, in, out);
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

/* `batch` products m x k times k x n of two activations. */
void ff__op_bmm(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint64_t batch = call->number[0], m = call->number[1], k = call->number[2];
    uint64_t n = call->number[3];
    uint32_t a = ff__in(call, 0), b = ff__in(call, 1);
    if (!ff__fits(tape, batch, m) || !ff__fits(tape, batch * m, k) ||
        !ff__fits(tape, batch * m, n) || !ff__fits(tape, batch, k) || !ff__fits(tape, batch * k, n))
        return;
    uint32_t c = ff__tensor_new(tape, batch * m * n);
    multiply(tape, "bmm", &(struct product){a, b, c, batch, m, k, n});
    ff__tape_node(tape, &(struct ff__node){.backward = bmm_back,
                                           .in = {a, b},
                                           .out = c,
                                           .saved = {a, b},
                                           .size = {batch, m, k, n}});
    ff__give(call, c, batch * m, n);
}
