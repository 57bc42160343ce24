/* Training: Adam on cross-entropy, and what comes of it. */
#ifndef FF_LEARN_TRAIN_H
#define FF_LEARN_TRAIN_H

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

/* How good predictions are. A class that is the escape is never right. */
struct ff__score {
    uint64_t samples;
    double top1, top10; /* shares */
    double f1;          /* of each class, weighted by how often it occurs */
    double majority;    /* the share of the class that is most frequent */
    double escape;      /* the share of classes without a number */
};

/* Scores at most `limit` samples for testing. 0 or -ENOMEM. */
int ff__net_score(struct ff__net *net, const struct ff__dataset *dataset, uint32_t limit,
                  struct ff__score *score);

#endif
