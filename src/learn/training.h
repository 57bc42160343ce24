/* Training: Adam on cross-entropy. */
#ifndef FF_LEARN_TRAINING_H
#define FF_LEARN_TRAINING_H

#include "learn/net.h"

#include <stdatomic.h>

struct ff__training {
    struct ff__net *net;
    float rate;           /* the largest learning rate */
    uint32_t steps, step; /* batches in all, and done */
    float *mean, *square; /* Adam's, as long as the parameters */
    float *logits, *dlogits;
    struct ff__batch batch;
    double loss; /* a running mean */
};

/* For `steps` batches as large as the net takes. 0 or -ENOMEM. */
int ff__training_init(struct ff__training *training, struct ff__net *net, uint32_t steps,
                      float rate);
void ff__training_fini(struct ff__training *training);

/* One batch, the next in the order of the samples. */
void ff__training_step(struct ff__training *training, const struct ff__dataset *dataset);

#endif
