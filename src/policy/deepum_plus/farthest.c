/* Belady's rule on a forecast: evicts the block whose predicted next use is farthest. Ours;
 * DeepUM's tables make it possible. Of blocks that are not expected at all, the least recently
 * migrated one leaves first, and before any that is expected. Without a forecast this is lrm, less
 * the discarded list.
 *
 * Two heaps: by next use, the farthest and the soonest on top. A block's next use is looked up when
 * it arrives, when it is over (it is on top of the soonest then) and when it is about to be named.
 * Nothing else is looked at, so that a pick costs the victims and what was used since. */
#include "base/heap.h"
#include "policy/common/reserve.h"
#include "policy/deepum_plus/ahead.h"

#include "policy/registry.h"

#define RECENT   8u /* arrivals ago: still in use, whether or not the forecast knows that already */
#define ARRIVALS (UINT64_C(1) << 62) /* keys from here on: not expected, by arrival */

/* By block, zero at first. */
struct known {
    struct ff__heap_place farthest, soonest;
    uint64_t arrival;
};

struct farthest {
    struct known *blocks;
    struct ff__heap farthest, soonest;
    uint64_t arrivals;
    struct ff__reserve reserve;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct farthest *farthest = state;
    farthest->blocks = env->block_state;
    farthest->farthest =
        (struct ff__heap){(unsigned char *)&farthest->blocks->farthest, sizeof(struct known), 0};
    farthest->soonest =
        (struct ff__heap){(unsigned char *)&farthest->blocks->soonest, sizeof(struct known), 0};
    ff__reserve_start(&farthest->reserve, env);
    return 0;
}

static uint64_t key_of(const struct farthest *farthest, const struct ff_view *view,
                       uint32_t block) {
    uint64_t use = ff_view_next_use(view, farthest->reserve.tier, block);
    struct ff_mask idle = ff_mask_minus(ff_view_resident(view, farthest->reserve.tier, block),
                                        &ff_view_facts(view, block)->inactive);
    if (ff_mask_empty(&idle)) /* all of it is dead: nothing is lost with it */
        return UINT64_MAX;
    return use < ARRIVALS ? use : UINT64_MAX - 1 - farthest->blocks[block].arrival;
}

static bool is_recent(const struct farthest *farthest, uint32_t block) {
    return farthest->arrivals - farthest->blocks[block].arrival < RECENT;
}

static uint64_t set_key(struct farthest *farthest, const struct ff_view *view, uint32_t block) {
    uint64_t key = key_of(farthest, view, block);
    ff__heap_set(&farthest->farthest, block, key);
    ff__heap_set(&farthest->soonest, block, ~key);
    return key;
}

static void forget(void *state, uint32_t block) {
    struct farthest *farthest = state;
    ff__heap_remove(&farthest->farthest, block);
    ff__heap_remove(&farthest->soonest, block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct farthest *farthest = state;
    if (arrival->kind != FF_ARRIVAL_ALLOCATED && !ff__heap_has(&farthest->farthest, arrival->block))
        return;
    farthest->blocks[arrival->block].arrival = ++farthest->arrivals;
    set_key(farthest, view, arrival->block);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct farthest *farthest = state;
    if (leave->kind == FF_LEAVE_DEAD && ff__heap_has(&farthest->farthest, leave->block))
        set_key(farthest, view, leave->block);
    else if (leave->kind == FF_LEAVE_RELEASED)
        forget(farthest, leave->block);
}

static uint64_t reserve(void *state, const struct ff_view *view) {
    return ff__reserve_pages(&((const struct farthest *)state)->reserve, view);
}

/* Looks up again what the kernel has left behind. */
static void refresh(struct farthest *farthest, const struct ff_view *view) {
    uint64_t now = ff_view_current_use(view, farthest->reserve.tier);
    while (farthest->soonest.count > 0) {
        uint32_t block = ff__heap_top(&farthest->soonest);
        if (~ff__heap_key(&farthest->soonest, block) >= now || set_key(farthest, view, block) < now)
            return;
    }
}

/* The block to leave first, and its next use; FF_NONE: no block is left. */
static uint32_t top(struct farthest *farthest, const struct ff_view *view, uint64_t *key) {
    while (farthest->farthest.count > 0) {
        uint32_t block = ff__heap_top(&farthest->farthest);
        uint64_t held = ff__heap_key(&farthest->farthest, block);
        *key = set_key(farthest, view, block);
        if (*key >= held)
            return block;
    }
    return FF_NONE;
}

/* Names blocks from the farthest next use on, as many as the list holds: the engine evicts one
 * chunk, and the first block may share its chunk with others. For a prefetch, only blocks that a
 * later kernel needs than the prefetched one: positions within a kernel are less certain than its
 * set of blocks. Named blocks leave the heap until the next ones have been found. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct farthest *farthest = state;
    uint32_t aside[FF__AHEAD_NAMED], count = 0, block;
    uint64_t after = 0, key;
    refresh(farthest, view);
    if (request->cause == FF_EVICT_FOR_PREFETCH)
        after = ff_view_next_use(view, request->tier, request->for_block) | UINT32_MAX;
    if (after >=
        ARRIVALS) /* not predicted itself: blocks without a predicted use may leave for it */
        after = ARRIVALS - 1;
    while (count < FF__AHEAD_NAMED && victims->count < victims->capacity &&
           (block = top(farthest, view, &key)) != FF_NONE && key > after) {
        ff__heap_remove(&farthest->farthest, block);
        aside[count++] = block;
        if (block != request->for_block && !is_recent(farthest, block) &&
            ff_view_evictable(view, request->tier, block))
            ff_victim_add(victims, block);
    }
    bool only_recent = victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT;
    for (uint32_t i = 0; i < count; i++) {
        set_key(farthest, view, aside[i]);
        if (only_recent && aside[i] != request->for_block)
            ff_victim_add(victims, aside[i]);
    }
    ff__ahead_judge_chunks(view, request, victims);
}

const struct ff_evict_policy ff__evict_farthest = {
    .base =
        {
            .name = "farthest",
            .summary =
                "the block whose next use is farthest, by the prefetch policy's forecast (ours)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct farthest),
            .block_state_size = sizeof(struct known),
            .params = ff__reserve_params,
            .init = init,
            .block_freed = forget,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
        },
    .reserve = reserve,
    .pick = pick,
};
