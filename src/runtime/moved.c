/* What moved, by kernel and by allocation. The engine counts; here are the names, and what was
 * freed. */
#include "runtime/slab.h"

#include "base/lazy.h"
#include "base/sized.h"
#include "runtime/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t kernels_size(void) {
    return FF__KERNELS_MAX * sizeof(struct ff__moved_kernel);
}

int ff__moved_init(struct ff__moved *moved) {
    moved->kernels = ff__lazy_map(kernels_size());
    int status = ff__map_reserve(&moved->kernel_numbers, FF__KERNELS_MAX);
    return moved->kernels ? status : -ENOMEM;
}

void ff__moved_fini(struct ff__moved *moved) {
    if (moved->kernels)
        ff__lazy_unmap(moved->kernels, kernels_size());
    ff__map_fini(&moved->kernel_numbers);
}

/* ---- lists ---- */

static bool is_worse(const struct ff_moved *a, const struct ff_moved *b) {
    if (a->stall_ns != b->stall_ns)
        return a->stall_ns > b->stall_ns;
    return a->bytes_in + a->bytes_out > b->bytes_in + b->bytes_out;
}

static void add(struct ff_moved *to, const struct ff_moved *more) {
    to->size += more->size;
    to->touched += more->touched;
    to->launches += more->launches;
    to->faults += more->faults;
    to->refaults += more->refaults;
    to->bytes_in += more->bytes_in;
    to->bytes_out += more->bytes_out;
    to->prefetched_bytes += more->prefetched_bytes;
    to->stall_ns += more->stall_ns;
}

void ff_moved_add_sized(struct ff_moved *to, const struct ff_moved *more, size_t size) {
    struct ff_moved sum = {.number = 0}, one = {.number = 0};
    ff__sized_get(&sum, sizeof sum, to, size);
    ff__sized_get(&one, sizeof one, more, size);
    add(&sum, &one);
    memcpy(to, &sum, size < sizeof sum ? size : sizeof sum);
}

/* If there is no room for one more among the worst, the least of them goes to the rest. */
static void insert(struct ff_moved_list *list, const struct ff_moved *item) {
    uint32_t place = list->count;
    while (place > 0 && is_worse(item, &list->worst[place - 1]))
        place--;
    if (list->count == FF_MOVED_MAX) {
        add(&list->rest, place == FF_MOVED_MAX ? item : &list->worst[FF_MOVED_MAX - 1]);
        list->rest_count++;
    } else {
        list->count++;
    }
    if (place == FF_MOVED_MAX)
        return;
    memmove(&list->worst[place + 1], &list->worst[place],
            (list->count - 1 - place) * sizeof list->worst[0]);
    list->worst[place] = *item;
}

static void set_totals(struct ff_moved *out, const struct ff__totals *totals) {
    out->faults = totals->faults;
    out->refaults = totals->refaults;
    out->bytes_in = totals->pages_in * FF_PAGE_SIZE;
    out->bytes_out = totals->pages_out * FF_PAGE_SIZE;
    out->prefetched_bytes = totals->prefetched * FF_PAGE_SIZE;
    out->stall_ns = totals->stall_ns;
}

/* ---- allocations ---- */

/* Pages of the block that are on a device, are used from one, or were evicted. */
static struct ff_mask seen_of(const struct ff__space *space, uint32_t block) {
    const struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask seen = facts->evicted;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        seen = ff_mask_or(&seen, &facts->tier[tier].resident);
        seen = ff_mask_or(&seen, &facts->tier[tier].remote);
    }
    return seen;
}

static uint64_t touched_of(const struct ff__space *space, const struct ff_range *range) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < range->block_count; i++) {
        struct ff_mask seen = seen_of(space, range->first_block + i);
        pages += ff_mask_count(&seen);
    }
    return pages * FF_PAGE_SIZE;
}

static void set_moved(const struct ff_context *context, const struct ff__allocation *allocation,
                      struct ff_moved *out) {
    const struct ff__space *space = context->space;
    const struct ff_range *range = &space->ranges[allocation->range];
    if (!context->allocations.slab_of[range->first_block]) {
        out->touched = touched_of(space, range);
        set_totals(out, ff__engine_range_totals(context->engine, allocation->range));
        return;
    }
    uint32_t first = allocation->first_page;
    struct ff_mask own = ff_mask_of_run(first, first + (uint32_t)allocation->page_count);
    struct ff_mask seen = seen_of(space, range->first_block);
    struct ff__totals totals = ff__engine_page_totals(context->engine, range->first_block, &own);
    seen = ff_mask_and(&seen, &own);
    out->touched = (uint64_t)ff_mask_count(&seen) * FF_PAGE_SIZE;
    set_totals(out, &totals);
}

static struct ff_moved describe(const struct ff_context *context,
                                const struct ff__allocation *allocation) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    struct ff_moved out = {.number = allocation->number,
                           .is_strided = allocation->is_strided,
                           .size = allocation->page_count * FF_PAGE_SIZE,
                           .launches = allocation->launches};
    memcpy(out.kernel, context->moved.kernels[allocation->kernel].name, sizeof out.kernel);
    set_moved(context, allocation, &out);
    return out;
}

void ff__moved_end(struct ff_context *context, struct ff__allocation *allocation) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    const struct ff_moved gone = describe(context, allocation);
    insert(&context->moved.freed, &gone);
    ff__allocation_end(&context->allocations, allocation);
}

/* ---- launches ---- */

void ff__moved_name(struct ff__moved_name *to, const char *name) {
    to->is_there = name != NULL;
    if (!name)
        return;
    size_t size = strlen(name), most = sizeof to->text - 1;
    size_t kept = size < most ? size : most;
    to->hash = ff__hash_bytes(0, name, size);
    memcpy(to->text, name, kept);
    to->text[kept] = '\0';
}

uint32_t ff__moved_kernel(struct ff_context *context, const struct ff__moved_name *name) {
    struct ff__moved *moved = &context->moved;
    uint32_t number;
    if (!name->is_there)
        return 0;
    if (ff__map_get(&moved->kernel_numbers, name->hash, &number))
        return number;
    number = moved->kernel_count + 1;
    if (number == FF__KERNELS_MAX || ff__map_put(&moved->kernel_numbers, name->hash, number))
        return 0;
    memcpy(moved->kernels[number].name, name->text, strlen(name->text) + 1);
    moved->kernel_count = number;
    return number;
}

void ff__moved_launch(struct ff_context *context, uint32_t kernel, uint64_t bytes) {
    struct ff__moved_kernel *of = &context->moved.kernels[kernel];
    of->launches++;
    if (bytes > of->largest)
        of->largest = bytes;
}

void ff__moved_use(struct ff__allocation *allocation, uint32_t kernel, uint8_t stride) {
    allocation->launches++;
    allocation->is_strided = allocation->is_strided || stride != FF_STRIDE_UNKNOWN;
    if (allocation->kernel == 0)
        allocation->kernel = (uint16_t)kernel;
}

/* ---- reading ---- */

static void list_kernels(const struct ff_context *context, struct ff_moved_list *out) {
    const struct ff__moved *moved = &context->moved;
    for (uint32_t i = 0; i <= moved->kernel_count; i++) {
        const struct ff__moved_kernel *kernel = &moved->kernels[i];
        struct ff_moved item = {.size = kernel->largest, .launches = kernel->launches};
        memcpy(item.kernel, kernel->name, sizeof item.kernel);
        set_totals(&item, ff__engine_kernel_totals(context->engine, i));
        if (kernel->launches > 0)
            insert(out, &item);
    }
    out->rest.size = 0;
}

static void list_one(const struct ff_context *context, const struct ff__allocation *allocation,
                     struct ff_moved_list *out) {
    if (!allocation->is_live)
        return;
    const struct ff_moved item = describe(context, allocation);
    insert(out, &item);
}

static void list_allocations(const struct ff_context *context, struct ff_moved_list *out) {
    const struct ff__allocations *all = &context->allocations;
    *out = context->moved.freed;
    for (uint32_t range = 0; range < context->space->range_limit; range++)
        list_one(context, &all->alone[range], out);
    for (const struct ff__slab *slab = all->slabs; slab; slab = slab->next)
        for (uint32_t page = 0; page < slab->page_count; page++)
            list_one(context, &slab->of[page], out);
}

/* The caller's items are of another size than ours, if its farfault.h is of another version. */
static void put_list(struct ff_moved_list *out, size_t size, const struct ff_moved_list *list) {
    char *item = (char *)&out->rest;
    out->count = list->count;
    out->rest_count = list->rest_count;
    ff__sized_put(item, size, &list->rest, sizeof list->rest);
    for (uint32_t i = 0; i < FF_MOVED_MAX; i++)
        ff__sized_put(item += size, size, &list->worst[i], sizeof list->worst[i]);
}

void ff_moved_read_sized(struct ff_context *context, enum ff_moved_by by, struct ff_moved_list *out,
                         size_t size) {
    struct ff_moved_list list = {.count = 0};
    if (ff__context_is_inherited(context)) {
        put_list(out, size, &list);
        return;
    }
    ff__pipeline_lock(&context->pipeline);
    if (by == FF_MOVED_BY_KERNEL)
        list_kernels(context, &list);
    else
        list_allocations(context, &list);
    ff__pipeline_unlock(&context->pipeline);
    put_list(out, size, &list);
}
