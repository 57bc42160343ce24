/* What policies have found out, by the names of kernels and the sizes of ranges. */
#include "runtime/context.h"

#include <string.h>

static void put_names(const struct ff_context *context, const struct ff_finding *finding,
                      struct ff_found *out) {
    const struct ff__moved *moved = &context->moved;
    uint32_t slot = ff_launch_slot(finding->launch);
    if (finding->launch != FF_NONE)
        memcpy(out->kernel, moved->kernels[context->engine.kernel_of_launch[slot]].name,
               sizeof out->kernel);
    if (finding->range < moved->range_limit) {
        out->has_range = true;
        out->range = moved->ranges[finding->range].number;
        out->size = (size_t)moved->ranges[finding->range].size;
    }
}

bool ff_finding_read(struct ff_context *context, uint32_t index, struct ff_found *out) {
    struct ff_finding finding;
    *out = (struct ff_found){.has_range = false};
    ff__lock_acquire(&context->pipeline.lock);
    bool found = ff__engine_finding(&context->engine, index, &finding);
    if (found) {
        put_names(context, &finding, out);
        memcpy(out->text, finding.text, sizeof out->text);
    }
    ff__lock_release(&context->pipeline.lock);
    return found;
}
