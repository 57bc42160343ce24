/* What the predictors that the paper compares with (Figure 9) share: small, three features, 24 wide
 * tokens, full precision. Their sizes are ours. */
#ifndef FF_LEARN_RIVALS_H
#define FF_LEARN_RIVALS_H

#include "learn/net.h"

#define FF__RIVAL_PART  8u
#define FF__RIVAL_WIDTH (3 * FF__RIVAL_PART)

static inline struct ff__embedding ff__rival_embedding(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__RIVAL_WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = (enum ff__feature)f;
        embedding.part[f] = FF__RIVAL_PART;
        embedding.ids[f] = shape->ids[f];
    }
    return embedding;
}

#endif
