/* A corpus in the order of the program. */
#ifndef FF_LEARN_TRAIN_ORDER_H
#define FF_LEARN_TRAIN_ORDER_H

#include "learn/corpus.h"

/* Where an access of a closed corpus is. */
struct ff__moment {
    uint64_t time, at; /* accesses[at] */
    uint32_t stream;
};

/* All accesses of a closed corpus in the order in which it was shown them. The caller frees them.
 * NULL: no memory. */
struct ff__moment *ff__corpus_order(const struct ff__corpus *corpus);

#endif
