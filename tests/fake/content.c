#include "fake/content.h"

#include "base/leaves.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making, blaming ---- */

static void *filled(size_t size, int byte) {
    size = (size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    return memory ? memset(memory, byte, size) : NULL;
}

int fake_open(struct fake *fake, const struct ff__space *space, uint64_t seed) {
    memset(fake, 0, sizeof *fake);
    fake->space = space;
    fake->random = ff__random_seeded(seed ^ 0xFA4E);
    const struct ff__frames *frames = &space->frames[1];
    fake->leaf_count = (frames->chunk_count + frames->spare_count) * FF_CHUNK_LEAVES;
    for (uint32_t tier = 1; tier < space->tier_count; tier++)
        if (!(fake->owner[tier] = filled(fake->leaf_count * sizeof(uint32_t), 0xff)))
            return -ENOMEM;
    fake->blocks = filled(space->block_limit * sizeof *fake->blocks, 0);
    if (!fake->blocks)
        return -ENOMEM;
    for (uint32_t block = 0; block < space->block_limit; block++)
        memset(fake->blocks[block].frame, 0xff, sizeof fake->blocks[block].frame);
    return 0;
}

void fake_close(struct fake *fake) {
    for (uint32_t tier = 1; tier < FF_TIERS_MAX; tier++)
        free(fake->owner[tier]);
    free(fake->blocks);
}

void fake_blame(struct fake *fake, const char *format, ...) {
    if (fake->violation[0])
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(fake->violation, sizeof fake->violation, format, args);
    va_end(args);
}

struct ff_mask fake_on_devices(const struct fake *fake, uint32_t block) {
    struct ff_mask any = {{0}};
    for (uint32_t tier = 1; tier < fake->space->tier_count; tier++)
        any = ff_mask_or(&any, &fake->blocks[block].on[tier]);
    return any;
}

/* ---- pre-conditions ---- */

/* What must hold for either way. False: too wrong to go on. */
static bool check_move(struct fake *fake, const struct ff__move *move) {
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
    if (!move->mapped && !ff__frame_is_split(place->frame) &&
        (place->frame == FF_NONE ||
         place->frame + ff__frames_leaves(space->blocks[block].page_count) > fake->leaf_count)) {
        fake_blame(fake, "block %u: frame %u is outside of tier %u", block, place->frame,
                   place->tier);
        return false;
    }
    return true;
}

/* `held` is exactly what the host has, except content that is dead. */
static void check_held(struct fake *fake, const struct ff__move *move) {
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
static void occupy_leaf(struct fake *fake, const struct ff__move *move, uint32_t leaf) {
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
static uint32_t leaves_with(const struct fake *fake, uint32_t block, uint32_t tier,
                            const struct ff_mask *pages) {
    uint32_t leaves = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        leaves |= 1u << fake->blocks[block].slot[tier][page] / FF_LEAF_PAGES;
    }
    return leaves;
}

/* A split block's pages come, each to where no other is. */
static void place_pages(struct fake *fake, const struct ff__move *move,
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
static void occupy(struct fake *fake, const struct ff__move *move, const struct ff_mask *pages) {
    struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask all = ff__block_pages(fake->space, move->block);
    bool is_split = ff__frame_is_split(move->to.frame);
    if (is_split)
        place_pages(fake, move, pages);
    uint32_t leaves =
        is_split ? leaves_with(fake, move->block, move->to.tier, pages) : ff__leaves_of(&all);
    if (b->frame[move->to.tier] != FF_NONE && b->frame[move->to.tier] != move->to.frame)
        fake_blame(fake, "block %u: its memory on tier %u changed from %u to %u", move->block,
                   move->to.tier, b->frame[move->to.tier], move->to.frame);
    for (; leaves; leaves &= leaves - 1)
        occupy_leaf(fake, move, (uint32_t)__builtin_ctz(leaves));
    b->frame[move->to.tier] = move->to.frame;
}

/* Leaves of a split block that nothing is in any more. */
static void vacate_leaves(struct fake *fake, uint32_t block, uint32_t tier) {
    struct fake_block *b = &fake->blocks[block];
    uint32_t used = leaves_with(fake, block, tier, &b->on[tier]);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        if (b->leaf[tier][leaf] == 0 || used >> leaf & 1)
            continue;
        fake->owner[tier][b->leaf[tier][leaf] - 1] = FF_NONE;
        b->leaf[tier][leaf] = 0;
    }
}

static void vacate(struct fake *fake, uint32_t block, uint32_t tier) {
    for (uint32_t i = 0; i < fake->leaf_count; i++)
        if (fake->owner[tier][i] == block)
            fake->owner[tier][i] = FF_NONE;
    fake->blocks[block].frame[tier] = FF_NONE;
}

/* ---- the verbs ---- */

static void bring(struct fake *fake, const struct ff__move *move, const struct ff_mask *pages) {
    struct fake_block *b = &fake->blocks[move->block];
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        b->device[page] = ff_mask_test(&move->held, page) ? b->host[page] : 0;
    }
    b->on[move->to.tier] = ff_mask_or(&b->on[move->to.tier], pages);
    b->came = ff_mask_or(&b->came, pages);
}

void fake_begin(struct ff__move *move) {
    move->left = move->pages;
}

static void move_in(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    move->status = part ? -ENOMEM : 0;
    if (!check_move(fake, move))
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
    struct ff_mask mapped = ff_mask_and(&b->mapped, &move->left);
    if (!ff_mask_empty(&mapped))
        fake_blame(fake, "block %u: a page that comes is mapped", move->block);
    check_held(fake, move);
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    struct ff_mask held = ff_mask_and(&now, &move->held);
    if (!ff_mask_empty(&now))
        occupy(fake, move, &now);
    bring(fake, move, &now);
    move->left = ff_mask_minus(&move->left, &now);
    fake->in += ff_mask_count(&held);
    fake->populated += ff_mask_count(&now) - ff_mask_count(&held);
}

/* Whether the backend copies this page back: it must if the host's content is older. */
static bool copies_back(struct fake *fake, const struct ff__move *move, uint32_t page) {
    const struct fake_block *b = &fake->blocks[move->block];
    return !ff_mask_test(&move->held, page) || b->host[page] != b->device[page] ||
           ff__random_below(&fake->random, 8) == 0;
}

static void send(struct fake *fake, const struct ff__move *move, const struct ff_mask *pages,
                 struct ff_mask *copied) {
    struct fake_block *b = &fake->blocks[move->block];
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        if (ff_mask_test(&move->dead, page) || !copies_back(fake, move, page))
            continue;
        b->host[page] = b->device[page];
        ff_mask_set(&b->on[FF_TIER_HOST], page);
        ff_mask_set(copied, page);
    }
    b->on[move->from.tier] = ff_mask_minus(&b->on[move->from.tier], pages);
}

/* Dead pages: the host forgets them; what is nowhere any more reads as anything. */
void fake_discard(struct fake *fake, uint32_t block, const struct ff_mask *dead) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask there = fake_on_devices(fake, block), gone = ff_mask_minus(dead, &there);
    struct ff_mask used = ff_mask_and(dead, &b->mapped);
    if (!ff_mask_empty(&used))
        fake_blame(fake, "block %u: a page is dropped that is mapped", block);
    b->loose = ff_mask_or(&b->loose, &gone);
    b->on[FF_TIER_HOST] = ff_mask_minus(&b->on[FF_TIER_HOST], dead);
}

static void move_out(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    struct ff_mask copied = {{0}};
    uint32_t tier = move->from.tier;
    move->status = part ? -ENOMEM : 0;
    if (!check_move(fake, move))
        return;
    struct fake_block *b = &fake->blocks[move->block];
    bool is_whole = ff_mask_equal(&b->on[tier], &move->left);
    bool may_part = is_whole || ff__frame_is_split(move->from.frame);
    if (move->whole != is_whole || !may_part)
        fake_blame(fake, "block %u: not all of it leaves tier %u", move->block, tier);
    if (b->frame[tier] != move->from.frame)
        fake_blame(fake, "block %u leaves frame %u of tier %u but is in %u", move->block,
                   move->from.frame, tier, b->frame[tier]);
    check_held(fake, move);
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    move->left = ff_mask_minus(&move->left, &now);
    send(fake, move, &now, &copied);
    struct ff_mask dead = ff_mask_minus(&move->dead, &move->left);
    fake_discard(fake, move->block, &dead);
    vacate_leaves(fake, move->block, tier);
    if (ff_mask_empty(&b->on[tier]))
        vacate(fake, move->block, tier);
    move->copied = ff_mask_or(&move->copied, &copied);
    fake->out += ff_mask_count(&copied);
    struct ff_mask live = ff_mask_minus(&now, &move->dead);
    fake->dropped += ff_mask_count(&live) - ff_mask_count(&copied);
    fake->evictions += !ff_mask_empty(&live); /* only dead content: no eviction */
}

/* What may not be with a mapping, and whether its pages are mapped already. */
static bool check_mapping(struct fake *fake, const struct ff__move *move, bool mapped) {
    if (!check_move(fake, move))
        return false;
    const struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask there = ff_mask_and(&b->mapped, &move->left);
    if (!ff_mask_equal(&there, mapped ? &move->left : &(struct ff_mask){{0}}))
        fake_blame(fake, "block %u: a page is mapped twice, or is not mapped", move->block);
    there = fake_on_devices(fake, move->block);
    there = ff_mask_and(&there, &move->left);
    if (!ff_mask_empty(&there))
        fake_blame(fake, "block %u: a mapped page is on a device", move->block);
    if (ff__move_place(move)->frame != FF_NONE || move->whole || move->guest || move->lends ||
        move->keep || !ff_mask_empty(&move->dead))
        fake_blame(fake, "block %u: a mapping that is more than that", move->block);
    if (ff_mask_empty(&move->left))
        fake_blame(fake, "block %u: nothing is mapped", move->block);
    return true;
}

/* The host has content for all that was ever mapped. */
static void map_in(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    move->status = part ? -ENOMEM : 0;
    if (!check_mapping(fake, move, false))
        return;
    struct fake_block *b = &fake->blocks[move->block];
    check_held(fake, move);
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    struct ff_mask empty = ff_mask_minus(&now, &move->held);
    FF_MASK_FOR_EACH_PAGE(&empty, page) {
        b->host[page] = 0;
    }
    b->on[FF_TIER_HOST] = ff_mask_or(&b->on[FF_TIER_HOST], &now);
    b->mapped = ff_mask_or(&b->mapped, &now);
    b->came = ff_mask_or(&b->came, &now);
    move->left = ff_mask_minus(&move->left, &now);
    fake->mapped += ff_mask_count(&now);
}

static void map_out(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    move->status = part ? -EBUSY : 0;
    if (!check_mapping(fake, move, true))
        return;
    struct fake_block *b = &fake->blocks[move->block];
    struct ff_mask now = part ? ff_mask_and(part, &move->left) : move->left;
    b->mapped = ff_mask_minus(&b->mapped, &now);
    move->left = ff_mask_minus(&move->left, &now);
}

void fake_move(struct fake *fake, struct ff__move *move, const struct ff_mask *part) {
    if (move->mapped)
        (ff__move_arrives(move) ? map_in : map_out)(fake, move, part);
    else if (ff__move_arrives(move))
        move_in(fake, move, part);
    else
        move_out(fake, move, part);
}

/* ---- the program ---- */

/* What is read is what was written last, unless that was declared dead. */
static void check_word(struct fake *fake, uint32_t block, uint32_t page, uint32_t word) {
    struct fake_block *b = &fake->blocks[block];
    if (ff_mask_test(&b->loose, page))
        b->truth[page] = word;
    ff_mask_unset(&b->loose, page);
    if (word != b->truth[page])
        fake_blame(fake, "block %u page %u reads %u, %u was written", block, page, word,
                   b->truth[page]);
}

bool fake_access(struct fake *fake, uint32_t block, uint32_t page, uint32_t *word, bool write) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask present = fake_on_devices(fake, block);
    bool mapped = ff_mask_test(&b->mapped, page);
    if (!mapped && !ff_mask_test(&present, page))
        return false;
    uint32_t *there = mapped ? &b->host[page] : &b->device[page];
    check_word(fake, block, page, *there);
    if (write)
        b->truth[page] = *there = *word;
    else
        *word = *there;
    return true;
}

bool fake_touch(struct fake *fake, uint32_t block, uint32_t page, bool write) {
    uint32_t word = fake->written + 1;
    bool is_there = fake_access(fake, block, page, &word, write);
    fake->written += write && is_there;
    return is_there;
}

void fake_write_host(struct fake *fake, uint32_t block, const struct ff_mask *pages, uint32_t first,
                     const char *from) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask mapped = ff_mask_and(pages, &b->mapped);
    if (!ff_mask_empty(&mapped))
        fake_blame(fake, "block %u: a page is written on the host that is mapped", block);
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        uint32_t word = ++fake->written;
        if (from)
            memcpy(&word, from + (size_t)(page - first) * FF_PAGE_SIZE, sizeof word);
        b->truth[page] = b->host[page] = word;
    }
    b->on[FF_TIER_HOST] = ff_mask_or(&b->on[FF_TIER_HOST], pages);
    b->loose = ff_mask_minus(&b->loose, pages);
}

void fake_forget(struct fake *fake, uint32_t block) {
    struct fake_block *b = &fake->blocks[block];
    struct ff_mask there = fake_on_devices(fake, block);
    if (!ff_mask_empty(&there) || !ff_mask_empty(&b->mapped) || b->at_work)
        fake_blame(fake, "block %u: its range is removed while it is in use", block);
    memset(b, 0, sizeof *b);
    memset(b->frame, 0xff, sizeof b->frame);
}

void fake_compare(struct fake *fake, uint32_t block) {
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
