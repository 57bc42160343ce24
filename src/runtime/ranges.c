/* Allocating, freeing and finding memory, and the ranges that it lies in. */
#include "runtime/ranges.h"

#include "runtime/slab.h"

#include <errno.h>

static void lock(struct ff_context *context) {
    ff__pipeline_lock(&context->pipeline);
}

static void unlock(struct ff_context *context) {
    ff__pipeline_unlock(&context->pipeline);
}

/* ---- finding ---- */

bool ff__range_find_locked(const struct ff_context *context, const void *pointer,
                           struct ff__span *out) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    const struct ff__space *space = context->space;
    uint32_t page, block = ff__space_find(space, (uintptr_t)pointer, &page);
    if (block == FF_NONE)
        return false;
    uint32_t id = space->blocks[block].range;
    struct ff__slab *slab = context->allocations.slab_of[block];
    struct ff__allocation *allocation =
        slab ? ff__slab_find(slab, page) : &context->allocations.alone[id];
    if (!allocation || !allocation->is_live)
        return false;
    const struct ff_range *range = &space->ranges[id];
    *out = (struct ff__span){allocation,
                             id,
                             range->first_block,
                             range->block_count,
                             allocation->first_page,
                             allocation->page_count};
    return true;
}

bool ff__range_find(struct ff_context *context, const void *pointer, struct ff__span *out) {
    lock(context);
    bool found = ff__range_find_locked(context, pointer, out);
    unlock(context);
    return found;
}

/* By its address alone, without the lock. */
static bool find_extent(const struct ff_context *context, const void *pointer,
                        struct ff__extent *out) {
    uint64_t address = (uintptr_t)pointer, offset = address - context->description.base;
    return address >= context->description.base && offset < context->config.address_space &&
           ff__allocation_find(&context->allocations, offset / FF_PAGE_SIZE, out);
}

static char *extent_address(const struct ff_context *context, const struct ff__extent *extent) {
    return ff__window_address(context, 0) + (size_t)extent->first_page * FF_PAGE_SIZE;
}

bool ff__range_covers(const struct ff_context *context, const void *pointer, size_t size) {
    struct ff__extent extent;
    if (!find_extent(context, pointer, &extent))
        return false;
    size_t offset = (size_t)((const char *)pointer - extent_address(context, &extent));
    return size <= extent.page_count * FF_PAGE_SIZE - offset;
}

bool ff_mem_lookup(struct ff_context *context, const void *pointer, void **base, size_t *size) {
    struct ff__extent extent;
    if (ff__context_is_inherited(context) || !find_extent(context, pointer, &extent))
        return false;
    if (base)
        *base = extent_address(context, &extent);
    if (size)
        *size = (size_t)extent.page_count * FF_PAGE_SIZE;
    return true;
}

bool ff_context_owns(struct ff_context *context, const void *pointer, size_t size) {
    if (ff__context_is_inherited(context))
        return false;
    uintptr_t low = (uintptr_t)pointer, high = size > UINTPTR_MAX - low ? UINTPTR_MAX : low + size;
    return context->backend->owns(context->self, low, high);
}

/* ---- ranges of the engine ---- */

/* What is done on the thread that can, with how it went. */
struct range_errand {
    struct ff_context *context;
    struct ff__span range;
    int status;
};

static void reserve_on_thread(void *argument) {
    struct range_errand *it = argument;
    const struct ff__backend *backend = it->context->backend;
    void *self = it->context->self;
    it->status = backend->reserve_host(self, it->range.first_block, it->range.page_count);
    if (it->status)
        backend->close_range(self, it->range.first_block, it->range.page_count);
}

static int reserve_host(struct ff_context *context, const struct ff__span *range) {
    struct range_errand errand = {context, *range, 0};
    if (context->description.reserves_host)
        ff__pipeline_call(&context->pipeline, reserve_on_thread, &errand);
    return errand.status;
}

static void forget_range(struct ff_context *context, uint32_t id) {
    lock(context);
    ff__engine_range_remove(context->engine, id);
    unlock(context);
}

/* Policies may prefetch a range as soon as the lock is given up: its addresses are usable by then.
 */
static int add_range(struct ff_context *context, enum ff__range_use use, struct ff__span *range) {
    struct ff__engine *engine = context->engine;
    uint64_t pages = range->page_count;
    int status = ff__engine_range_add(engine, pages, 0, ff_tier_of_device(0), &range->range);
    if (status)
        return status;
    range->first_block = context->space->ranges[range->range].first_block;
    status = use == FF__RANGE_SHARED ? ff__engine_range_share(engine, range->range) : 0;
    if (!status)
        status = context->backend->open_range(context->self, range->first_block, pages);
    if (status)
        ff__engine_range_remove(engine, range->range);
    else if (use == FF__RANGE_KERNELS && context->backend->set_kernels)
        context->backend->set_kernels(context->self, range->first_block, pages);
    return status;
}

int ff__range_make(struct ff_context *context, uint64_t page_count, enum ff__range_use use,
                   struct ff__span *out) {
    *out = (struct ff__span){.page_count = page_count};
    lock(context);
    int status = add_range(context, use, out);
    unlock(context);
    if (status)
        return status;
    status = reserve_host(context, out);
    if (status)
        forget_range(context, out->range);
    else if (context->recorder)
        ff__record_range(context->recorder, out->range,
                         (uint64_t)out->first_block << FF_BLOCK_SHIFT, page_count * FF_PAGE_SIZE,
                         0);
    return status;
}

/* Addresses that are not the backend's any more are never given out again: their blocks stay
 * closed. */
void ff__range_unmake(struct ff_context *context, uint32_t id) {
    lock(context);
    const struct ff_range range = context->space->ranges[id];
    unlock(context);
    uint32_t first = range.first_block, count = range.block_count;
    struct ff_mask none = {{0}};
    for (uint32_t i = 0; i < count; i++)
        ff__pipeline_close(&context->pipeline, first + i);
    lock(context);
    if (context->allocations.alone[id].is_live) { /* now that nothing of it is under way */
        ff__moved_end(context, &context->allocations.alone[id]);
        ff__allocation_hide(&context->allocations, first, range.page_count);
    }
    unlock(context);
    if (context->recorder) /* before the number can be used again */
        ff__record_free(context->recorder, (uint64_t)first << FF_BLOCK_SHIFT,
                        (uint64_t)count << FF_BLOCK_SHIFT);
    if (context->backend->close_range(context->self, first, range.page_count) == 0)
        forget_range(context, id);
    /* a thread that still waits here made a mistake; it faults again and is told so */
    for (uint32_t i = 0; i < count; i++)
        context->backend->replay(context->self, first + i, &none);
}

/* ---- allocating and freeing ---- */

static int alloc_alone(struct ff_context *context, uint64_t page_count, enum ff__range_use use,
                       void **out) {
    struct ff__span range;
    int status = ff__range_make(context, page_count, use, &range);
    if (status)
        return status;
    struct ff__allocation *allocation = &context->allocations.alone[range.range];
    lock(context);
    *allocation = (struct ff__allocation){
        .page_count = page_count,
        .range = range.range,
        .for_kernels = use == FF__RANGE_KERNELS,
        .is_kernels = use == FF__RANGE_KERNELS,
    };
    ff__allocation_begin(&context->allocations, allocation);
    ff__allocation_show(&context->allocations, range.first_block, page_count);
    unlock(context);
    *out = ff__window_address(context, range.first_block);
    return 0;
}

static int alloc(struct ff_context *context, size_t size, enum ff__range_use use, void **out) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    if (size == 0)
        return -EINVAL;
    if (size > context->config.address_space)
        return -ENOMEM;
    uint64_t page_count = (size + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    return ff__slab_is_for(size) ? ff__slab_alloc(context, (uint32_t)page_count, out)
                                 : alloc_alone(context, page_count, use, out);
}

int ff_mem_alloc(struct ff_context *context, size_t size, void **out) {
    return alloc(context, size, FF__RANGE_ANY, out);
}

int ff_mem_alloc_for_kernels(struct ff_context *context, size_t size, void **out) {
    return alloc(context, size, FF__RANGE_KERNELS, out);
}

static void unmake_range(void *argument) {
    struct range_errand *it = argument;
    ff__range_unmake(it->context, it->range.range);
}

int ff_mem_free(struct ff_context *context, void *pointer) {
    struct range_errand errand = {.context = context};
    struct ff__slab *slab = NULL;
    if (ff__context_is_inherited(context))
        return -EPERM;
    if (!pointer)
        return 0;
    lock(context);
    bool found = ff__range_find_locked(context, pointer, &errand.range) &&
                 ff__span_address(context, &errand.range) == pointer;
    if (found)
        slab = context->allocations.slab_of[errand.range.first_block];
    bool is_owed = slab && ff__slab_free_locked(context, slab, errand.range.allocation);
    unlock(context);
    if (!found)
        return -EINVAL;
    if (is_owed)
        ff__slab_give_back(context, errand.range.first_block);
    else if (!slab)
        ff__pipeline_call(&context->pipeline, unmake_range, &errand);
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
    struct range_errand *it = argument;
    for (uint32_t i = 0; i < it->range.block_count; i++)
        ff__pipeline_evict(&it->context->pipeline, it->range.first_block + i, NULL, NULL);
}

void ff__context_set_home_locked(struct ff_context *context, const struct ff__span *range,
                                 uint32_t tier) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    struct range_errand errand = {context, *range, 0};
    struct ff__slab *slab = context->allocations.slab_of[range->first_block];
    if (slab)
        tier = ff__slab_set_home(slab, range->allocation, tier);
    if (!ff__engine_set_home(context->engine, range->range, tier))
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
