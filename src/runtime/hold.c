#include "runtime/hold.h"

#include "base/clock.h"

#include <stdlib.h>

/* Ours: without progress for so long, nothing more is expected to fit. */
#define STUCK_NS UINT64_C(1000000000)
#define PIECES   64u /* that are queued at a time */

void ff__hold_init(struct ff__hold *hold) {
    *hold = (struct ff__hold){.state = FF__HOLD_NONE};
    ff__lock_init(&hold->lock);
}

void ff__hold_fini(struct ff__hold *hold) {
    ff__lock_fini(&hold->lock);
    free(hold->items);
    hold->items = NULL;
}

void ff__hold_wait(struct ff__hold *hold) {
    ff__lock_acquire(&hold->lock);
    __atomic_add_fetch(&hold->waiting, 1, __ATOMIC_RELAXED);
    hold->has_waited = true;
    while (__atomic_load_n(&hold->closed, __ATOMIC_RELAXED))
        ff__event_wait(&hold->opened, &hold->lock);
    __atomic_sub_fetch(&hold->waiting, 1, __ATOMIC_RELAXED);
    ff__lock_release(&hold->lock);
}

void ff__hold_close(struct ff__hold *hold, uint64_t kept, uint64_t limit_ns, uint64_t now_ns) {
    if (!hold->closed)
        hold->closed_ns = now_ns;
    __atomic_store_n(&hold->closed, true, __ATOMIC_RELAXED);
    hold->state = FF__HOLD_DRAINS;
    hold->since_ns = now_ns;
    hold->kept = kept;
    hold->limit_ns = limit_ns;
}

void ff__hold_restore(struct ff__hold *hold, uint64_t target, uint64_t now_ns) {
    if (hold->state == FF__HOLD_NONE)
        return;
    if (hold->state == FF__HOLD_DRAINS) /* nothing has been given up */
        hold->count = 0;
    hold->state = FF__HOLD_RESTORES;
    hold->since_ns = now_ns;
    hold->target = target;
    hold->next = 0;
}

void ff__hold_open(struct ff__hold *hold) {
    if (hold->state == FF__HOLD_NONE)
        return;
    hold->state = FF__HOLD_NONE;
    ff__lock_acquire(&hold->lock);
    __atomic_store_n(&hold->closed, false, __ATOMIC_RELAXED);
    if (hold->has_waited)
        __atomic_add_fetch(&hold->waited_ns, ff__clock_ns() - hold->closed_ns, __ATOMIC_RELAXED);
    hold->has_waited = false;
    ff__event_tell(&hold->opened);
    ff__lock_release(&hold->lock);
}

/* Without memory for the notes, the program faults its data in again. */
static void note_residents(struct ff__hold *hold, struct ff__pipeline *pipeline) {
    uint32_t tier = ff_tier_of_device(0);
    uint32_t count = ff__pipeline_residents(pipeline, tier, hold->items, hold->capacity);
    if (count > hold->capacity) {
        struct ff_advice *more = realloc(hold->items, count * sizeof *more);
        hold->items = more ? more : hold->items;
        hold->capacity = more ? count : hold->capacity;
        count = ff__pipeline_residents(pipeline, tier, hold->items, hold->capacity);
    }
    hold->count = count < hold->capacity ? count : hold->capacity;
}

bool ff__hold_has_drained(struct ff__hold *hold, struct ff__pipeline *pipeline,
                          const struct ff__usage *usage, uint64_t now_ns) {
    bool is_late = now_ns - hold->since_ns >= hold->limit_ns;
    if (hold->state != FF__HOLD_DRAINS || (usage->runs && !is_late))
        return false;
    note_residents(hold, pipeline);
    hold->state = FF__HOLD_RESTS;
    return true;
}

bool ff__hold_has_restored(struct ff__hold *hold, struct ff__pipeline *pipeline,
                           const struct ff__usage *usage, uint64_t own, uint64_t now_ns) {
    if (hold->state != FF__HOLD_RESTORES)
        return false;
    uint64_t room = usage->is_queued ? 0 : usage->free / FF_BLOCK_SIZE;
    uint32_t left = hold->count - hold->next, more = left < PIECES ? left : PIECES;
    more = more < room ? more : (uint32_t)room;
    for (uint32_t i = 0; i < more; i++)
        ff__pipeline_advise(pipeline, &hold->items[hold->next++]);
    if (more > 0)
        hold->since_ns = now_ns;
    bool is_stuck = now_ns - hold->since_ns >= STUCK_NS;
    bool is_full = own >= hold->target && room == 0;
    if (usage->is_queued || more > 0 || (left > 0 && !is_full && !is_stuck))
        return false;
    ff__hold_open(hold);
    return true;
}
