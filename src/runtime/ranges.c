/* Allocating, freeing and finding ranges. */
#include "runtime/ranges.h"

#include <errno.h>

static void lock(struct ff_context *context) {
    ff__lock_acquire(&context->pipeline.lock);
}

static void unlock(struct ff_context *context) {
    ff__lock_release(&context->pipeline.lock);
}

/* ---- finding ---- */

bool ff__range_find_locked(const struct ff_context *context, const void *pointer,
                           struct ff__span *out) {
    const struct ff__space *space = &context->engine.space;
    uint32_t page, block = ff__space_find(space, (uintptr_t)pointer, &page);
    if (block == FF_NONE)
        return false;
    uint32_t id = space->blocks[block].range;
    const struct ff_range *range = &space->ranges[id];
    *out = (struct ff__span){id, range->first_block, range->block_count, range->page_count};
    return true;
}

bool ff__range_find(struct ff_context *context, const void *pointer, struct ff__span *out) {
    lock(context);
    bool found = ff__range_find_locked(context, pointer, out);
    unlock(context);
    return found;
}

bool ff__range_find_all(struct ff_context *context, const void *pointer, size_t size,
                        struct ff__span *out) {
    if (!ff__range_find(context, pointer, out))
        return false;
    size_t offset = (size_t)((const char *)pointer - ff__window_address(context, out->first_block));
    return size <= out->page_count * FF_PAGE_SIZE - offset;
}

bool ff_mem_lookup(struct ff_context *context, const void *pointer, void **base, size_t *size) {
    struct ff__span range;
    if (!ff__range_find(context, pointer, &range))
        return false;
    if (base)
        *base = ff__window_address(context, range.first_block);
    if (size)
        *size = (size_t)range.page_count * FF_PAGE_SIZE;
    return true;
}

bool ff_context_owns(struct ff_context *context, const void *pointer, size_t size) {
    uintptr_t low = (uintptr_t)pointer, high = size > UINTPTR_MAX - low ? UINTPTR_MAX : low + size;
    return context->backend->owns(context->self, low, high);
}

/* ---- allocating ---- */

/* What is done on the thread that can, with how it went. */
struct errand {
    struct ff_context *context;
    struct ff__span range;
    int status;
};

static void reserve_host(void *argument) {
    struct errand *it = argument;
    const struct ff__backend *backend = it->context->backend;
    void *self = it->context->self;
    it->status = backend->reserve_host(self, it->range.first_block, it->range.page_count);
    if (it->status)
        backend->close_range(self, it->range.first_block, it->range.page_count);
}

/* Makes a new range's addresses usable. */
static int open_range(struct ff_context *context, const struct ff__span *range) {
    struct errand errand = {context, *range, 0};
    int status = context->backend->open_range(context->self, range->first_block, range->page_count);
    if (status || !context->description.reserves_host)
        return status;
    ff__pipeline_call(&context->pipeline, reserve_host, &errand);
    return errand.status;
}

static void forget_range(struct ff_context *context, uint32_t id) {
    lock(context);
    ff__engine_range_remove(&context->engine, id);
    unlock(context);
}

int ff_mem_alloc(struct ff_context *context, size_t size, void **out) {
    if (size == 0)
        return -EINVAL;
    if (size > context->config.address_space)
        return -ENOMEM;
    struct ff__span range = {.page_count = (size + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE};
    lock(context);
    int status = ff__engine_range_add(&context->engine, range.page_count, 0, ff_tier_of_device(0),
                                      &range.id);
    if (!status)
        range.first_block = context->engine.space.ranges[range.id].first_block;
    unlock(context);
    if (status)
        return status;
    status = open_range(context, &range);
    if (status) {
        forget_range(context, range.id);
        return status;
    }
    ff__moved_add_range(context, range.id);
    if (context->recorder)
        ff__record_range(context->recorder, range.id, (uint64_t)range.first_block << FF_BLOCK_SHIFT,
                         range.page_count * FF_PAGE_SIZE, 0);
    *out = ff__window_address(context, range.first_block);
    return 0;
}

/* ---- freeing ---- */

/* Addresses that are not the backend's any more are never given out again: their blocks stay closed. */
static void remove_range(void *argument) {
    struct errand *it = argument;
    struct ff_context *context = it->context;
    uint32_t first = it->range.first_block, count = it->range.block_count;
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), none = {{0}};
    for (uint32_t i = 0; i < count; i++)
        ff__pipeline_evict(&context->pipeline, first + i, &all, true);
    ff__moved_drop_range(context, it->range.id); /* now that nothing of it is under way */
    if (context->recorder)                       /* before the number can be used again */
        ff__record_free(context->recorder, (uint64_t)first << FF_BLOCK_SHIFT,
                        (uint64_t)count << FF_BLOCK_SHIFT);
    if (context->backend->close_range(context->self, first, it->range.page_count) == 0)
        forget_range(context, it->range.id);
    /* a thread that still waits here made a mistake; it faults again and is told so */
    for (uint32_t i = 0; i < count; i++)
        context->backend->replay(context->self, first + i, &none);
}

int ff_mem_free(struct ff_context *context, void *pointer) {
    struct errand errand = {.context = context};
    if (!pointer)
        return 0;
    if (!ff__range_find(context, pointer, &errand.range) ||
        ff__window_address(context, errand.range.first_block) != pointer)
        return -EINVAL;
    ff__pipeline_call(&context->pipeline, remove_range, &errand);
    return 0;
}

/* ---- moving on behalf of the program ---- */

void ff__context_move(struct ff_context *context, void (*run)(void *argument), void *argument) {
    if (context->description.serves_here)
        run(argument);
    else
        ff__pipeline_call(&context->pipeline, run, argument);
}

static void evict_range(void *argument) {
    struct errand *it = argument;
    for (uint32_t i = 0; i < it->range.block_count; i++)
        ff__pipeline_evict(&it->context->pipeline, it->range.first_block + i, NULL, false);
}

void ff__context_set_home_locked(struct ff_context *context, const struct ff__span *range,
                                 uint32_t tier) {
    struct errand errand = {context, *range, 0};
    if (!ff__engine_set_home(&context->engine, range->id, tier))
        return;
    unlock(context);
    if (context->recorder)
        ff__record_home(context->recorder, (uint64_t)range->first_block << FF_BLOCK_SHIFT,
                        tier - 1);
    ff__context_move(context, evict_range, &errand);
    lock(context);
}

void ff__context_set_home(struct ff_context *context, const struct ff__span *range, uint32_t tier) {
    lock(context);
    ff__context_set_home_locked(context, range, tier);
    unlock(context);
}

/* ---- pieces ---- */

void ff__for_each_piece(struct ff_context *context, const void *pointer, size_t size,
                        ff__piece_fn call, void *argument) {
    uint64_t at = (uintptr_t)pointer - context->description.base, end = at + size;
    while (at < end) {
        uint64_t window = at & ~(uint64_t)(FF_BLOCK_SIZE - 1);
        uint64_t piece_end = end < window + FF_BLOCK_SIZE ? end : window + FF_BLOCK_SIZE;
        call(context, (uint32_t)(at >> FF_BLOCK_SHIFT), at - window, piece_end - window, argument);
        at = piece_end;
    }
}
