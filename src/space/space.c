#include "space/space.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct ff_facts) + 2 * sizeof(struct ff_tier_pages) <= 512,
               "with one device, a live backend's records are at most 512 bytes");

/* A run of free windows. */
struct ff__hole {
    uint32_t first, count;
};

/* Every flat array: `visit` maps or unmaps it. False if any visit failed; all are made. */
static bool each_array(struct ff__space *space, bool (*visit)(void *array, size_t size)) {
    size_t blocks = space->block_limit;
    bool all = visit(&space->blocks, blocks * sizeof *space->blocks);
    all = visit(&space->facts, blocks * space->facts_size) && all;
    all = visit(&space->ranges, blocks * sizeof *space->ranges) && all;
    all = visit(&space->free_ranges, blocks * sizeof *space->free_ranges) && all;
    all = visit(&space->holes, blocks * sizeof *space->holes) && all;
    return all;
}

static bool map_array(void *array, size_t size) {
    void *mapped = ff__lazy_map(size);
    memcpy(array, &mapped, sizeof mapped);
    return mapped != NULL;
}

static bool unmap_array(void *array, size_t size) {
    void *mapped;
    memcpy(&mapped, array, sizeof mapped);
    ff__lazy_unmap(mapped, size);
    return true;
}

/* Policies may look at any window, and zero is a range like others. */
static void mark_unused(struct ff__space *space) {
    for (uint32_t block = 0; block < space->block_limit; block++)
        space->blocks[block].range = FF_NONE;
}

int ff__space_init(struct ff__space *space, uint64_t base, uint64_t address_space, uint32_t devices,
                   uint64_t memory, uint64_t chunks, uint32_t spare, bool detailed) {
    uint64_t blocks = address_space >> FF_BLOCK_SHIFT;
    memset(space, 0, sizeof *space);
    if (base % FF_BLOCK_SIZE || memory == 0 || chunks > UINT32_MAX / FF_CHUNK_LEAVES ||
        blocks == 0 || blocks >= FF_NONE || devices == 0 || devices >= FF_TIERS_MAX)
        return -EINVAL;
    space->base = base;
    space->block_limit = (uint32_t)blocks;
    space->tier_count = 1 + devices;
    space->facts_size = ff__facts_size(space->tier_count);
    if (detailed) {
        space->page_facts_at = space->facts_size;
        space->facts_size += sizeof(struct ff__page_facts);
    }
    space->whole_leaves = FF_CHUNK_LEAVES;
    space->most = memory;
    int status = each_array(space, map_array) ? 0 : -ENOMEM;
    for (uint32_t tier = 1; tier < space->tier_count && !status && chunks > 0; tier++)
        status = ff__frames_init(&space->frames[tier], (uint32_t)chunks, spare, space->block_limit);
    if (status) {
        ff__space_fini(space);
        return status;
    }
    mark_unused(space);
    for (uint32_t tier = 1; tier < space->tier_count; tier++)
        space->capacity[tier] = space->most;
    space->holes[0] = (struct ff__hole){0, space->block_limit};
    space->hole_count = 1;
    space->stats.capacity = space->most * FF_PAGE_SIZE * devices;
    return 0;
}

void ff__space_fini(struct ff__space *space) {
    each_array(space, unmap_array);
    for (uint32_t tier = 0; tier < space->tier_count; tier++)
        ff__frames_fini(&space->frames[tier]);
    memset(space, 0, sizeof *space);
}

/* ---- windows ---- */

/* First fit: low addresses stay in use, so the lazy arrays stay small. */
static uint32_t take_windows(struct ff__space *space, uint32_t count) {
    for (uint32_t i = 0; i < space->hole_count; i++) {
        struct ff__hole *hole = &space->holes[i];
        if (hole->count < count)
            continue;
        uint32_t first = hole->first;
        hole->first += count;
        hole->count -= count;
        if (hole->count == 0) {
            space->hole_count--;
            memmove(hole, hole + 1, (space->hole_count - i) * sizeof *hole);
        }
        return first;
    }
    return FF_NONE;
}

static void return_windows(struct ff__space *space, uint32_t first, uint32_t count) {
    uint32_t i = 0;
    while (i < space->hole_count && space->holes[i].first < first)
        i++;
    struct ff__hole *next = &space->holes[i];
    bool joins_before = i > 0 && next[-1].first + next[-1].count == first;
    bool joins_after = i < space->hole_count && first + count == next->first;
    if (joins_before && joins_after) {
        next[-1].count += count + next->count;
        space->hole_count--;
        memmove(next, next + 1, (space->hole_count - i) * sizeof *next);
    } else if (joins_before) {
        next[-1].count += count;
    } else if (joins_after) {
        next->first = first;
        next->count += count;
    } else {
        memmove(next + 1, next, (space->hole_count - i) * sizeof *next);
        *next = (struct ff__hole){first, count};
        space->hole_count++;
    }
}

/* ---- ranges ---- */

static uint32_t take_range_id(struct ff__space *space) {
    if (space->free_range_count > 0)
        return space->free_ranges[--space->free_range_count];
    /* ids are dense: the first one never used has no blocks */
    return space->range_limit++;
}

int ff__range_add(struct ff__space *space, uint64_t page_count, uint32_t lead, uint32_t home_tier,
                  uint32_t *range) {
    if (page_count == 0 || lead >= FF_BLOCK_PAGES)
        return -EINVAL;
    if (page_count > (uint64_t)space->block_limit * FF_BLOCK_PAGES)
        return -ENOMEM;
    uint32_t blocks = (uint32_t)((page_count + lead + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES);
    uint32_t first = take_windows(space, blocks);
    if (first == FF_NONE)
        return -ENOMEM;
    *range = take_range_id(space);
    space->ranges[*range] = (struct ff_range){first, blocks, page_count, home_tier, 0};
    ff__range_use(space, *range, home_tier);
    uint64_t left = page_count;
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t skip = i == 0 ? lead : 0, room = FF_BLOCK_PAGES - skip;
        uint32_t pages = left < room ? (uint32_t)left : room;
        space->blocks[first + i] = (struct ff_block){*range, (uint16_t)pages, (uint16_t)skip};
        left -= pages;
    }
    space->stats.allocated += page_count * FF_PAGE_SIZE;
    if (space->stats.allocated > space->stats.allocated_peak)
        space->stats.allocated_peak = space->stats.allocated;
    return 0;
}

static void drop_users(struct ff__space *space, struct ff_range *range) {
    for (uint32_t tier = 0; tier < space->tier_count; tier++)
        if (range->users >> tier & 1)
            space->used[tier] -= range->page_count;
    range->users = 0;
}

void ff__range_set_home(struct ff__space *space, uint32_t range, uint32_t tier) {
    drop_users(space, &space->ranges[range]);
    space->ranges[range].home_tier = tier;
    ff__range_use(space, range, tier);
}

void ff__range_remove(struct ff__space *space, uint32_t range) {
    struct ff_range *r = &space->ranges[range];
    drop_users(space, r);
    for (uint32_t i = 0; i < r->block_count; i++)
        space->blocks[r->first_block + i] = (struct ff_block){.range = FF_NONE};
    ff__lazy_clear(ff__facts(space, r->first_block), r->block_count * space->facts_size);
    return_windows(space, r->first_block, r->block_count);
    space->stats.allocated -= r->page_count * FF_PAGE_SIZE;
    memset(r, 0, sizeof *r);
    space->free_ranges[space->free_range_count++] = range;
}

uint32_t ff__space_find(const struct ff__space *space, uint64_t address, uint32_t *page) {
    uint64_t block = (address - space->base) >> FF_BLOCK_SHIFT;
    if (address < space->base || block >= space->block_limit)
        return FF_NONE;
    const struct ff_block *b = &space->blocks[block];
    uint64_t in_window = (address - space->base) / FF_PAGE_SIZE % FF_BLOCK_PAGES;
    if (in_window < b->lead || in_window - b->lead >= b->page_count)
        return FF_NONE;
    *page = (uint32_t)in_window - b->lead;
    return (uint32_t)block;
}

struct ff_mask ff__block_present(const struct ff__space *space, uint32_t block) {
    const struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask present = facts->tier[1].resident;
    for (uint32_t tier = 2; tier < space->tier_count; tier++)
        present = ff_mask_or(&present, &facts->tier[tier].resident);
    return present;
}

/* ---- invariants ---- */

static int check_moves(const struct ff__space *space, uint32_t block, struct ff_error *error) {
    const struct ff__page_facts *facts = ff__page_facts(space, block);
    if (space->page_facts_at == 0)
        return 0;
    struct ff_mask moving = ff_mask_or(&facts->coming, &facts->leaving);
    struct ff_mask there = ff__block_present(space, block);
    struct ff_mask both = ff_mask_and(&moving, &there);
    if (!ff_mask_empty(&both))
        return ff__fail(error, -EUCLEAN, "block %u: pages both on a device and on the way", block);
    return 0;
}

/* The frame must be one, and the block's. */
static int check_leaf(const struct ff__space *space, uint32_t tier, uint32_t block, uint32_t frame,
                      struct ff_error *error) {
    const struct ff__frames *frames = &space->frames[tier];
    uint32_t chunk = frame / FF_CHUNK_LEAVES;
    if (chunk >= frames->chunk_count + frames->spare_count)
        return ff__fail(error, -EUCLEAN, "block %u: tier %u has no frame %u", block, tier, frame);
    if (!(frames->used[chunk] >> frame % FF_CHUNK_LEAVES & 1))
        return ff__fail(error, -EUCLEAN, "block %u: its frame %u is free", block, frame);
    if (frames->owner[frame] != block)
        return ff__fail(error, -EUCLEAN, "block %u: its frame %u belongs to block %u", block, frame,
                        frames->owner[frame]);
    return 0;
}

/* A run of leaves. A busy block may hold a whole chunk until its job ends. */
static int check_run(const struct ff__space *space, uint32_t tier, uint32_t block, uint32_t *leaves,
                     struct ff_error *error) {
    uint32_t frame = ff__frame(space, tier, block);
    uint32_t need = ff__space_leaves(space, block);
    int status = 0;
    for (uint32_t i = 0; i < need && !status; i++)
        status = check_leaf(space, tier, block, frame + i, error);
    *leaves += need;
    return status;
}

/* In single pages: each has a slot of its own, and no others are used. */
static bool has_own_slots(const struct ff__places *places, const struct ff_mask *resident) {
    struct ff_mask slots = {{0}};
    FF_MASK_FOR_EACH_PAGE(resident, page) {
        ff_mask_set(&slots, places->slot[page]);
    }
    return ff_mask_count(&slots) == ff_mask_count(resident) &&
           memcmp(&slots, &places->used, sizeof slots) == 0;
}

/* Single leaves: exactly those that have resident pages. */
static int check_split(const struct ff__space *space, uint32_t tier, uint32_t block,
                       uint32_t *leaves, struct ff_error *error) {
    const struct ff_mask *resident = &ff__facts(space, block)->tier[tier].resident;
    const struct ff__frames *frames = &space->frames[tier];
    uint32_t own = ff__frame(space, tier, block);
    uint32_t used = ff__frames_leaves_under(frames, own, block, resident);
    if (own == FF__SPLIT_PAGES && !has_own_slots(&frames->places[block], resident))
        return ff__fail(error, -EUCLEAN, "block %u: two pages of tier %u lie in one place", block,
                        tier);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        uint32_t frame = *ff__frames_leaf(frames, block, leaf);
        if ((frame != 0) != (used >> leaf & 1))
            return ff__fail(error, -EUCLEAN, "block %u: leaf %u of tier %u is %s", block, leaf,
                            tier, frame ? "held for nothing" : "resident without memory");
        int status = frame ? check_leaf(space, tier, block, frame - 1, error) : 0;
        if (status)
            return status;
        *leaves += frame != 0;
    }
    return 0;
}

static int check_block(const struct ff__space *space, uint32_t block, uint32_t leaves[],
                       uint64_t pages[], struct ff_error *error) {
    const struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask valid = ff__block_pages(space, block), seen = {{0}};
    for (uint32_t tier = 0; tier < space->tier_count; tier++) {
        const struct ff_mask *resident = &facts->tier[tier].resident;
        if (!ff_mask_within(resident, &valid))
            return ff__fail(error, -EUCLEAN, "block %u: pages beyond its end on tier %u", block,
                            tier);
        if (tier == FF_TIER_HOST)
            continue;
        struct ff_mask both = ff_mask_and(&seen, resident);
        if (!ff_mask_empty(&both))
            return ff__fail(error, -EUCLEAN, "block %u: a page is on two devices", block);
        seen = ff_mask_or(&seen, resident);
        uint32_t frame = ff__facts_frame(facts, tier);
        pages[tier] += ff_mask_count(resident);
        if (frame == FF_NONE) {
            if (!ff_mask_empty(resident) && !facts->busy)
                return ff__fail(error, -EUCLEAN, "block %u: resident without memory", block);
            continue;
        }
        /* the leaves of a split block change hands while its job is under way */
        if (space->frames[tier].chunk_count == 0 || (ff__frame_is_split(frame) && facts->busy))
            continue;
        int status = ff__frame_is_split(frame)
                         ? check_split(space, tier, block, &leaves[tier], error)
                         : check_run(space, tier, block, &leaves[tier], error);
        if (status)
            return status;
    }
    return check_moves(space, block, error);
}

static int check_memory(const struct ff__space *space, uint32_t tier, uint32_t leaves,
                        struct ff_error *error) {
    const struct ff__frames *frames = &space->frames[tier];
    if (leaves > frames->leaves_used ||
        frames->leaves_used > (frames->chunk_count + frames->spare_used) * FF_CHUNK_LEAVES)
        return ff__fail(error, -EUCLEAN, "tier %u: blocks hold %u leaves, %u are allocated of %u",
                        tier, leaves, frames->leaves_used, frames->chunk_count * FF_CHUNK_LEAVES);
    return 0;
}

int ff__space_check(const struct ff__space *space, uint64_t resident[FF_TIERS_MAX],
                    struct ff_error *error) {
    uint32_t leaves[FF_TIERS_MAX] = {0};
    uint64_t used[FF_TIERS_MAX] = {0}, pages = 0;
    memset(resident, 0, FF_TIERS_MAX * sizeof *resident);
    for (uint32_t range = 0; range < space->range_limit; range++) {
        const struct ff_range *r = &space->ranges[range];
        for (uint32_t tier = 0; tier < space->tier_count; tier++)
            used[tier] += r->users >> tier & 1 ? r->page_count : 0;
        for (uint32_t i = 0; i < r->block_count; i++) {
            int status = check_block(space, r->first_block + i, leaves, resident, error);
            if (status)
                return status;
            pages += space->blocks[r->first_block + i].page_count;
        }
    }
    if (pages * FF_PAGE_SIZE != space->stats.allocated)
        return ff__fail(error, -EUCLEAN, "ranges hold %llu pages, %llu bytes are counted",
                        (unsigned long long)pages, (unsigned long long)space->stats.allocated);
    int status = 0;
    for (uint32_t tier = 1; tier < space->tier_count && !status; tier++)
        status =
            used[tier] == space->used[tier]
                ? check_memory(space, tier, leaves[tier], error)
                : ff__fail(error, -EUCLEAN, "tier %u: its ranges hold %llu pages, %llu are counted",
                           tier, (unsigned long long)used[tier],
                           (unsigned long long)space->used[tier]);
    return status;
}
