/* Recording a context's run.
 *
 * A recording of touches (ff_config.touches) takes everything off the devices before and after each
 * launch, so that the next access to each page is a fault. Evicting costs hardly more than anything
 * else that the software device could do (docs/results/touches.md), and only an eviction tells
 * whether a page was written to: by its content. */
#include "runtime/ranges.h"

#include <errno.h>

int ff__context_open_recorder(struct ff_context *context, struct ff_error *error) {
    const struct ff_config *config = &context->config;
    const struct ff__recorder_config recording = {.path = config->record,
                                                  .address_space = config->address_space,
                                                  .memory = config->memory,
                                                  .touches = config->touches,
                                                  .accesses = config->accesses,
                                                  .log = {config->log, config->log_user}};
    return config->record ? ff__recorder_open(&recording, &context->recorder, error) : 0;
}

static void record_faults(void *user, const struct ff__fault *faults, uint32_t count) {
    struct ff_context *context = user;
    ff__record_faults(context->recorder, faults, count, context->description.base);
}

static void record(struct ff_context *context, enum ff_trace_kind kind, const struct ff__move *move,
                   const struct ff_mask *pages) {
    uint64_t address = ff__block_address(context->space, move->block);
    ff__record_moves(context->recorder, kind, ff__move_place(move)->tier - 1,
                     address - context->description.base, pages);
}

static void record_moves(void *user, const struct ff__move *move, const struct ff_mask *pages,
                         bool arrive) {
    record(user, arrive ? FF_TRACE_MIGRATE : FF_TRACE_EVICT, move, pages);
}

static void record_copies(void *user, const struct ff__move *move, const struct ff_mask *pages) {
    record(user, FF_TRACE_WRITTEN, move, pages);
}

struct ff__observer ff__context_observer(struct ff_context *context) {
    struct ff__observer observer = {.user = context};
    if (!context->recorder)
        return observer;
    observer.faults = record_faults;
    if (context->config.touches)
        observer.copies = record_copies;
    else
        observer.moves = record_moves;
    return observer;
}

/* ---- launches ---- */

static void evict_all(void *argument) {
    struct ff_context *context = argument;
    const struct ff__space *space = context->space;
    for (uint32_t id = 0; id < __atomic_load_n(&space->range_limit, __ATOMIC_RELAXED); id++) {
        ff__pipeline_lock(&context->pipeline);
        const struct ff_range range = space->ranges[id];
        ff__pipeline_unlock(&context->pipeline);
        for (uint32_t i = 0; i < range.block_count; i++)
            ff__pipeline_evict(&context->pipeline, range.first_block + i, NULL, NULL);
    }
}

void ff__context_record_launch(struct ff_context *context, uint32_t device, uint64_t identity,
                               const struct ff_launch *begins) {
    if (!context->recorder)
        return;
    if (context->config.touches && !begins)
        ff__record_work(context->recorder, device);
    if (context->config.touches)
        ff__context_move(context, evict_all, context);
    ff__record_launch(context->recorder, device, identity, begins);
}

bool ff_records_accesses(const struct ff_context *context) {
    return context->config.accesses && !ff__context_is_inherited(context);
}

void ff_record_accesses(struct ff_context *context, uint32_t device,
                        const struct ff_warp_access *accesses, size_t count) {
    if (!ff_records_accesses(context) || device >= context->config.devices)
        return;
    ff__record_accesses(context->recorder, device, accesses, count, context->description.base);
    ff__pipeline_used(&context->pipeline, device + 1, accesses, count);
}

/* ---- what the host does ---- */

void ff__context_record_host_write(struct ff_context *context, uint32_t block,
                                   const struct ff_mask *pages) {
    if (context->recorder)
        ff__record_host_write(context->recorder,
                              ff__block_address(context->space, block) - context->description.base,
                              pages);
}

int ff_record_finish(struct ff_context *context) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    return context->recorder ? ff__recorder_finish(context->recorder) : 0;
}
