/* What has become of a context's run. */
#include "runtime/context.h"

#include "base/sized.h"

#include <errno.h>

const char *ff_context_describe(struct ff_context *context) {
    return context->description.text;
}

static struct ff_stats read_stats(struct ff_context *context) {
    ff__pipeline_lock(&context->pipeline);
    struct ff_stats stats = context->space->stats;
    stats.allocated = context->allocations.pages * FF_PAGE_SIZE;
    stats.allocated_peak = context->allocations.peak * FF_PAGE_SIZE;
    ff__pipeline_unlock(&context->pipeline);
    stats.host_held = context->backend->host_held(context->self);
    ff__share_stats(&context->share, &stats);
    return stats;
}

void ff_stats_read_sized(struct ff_context *context, struct ff_stats *out, size_t size) {
    struct ff_stats stats = {.faults = 0};
    if (!ff__context_is_inherited(context))
        stats = read_stats(context);
    ff__sized_put(out, size, &stats, sizeof stats);
}

int ff_check(struct ff_context *context, struct ff_error *error) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    struct ff_error unwanted;
    return ff__pipeline_check(&context->pipeline, error ? error : &unwanted);
}

double ff_stats_hit_rate(const struct ff_stats *stats) {
    if (stats->demanded == 0)
        return -1;
    double missed = (double)stats->faults / (double)stats->demanded;
    return missed < 1 ? 1 - missed : 0;
}
