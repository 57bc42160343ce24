/* A device's fault buffer. */
#include "backend/sim/simulation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more behind the last fault. Where most of the room is before the first one,
 * they move there, else there becomes more: each fault moves a few times at most. */
static int make_room(struct fault_buffer *buffer) {
    uint32_t before = (uint32_t)(buffer->faults - buffer->room);
    struct fault *room = buffer->room;
    if (before + buffer->count < buffer->capacity)
        return 0;
    if (before <= buffer->capacity / 2) {
        uint32_t capacity = buffer->capacity ? 2 * buffer->capacity : 1024;
        room = realloc(room, capacity * sizeof *room);
        if (!room)
            return -ENOMEM;
        buffer->room = room;
        buffer->capacity = capacity;
    }
    memmove(room, room + before, buffer->count * sizeof *room);
    buffer->faults = room;
    return 0;
}

#define SMS_OF_UTLB 2u /* of a TPC; a fault packet names the uTLB */

/* What the fault packets of these faults say: one a page and uTLB, also where another one has
 * faulted on the page before. */
static void note_sharers(struct sim *sim, const struct fault *fault) {
    uint32_t most = FF_LATEST_FAULTS * SMS_OF_UTLB, sms = fault->sms < most ? fault->sms : most;
    if (fault->thread == 0 || !ff__engine_sees_sharers(sim->engine))
        return;
    for (uint64_t left = fault->pages; left; left &= left - 1) {
        uint32_t page =
            (uint32_t)(fault->word % FF_MASK_WORDS * 64) + (uint32_t)__builtin_ctzll(left);
        for (uint32_t i = 0; i < sms; i += SMS_OF_UTLB)
            ff__engine_fault_met(sim->engine, ff__fault_block(fault), page,
                                 (fault->thread - 1u + i) % sim->gpu->sms / SMS_OF_UTLB + 1);
    }
}

void ff__faults_raise(struct sim *sim, struct device *device, const struct fault *fault) {
    struct ff_mask *mask = &device->buffer.pending[ff__fault_block(fault)];
    uint64_t *pending = &mask->word[fault->word % FF_MASK_WORDS];
    uint64_t pages = fault->pages & ~*pending; /* others are merged with earlier ones */
    note_sharers(sim, fault);
    if (pages == 0)
        return;
    *pending |= pages;
    if (make_room(&device->buffer)) {
        ff__sim_fail(sim, -ENOMEM, "faults");
        return;
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
    device->buffer.faults = device->buffer.count ? buffer + taken : device->buffer.room;
    if (!is_sorted(batch->faults, batch->count)) /* kernels in bulk touch their pages in order */
        qsort(batch->faults, batch->count, sizeof *batch->faults, by_page);
    group_all(batch, device->tier);
}
