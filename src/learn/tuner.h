/* Fine-tuning in the background: one thread trains while its owner continues to predict.
 *
 * The owner notes accesses, hands them over from time to time, and takes the new predictor when training has
 * finished. None of this allocates or waits, unless asked to. The result depends on the accesses alone, not on when the
 * thread runs. */
#ifndef FF_LEARN_TUNER_H
#define FF_LEARN_TUNER_H

#include "learn/finetune.h"
#include "learn/predictor.h"

#include <pthread.h>
#include <semaphore.h>

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
    struct ff__model model;            /* the thread's, while it is at work */
    struct ff__corpus notes, training; /* training: the thread's, while it is at work */
    uint32_t steps;
    bool at_work, stop;
    struct ff__tuned *made; /* by the thread: NULL if training failed */
    struct ff__tuned *used; /* given back: the thread frees it */
    bool has_thread, has_semaphores;
    pthread_t thread;
    sem_t work, done;
};

struct ff__tuner_plan {
    const char *path;  /* a model to begin with; NULL or empty: none */
    uint32_t distance; /* 0: the model's, or the paper's 30 without one */
    uint32_t steps;    /* batches of one tuning; 0: no thread, nothing is learned */
    uint64_t seed;
};

/* 0 or negative errno with one line. *first: what the model predicts with; NULL: there is none yet.
 * The caller owns it. */
int ff__tuner_init(struct ff__tuner *tuner, const struct ff__tuner_plan *plan,
                   struct ff__tuned **first, struct ff_error *error);
void ff__tuner_fini(struct ff__tuner *tuner);
void ff__tuned_free(struct ff__tuned *tuned);

/* Nanoseconds that one prediction takes here, from a new access to the answer: a median. `window` is a
 * stream of it, and is left as it was. */
uint64_t ff__tuned_measure(const struct ff__tuned *tuned, const struct ff__stream *window);

/* Records an access; old ones are dropped. */
void ff__tuner_note(struct ff__tuner *tuner, const struct ff__access *access);

/* Hands a copy of what was noted over to the thread. The notes go on, since between two tunings a
 * stream may have fewer accesses than the window and the distance are long. False: it is still at work, or
 * too little was noted. */
bool ff__tuner_begin(struct ff__tuner *tuner);

/* What has come of it: NULL if nothing has, or not yet. `wait`: until it has. In exchange for `used`,
 * which is freed later on. */
struct ff__tuned *ff__tuner_take(struct ff__tuner *tuner, bool wait, struct ff__tuned *used);

#endif
