/* What an ff_context is made of; shared by the files that implement farfault.h. */
#ifndef FF_SOFT_CONTEXT_H
#define FF_SOFT_CONTEXT_H

#include "backend/soft/device.h"
#include "engine/pipeline.h"

struct ff__workers;

struct ff_context {
    struct ff__soft soft;
    struct ff__engine engine;
    struct ff__pipeline pipeline;
    struct ff_config config;
    struct ff__workers *workers[FF_TIERS_MAX]; /* [tier], made with the first stream */
    pthread_mutex_t making_workers;
    char description[160];
};

/* ---- sigbus.c ---- */

/* Faults of the context's memory are served by the threads that meet them. -EBUSY: too many such
 * contexts. */
int ff__sigbus_attach(struct ff_context *context);
void ff__sigbus_detach(struct ff_context *context);

/* ---- stream.c ---- */

void ff__workers_destroy(struct ff__workers *workers);

#endif
