/* A device's fault buffer. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ff__faults_raise(struct sim *sim, struct device *device, const struct fault *fault) {
    struct ff_mask *mask = &device->buffer.pending[ff__fault_block(fault)];
    uint64_t *pending = &mask->word[fault->word % FF_MASK_WORDS];
    uint64_t pages = fault->pages & ~*pending; /* others are merged with earlier ones */
    if (pages == 0)
        return;
    *pending |= pages;
    if (device->buffer.count == device->buffer.capacity) {
        uint32_t capacity = device->buffer.capacity ? 2 * device->buffer.capacity : 1024;
        struct fault *buffer = realloc(device->buffer.faults, capacity * sizeof *buffer);
        if (!buffer) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        device->buffer.faults = buffer;
        device->buffer.capacity = capacity;
    }
    uint32_t at = device->buffer.count++;
    for (; at > 0 && device->buffer.faults[at - 1].time > fault->time; at--)
        device->buffer.faults[at] = device->buffer.faults[at - 1];
    device->buffer.faults[at] = *fault;
    device->buffer.faults[at].pages = pages;
}

static int by_page(const void *a, const void *b) {
    const struct fault *x = a, *y = b;
    if (x->word != y->word)
        return x->word > y->word ? 1 : -1;
    return __builtin_ctzll(x->pages) - __builtin_ctzll(y->pages);
}

static bool is_sorted(const struct fault *faults, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (by_page(&faults[i - 1], &faults[i]) > 0)
            return false;
    return true;
}

/* Takes the lowest `limit` pages out of it, or all if there are not more. */
static struct fault split(struct fault *fault, uint32_t limit) {
    struct fault taken = *fault;
    for (; limit > 0 && fault->pages; limit--)
        fault->pages &= fault->pages - 1;
    taken.pages &= ~fault->pages;
    return taken;
}

/* The first faults from `fault` on that are of one block. Returns what is behind them. */
static const struct fault *group(const struct fault *fault, const struct fault *end, uint32_t tier,
                                 struct ff_fault_group *out) {
    *out = (struct ff_fault_group){
        .block = ff__fault_block(fault), .tier = tier, .launch = FF_NONE, .thread = fault->thread};
    for (; fault < end && ff__fault_block(fault) == out->block; fault++) {
        out->faulted.word[fault->word % FF_MASK_WORDS] |= fault->pages;
        out->written.word[fault->word % FF_MASK_WORDS] |= fault->write ? fault->pages : 0;
    }
    return fault;
}

static void group_all(struct batch *batch, uint32_t tier) {
    batch->group_count = batch->next = 0;
    const struct fault *end = batch->faults + batch->count;
    for (const struct fault *fault = batch->faults; fault < end; batch->group_count++) {
        fault = group(fault, end, tier, &batch->groups[batch->group_count]);
        batch->ends[batch->group_count] = (uint32_t)(fault - batch->faults);
    }
}

void ff__faults_take(struct device *device, uint64_t time, uint32_t limit) {
    struct batch *batch = &device->batch;
    struct fault *buffer = device->buffer.faults;
    uint32_t taken = 0;
    batch->count = 0;
    for (uint32_t pages; limit > 0 && taken < device->buffer.count && buffer[taken].time <= time;
         limit -= pages) {
        pages = (uint32_t)__builtin_popcountll(buffer[taken].pages);
        pages = pages < limit ? pages : limit;
        batch->faults[batch->count++] = split(&buffer[taken], pages);
        taken += buffer[taken].pages == 0;
    }
    device->buffer.count -= taken;
    memmove(buffer, buffer + taken, device->buffer.count * sizeof *buffer);
    if (!is_sorted(batch->faults, batch->count)) /* kernels in bulk touch their pages in order */
        qsort(batch->faults, batch->count, sizeof *batch->faults, by_page);
    group_all(batch, device->tier);
}
