/* What policies have found out, by the names of kernels and the sizes of ranges. */
#include "runtime/context.h"

#include "base/sized.h"

#include <string.h>

static void put_names(const struct ff_context *context, const struct ff_finding *finding,
                      struct ff_found *out) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    const struct ff__moved *moved = &context->moved;
    if (finding->launch != FF_NONE)
        memcpy(out->kernel,
               moved->kernels[ff__engine_kernel_of(context->engine, finding->launch)].name,
               sizeof out->kernel);
    if (finding->range < context->space->range_limit) {
        const struct ff__allocation *allocation = &context->allocations.alone[finding->range];
        out->has_range = allocation->is_live;
        out->range = allocation->number;
        out->size = (size_t)allocation->page_count * FF_PAGE_SIZE;
    }
}

bool ff_finding_read_sized(struct ff_context *context, uint32_t index, struct ff_found *out,
                           size_t size) {
    struct ff_finding finding;
    struct ff_found named = {.has_range = false};
    if (ff__context_is_inherited(context)) {
        ff__sized_put(out, size, &named, sizeof named);
        return false;
    }
    ff__pipeline_lock(&context->pipeline);
    bool found = ff__engine_finding(context->engine, index, &finding);
    if (found) {
        put_names(context, &finding, &named);
        memcpy(named.text, finding.text, sizeof named.text);
    }
    ff__pipeline_unlock(&context->pipeline);
    ff__sized_put(out, size, &named, sizeof named);
    return found;
}
