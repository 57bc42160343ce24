/* Launches, as the runtime that starts kernels announces them. */
#include "runtime/ranges.h"

#include "base/signals.h"

#include <stdlib.h>

#define FEW 16u /* operands that need no allocation */

/* The ranges of the pointers, each with its home on the tier; returns how many there are. The pipeline's lock is held. */
static uint32_t find_operands(struct ff_context *context, uint32_t tier,
                              const void *const *pointers, const uint8_t *strides, size_t count,
                              struct ff_operand *operands, uint64_t *pages) {
    struct ff__span range;
    uint32_t found = 0;
    *pages = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ff__range_find_locked(context, pointers[i], &range))
            continue;
        *pages += range.page_count;
        ff__context_set_home_locked(context, &range, tier);
        if (operands) /* nobody has said what is read and what written */
            operands[found++] = (struct ff_operand){.range = range.id,
                                                    .reads = true,
                                                    .writes = true,
                                                    .stride = strides ? strides[i] : 0};
    }
    return found;
}

void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                     const char *name, const void *const *operands, const uint8_t *strides,
                     size_t operand_count) {
    if (device >= context->config.devices)
        return;
    struct ff_operand few[FEW], *ranges = few;
    if (operand_count > FEW)
        ranges = calloc(operand_count, sizeof *ranges); /* NULL: not told */
    struct ff__launch launch = {.tier = ff_tier_of_device(device),
                                .begins = true,
                                .identity = identity,
                                .operands = ranges};
    uint64_t demanded;
    ff__signals_hold(); /* once, not for each lock */
    ff__lock_acquire(&context->pipeline.lock);
    launch.operand_count =
        find_operands(context, launch.tier, operands, strides, operand_count, ranges, &demanded);
    launch.kernel = ff__moved_launch(context, &launch, name, demanded * FF_PAGE_SIZE);
    ff__lock_release(&context->pipeline.lock);
    ff__context_record_launch(context, device, identity, name, true);
    ff__pipeline_launch(&context->pipeline, &launch, demanded);
    ff__signals_release();
    if (ranges != few)
        free(ranges);
}

void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity) {
    const struct ff__launch launch = {.tier = ff_tier_of_device(device), .identity = identity};
    if (device >= context->config.devices)
        return;
    ff__pipeline_launch(&context->pipeline, &launch, 0);
    ff__context_record_launch(context, device, identity, NULL, false);
}
