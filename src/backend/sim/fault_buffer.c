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

/* Takes up to `limit` faults that are visible from the buffer. */
uint32_t ff__faults_take(struct device *device, uint64_t time, struct fault *out, uint32_t limit) {
    struct fault *buffer = device->buffer.faults;
    uint32_t count = 0, taken = 0;
    for (uint32_t pages; limit > 0 && taken < device->buffer.count && buffer[taken].time <= time;
         limit -= pages) {
        pages = (uint32_t)__builtin_popcountll(buffer[taken].pages);
        pages = pages < limit ? pages : limit;
        out[count++] = split(&buffer[taken], pages);
        taken += buffer[taken].pages == 0;
    }
    device->buffer.count -= taken;
    memmove(buffer, buffer + taken, device->buffer.count * sizeof *buffer);
    if (!is_sorted(out, count)) /* kernels in bulk touch their pages in order */
        qsort(out, count, sizeof *out, by_page);
    return count;
}

/* The faults from `*next` on that are of one block. */
struct ff_fault_group ff__faults_group(const struct device *device, uint32_t *next) {
    const struct fault *first = &device->batch.faults[*next],
                       *end = device->batch.faults + device->batch.count;
    const struct fault *fault = first;
    struct ff_fault_group group = {.block = ff__fault_block(first),
                                   .tier = device->tier,
                                   .launch = FF_NONE,
                                   .thread = first->thread};
    for (; fault < end && ff__fault_block(fault) == group.block; fault++) {
        group.faulted.word[fault->word % FF_MASK_WORDS] |= fault->pages;
        group.written.word[fault->word % FF_MASK_WORDS] |= fault->write ? fault->pages : 0;
    }
    *next = (uint32_t)(fault - device->batch.faults);
    return group;
}
