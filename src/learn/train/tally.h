/* How often each class came, was predicted, and both: what a score is made of. */
#ifndef FF_LEARN_TRAIN_TALLY_H
#define FF_LEARN_TRAIN_TALLY_H

#include "base/map.h"

#include <stdint.h>

/* How good predictions are. A class that is the escape is never right. */
struct ff__score {
    uint64_t samples;
    double top1, top10; /* shares; top10: NAN where only one answer is given */
    double f1;          /* of each class, weighted by how often it occurs */
    double majority;    /* the share of the class that is most frequent */
    double escape;      /* the share of classes without a number */
    double no_page;     /* the share that counts as right although the class names no page */
};

struct ff__tally {
    uint32_t classes;
    uint64_t *actual, *predicted, *right; /* [classes] */
    uint64_t samples, top10, no_page;
    struct ff__map numbers; /* see ff__tally_number() */
};

/* 0 or -ENOMEM. */
int ff__tally_init(struct ff__tally *tally, uint32_t classes);
void ff__tally_fini(struct ff__tally *tally);

/* A class for a value, where there is no vocabulary: one that is new gets the next number after the
 * escape's. The escape's: there are no more classes, or no memory. */
uint32_t ff__tally_number(struct ff__tally *tally, int64_t value);

/* `names_page`: whether the actual class does, because its stream has accessed its array before. */
void ff__tally_count(struct ff__tally *tally, uint32_t actual, uint32_t predicted, bool names_page);
void ff__tally_conclude(const struct ff__tally *tally, struct ff__score *score);

#endif
