/* What an ff_context is made of; shared by the files that implement farfault.h. */
#ifndef FF_RUNTIME_CONTEXT_H
#define FF_RUNTIME_CONTEXT_H

#include "base/process.h"
#include "engine/pipeline.h"
#include "runtime/allocations.h"
#include "runtime/moved.h"
#include "runtime/places.h"
#include "runtime/share.h"
#include "trace/record.h"

struct ff__workers;

struct ff_context {
    const struct ff__backend *backend;
    void *self; /* the backend's */
    struct ff__description description;
    struct ff__engine *engine;
    const struct ff__space *space; /* the engine's */
    struct ff__pipeline pipeline;
    struct ff__share share;
    struct ff__recorder *recorder; /* NULL: nothing is recorded */
    struct ff_config config;
    struct ff__allocations allocations;
    struct ff__moved moved;
    struct ff__named_places named_places;
    struct ff__workers *workers[FF_TIERS_MAX]; /* [tier], made with the first stream */
    struct ff__lock making_workers;
    uint32_t process; /* that opened it */
};

/* In a forked child the context of its parent is data that no thread works on: locks may be held by
 * threads that the child does not have. Every function of farfault.h asks first. */
static inline bool ff__context_is_inherited(const struct ff_context *context) {
    return context->process != ff__process_number();
}

/* ---- record.c ---- */

/* Makes the recorder that the configuration asks for. Negative errno, with a line. */
int ff__context_open_recorder(struct ff_context *context, struct ff_error *error);

/* What has the pipeline tell the recorder. */
struct ff__observer ff__context_observer(struct ff_context *context);

/* A launch begins; NULL: it has ended. When touches are recorded, the devices are empty after
 * it. */
void ff__context_record_launch(struct ff_context *context, uint32_t device, uint64_t identity,
                               const struct ff_launch *begins);

/* The program has written to the host's copies of these pages of the block. */
void ff__context_record_host_write(struct ff_context *context, uint32_t block,
                                   const struct ff_mask *pages);

/* ---- launch.c ---- */

/* Launches that are left to the pipeline as news. */
struct ff__news ff__context_launch_news(struct ff_context *context);

/* ---- stream.c ---- */

void ff__workers_destroy(struct ff__workers *workers);

#endif
