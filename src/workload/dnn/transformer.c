#include "workload/dnn/transformer.h"

/* Softmax keeps its input beside its result: derivatives.yaml of 1.8, _softmax_backward_data(grad,
 * result, dim, self). */
uint32_t ff__attention(struct ff__tape *tape, const struct ff__network *network, uint64_t batch,
                       uint64_t length, const uint32_t qkv[3], bool causal) {
    uint64_t heads = network->shape[FF__HEADS], size = network->shape[FF__WIDTH] / heads;
    uint64_t products = batch * heads;
    uint32_t w = ff__layer_bmm(tape, qkv[0], qkv[1], products, length, size, length);
    ff__tensor_drop(tape, qkv[0]);
    ff__tensor_drop(tape, qkv[1]);
    w = ff__then(tape, w, ff__layer_map(tape, "div", w, FF__KEEPS_NOTHING, 0));
    if (causal)
        w = ff__then(tape, w, ff__layer_where(tape, w));
    w = ff__then(tape, w, ff__layer_shift(tape, "add_mask", w));
    w = ff__then(tape, w, ff__layer_map(tape, "softmax", w, FF__KEEPS_BOTH, 0));
    w = ff__then(tape, w, ff__layer_dropout(tape, w));
    uint32_t y = ff__layer_bmm(tape, w, qkv[2], products, length, length, size);
    ff__tensor_drop(tape, w);
    ff__tensor_drop(tape, qkv[2]);
    return ff__then(tape, y, ff__layer_map(tape, "merge_heads", y, FF__KEEPS_NOTHING, 0));
}
