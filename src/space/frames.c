#include "space/frames.h"

#include "base/lazy.h"
#include "base/leaves.h"

#include <errno.h>
#include <string.h>

#define ALL_LEAVES UINT32_MAX

static size_t per_chunk_size(const struct ff__frames *frames) {
    return ((size_t)frames->chunk_count + frames->spare_count) * sizeof(uint32_t);
}

static size_t leaf_frame_size(const struct ff__frames *frames) {
    return (size_t)frames->block_limit * FF_CHUNK_LEAVES * sizeof(uint32_t);
}

static size_t places_size(const struct ff__frames *frames) {
    return frames->block_limit * sizeof *frames->places;
}

int ff__frames_init(struct ff__frames *frames, uint32_t chunk_count, uint32_t spare_count,
                    uint32_t block_limit) {
    memset(frames, 0, sizeof *frames);
    frames->chunk_count = chunk_count;
    frames->spare_count = spare_count;
    frames->free_leaves = chunk_count * FF_CHUNK_LEAVES;
    frames->block_limit = block_limit;
    size_t per_chunk = per_chunk_size(frames);
    frames->used = ff__lazy_map(per_chunk);
    frames->owner = ff__lazy_map(per_chunk * FF_CHUNK_LEAVES);
    frames->leaf_frame = ff__lazy_map(leaf_frame_size(frames));
    frames->places = ff__lazy_map(places_size(frames));
    frames->free = ff__lazy_map(per_chunk);
    frames->partial = ff__lazy_map(per_chunk);
    frames->partial_at = ff__lazy_map(per_chunk);
    if (!frames->used || !frames->owner || !frames->leaf_frame || !frames->places ||
        !frames->free || !frames->partial || !frames->partial_at) {
        ff__frames_fini(frames);
        return -ENOMEM;
    }
    for (uint32_t chunk = chunk_count; chunk > 0; chunk--)
        frames->free[frames->free_count++] = chunk - 1;
    return 0;
}

void ff__frames_fini(struct ff__frames *frames) {
    size_t per_chunk = per_chunk_size(frames);
    ff__lazy_unmap(frames->used, per_chunk);
    ff__lazy_unmap(frames->owner, per_chunk * FF_CHUNK_LEAVES);
    ff__lazy_unmap(frames->leaf_frame, leaf_frame_size(frames));
    ff__lazy_unmap(frames->places, places_size(frames));
    ff__lazy_unmap(frames->free, per_chunk);
    ff__lazy_unmap(frames->partial, per_chunk);
    ff__lazy_unmap(frames->partial_at, per_chunk);
    memset(frames, 0, sizeof *frames);
}

/* ---- the two lists of chunks with room ---- */

static void partial_add(struct ff__frames *frames, uint32_t chunk) {
    frames->partial_at[chunk] = frames->partial_count;
    frames->partial[frames->partial_count++] = chunk;
}

static void partial_remove(struct ff__frames *frames, uint32_t chunk) {
    uint32_t at = frames->partial_at[chunk];
    uint32_t last = frames->partial[--frames->partial_count];
    frames->partial[at] = last;
    frames->partial_at[last] = at;
}

static void settle_withheld(struct ff__frames *frames) {
    uint32_t end = frames->chunk_count, before = frames->withheld;
    while (frames->withheld < frames->to_withhold && frames->free_count > 0)
        frames->free[end - ++frames->withheld] = frames->free[--frames->free_count];
    while (frames->withheld > frames->to_withhold)
        frames->free[frames->free_count++] = frames->free[end - frames->withheld--];
    frames->free_leaves += before * FF_CHUNK_LEAVES;
    frames->free_leaves -= frames->withheld * FF_CHUNK_LEAVES;
}

static bool is_partial(uint32_t used) {
    return used != 0 && used != ALL_LEAVES;
}

/* Changes which leaves of a chunk are used and keeps it on the right list. */
static void set_used(struct ff__frames *frames, uint32_t chunk, uint32_t used) {
    uint32_t before = frames->used[chunk];
    frames->leaves_used += (uint32_t)__builtin_popcount(used);
    frames->leaves_used -= (uint32_t)__builtin_popcount(before);
    frames->used[chunk] = used;
    if (chunk >= frames->chunk_count) { /* on neither list: it is to be empty again */
        frames->spare_used += used != 0;
        frames->spare_used -= before != 0;
        return;
    }
    frames->free_leaves += (uint32_t)__builtin_popcount(before);
    frames->free_leaves -= (uint32_t)__builtin_popcount(used);
    if (is_partial(before) && !is_partial(used))
        partial_remove(frames, chunk);
    if (!is_partial(before) && is_partial(used))
        partial_add(frames, chunk);
    if (used == 0 && before != 0) {
        frames->free[frames->free_count++] = chunk;
        settle_withheld(frames);
    }
}

static uint32_t leaf_run(uint32_t first, uint32_t leaves) {
    uint32_t run = leaves == FF_CHUNK_LEAVES ? ALL_LEAVES : (1u << leaves) - 1;
    return run << first;
}

/* The first place where `leaves` bits of `used` in a row are zero, or 32. */
static uint32_t find_run(uint32_t used, uint32_t leaves) {
    uint32_t starts = ~used; /* bit i: a run of the length tried so far starts at i */
    for (uint32_t length = 1; length < leaves; length++)
        starts &= ~used >> length;
    return starts ? (uint32_t)__builtin_ctz(starts) : FF_CHUNK_LEAVES;
}

static uint32_t hand_out(struct ff__frames *frames, uint32_t chunk, uint32_t first, uint32_t leaves,
                         uint32_t block) {
    uint32_t frame = chunk * FF_CHUNK_LEAVES + first;
    for (uint32_t i = 0; i < leaves; i++)
        frames->owner[frame + i] = block;
    set_used(frames, chunk, frames->used[chunk] | leaf_run(first, leaves));
    return frame;
}

/* ---- public to the library ---- */

uint32_t ff__frames_alloc(struct ff__frames *frames, uint32_t leaves, uint32_t block) {
    if (leaves < FF_CHUNK_LEAVES) {
        for (uint32_t i = 0; i < frames->partial_count; i++) {
            uint32_t chunk = frames->partial[i];
            uint32_t first = find_run(frames->used[chunk], leaves);
            if (first + leaves <= FF_CHUNK_LEAVES)
                return hand_out(frames, chunk, first, leaves, block);
        }
    }
    if (frames->free_count == 0)
        return FF_NONE;
    return hand_out(frames, frames->free[--frames->free_count], 0, leaves, block);
}

uint32_t ff__frames_alloc_leaf(struct ff__frames *frames, uint32_t block) {
    uint32_t chunk;
    if (frames->partial_count > 0)
        chunk = frames->partial[frames->partial_count - 1];
    else if (frames->free_count > 0)
        chunk = frames->free[--frames->free_count];
    else
        return FF_NONE;
    return hand_out(frames, chunk, (uint32_t)__builtin_ctz(~frames->used[chunk]), 1, block);
}

void ff__frames_free(struct ff__frames *frames, uint32_t frame, uint32_t leaves) {
    uint32_t chunk = frame / FF_CHUNK_LEAVES;
    set_used(frames, chunk, frames->used[chunk] & ~leaf_run(frame % FF_CHUNK_LEAVES, leaves));
}

uint32_t ff__frames_take_chunk(struct ff__frames *frames, uint32_t chunk, uint32_t block) {
    return hand_out(frames, chunk, 0, FF_CHUNK_LEAVES, block);
}

void ff__frames_trim_chunk(struct ff__frames *frames, uint32_t chunk, uint32_t leaves) {
    if (leaves < FF_CHUNK_LEAVES)
        ff__frames_free(frames, chunk * FF_CHUNK_LEAVES + leaves, FF_CHUNK_LEAVES - leaves);
}

uint32_t ff__frames_alloc_spare(struct ff__frames *frames, uint32_t leaves, uint32_t block) {
    for (uint32_t i = 0; i <= frames->spare_used && i < frames->spare_count; i++)
        if (frames->used[frames->chunk_count + i] == 0)
            return hand_out(frames, frames->chunk_count + i, 0, leaves, block);
    return FF_NONE;
}

void ff__frames_withhold(struct ff__frames *frames, uint32_t chunks) {
    frames->to_withhold = chunks;
    settle_withheld(frames);
}

uint32_t ff__frames_alloc_spare_leaf(struct ff__frames *frames, uint32_t block, bool opens) {
    for (uint32_t i = 0, seen = 0; i < frames->spare_count; i++) {
        uint32_t chunk = frames->chunk_count + i, used = frames->used[chunk];
        if (used != ALL_LEAVES && (used != 0 || opens))
            return hand_out(frames, chunk, (uint32_t)__builtin_ctz(~used), 1, block);
        seen += used != 0;
        if (seen == frames->spare_used && !opens)
            return FF_NONE;
    }
    return FF_NONE;
}

uint32_t ff__frames_end(const struct ff__frames *frames) {
    uint32_t end = frames->chunk_count;
    for (uint32_t seen = 0; seen < frames->spare_used; end++)
        seen += frames->used[end] != 0;
    return end;
}

void ff__frames_give(struct ff__frames *frames, uint32_t frame, uint32_t leaves, uint32_t block) {
    hand_out(frames, frame / FF_CHUNK_LEAVES, frame % FF_CHUNK_LEAVES, leaves, block);
}

void ff__frames_free_owner(struct ff__frames *frames, uint32_t chunk, uint32_t block) {
    uint32_t used = frames->used[chunk];
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
        if (frames->owner[chunk * FF_CHUNK_LEAVES + leaf] == block)
            used &= ~(1u << leaf);
    set_used(frames, chunk, used);
}

uint32_t ff__frames_chunk(const struct ff__frames *frames, uint32_t frame, uint32_t block) {
    for (uint32_t leaf = 0; ff__frame_is_split(frame); leaf++)
        if (*ff__frames_leaf(frames, block, leaf) != 0)
            frame = *ff__frames_leaf(frames, block, leaf) - 1;
    return frame / FF_CHUNK_LEAVES;
}

uint32_t ff__frames_blocks(const struct ff__frames *frames, uint32_t chunk,
                           uint32_t blocks[FF_CHUNK_LEAVES]) {
    const uint32_t *owner = frames->owner + (size_t)chunk * FF_CHUNK_LEAVES;
    uint32_t used = frames->used[chunk], count = 0;
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        if (!(used >> leaf & 1))
            continue;
        uint32_t known = count; /* only the leaves of a split block may be apart */
        while (known > 0 && blocks[known - 1] != owner[leaf])
            known--;
        if (known == 0)
            blocks[count++] = owner[leaf];
    }
    return count;
}

/* ---- where a block's pages lie ---- */

uint32_t ff__frames_leaves_under(const struct ff__frames *frames, uint32_t frame, uint32_t block,
                                 const struct ff_mask *pages) {
    const struct ff__places *places = &frames->places[block];
    uint32_t leaves = 0;
    if (frame != FF__SPLIT_PAGES)
        return ff__leaves_of(pages);
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        leaves |= 1u << places->slot[page] / FF_LEAF_PAGES;
    }
    return leaves;
}

struct ff_mask ff__frames_pages_in(const struct ff__frames *frames, uint32_t frame, uint32_t block,
                                   uint32_t leaves, const struct ff_mask *of) {
    const struct ff__places *places = &frames->places[block];
    struct ff_mask in = {{0}};
    if (frame != FF__SPLIT_PAGES) {
        in = ff__leaf_pages(leaves, FF_BLOCK_PAGES);
        return ff_mask_and(&in, of);
    }
    FF_MASK_FOR_EACH_PAGE(of, page) {
        if (leaves >> places->slot[page] / FF_LEAF_PAGES & 1)
            ff_mask_set(&in, page);
    }
    return in;
}

uint32_t ff__frames_held(const struct ff__frames *frames, uint32_t block) {
    uint32_t held = 0;
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
        held |= (uint32_t)(*ff__frames_leaf(frames, block, leaf) != 0) << leaf;
    return held;
}

/* Slots of the leaves that the block holds without a page in them. */
static struct ff_mask free_slots(const struct ff__frames *frames, uint32_t block) {
    struct ff_mask slots = ff__leaf_pages(ff__frames_held(frames, block), FF_BLOCK_PAGES);
    return ff_mask_minus(&slots, &frames->places[block].used);
}

uint32_t ff__frames_free_slots(const struct ff__frames *frames, uint32_t block) {
    struct ff_mask slots = free_slots(frames, block);
    return ff_mask_count(&slots);
}

void ff__frames_put(struct ff__frames *frames, uint32_t block, const struct ff_mask *pages) {
    struct ff__places *places = &frames->places[block];
    struct ff_mask slots = free_slots(frames, block);
    uint32_t slot = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        slot = ff_mask_next(&slots, slot);
        ff_mask_set(&places->used, slot);
        places->slot[page] = (uint16_t)slot++;
    }
}

uint32_t ff__frames_keep(struct ff__frames *frames, uint32_t block, const struct ff_mask *pages) {
    struct ff__places *places = &frames->places[block];
    struct ff_mask used = {{0}};
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff_mask_set(&used, places->slot[page]);
    }
    places->used = used;
    return ff__leaves_of(&used);
}
