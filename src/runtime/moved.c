/* What moved, by kernel and by allocation. The engine counts; here are the names, and what was freed. */
#include "runtime/context.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t kernels_size(void) {
    return FF__KERNELS_MAX * sizeof(struct ff__moved_kernel);
}

int ff__moved_init(struct ff__moved *moved) {
    moved->kernels = ff__lazy_map(kernels_size());
    return moved->kernels ? 0 : -ENOMEM;
}

void ff__moved_fini(struct ff__moved *moved) {
    if (moved->kernels)
        ff__lazy_unmap(moved->kernels, kernels_size());
    ff__map_fini(&moved->kernel_numbers);
    free(moved->ranges);
}

/* ---- lists ---- */

static bool is_worse(const struct ff_moved *a, const struct ff_moved *b) {
    if (a->stall_ns != b->stall_ns)
        return a->stall_ns > b->stall_ns;
    return a->bytes_in + a->bytes_out > b->bytes_in + b->bytes_out;
}

void ff_moved_add(struct ff_moved *to, const struct ff_moved *more) {
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

/* If there is no room for one more among the worst, the least of them goes to the rest. */
static void insert(struct ff_moved_list *list, const struct ff_moved *item) {
    uint32_t place = list->count;
    while (place > 0 && is_worse(item, &list->worst[place - 1]))
        place--;
    if (list->count == FF_MOVED_MAX) {
        ff_moved_add(&list->rest, place == FF_MOVED_MAX ? item : &list->worst[FF_MOVED_MAX - 1]);
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

static void set_totals(struct ff_moved *out, const struct ff_totals *totals) {
    out->faults = totals->faults;
    out->refaults = totals->refaults;
    out->bytes_in = totals->pages_in * FF_PAGE_SIZE;
    out->bytes_out = totals->pages_out * FF_PAGE_SIZE;
    out->prefetched_bytes = totals->prefetched * FF_PAGE_SIZE;
    out->stall_ns = totals->stall_ns;
}

/* ---- allocations ---- */

/* Bytes of it that are on a device, are used from one, or were evicted. */
static uint64_t touched_of(const struct ff__space *space, const struct ff_range *range) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < range->block_count; i++) {
        const struct ff_facts *facts = ff__facts(space, range->first_block + i);
        struct ff_mask seen = facts->evicted;
        for (uint32_t tier = 1; tier < space->tier_count; tier++) {
            seen = ff_mask_or(&seen, &facts->tier[tier].resident);
            seen = ff_mask_or(&seen, &facts->tier[tier].remote);
        }
        pages += ff_mask_count(&seen);
    }
    return pages * FF_PAGE_SIZE;
}

static struct ff_moved describe_range(const struct ff_context *context, uint32_t id) {
    const struct ff__engine *engine = &context->engine;
    const struct ff__moved_range *range = &context->moved.ranges[id];
    struct ff_moved out = {.number = range->number,
                           .is_strided = range->is_strided,
                           .size = range->size,
                           .touched = touched_of(&engine->space, &engine->space.ranges[id]),
                           .launches = range->launches};
    memcpy(out.kernel, context->moved.kernels[range->kernel].name, sizeof out.kernel);
    set_totals(&out, &engine->range_totals[id]);
    return out;
}

static bool has_room(struct ff__moved *moved, uint32_t range) {
    if (range < moved->range_limit)
        return true;
    uint32_t wanted = 2 * range + 64;
    struct ff__moved_range *grown = realloc(moved->ranges, wanted * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + moved->range_limit, 0, (wanted - moved->range_limit) * sizeof *grown);
    moved->ranges = grown;
    moved->range_limit = wanted;
    return true;
}

void ff__moved_add_range(struct ff_context *context, uint32_t range) {
    struct ff__moved *moved = &context->moved;
    ff__lock_acquire(&context->pipeline.lock);
    uint32_t number = moved->allocated++;
    if (has_room(moved, range))
        moved->ranges[range] = (struct ff__moved_range){
            .size = context->engine.space.ranges[range].page_count * FF_PAGE_SIZE,
            .number = number,
            .is_live = true};
    ff__lock_release(&context->pipeline.lock);
}

void ff__moved_drop_range(struct ff_context *context, uint32_t range) {
    struct ff__moved *moved = &context->moved;
    ff__lock_acquire(&context->pipeline.lock);
    if (range < moved->range_limit && moved->ranges[range].is_live) {
        const struct ff_moved gone = describe_range(context, range);
        insert(&moved->freed, &gone);
        moved->ranges[range].is_live = false;
    }
    ff__lock_release(&context->pipeline.lock);
}

/* ---- launches ---- */

/* Its number; 0 if there is no room for one more. */
static uint32_t number_of(struct ff__moved *moved, const char *name) {
    uint64_t hash = ff__hash_bytes(0, name, strlen(name));
    uint32_t number;
    if (ff__map_get(&moved->kernel_numbers, hash, &number))
        return number;
    number = moved->kernel_count + 1;
    if (number == FF__KERNELS_MAX || ff__map_put(&moved->kernel_numbers, hash, number))
        return 0;
    snprintf(moved->kernels[number].name, sizeof moved->kernels[number].name, "%s", name);
    moved->kernel_count = number;
    return number;
}

static void note_operand(struct ff__moved *moved, const struct ff_operand *operand,
                         uint32_t kernel) {
    if (operand->range >= moved->range_limit)
        return;
    struct ff__moved_range *range = &moved->ranges[operand->range];
    range->launches++;
    range->is_strided = range->is_strided || operand->stride != FF_STRIDE_UNKNOWN;
    if (range->kernel == 0)
        range->kernel = (uint16_t)kernel;
}

uint32_t ff__moved_launch(struct ff_context *context, const struct ff__launch *launch,
                          const char *name, uint64_t bytes) {
    struct ff__moved *moved = &context->moved;
    uint32_t number = name ? number_of(moved, name) : 0;
    struct ff__moved_kernel *kernel = &moved->kernels[number];
    kernel->launches++;
    if (bytes > kernel->largest)
        kernel->largest = bytes;
    for (uint32_t i = 0; launch->operands && i < launch->operand_count; i++)
        note_operand(moved, &launch->operands[i], number);
    return number;
}

/* ---- reading ---- */

static void list_kernels(const struct ff_context *context, struct ff_moved_list *out) {
    const struct ff__moved *moved = &context->moved;
    for (uint32_t i = 0; i <= moved->kernel_count; i++) {
        const struct ff__moved_kernel *kernel = &moved->kernels[i];
        struct ff_moved item = {.size = kernel->largest, .launches = kernel->launches};
        memcpy(item.kernel, kernel->name, sizeof item.kernel);
        set_totals(&item, &context->engine.kernel_totals[i]);
        if (kernel->launches > 0)
            insert(out, &item);
    }
    out->rest.size = 0;
}

static void list_ranges(const struct ff_context *context, struct ff_moved_list *out) {
    const struct ff__moved *moved = &context->moved;
    *out = moved->freed;
    for (uint32_t i = 0; i < moved->range_limit; i++) {
        if (!moved->ranges[i].is_live)
            continue;
        const struct ff_moved item = describe_range(context, i);
        insert(out, &item);
    }
}

void ff_moved_read(struct ff_context *context, enum ff_moved_by by, struct ff_moved_list *out) {
    *out = (struct ff_moved_list){.count = 0};
    ff__lock_acquire(&context->pipeline.lock);
    if (by == FF_MOVED_BY_KERNEL)
        list_kernels(context, out);
    else
        list_ranges(context, out);
    ff__lock_release(&context->pipeline.lock);
}
