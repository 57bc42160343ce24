/* What has become of a context's run. */
#include "runtime/context.h"

#include <errno.h>

const char *ff_context_describe(struct ff_context *context) {
    return context->description.text;
}

void ff_stats_read(struct ff_context *context, struct ff_stats *out) {
    *out = (struct ff_stats){.faults = 0};
    if (ff__context_is_inherited(context))
        return;
    *out = ff__pipeline_stats(&context->pipeline);
    ff__share_stats(&context->share, out);
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
