/* What has become of a context's run. */
#include "runtime/context.h"

const char *ff_context_describe(struct ff_context *context) {
    return context->description.text;
}

void ff_stats_read(struct ff_context *context, struct ff_stats *out) {
    *out = ff__pipeline_stats(&context->pipeline);
    pthread_mutex_lock(&context->pipeline.lock);
    out->allocated = context->allocations.pages * FF_PAGE_SIZE;
    out->allocated_peak = context->allocations.peak * FF_PAGE_SIZE;
    pthread_mutex_unlock(&context->pipeline.lock);
    out->host_held = context->backend->host_held(context->self);
    ff__share_stats(&context->share, out);
}

int ff_check(struct ff_context *context, struct ff_error *error) {
    struct ff_error unwanted;
    return ff__pipeline_check(&context->pipeline, error ? error : &unwanted);
}

double ff_stats_hit_rate(const struct ff_stats *stats) {
    if (stats->demanded == 0)
        return -1;
    double missed = (double)stats->faults / (double)stats->demanded;
    return missed < 1 ? 1 - missed : 0;
}
