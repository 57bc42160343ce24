/* Hints about managed memory: ff_mem_prefetch, ff_mem_hint; and how much of it a device may have.
 */
#include "runtime/predicted.h"
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

struct ordering {
    uint32_t tier;
    const struct ff__order_counts *counts;
    uint64_t absent;
};

static void order_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                        void *argument) {
    struct ordering *of = argument;
    struct ff_advice advice = {.block = block,
                               .tier = of->tier,
                               .launch = FF_NONE,
                               .pages = ff__pages_touched(first, end)};
    of->absent += ff__pipeline_order(&context->pipeline, &advice, of->counts);
}

uint64_t ff__order(struct ff_context *context, struct ff__interval bytes, uint32_t device,
                   const struct ff__order_counts *counts) {
    const void *first = (const void *)(uintptr_t)bytes.low;
    size_t size = bytes.high - bytes.low;
    struct ordering of = {ff_tier_of_device(device), counts, 0};
    if (!ff__context_is_inherited(context) && device < context->config.devices &&
        ff__range_covers(context, first, size))
        ff__for_each_piece(context, first, size, order_piece, &of);
    return of.absent;
}

/* ---- what the program says of its memory ---- */

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

/* ---- memory for kernels alone ---- */

struct kernels_change {
    struct ff_context *context;
    struct ff__span range;
    bool kernels;
    int status;
};

/* All of it leaves, and waits, while the backend changes how its faults are told. */
static void change_range(void *argument) {
    struct kernels_change *it = argument;
    struct ff_context *context = it->context;
    const struct ff_mask none = {{0}};
    uint32_t first = it->range.first_block, count = it->range.block_count;
    for (uint32_t i = 0; i < count; i++)
        ff__pipeline_withdraw(&context->pipeline, first + i);
    it->status =
        context->backend->change_kernels(context->self, first, it->range.page_count, it->kernels);
    for (uint32_t i = 0; i < count; i++)
        ff__pipeline_release(&context->pipeline, first + i, &none);
}

static int change_kernels(struct ff_context *context, const void *pointer, bool kernels) {
    struct kernels_change it = {.context = context, .kernels = kernels};
    if (!ff__range_find(context, pointer, &it.range))
        return -EINVAL;
    struct ff__allocation *allocation = it.range.allocation;
    if (!allocation->for_kernels || !context->backend->change_kernels ||
        __atomic_load_n(&allocation->is_kernels, __ATOMIC_RELAXED) == kernels)
        return 0;
    ff__pipeline_call(&context->pipeline, change_range, &it);
    if (it.status == 0)
        __atomic_store_n(&allocation->is_kernels, kernels, __ATOMIC_RELAXED);
    return it.status;
}

struct hint_call {
    struct ff_context *context;
    const void *pointer;
    size_t size;
    ff__piece_fn piece;
};

static void take_hint(void *argument) {
    struct hint_call *it = argument;
    ff__for_each_piece(it->context, it->pointer, it->size, it->piece, NULL);
}

int ff_mem_hint(struct ff_context *context, const void *pointer, size_t size, enum ff_hint hint,
                uint32_t device) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    struct ff__span range;
    if (!ff__range_covers(context, pointer, size))
        return -EINVAL;
    bool inactive = hint == FF_HINT_INACTIVE;
    struct hint_call call = {context, pointer, size, NULL};
    switch (hint) {
    case FF_HINT_INACTIVE:
    case FF_HINT_ACTIVE:
        ff__for_each_piece(context, pointer, size, activity_piece, &inactive);
        return 0;
    case FF_HINT_DISCARD:
    case FF_HINT_EVICT:
        call.piece = hint == FF_HINT_EVICT ? evict_piece : discard_piece;
        ff__context_move(context, take_hint, &call);
        return 0;
    case FF_HINT_OVERWRITE:
        ff__for_each_piece(context, pointer, size, overwrite_piece, NULL);
        return 0;
    case FF_HINT_HOME:
        if (device >= context->config.devices || !ff__range_find(context, pointer, &range))
            return -EINVAL;
        ff__context_set_home(context, &range, ff_tier_of_device(device));
        return 0;
    case FF_HINT_SYSTEM_CALLS:
    case FF_HINT_KERNELS:
        return change_kernels(context, pointer, hint == FF_HINT_KERNELS);
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
