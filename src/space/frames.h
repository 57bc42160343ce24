/* The memory of one device: chunks of 2 MiB, each 32 leaves of 64 KiB, allocated to blocks.
 *
 * A block holds a run of leaves in one chunk, or it is split: each of its leaves lies for itself,
 * and has a page of the block in each of its 16 slots: the 64 KiB at the leaf's address; or, in a
 * block of single pages, whichever came. As a run, a full block takes a whole chunk, as in the
 * NVIDIA driver, where one touched page of it allocates 2 MiB; a shorter block takes a chunk too
 * from as many leaves on as its backend says (ff__space_leaves()), and shares one with others
 * below. What is allocated never exceeds the device's memory, by construction; beyond it are spare
 * chunks, for when nothing can leave although a fault must be served. The caller serializes; only
 * of a split block's own leaf_frame and places, the thread that carries out its job reads. */
#ifndef FF_SPACE_FRAMES_H
#define FF_SPACE_FRAMES_H

#include <farfault/policy.h>

/* Where the pages of a block in single pages lie. A slot is a page of the block's memory: leaf * 16
 * + which of the leaf, with the leaf as in leaf_frame. */
struct ff__places {
    struct ff_mask used;           /* slots */
    uint16_t slot[FF_BLOCK_PAGES]; /* [page] of one that is there or on its way */
};

/* In place of a frame: the block is split, each of its leaves lies for itself; see
 * ff__frames.leaf_frame. */
#define FF__SPLIT (UINT32_MAX - 1)

/* In place of a frame: the block is split into single pages. It holds leaves, too, of which no
 * other block has a part; but any of its pages can lie in any of them, so that it needs a 16th as
 * many leaves as it has pages. */
#define FF__SPLIT_PAGES (UINT32_MAX - 2)

static inline bool ff__frame_is_split(uint32_t frame) {
    return frame == FF__SPLIT || frame == FF__SPLIT_PAGES;
}

/* A frame is the index of its first leaf: chunk * 32 + leaf. */
struct ff__frames {
    uint32_t chunk_count, free_count;
    uint32_t spare_count, spare_used; /* chunks from chunk_count on */
    uint32_t to_withhold,
        withheld; /* free chunks that are not allocated; see ff__frames_withhold() */
    uint32_t leaves_used,
        free_leaves; /* of all chunks; of those that are not spare, nor withheld */
    uint32_t block_limit;
    uint32_t *used;            /* [chunk] one bit a leaf */
    uint32_t *owner;           /* [frame] the block that holds the leaf, while it is used */
    uint32_t *leaf_frame;      /* [block * 32 + leaf] of a split block: 1 + frame, or 0 */
    struct ff__places *places; /* [block] in single pages */
    uint32_t *free;            /* stack of wholly free chunks: the last one released is the warmest.
                             Behind it, from the end on, those that are withheld */
    uint32_t *partial;         /* chunks with both free and used leaves, in no order */
    uint32_t *partial_at;      /* [chunk] its place in `partial` */
    uint32_t partial_count;
};

/* 0 or -ENOMEM. */
int ff__frames_init(struct ff__frames *frames, uint32_t chunk_count, uint32_t spare_count,
                    uint32_t block_limit);
void ff__frames_fini(struct ff__frames *frames);

/* Leaves that a block of `page_count` pages takes. */
static inline uint32_t ff__frames_leaves(uint32_t page_count) {
    return (page_count + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES;
}

/* A run of 1..32 leaves for the block; FF_NONE if no chunk has one. */
uint32_t ff__frames_alloc(struct ff__frames *frames, uint32_t leaves, uint32_t block);
void ff__frames_free(struct ff__frames *frames, uint32_t frame, uint32_t leaves);

/* One leaf for the block, of a chunk that is in use if there is one; FF_NONE: none is free. */
uint32_t ff__frames_alloc_leaf(struct ff__frames *frames, uint32_t block);

/* Gives the whole chunk, whatever it holds, to one block: its former owners are being evicted.
 * Returns the frame. */
uint32_t ff__frames_take_chunk(struct ff__frames *frames, uint32_t chunk, uint32_t block);

/* Frees the leaves of a taken chunk beyond the first `leaves`. */
void ff__frames_trim_chunk(struct ff__frames *frames, uint32_t chunk, uint32_t leaves);

/* A spare chunk, as far as the block needs it; FF_NONE: there is none left. */
uint32_t ff__frames_alloc_spare(struct ff__frames *frames, uint32_t leaves, uint32_t block);

/* One leaf of a spare chunk: of one that is in use, or if `opens` of another; FF_NONE: there is
 * none left. */
uint32_t ff__frames_alloc_spare_leaf(struct ff__frames *frames, uint32_t block, bool opens);

/* Keeps so many chunks from being allocated: free ones at once, others when they are free. */
void ff__frames_withhold(struct ff__frames *frames, uint32_t chunks);

/* Chunks that are in use although they are to be withheld. */
static inline uint32_t ff__frames_excess(const struct ff__frames *frames) {
    return frames->to_withhold - frames->withheld;
}

/* Chunks that may be in use: those from here on are not. */
uint32_t ff__frames_end(const struct ff__frames *frames);

/* Makes leaves the block's, whatever block held them: one that is being evicted; or one that has
 * taken them from the block, which could not leave after all. */
void ff__frames_give(struct ff__frames *frames, uint32_t frame, uint32_t leaves, uint32_t block);

/* Frees all leaves of the chunk that are the block's. */
void ff__frames_free_owner(struct ff__frames *frames, uint32_t chunk, uint32_t block);

/* Where a split block's leaf lies: 1 + its frame, or 0. */
static inline uint32_t *ff__frames_leaf(const struct ff__frames *frames, uint32_t block,
                                        uint32_t leaf) {
    return &frames->leaf_frame[(size_t)block * FF_CHUNK_LEAVES + leaf];
}

/* The frame of a leaf that the block holds; `frame`: the block's, which may be split. */
static inline uint32_t ff__frames_of_leaf(const struct ff__frames *frames, uint32_t frame,
                                          uint32_t block, uint32_t leaf) {
    return ff__frame_is_split(frame) ? *ff__frames_leaf(frames, block, leaf) - 1 : frame + leaf;
}

/* The chunk in which the memory of the block begins, whose frame is not FF_NONE; if it is split,
 * the chunk of the first leaf that it holds. */
uint32_t ff__frames_chunk(const struct ff__frames *frames, uint32_t frame, uint32_t block);

/* The blocks that hold leaves of the chunk, in the order of their first leaf there. Returns how
 * many there are. */
uint32_t ff__frames_blocks(const struct ff__frames *frames, uint32_t chunk,
                           uint32_t blocks[FF_CHUNK_LEAVES]);

/* ---- where a block's pages lie; `frame`: the block's, which may be split ---- */

/* The leaves of its memory in which these pages lie, and the pages of `of` that lie in these
 * leaves. They are there, or on their way. */
uint32_t ff__frames_leaves_under(const struct ff__frames *frames, uint32_t frame, uint32_t block,
                                 const struct ff_mask *pages);
struct ff_mask ff__frames_pages_in(const struct ff__frames *frames, uint32_t frame, uint32_t block,
                                   uint32_t leaves, const struct ff_mask *of);

/* The leaves that a split block holds. */
uint32_t ff__frames_held(const struct ff__frames *frames, uint32_t block);

/* In single pages: slots of the leaves it holds without a page; gives these pages one each, for
 * which there are enough; and frees all slots but those of these pages: returns their leaves. */
uint32_t ff__frames_free_slots(const struct ff__frames *frames, uint32_t block);
void ff__frames_put(struct ff__frames *frames, uint32_t block, const struct ff_mask *pages);
uint32_t ff__frames_keep(struct ff__frames *frames, uint32_t block, const struct ff_mask *pages);

#endif
