/* Recording a context's run. */
#include "runtime/context.h"

int ff__context_open_recorder(struct ff_context *context, struct ff_error *error) {
    const struct ff_config *config = &context->config;
    const struct ff__recorder_config recording = {
        config->record, config->address_space, config->memory, {config->log, config->log_user}};
    return config->record ? ff__recorder_open(&recording, &context->recorder, error) : 0;
}

static void record_faults(void *user, const struct ff__fault *faults, uint32_t count) {
    struct ff_context *context = user;
    ff__record_faults(context->recorder, faults, count, context->description.base);
}

static void record_moves(void *user, const struct ff__move *move, const struct ff_mask *pages,
                         bool arrive) {
    struct ff_context *context = user;
    uint64_t address = ff__block_address(&context->engine.space, move->block);
    ff__record_moves(context->recorder, arrive ? FF_TRACE_MIGRATE : FF_TRACE_EVICT,
                     ff__move_place(move)->tier - 1, address - context->description.base, pages);
}

struct ff__observer ff__context_observer(struct ff_context *context) {
    if (!context->recorder)
        return (struct ff__observer){NULL, NULL, NULL};
    return (struct ff__observer){context, record_faults, record_moves};
}

int ff_record_finish(struct ff_context *context) {
    return context->recorder ? ff__recorder_finish(context->recorder) : 0;
}
