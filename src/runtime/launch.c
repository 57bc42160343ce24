/* Launches, as whoever runs kernels announces them. */
#include "runtime/ranges.h"

void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                     const char *name, const void *const *operands, size_t operand_count) {
    uint32_t tier = ff_tier_of_device(device);
    uint64_t demanded = 0;
    struct ff__span range;
    if (device >= context->config.devices)
        return;
    for (size_t i = 0; i < operand_count; i++) {
        if (!ff__range_find(context, operands[i], &range))
            continue;
        demanded += range.page_count;
        ff__context_set_home(context, &range, tier);
    }
    if (context->recorder)
        ff__record_launch(context->recorder, device, identity, name, true);
    ff__pipeline_launch(&context->pipeline, tier, identity, true, demanded);
}

void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity) {
    if (device >= context->config.devices)
        return;
    ff__pipeline_launch(&context->pipeline, ff_tier_of_device(device), identity, false, 0);
    if (context->recorder)
        ff__record_launch(context->recorder, device, identity, NULL, false);
}
