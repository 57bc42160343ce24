#include "policy/adaptive/remote_use.h"

#include <stdio.h>
#include <string.h>

/* Ours, all of them. */
#define INTERVAL_FIRST 1u  /* blocks that come for each witness */
#define INTERVAL_MAX   64u /* the same, doubled up to this by each witness that paid */
#define CAME           32u /* blocks of a remote range that decide */

#define ACCESS_SIZE    128u /* bytes of a GPU's access over the link */

/* Blocks that come until one would have left: a part of memory, because a program that passes over
 * blocks needs few at a time, and on a large device no more than its processors work on. */
#define PART  8u
#define LIMIT 256u

/* This part of a witness's leaves is a sample of how the others will be used. */
#define SAMPLE 16u

/* Migrations that remote accesses of a block may cost until it comes: its own, and that of what
 * leaves for it. */
#define SPENT_MOST  2u
#define BROUGHT_MAX 16u /* times that this limit doubles */

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

/* A page that comes alone costs a fault and its transfer, and then is there: where to use one from
 * the host costs as much, that gains nothing over single pages (density.h). */
static bool has_remote_access(const struct ff_view *view, uint32_t tier) {
    uint64_t ps = ff_view_link(view, FF_TIER_HOST, tier)->access_ps;
    return ps > 0 && ps * (FF_PAGE_SIZE / ACCESS_SIZE) < ff_view_faults_ns(view, tier, 1, 1) * 1000;
}

/* Remote accesses that cost as much as the migration of the block. */
static uint64_t break_even_of(const struct ff_view *view, uint32_t tier, uint32_t block) {
    uint64_t ns = ff_view_faults_ns(view, tier, 1, view->blocks[block].page_count);
    uint64_t break_even = ns * 1000 / ff_view_link(view, FF_TIER_HOST, tier)->access_ps;
    return break_even > 0 ? break_even : 1;
}

/* ---- the two decisions ---- */

static void start_over(struct ff__remote_range *range) {
    memset(range->witnesses, 0, sizeof range->witnesses);
    range->came = range->paid = 0;
}

static void judge_witnesses(struct ff__remote_use *use, struct ff__remote_range *range, bool paid) {
    range->interval =
        paid ? range->interval * (range->interval < INTERVAL_MAX ? 2 : 1) : INTERVAL_FIRST;
    range->paid += paid;
    range->is_known |= paid;
    if (++range->came < FF__REMOTE_WITNESSES)
        return;
    range->is_known = true;
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

/* Blocks that come until one would have left. */
static uint32_t holds(const struct ff_view *view, uint32_t tier) {
    uint64_t part = view->capacity[tier] / FF_BLOCK_PAGES / PART;
    return part > LIMIT ? LIMIT : part > 0 ? (uint32_t)part : 1;
}

static bool has_left(const struct ff__remote_use *use, const struct ff_view *view, uint32_t tier,
                     const struct ff__remote_block *block) {
    return block->stamp == 0 || use->clock[tier] - block->stamp >= holds(view, tier);
}

static void has_come(struct ff__remote_use *use, uint32_t tier, struct ff__remote_block *block) {
    block->stamp = ++use->clock[tier];
    block->count = block->leaves = 0;
}

/* The place of the block among the range's witnesses, or one of another block or none. */
static uint32_t *witness_of(struct ff__remote_range *range, uint32_t block) {
    uint32_t i = 0;
    while (i < FF__REMOTE_WITNESSES - 1 && range->witnesses[i] != block + 1)
        i++;
    return &range->witnesses[i];
}

static bool is_witness(struct ff__remote_range *range, uint32_t block) {
    return *witness_of(range, block) == block + 1;
}

/* A block comes to a range that migrates. */
static void become_witness(struct ff__remote_range *range, uint32_t block) {
    uint32_t *none = witness_of(range, FF_NONE);
    if (range->interval == 0)
        range->interval = range->countdown = INTERVAL_FIRST;
    if (*none != 0 || --range->countdown > 0)
        return;
    range->countdown = range->interval;
    *none = block + 1;
}

/* Ends the witnesses that would have left by now. One that was prefetched meanwhile has shown
 * nothing. */
static void end_witnesses(struct ff__remote_use *use, const struct ff_view *view, uint32_t tier,
                          struct ff__remote_range *range) {
    for (uint32_t i = 0; i < FF__REMOTE_WITNESSES; i++) {
        uint32_t witness = range->witnesses[i];
        if (witness == 0 || !has_left(use, view, tier, block_of(use, witness - 1)))
            continue;
        range->witnesses[i] = 0;
        if (!ff_view_holds(view, tier, witness - 1))
            judge_witnesses(use, range, false);
    }
}

/* Whether blocks have to leave for others: some have come back, or the devices together have no
 * room for all. */
static bool will_be_full(const struct ff__remote_use *use, const struct ff_view *view,
                         uint32_t tier) {
    uint64_t room = 0;
    for (uint32_t device = 1; device < view->tier_count; device++)
        room += view->capacity[device];
    return use->is_full[tier] || view->allocated > room;
}

static bool is_used_remotely(struct ff__remote_use *use, const struct ff_view *view,
                             const struct ff_fault_group *group, bool may_try) {
    struct ff__remote_range *range = range_of(use, view->blocks[group->block].range);
    if (!range->is_remote && !is_witness(range, group->block)) {
        end_witnesses(use, view, group->tier, range);
        if (!range->is_remote && may_try && will_be_full(use, view, group->tier))
            become_witness(range, group->block);
    }
    return ff__remote_is(use, view->blocks[group->block].range, group->block);
}

bool ff__remote_fault(struct ff__remote_use *use, const struct ff_view *view,
                      const struct ff_fault_group *group, bool may_try,
                      struct ff_fault_advice *advice) {
    const struct ff_mask *host = ff_view_resident(view, FF_TIER_HOST, group->block);
    struct ff_mask missing = ff_mask_minus(&group->faulted, host);
    if (!has_remote_access(view, group->tier) || ff_view_holds(view, group->tier, group->block))
        return false;
    use->is_full[group->tier] |= !ff_mask_empty(&ff_view_facts(view, group->block)->evicted);
    bool remote = ff_mask_empty(&missing) && is_used_remotely(use, view, group, may_try);
    has_come(use, group->tier, block_of(use, group->block));
    if (!remote)
        return false;
    struct ff__remote_range *range = range_of(use, view->blocks[group->block].range);
    range->came +=
        range->is_remote && use->is_full[group->tier]; /* witnesses count when they end */
    advice->remote = *host;
    return true;
}

bool ff__remote_is(const struct ff__remote_use *use, uint32_t number, uint32_t block) {
    struct ff__remote_range *range = range_of(use, number);
    return range->is_remote || is_witness(range, block);
}

bool ff__remote_is_tried(const struct ff__remote_use *use, const struct ff_view *view,
                         uint32_t tier, uint32_t number) {
    return has_remote_access(view, tier) && !range_of(use, number)->is_known &&
           will_be_full(use, view, tier);
}

/* ---- accesses ---- */

/* The block migrates. False: no advice is taken any more. */
static bool bring(const struct ff_view *view, const struct ff_access *access,
                  struct ff_advice_list *list) {
    struct ff_advice advice = {.block = access->block, .tier = access->tier, .launch = FF_NONE};
    advice.pages = *ff_view_resident(view, FF_TIER_HOST, access->block);
    return ff_advice_add(list, &advice);
}

/* The block is in use as long as it is used again within the time in which so many blocks can come
 * that it would have left. */
static void count_access(const struct ff_view *view, const struct ff_access *access,
                         struct ff__remote_block *block) {
    uint64_t pause_ns =
        holds(view, access->tier) * ff_view_faults_ns(view, access->tier, 1, FF_BLOCK_PAGES);
    if (view->now_ns - block->used_ns > pause_ns)
        block->spent = 0;
    block->used_ns = view->now_ns;
    block->count += 1 + access->more;
    block->leaves |= 1u << access->page / FF_LEAF_PAGES;
    block->spent += 1 + access->more;
}

/* Whether a witness will have been used so often once all of its leaves have been used as those
 * that were. A few are enough, so that a range of a few blocks does not spend its trial on the
 * link. */
static bool will_have_paid(const struct ff_view *view, uint32_t number,
                           const struct ff__remote_block *block, uint64_t break_even) {
    uint32_t used = (uint32_t)__builtin_popcount(block->leaves);
    uint32_t all = (view->blocks[number].page_count + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES;
    return used * SAMPLE >= all && (uint64_t)block->count * all >= break_even * used;
}

/* Where memory is full, what a block was used before it would have left is forgotten. Where it is
 * not, the block would not have left. */
static void count(struct ff__remote_use *use, const struct ff_view *view,
                  const struct ff_access *access, struct ff_advice_list *list) {
    struct ff__remote_range *range = range_of(use, view->blocks[access->block].range);
    struct ff__remote_block *block = block_of(use, access->block);
    bool witness = is_witness(range, access->block), full = use->is_full[access->tier];
    if (!witness && full && has_left(use, view, access->tier, block)) {
        has_come(use, access->tier, block);
        range->came++;
    }
    uint64_t break_even = break_even_of(view, access->tier, access->block);
    count_access(view, access, block);
    bool paid = block->count >= break_even ||
                (witness && will_have_paid(view, access->block, block, break_even));
    bool overspent = block->spent >= break_even * SPENT_MOST << block->brought;
    if ((!paid && !overspent) || !bring(view, access, list))
        return;
    block->brought = (uint8_t)(block->brought + (overspent && block->brought < BROUGHT_MAX));
    block->spent = 0;
    if (!paid)
        return;
    block->count = 0;
    if (witness) {
        *witness_of(range, access->block) = 0;
        judge_witnesses(use, range, true);
    } else if (range->is_remote && full) {
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
