#include "workload/dnn/transformer.h"

/* (batch, tokens, heads x d) to (batch, heads, tokens, d): matmul() copies what is not contiguous. */
static uint32_t split_heads(struct ff__tape *tape, uint32_t x) {
    return ff__then(tape, x, ff__layer_map(tape, "contiguous", x, FF__KEEPS_NOTHING, 0));
}

/* Softmax keeps its input beside its result: derivatives.yaml of 1.8, _softmax_backward_data(grad,
 * result, dim, self). */
uint32_t ff__attention(struct ff__tape *tape, const struct ff__network *network, uint64_t batch,
                       uint64_t length, const uint32_t qkv[3], const char *mask) {
    uint64_t heads = network->shape[FF__HEADS], size = network->shape[FF__WIDTH] / heads;
    uint64_t products = batch * heads;
    uint32_t q = split_heads(tape, qkv[0]), k = split_heads(tape, qkv[1]);
    uint32_t w = ff__layer_bmm(tape, q, k, products, length, size, length);
    ff__tensor_drop(tape, q);
    ff__tensor_drop(tape, k);
    w = ff__then(tape, w, ff__layer_map(tape, "div", w, FF__KEEPS_NOTHING, 0));
    w = ff__then(tape, w, ff__layer_map(tape, mask, w, FF__KEEPS_NOTHING, 0));
    w = ff__then(tape, w, ff__layer_map(tape, "softmax", w, FF__KEEPS_BOTH, 0));
    w = ff__then(tape, w, ff__layer_dropout(tape, w));
    uint32_t v = split_heads(tape, qkv[2]);
    uint32_t y = ff__layer_bmm(tape, w, v, products, length, length, size);
    ff__tensor_drop(tape, w);
    ff__tensor_drop(tape, v);
    return ff__then(tape, y, ff__layer_map(tape, "merge_heads", y, FF__KEEPS_NOTHING, 0));
}
