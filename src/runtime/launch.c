/* Launches, as the runtime that starts kernels announces them. */
#include "runtime/ranges.h"

#include "base/signals.h"

#include <stdlib.h>

#define FEW 16u /* operands that need no allocation */

/* The ranges of the kernel's pointers, each with its home on the tier; returns how many there are. The pipeline's lock
 * is held. */
static uint32_t find_operands(struct ff_context *context, uint32_t tier, uint32_t kernel,
                              const void *const *pointers, const uint8_t *strides, size_t count,
                              struct ff_operand *operands, uint64_t *pages) {
    struct ff__span range;
    uint32_t found = 0;
    *pages = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ff__range_find_locked(context, pointers[i], &range))
            continue;
        uint8_t stride = strides ? strides[i] : FF_STRIDE_UNKNOWN;
        *pages += range.page_count;
        ff__moved_use(range.allocation, kernel, stride);
        ff__context_set_home_locked(context, &range, tier);
        if (operands) /* nobody has said what is read and what written */
            operands[found++] = (struct ff_operand){
                .range = range.range, .reads = true, .writes = true, .stride = stride};
    }
    return found;
}

void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                     const char *name, const void *const *operands, const uint8_t *strides,
                     size_t operand_count) {
    if (ff__context_is_inherited(context) || device >= context->config.devices)
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
    launch.kernel = ff__moved_kernel(context, name);
    launch.operand_count = find_operands(context, launch.tier, launch.kernel, operands, strides,
                                         operand_count, ranges, &demanded);
    ff__moved_launch(context, launch.kernel, demanded * FF_PAGE_SIZE);
    ff__lock_release(&context->pipeline.lock);
    ff__context_record_launch(context, device, identity, name, true);
    ff__pipeline_launch(&context->pipeline, &launch, demanded);
    ff__signals_release();
    if (ranges != few)
        free(ranges);
}

void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity) {
    const struct ff__launch launch = {.tier = ff_tier_of_device(device), .identity = identity};
    if (ff__context_is_inherited(context) || device >= context->config.devices)
        return;
    ff__pipeline_launch(&context->pipeline, &launch, 0);
    ff__context_record_launch(context, device, identity, NULL, false);
}
