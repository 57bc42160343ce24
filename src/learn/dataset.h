/* Samples for training and for testing: windows of tokens, and the class that came. */
#ifndef FF_LEARN_DATASET_H
#define FF_LEARN_DATASET_H

#include "learn/features.h"

#define FF__NO_CLASS UINT16_MAX /* the stream ends before */

enum ff__split {
    FF__SPLIT_STREAMS, /* every fifth stream is for testing: none of its accesses is trained on */
    FF__SPLIT_TIME,    /* the last fifth of every stream is */
    FF__SPLITS,
    FF__SPLIT_NONE = FF__SPLITS /* all is trained on; while a program runs, and of no model */
};

struct ff__dataset {
    uint32_t distance;             /* the class is that of the access so many accesses ahead */
    uint32_t hidden;               /* features that windows do not show, a bit each: 0 there */
    bool shuffled;                 /* the tokens of a window come in a random order */
    uint64_t count;                /* tokens */
    uint16_t (*ids)[FF__FEATURES]; /* [count] */
    uint16_t *label;               /* [count] */
    uint8_t *names_page;    /* [count]; 0: the stream has not accessed the class's array yet */
    uint32_t *age;          /* [count]; tokens of its stream before it */
    uint32_t *train, *test; /* positions whose class is known, in random order */
    uint32_t train_count, test_count;
};

/* A batch: windows, oldest token first, padded with zeros. */
struct ff__batch {
    uint32_t count;
    uint16_t (*ids)[FF__WINDOW][FF__FEATURES]; /* [count] */
    uint16_t *label;                           /* [count] */
    uint32_t *slot; /* [count]; the newest token's number in its stream, modulo the window */
};

/* Builds vocabularies from the accesses that are to be trained on, and samples. An empty `features`
 * is filled; one that is not stays as it is, so that a model meets new data with the numbers it
 * knows. 0 or -ENOMEM. */
int ff__dataset_build(struct ff__dataset *dataset, struct ff__features *features,
                      const struct ff__corpus *corpus, uint32_t distance, enum ff__split split,
                      uint64_t seed);
void ff__dataset_fini(struct ff__dataset *dataset);

int ff__batch_init(struct ff__batch *batch, uint32_t capacity);
void ff__batch_fini(struct ff__batch *batch);

/* Fills the batch with the samples at these positions. */
void ff__batch_fill(struct ff__batch *batch, const struct ff__dataset *dataset,
                    const uint32_t *positions, uint32_t count);

#endif
