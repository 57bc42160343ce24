/* Hints about managed memory: ff_mem_prefetch, ff_mem_advise; and how much of it a device may have.
 */
#include "runtime/ranges.h"

#include <errno.h>

/* ---- prefetch ---- */

static void prefetch_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                           void *argument) {
    struct ff_advice advice = {.block = block,
                               .tier = *(uint32_t *)argument,
                               .launch = FF_NONE,
                               .pages = ff__pages_touched(first, end)};
    ff__pipeline_advise(&context->pipeline, &advice);
}

int ff_mem_prefetch(struct ff_context *context, const void *pointer, size_t size, uint32_t device) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    uint32_t tier = ff_tier_of_device(device);
    if (device >= context->config.devices || !ff__range_covers(context, pointer, size))
        return -EINVAL;
    ff__for_each_piece(context, pointer, size, prefetch_piece, &tier);
    return 0;
}

/* ---- advice ---- */

static void evict_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                        void *argument) {
    (void)argument;
    struct ff_mask pages = ff__pages_touched(first, end);
    ff__pipeline_evict(&context->pipeline, block, &pages, NULL);
}

static void discard_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                          void *argument) {
    (void)argument;
    struct ff_mask dead = ff__pages_inside(first, end);
    if (!ff_mask_empty(&dead))
        ff__pipeline_evict(&context->pipeline, block, &dead, &dead);
}

static void overwrite_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                            void *argument) {
    (void)argument;
    struct ff_mask dead = ff__pages_inside(first, end);
    ff__pipeline_overwrite(&context->pipeline, block, &dead);
}

/* What is in use again in part is in use. */
static void activity_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                           void *argument) {
    bool inactive = *(bool *)argument;
    struct ff_mask pages = inactive ? ff__pages_inside(first, end) : ff__pages_touched(first, end);
    ff__pipeline_set_inactive(&context->pipeline, block, &pages, inactive);
}

struct hint {
    struct ff_context *context;
    const void *pointer;
    size_t size;
    ff__piece_fn piece;
};

static void take_hint(void *argument) {
    struct hint *it = argument;
    ff__for_each_piece(it->context, it->pointer, it->size, it->piece, NULL);
}

int ff_mem_advise(struct ff_context *context, const void *pointer, size_t size,
                  enum ff_advice_kind advice, uint32_t device) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    struct ff__span range;
    if (!ff__range_covers(context, pointer, size))
        return -EINVAL;
    bool inactive = advice == FF_ADVISE_INACTIVE;
    struct hint hint = {context, pointer, size, NULL};
    switch (advice) {
    case FF_ADVISE_INACTIVE:
    case FF_ADVISE_ACTIVE:
        ff__for_each_piece(context, pointer, size, activity_piece, &inactive);
        return 0;
    case FF_ADVISE_DISCARD:
    case FF_ADVISE_EVICT:
        hint.piece = advice == FF_ADVISE_EVICT ? evict_piece : discard_piece;
        ff__context_move(context, take_hint, &hint);
        return 0;
    case FF_ADVISE_OVERWRITE:
        ff__for_each_piece(context, pointer, size, overwrite_piece, NULL);
        return 0;
    case FF_ADVISE_HOME:
        if (device >= context->config.devices || !ff__range_find(context, pointer, &range))
            return -EINVAL;
        ff__context_set_home(context, &range, ff_tier_of_device(device));
        return 0;
    default:
        return -EINVAL;
    }
}

/* ---- capacity ---- */

int ff_memory_limit(struct ff_context *context, uint32_t device, uint64_t bytes) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    if (device >= context->config.devices)
        return -EINVAL;
    return ff__pipeline_set_memory(&context->pipeline, ff_tier_of_device(device), bytes);
}
