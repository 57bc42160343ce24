/* An engine and a pipeline with its threads, above the fake backend and below threads that use the
 * memory. */
#ifndef FF_TESTS_ENGINE_LIVE_H
#define FF_TESTS_ENGINE_LIVE_H

#include "engine/pipeline_internal.h"
#include "fake/backend.h"

#define LIVE_WINDOWS 160u
#define LIVE_SHOWS   (uint32_t)(FF_SEES_FAULTS | FF_SEES_LAUNCHES)

struct live_shape {
    const char *system;
    uint32_t devices, chunks;
    uint32_t fault_workers; /* 0: the default */
    uint32_t launch_limit;  /* execution IDs known at a time; 0: the default */
    bool self_service;      /* threads serve their faults themselves, as from a signal handler */
    struct fake_trouble trouble;
};

struct live {
    struct ff__pipeline pipeline;
    struct ff__description description; /* of the device, for the engine */
    struct ff__engine engine;
    struct live_shape shape;
    struct fake_device *device; /* NULL: closed */
    struct fake_counts counts;  /* when it was closed */
    uint64_t warnings;
    uint32_t written; /* the word that was written last */
    /* What the observer has been told: where pages are, and how many faults there were. */
    struct ff_mask told[FF_TIERS_MAX][LIVE_WINDOWS];
    uint64_t told_faults;
};

void live_open(struct live *live, const struct live_shape *shape);

/* Whether engine, fake and observer agree, once all is quiet. */
void live_check(struct live *live);

/* After the pipeline has stopped. */
void live_free(struct live *live);

/* Lets waiting threads go, stops, checks, frees. */
void live_close(struct live *live);

/* ---- ranges ---- */

/* The first block of a new range, or FF_NONE. */
uint32_t live_add(struct live *live, uint64_t pages, uint32_t tier);

/* Evicts a block. `close`: and nothing of it comes any more. */
void live_evict(struct live *live, uint32_t block, const struct ff_mask *dead, bool close);

/* Removes a range whose blocks are all closed. */
void live_forget(struct live *live, uint32_t first_block);

/* As ff_mem_free() does. */
void live_remove(struct live *live, uint32_t first_block);

/* ---- using memory ---- */

enum fake_touch live_touch(struct live *live, uint32_t block, uint32_t page, bool write);

/* Whether all these pages come to a device within a time. */
bool live_come(struct live *live, uint32_t block, const struct ff_mask *pages, uint64_t ns);

/* Whether the pages have come by then. They may have left again. */
bool live_has_come(struct live *live, uint32_t block, const struct ff_mask *pages, uint64_t ns);

/* Waits until a verb is at work on the block; for a second, as on a busy machine it may be over
 * before this thread runs. */
void live_await_work(struct live *live, uint32_t block);

#endif
