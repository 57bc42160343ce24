#include "policy/common/remote_use.h"

#include <stdio.h>

/* Ours, all of them. */
#define INTERVAL_FIRST 1u  /* blocks that come back for each witness, */
#define INTERVAL_MAX   64u /* doubled by each one that is worth its migration */
#define WITNESSES      3u  /* that decide */
#define CAME           32u /* blocks of a remote range that decide */
#define PART                                                                                       \
    8u /* of its memory that is taken into account: whoever passes over blocks needs few at a time */

void ff__remote_start(struct ff__remote_use *use, void *blocks, size_t block_stride, void *ranges,
                      size_t range_stride) {
    *use = (struct ff__remote_use){.blocks = blocks,
                                   .block_stride = block_stride,
                                   .ranges = ranges,
                                   .range_stride = range_stride};
}

static struct ff__remote_block *block_of(const struct ff__remote_use *use, uint32_t block) {
    return (void *)(use->blocks + block * use->block_stride);
}

static struct ff__remote_range *range_of(const struct ff__remote_use *use, uint32_t range) {
    return (void *)(use->ranges + range * use->range_stride);
}

/* ---- costs ---- */

static const struct ff_link_cost *link_of(const struct ff_view *view, uint32_t tier) {
    return &view->links[FF_TIER_HOST * view->tier_count + tier];
}

static bool has_remote_access(const struct ff_view *view, uint32_t tier) {
    return link_of(view, tier)->access_ps > 0 && link_of(view, tier)->bytes_per_second > 0;
}

/* Accesses that cost as much as the migration of a block. */
static uint32_t worth_of(struct ff__remote_use *use, const struct ff_view *view, uint32_t tier) {
    if (use->worth[tier] > 0)
        return use->worth[tier];
    const struct ff_link_cost *link = link_of(view, tier);
    uint64_t ns = view->fault_ns + link->latency_ns +
                  FF_BLOCK_SIZE * UINT64_C(1000000000) / link->bytes_per_second;
    uint64_t worth = ns * 1000 / link->access_ps;
    return use->worth[tier] = worth > UINT32_MAX ? UINT32_MAX : worth > 0 ? (uint32_t)worth : 1;
}

/* ---- the two decisions ---- */

static void start_over(struct ff__remote_range *range) {
    range->came = range->paid = 0;
}

static void judge_witnesses(struct ff__remote_use *use, struct ff__remote_range *range, bool paid) {
    range->witness = 0;
    range->interval =
        paid ? range->interval * (range->interval < INTERVAL_MAX ? 2 : 1) : INTERVAL_FIRST;
    range->paid += paid;
    if (++range->came < WITNESSES)
        return;
    range->is_remote = range->paid * 2 < range->came;
    use->became_remote += range->is_remote;
    start_over(range);
}

static void judge_blocks(struct ff__remote_use *use, struct ff__remote_range *range) {
    if (range->came < CAME)
        return;
    if (range->paid * 2 > range->came) {
        range->is_remote = false;
        use->became_local++;
        start_over(range);
    }
    range->came /= 2;
    range->paid /= 2;
}

/* ---- faults ---- */

static bool has_left(const struct ff__remote_use *use, const struct ff_view *view, uint32_t tier,
                     const struct ff__remote_block *block) {
    uint32_t holds = (uint32_t)(view->capacity[tier] / FF_BLOCK_PAGES / PART);
    return block->stamp == 0 || use->clock[tier] + 1 - block->stamp >= holds;
}

static void has_come(struct ff__remote_use *use, uint32_t tier, struct ff__remote_block *block) {
    block->stamp = ++use->clock[tier];
    block->count = 0;
}

/* A block comes back to a range that migrates. */
static bool is_next_witness(struct ff__remote_range *range) {
    if (range->interval == 0)
        range->interval = range->countdown = INTERVAL_FIRST;
    if (range->witness || --range->countdown > 0)
        return false;
    range->countdown = range->interval;
    return true;
}

/* It would have left by now. If somebody else has brought it, it has shown nothing. */
static void end_witness(struct ff__remote_use *use, const struct ff_view *view, uint32_t tier,
                        struct ff__remote_range *range) {
    if (ff_view_holds(view, tier, range->witness - 1))
        range->witness = 0;
    else
        judge_witnesses(use, range, false);
}

static bool is_remote(struct ff__remote_use *use, const struct ff_view *view,
                      const struct ff_fault_group *group, bool may_try) {
    struct ff__remote_range *range = range_of(use, view->blocks[group->block].range);
    if (range->is_remote || range->witness == group->block + 1)
        return true;
    if (range->witness && has_left(use, view, group->tier, block_of(use, range->witness - 1)))
        end_witness(use, view, group->tier, range);
    bool back = !ff_mask_empty(&ff_view_facts(view, group->block)->evicted);
    if (!may_try || !back || !is_next_witness(range))
        return false;
    range->witness = group->block + 1;
    return true;
}

bool ff__remote_fault(struct ff__remote_use *use, const struct ff_view *view,
                      const struct ff_fault_group *group, bool may_try,
                      struct ff_fault_advice *advice) {
    const struct ff_mask *host = ff_view_resident(view, FF_TIER_HOST, group->block);
    struct ff_mask missing = ff_mask_minus(&group->faulted, host);
    if (!has_remote_access(view, group->tier) || ff_view_holds(view, group->tier, group->block))
        return false;
    bool remote = ff_mask_empty(&missing) && is_remote(use, view, group, may_try);
    has_come(use, group->tier, block_of(use, group->block));
    if (!remote)
        return false;
    struct ff__remote_range *range = range_of(use, view->blocks[group->block].range);
    range->came += range->is_remote; /* witnesses count when they end */
    advice->remote = *host;
    advice->remote_tier = FF_TIER_HOST;
    return true;
}

/* ---- accesses ---- */

/* The block migrates. False: no advice is taken any more. */
static bool bring(const struct ff_view *view, const struct ff_access *access,
                  struct ff_advice_list *list) {
    struct ff_advice advice = {.block = access->block, .tier = access->tier, .launch = FF_NONE};
    advice.pages = *ff_view_resident(view, FF_TIER_HOST, access->block);
    return ff_advice_add(list, &advice);
}

static void count(struct ff__remote_use *use, const struct ff_view *view,
                  const struct ff_access *access, struct ff_advice_list *list) {
    struct ff__remote_range *range = range_of(use, view->blocks[access->block].range);
    struct ff__remote_block *block = block_of(use, access->block);
    bool is_witness = range->witness == access->block + 1;
    if (!is_witness && has_left(use, view, access->tier, block)) {
        has_come(use, access->tier, block);
        range->came++;
    }
    block->count += 1 + access->more;
    if (block->count < worth_of(use, view, access->tier) || !bring(view, access, list))
        return;
    block->count = 0;
    if (is_witness)
        judge_witnesses(use, range, true);
    else if (range->is_remote) {
        range->paid++;
        judge_blocks(use, range);
    }
}

void ff__remote_access(struct ff__remote_use *use, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->items[i].flags & FF_ACCESS_REMOTE &&
            has_remote_access(view, batch->items[i].tier))
            count(use, view, &batch->items[i], advice);
}

void ff__remote_range_freed(struct ff__remote_use *use, uint32_t range) {
    *range_of(use, range) = (struct ff__remote_range){0};
}

void ff__remote_block_freed(struct ff__remote_use *use, uint32_t block) {
    *block_of(use, block) = (struct ff__remote_block){0};
}

bool ff__remote_report(const struct ff__remote_use *use, struct ff_finding *finding) {
    if (use->became_remote == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    snprintf(
        finding->text, sizeof finding->text,
        "%u times a range was used from the host, where that costs less; %u times it moved again",
        use->became_remote, use->became_local);
    return true;
}
