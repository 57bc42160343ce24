/* A backend that is only memory: no page has bytes, but every page has a version, so that a write
 * that gets lost, or content that comes back from the dead, shows at the next read. It also checks
 * everything that engine/backend.h lets a backend rely on, and remembers the first thing that was
 * wrong. The caller serializes. */
#ifndef FF_TESTS_ENGINE_FAKE_H
#define FF_TESTS_ENGINE_FAKE_H

#include "base/cases.h"

#include "base/leaves.h"
#include "base/random.h"
#include "engine/internal.h"

#include <errno.h>

#define FAKE_BASE (UINT64_C(0x5000) << 32)

struct fake_block {
    /* Where a page's content is; a host bit may be beside another */
    struct ff_mask on[FF_TIERS_MAX];
    struct ff_mask loose; /* declared dead: what is read next may be anything */
    uint32_t device[FF_BLOCK_PAGES], host[FF_BLOCK_PAGES]; /* versions; 0: zeros */
    uint32_t truth[FF_BLOCK_PAGES];                        /* what the program wrote last */
    uint32_t frame[FF_TIERS_MAX],
        leaf[FF_TIERS_MAX][FF_CHUNK_LEAVES]; /* of a split block: 1 + frame */
    uint16_t slot[FF_TIERS_MAX]
                 [FF_BLOCK_PAGES]; /* of a split block: where in its leaves a page lies */
    bool at_work;
};

struct fake {
    const struct ff__space *space;
    struct fake_block *blocks;
    uint32_t *owner[FF_TIERS_MAX]; /* [leaf] which block is there */
    uint32_t leaf_count, version;
    struct ff__random random;
    uint64_t in, populated, out, dropped, evictions; /* pages, and blocks */
    char violation[256];
};

/* ---- making, blaming ---- */

static inline void *fake_zeroed(size_t size) {
    size = (size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    if (!memory)
        abort();
    memset(memory, 0, size);
    return memory;
}

static inline void fake_open(struct fake *fake, const struct ff__space *space, uint64_t seed) {
    memset(fake, 0, sizeof *fake);
    fake->space = space;
    fake->random = ff__random_seeded(seed ^ 0xFA4E);
    fake->blocks = fake_zeroed(space->block_limit * sizeof *fake->blocks);
    fake->leaf_count = space->frames[1].chunk_count * FF_CHUNK_LEAVES;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        fake->owner[tier] = fake_zeroed(fake->leaf_count * sizeof(uint32_t));
        memset(fake->owner[tier], 0xff, fake->leaf_count * sizeof(uint32_t));
    }
    for (uint32_t block = 0; block < space->block_limit; block++)
        memset(fake->blocks[block].frame, 0xff, sizeof fake->blocks[block].frame);
}

static inline void fake_close(struct fake *fake) {
    for (uint32_t tier = 1; tier < FF_TIERS_MAX; tier++)
        free(fake->owner[tier]);
    free(fake->blocks);
}

__attribute__((format(printf, 2, 3))) static inline void fake_blame(struct fake *fake,
                                                                    const char *format, ...) {
    if (fake->violation[0])
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(fake->violation, sizeof fake->violation, format, args);
    va_end(args);
}

static inline struct ff_mask fake_on_devices(const struct fake *fake, uint32_t block) {
    struct ff_mask any = {{0}};
    for (uint32_t tier = 1; tier < fake->space->tier_count; tier++)
        any = ff_mask_or(&any, &fake->blocks[block].on[tier]);
    return any;
}

/* ---- pre-conditions ---- */

/* What must hold for either way. False: too wrong to go on. */
static inline bool fake_check_move(struct fake *fake, const struct ff__move *move) {
    const struct ff__space *space = fake->space;
    const struct ff__place *place = ff__move_place(move);
    uint32_t block = move->block;
    if (block >= space->block_limit || space->blocks[block].page_count == 0 ||
        place->tier == FF_TIER_HOST || place->tier >= space->tier_count ||
        (move->from.tier != FF_TIER_HOST && move->to.tier != FF_TIER_HOST)) {
        fake_blame(fake, "block %u on tier %u: no such block or device", block, place->tier);
        return false;
    }
    struct ff_mask valid = ff__block_pages(space, block);
    if (!ff__facts(space, block)->busy)
        fake_blame(fake, "block %u moves but is not marked busy", block);
    if (!ff_mask_within(&move->pages, &valid))
        fake_blame(fake, "block %u: pages beyond its end are moved", block);
    if (!ff_mask_within(&move->held, &move->pages))
        fake_blame(fake, "block %u: held pages that do not move", block);
    if (!ff_mask_within(&move->left, &move->pages))
        fake_blame(fake, "block %u: pages are left that do not move", block);
    if (!ff__frame_is_split(place->frame) &&
        (place->frame == FF_NONE ||
         place->frame + ff__frames_leaves(space->blocks[block].page_count) > fake->leaf_count)) {
        fake_blame(fake, "block %u: frame %u is outside of tier %u", block, place->frame,
                   place->tier);
        return false;
    }
    return true;
}

/* `held` is exactly what the host has, except content that is dead. */
static inline void fake_check_held(struct fake *fake, const struct ff__move *move) {
    struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask has = ff_mask_and(&move->left, &b->on[FF_TIER_HOST]);
    struct ff_mask held = ff_mask_and(&move->left, &move->held);
    struct ff_mask missed = ff_mask_minus(&has, &held);
    if (!ff_mask_within(&held, &has))
        fake_blame(fake, "block %u: held pages that the host has nothing for", move->block);
    if (!ff_mask_within(&missed, &b->loose))
        fake_blame(fake, "block %u: content on the host is forgotten", move->block);
    b->on[FF_TIER_HOST] = ff_mask_minus(&b->on[FF_TIER_HOST], &missed);
}

/* Takes a leaf: nobody else may be there. */
static inline void fake_occupy_leaf(struct fake *fake, const struct ff__move *move, uint32_t leaf) {
    uint32_t frame =
        ff__frames_of_leaf(&fake->space->frames[move->to.tier], move->to.frame, move->block, leaf);
    uint32_t *known = &fake->blocks[move->block].leaf[move->to.tier][leaf];
    if (frame >= fake->leaf_count) {
        fake_blame(fake, "block %u gets leaf %u of tier %u", move->block, frame, move->to.tier);
        return;
    }
    uint32_t *owner = &fake->owner[move->to.tier][frame];
    if (*owner != FF_NONE && *owner != move->block)
        fake_blame(fake, "block %u gets leaf %u of tier %u, where block %u still is", move->block,
                   frame, move->to.tier, *owner);
    *owner = move->block;
    bool is_split = ff__frame_is_split(move->to.frame);
    if (is_split && *known != 0 && *known != frame + 1)
        fake_blame(fake, "block %u: its leaf %u has moved to %u", move->block, leaf, frame);
    if (is_split)
        *known = frame + 1;
}

/* The leaves of a split block in which these pages lie. */
static inline uint32_t fake_leaves(const struct fake *fake, uint32_t block, uint32_t tier,
                                   const struct ff_mask *pages) {
    uint32_t leaves = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        leaves |= 1u << fake->blocks[block].slot[tier][page] / FF_LEAF_PAGES;
    }
    return leaves;
}

/* A split block's pages come, each to where no other is. */
static inline void fake_place(struct fake *fake, const struct ff__move *move,
                              const struct ff_mask *pages) {
    uint32_t tier = move->to.tier;
    struct fake_block *b = &fake->blocks[move->block];
    const struct ff__places *places = &fake->space->frames[tier].places[move->block];
    struct ff_mask taken = {{0}};
    FF_MASK_FOR_EACH_PAGE(&b->on[tier], page) {
        ff_mask_set(&taken, b->slot[tier][page]);
    }
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        uint16_t slot = move->to.frame == FF__SPLIT ? (uint16_t)page : places->slot[page];
        if (ff_mask_test(&taken, slot))
            fake_blame(fake, "block %u: page %u comes to where another one is", move->block, page);
        ff_mask_set(&taken, slot);
        b->slot[tier][page] = slot;
    }
}

/* Takes the leaves of the frame, or of these pages. */
static inline void fake_occupy(struct fake *fake, const struct ff__move *move,
                               const struct ff_mask *pages) {
    struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask all = ff__block_pages(fake->space, move->block);
    bool is_split = ff__frame_is_split(move->to.frame);
    if (is_split)
        fake_place(fake, move, pages);
    uint32_t leaves =
        is_split ? fake_leaves(fake, move->block, move->to.tier, pages) : ff__leaves_of(&all);
    if (b->frame[move->to.tier] != FF_NONE && b->frame[move->to.tier] != move->to.frame)
        fake_blame(fake, "block %u: its memory on tier %u changed from %u to %u", move->block,
                   move->to.tier, b->frame[move->to.tier], move->to.frame);
    for (; leaves; leaves &= leaves - 1)
        fake_occupy_leaf(fake, move, (uint32_t)__builtin_ctz(leaves));
    b->frame[move->to.tier] = move->to.frame;
}

/* Leaves of a split block that nothing is in any more. */
static inline void fake_vacate_leaves(struct fake *fake, uint32_t block, uint32_t tier) {
    struct fake_block *b = &fake->blocks[block];
    uint32_t used = fake_leaves(fake, block, tier, &b->on[tier]);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        if (b->leaf[tier][leaf] == 0 || used >> leaf & 1)
            continue;
        fake->owner[tier][b->leaf[tier][leaf] - 1] = FF_NONE;
        b->leaf[tier][leaf] = 0;
    }
}

static inline void fake_vacate(struct fake *fake, uint32_t block, uint32_t tier) {
    for (uint32_t i = 0; i < fake->leaf_count; i++)
        if (fake->owner[tier][i] == block)
            fake->owner[tier][i] = FF_NONE;
    fake->blocks[block].frame[tier] = FF_NONE;
}

/* ---- the verbs ---- */

static inline void fake_bring(struct fake *fake, const struct ff__move *move,
                              const struct ff_mask *pages) {
    struct fake_block *b = &fake->blocks[move->block];
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        b->device[page] = ff_mask_test(&move->held, page) ? b->host[page] : 0;
    }
    b->on[move->to.tier] = ff_mask_or(&b->on[move->to.tier], pages);
}

/* A move starts, or is tried again: all of it is left. */
static inline void fake_begin(struct ff__move *move) {
    move->left = move->pages;
}

/* With `part` of the pages only it fails. */
static inline void fake_in(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    move->status = part ? -ENOMEM : 0;
    if (!fake_check_move(fake, move))
        return;
    struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask there = fake_on_devices(fake, move->block);
    there = ff_mask_and(&there, &move->left);
    if (!ff_mask_empty(&there))
        fake_blame(fake, "block %u: a page that comes is on a device already", move->block);
    if (ff__move_is_whole(move) != ff_mask_empty(&b->on[move->to.tier]))
        fake_blame(fake, "block %u: whole is %d", move->block, move->whole);
    if (ff_mask_empty(&move->left))
        fake_blame(fake, "block %u: nothing comes", move->block);
    fake_check_held(fake, move);
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    struct ff_mask held = ff_mask_and(&now, &move->held);
    if (!ff_mask_empty(&now))
        fake_occupy(fake, move, &now);
    fake_bring(fake, move, &now);
    move->left = ff_mask_minus(&move->left, &now);
    fake->in += ff_mask_count(&held);
    fake->populated += ff_mask_count(&now) - ff_mask_count(&held);
}

/* Whether the backend copies this page back: it must if the host's content is older. */
static inline bool fake_copies_back(struct fake *fake, const struct ff__move *move, uint32_t page) {
    const struct fake_block *b = &fake->blocks[move->block];
    return !ff_mask_test(&move->held, page) || b->host[page] != b->device[page] ||
           ff__random_below(&fake->random, 8) == 0;
}

static inline void fake_send(struct fake *fake, const struct ff__move *move,
                             const struct ff_mask *pages, struct ff_mask *copied) {
    struct fake_block *b = &fake->blocks[move->block];
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        if (ff_mask_test(&move->dead, page) || !fake_copies_back(fake, move, page))
            continue;
        b->host[page] = b->device[page];
        ff_mask_set(&b->on[FF_TIER_HOST], page);
        ff_mask_set(copied, page);
    }
    b->on[move->from.tier] = ff_mask_minus(&b->on[move->from.tier], pages);
}

/* Dead pages: the host forgets them; what is nowhere any more reads as anything. */
static inline void fake_bury(struct fake *fake, uint32_t block, const struct ff_mask *dead) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask there = fake_on_devices(fake, block), gone = ff_mask_minus(dead, &there);
    b->loose = ff_mask_or(&b->loose, &gone);
    b->on[FF_TIER_HOST] = ff_mask_minus(&b->on[FF_TIER_HOST], dead);
}

static inline void fake_out(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    struct ff_mask copied = {{0}};
    uint32_t tier = move->from.tier;
    move->status = part ? -ENOMEM : 0;
    if (!fake_check_move(fake, move))
        return;
    struct fake_block *b = &fake->blocks[move->block];
    bool is_whole = ff_mask_equal(&b->on[tier], &move->left);
    bool may_part = is_whole || ff__frame_is_split(move->from.frame);
    if (move->whole != is_whole || !may_part)
        fake_blame(fake, "block %u: not all of it leaves tier %u", move->block, tier);
    if (b->frame[tier] != move->from.frame)
        fake_blame(fake, "block %u leaves frame %u of tier %u but is in %u", move->block,
                   move->from.frame, tier, b->frame[tier]);
    fake_check_held(fake, move);
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    move->left = ff_mask_minus(&move->left, &now);
    fake_send(fake, move, &now, &copied);
    struct ff_mask dead = ff_mask_minus(&move->dead, &move->left);
    fake_bury(fake, move->block, &dead);
    fake_vacate_leaves(fake, move->block, tier);
    if (ff_mask_empty(&b->on[tier]))
        fake_vacate(fake, move->block, tier);
    move->copied = ff_mask_or(&move->copied, &copied);
    fake->out += ff_mask_count(&copied);
    struct ff_mask live = ff_mask_minus(&now, &move->dead);
    fake->dropped += ff_mask_count(&live) - ff_mask_count(&copied);
    fake->evictions += !ff_mask_empty(&live); /* only dead content: no eviction */
}

static inline void fake_move(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    if (ff__move_arrives(move))
        fake_in(fake, move, part);
    else
        fake_out(fake, move, part);
}

/* ---- the program ---- */

/* Reads or writes a page if it is on a device. False: that is a far fault. */
static inline bool fake_touch(struct fake *fake, uint32_t block, uint32_t page, bool write) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask present = fake_on_devices(fake, block);
    if (!ff_mask_test(&present, page))
        return false;
    if (ff_mask_test(&b->loose, page))
        b->truth[page] = b->device[page];
    ff_mask_unset(&b->loose, page);
    if (b->device[page] != b->truth[page])
        fake_blame(fake, "block %u page %u reads version %u, %u was written", block, page,
                   b->device[page], b->truth[page]);
    if (write)
        b->truth[page] = b->device[page] = ++fake->version;
    return true;
}

/* The program writes absent pages straight to the host. */
static inline void fake_write_host(struct fake *fake, uint32_t block, const struct ff_mask *pages) {
    struct fake_block *b = &fake->blocks[block];
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        b->truth[page] = b->host[page] = ++fake->version;
    }
    b->on[FF_TIER_HOST] = ff_mask_or(&b->on[FF_TIER_HOST], pages);
    b->loose = ff_mask_minus(&b->loose, pages);
}

/* The block's range is freed: the next range there starts with zeros. */
static inline void fake_forget(struct fake *fake, uint32_t block) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask there = fake_on_devices(fake, block);
    if (!ff_mask_empty(&there) || b->at_work)
        fake_blame(fake, "block %u: its range is removed while it is in use", block);
    memset(b, 0, sizeof *b);
    memset(b->frame, 0xff, sizeof b->frame);
}

/* Whether the engine believes of an idle block what is the case. */
static inline void fake_compare(struct fake *fake, uint32_t block) {
    const struct ff__space *space = fake->space;
    const struct fake_block *b = &fake->blocks[block];
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        if (!ff_mask_equal(&ff__facts(space, block)->tier[tier].resident, &b->on[tier]))
            fake_blame(fake, "block %u: the engine is wrong about tier %u", block, tier);
        if (ff__frame(space, tier, block) != b->frame[tier])
            fake_blame(fake, "block %u: the engine is wrong about its frame on tier %u", block,
                       tier);
        if (memcmp(b->leaf[tier], ff__frames_leaf(&space->frames[tier], block, 0),
                   sizeof b->leaf[tier]) != 0)
            fake_blame(fake, "block %u: the engine is wrong about its leaves on tier %u", block,
                       tier);
    }
    const struct ff_mask *host = &ff__facts(space, block)->tier[FF_TIER_HOST].resident;
    struct ff_mask missed = ff_mask_minus(&b->on[FF_TIER_HOST], host);
    if (!ff_mask_within(host, &b->on[FF_TIER_HOST]) || !ff_mask_within(&missed, &b->loose))
        fake_blame(fake, "block %u: the engine is wrong about the host", block);
}

#endif
