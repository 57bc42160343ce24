/* What the comparison models of Figure 9 share (fully connected, CNN, LSTM), scaled down: three features, 24 wide
 * tokens, full precision, two matrices. Their sizes are ours. */
#ifndef FF_LEARN_TRAIN_BASELINES_H
#define FF_LEARN_TRAIN_BASELINES_H

#include "learn/train/nets.h"

#define FF__BASELINE_PART  8u
#define FF__BASELINE_WIDTH (3 * FF__BASELINE_PART)

/* The first matrix is [in][hidden], the second [found][classes]. */
struct ff__baseline {
    uint32_t in, hidden, found;
};

struct ff__baseline_weights {
    float *embed, *w1, *b1, *w2, *b2;
};

struct ff__embedding ff__baseline_embedding(const struct ff__shape *shape);

/* Where everything is in an array of all parameters; its length is returned. */
size_t ff__baseline_map(struct ff__baseline_weights *weights, const struct ff__baseline *baseline,
                        const struct ff__shape *shape, float *params);

/* A baseline's `params` and `work`, of its `baseline` and map_work(). */
#define FF__BASELINE_SIZES                                                                         \
    static size_t param_count(const struct ff__shape *shape) {                                     \
        struct ff__baseline_weights w;                                                             \
        return ff__baseline_map(&w, &baseline, shape, NULL);                                       \
    }                                                                                              \
    static size_t work_size(const struct ff__shape *shape, uint32_t capacity) {                    \
        struct work work;                                                                          \
        (void)shape;                                                                               \
        return map_work(&work, capacity, NULL);                                                    \
    }

void ff__baseline_init(struct ff__net *net, const struct ff__baseline *baseline,
                       struct ff__random *random);

#endif
