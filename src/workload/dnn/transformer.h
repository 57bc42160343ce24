/* What GPT-2 and BERT share. */
#ifndef FF_WORKLOAD_DNN_TRANSFORMER_H
#define FF_WORKLOAD_DNN_TRANSFORMER_H

#include "workload/dnn/network.h"

enum ff__transformer_shape { FF__LAYERS, FF__WIDTH, FF__HEADS, FF__VOCABULARY, FF__POSITIONS };

/* Replaces a held tensor by the next one: what Python does when a variable is bound anew. */
static inline uint32_t ff__then(struct ff__tape *tape, uint32_t old, uint32_t next) {
    ff__tensor_drop(tape, old);
    return next;
}

/* softmax(q k^T / sqrt(d) + mask) v, without the projections, from three tensors of (batch, heads, tokens,
 * d): matmul() has copied what is not contiguous. `causal`: before the mask of what is padding is added,
 * torch.where hides what is to come, as in GPT-2. Drops q, k and v. */
uint32_t ff__attention(struct ff__tape *tape, const struct ff__network *network, uint64_t batch,
                       uint64_t length, const uint32_t qkv[3], bool causal);

#endif
