/* Fine-tuning in the background, while the owner continues to predict.
 *
 * The owner notes accesses, hands them over from time to time, and takes the new predictor when
 * training has finished. None of this allocates or waits. The result depends on the accesses alone,
 * not on when training runs. */
#ifndef FF_LEARN_TUNER_H
#define FF_LEARN_TUNER_H

#include "learn/finetune.h"
#include "learn/predictor.h"

#include <farfault/policy.h>

#define FF__TUNER_ACCESSES                                                                         \
    65536u                    /* kept for one tuning: the latest of streams chosen by hash; ours */
#define FF__TUNER_LEAST 2048u /* with fewer there is nothing to learn yet; ours */

/* The part of a model that inference needs. Immutable. */
struct ff__tuned {
    struct ff__features features;
    struct ff__predictor predictor;
    uint32_t distance;
};

struct ff__tuner {
    const struct ff_background *background;
    uint32_t steps;
    struct ff__corpus notes;
    bool at_work; /* the rest belongs to the background meanwhile */
    struct ff__model model;
    struct ff__corpus training;
    struct ff__tuned *made; /* NULL if training failed */
    struct ff__tuned *used; /* given back: freed in the background */
};

struct ff__tuner_plan {
    const char *path;  /* a model to begin with; NULL or empty: none */
    uint32_t distance; /* 0: the model's, or the paper's 30 without one */
    uint32_t steps;    /* batches of one tuning; 0: nothing is learned */
    const struct ff_background *background;
    uint64_t seed;
};

/* 0 or negative errno with one line. *first: what the model predicts with; NULL: there is none yet.
 * The caller owns it. */
int ff__tuner_init(struct ff__tuner *tuner, const struct ff__tuner_plan *plan,
                   struct ff__tuned **first, struct ff_error *error);

/* Nothing may be at work. */
void ff__tuner_fini(struct ff__tuner *tuner);

void ff__tuned_free(struct ff__tuned *tuned);

/* Nanoseconds that one prediction takes here, from a new access to the answer: a median. `window`
 * is a stream of it, and is left as it was. */
uint64_t ff__tuned_measure(const struct ff__tuned *tuned, const struct ff__stream *window,
                           const struct ff_background *background);

/* Records an access; old ones are dropped. */
void ff__tuner_note(struct ff__tuner *tuner, const struct ff__access *access);

/* Hands a copy of what was noted over to the background. The notes go on, since between two tunings
 * a stream may have fewer accesses than the window and the distance are long. False: it is still at
 * work, or too little was noted. */
bool ff__tuner_begin(struct ff__tuner *tuner);

/* What has come of it: NULL if nothing has, or not yet. In exchange for `used`, which is freed
 * later on. */
struct ff__tuned *ff__tuner_take(struct ff__tuner *tuner, struct ff__tuned *used);

#endif
