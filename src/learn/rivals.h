/* What the predictors that the paper compares with (Figure 9) share: small, three features, 24 wide
 * tokens, full precision, two matrices. Their sizes are ours. */
#ifndef FF_LEARN_RIVALS_H
#define FF_LEARN_RIVALS_H

#include "learn/net.h"

#define FF__RIVAL_PART  8u
#define FF__RIVAL_WIDTH (3 * FF__RIVAL_PART)

/* The first matrix is [in][hidden], the second [found][classes]. */
struct ff__rival {
    uint32_t in, hidden, found;
};

struct ff__rival_weights {
    float *embed, *w1, *b1, *w2, *b2;
};

struct ff__embedding ff__rival_embedding(const struct ff__shape *shape);

/* Where everything is in an array of all parameters; its length is returned. */
size_t ff__rival_map(struct ff__rival_weights *weights, const struct ff__rival *rival,
                     const struct ff__shape *shape, float *params);

/* A rival's `params` and `work`, of its `rival` and map_work(). */
#define FF__RIVAL_SIZES                                                                            \
    static size_t param_count(const struct ff__shape *shape) {                                     \
        struct ff__rival_weights w;                                                                \
        return ff__rival_map(&w, &rival, shape, NULL);                                             \
    }                                                                                              \
    static size_t work_size(const struct ff__shape *shape, uint32_t capacity) {                    \
        struct work work;                                                                          \
        (void)shape;                                                                               \
        return map_work(&work, capacity, NULL);                                                    \
    }

void ff__rival_init(struct ff__net *net, const struct ff__rival *rival, struct ff__random *random);

#endif
