/* The memory of one device: roots of 2 MiB, each 32 leaves of 64 KiB, allocated to blocks.
 *
 * A block of more than 31 leaves takes a whole root, as in the NVIDIA driver, where one touched
 * page of a full block allocates 2 MiB; a shorter block takes a run of leaves and shares its
 * root with others. What is allocated never exceeds the device's memory, by construction; beyond
 * it are spare roots, for when nothing can leave although somebody must come. The caller
 * serializes. */
#ifndef FF_SPACE_FRAMES_H
#define FF_SPACE_FRAMES_H

#include <farfault/policy.h>

/* A frame is the index of its first leaf: root * 32 + leaf. */
struct ff__frames {
    uint32_t root_count, free_count;
    uint32_t spare_count, spare_used; /* roots from root_count on */
    uint32_t to_withhold, withheld; /* free roots that nobody may have; see ff__frames_withhold() */
    uint32_t leaves_used;
    uint32_t *used;       /* [root] one bit a leaf */
    uint32_t *owner;      /* [frame] the block that holds the leaf */
    uint32_t *free;       /* stack of wholly free roots: the last one released is the warmest.
                             Behind it, from the end on, those that are withheld */
    uint32_t *partial;    /* roots with both free and used leaves, in no order */
    uint32_t *partial_at; /* [root] its place in `partial` */
    uint32_t partial_count;
};

/* 0 or -ENOMEM. */
int ff__frames_init(struct ff__frames *frames, uint32_t root_count, uint32_t spare_count);
void ff__frames_fini(struct ff__frames *frames);

/* Leaves that a block of `page_count` pages takes. */
static inline uint32_t ff__frames_leaves(uint32_t page_count) {
    return (page_count + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES;
}

/* A run of 1..32 leaves for the block; FF_NONE if no root has one. */
uint32_t ff__frames_alloc(struct ff__frames *frames, uint32_t leaves, uint32_t block);
void ff__frames_free(struct ff__frames *frames, uint32_t frame, uint32_t leaves);

/* Gives the whole root, whatever it holds, to one block: its former owners are being evicted.
 * Returns the frame. */
uint32_t ff__frames_take_root(struct ff__frames *frames, uint32_t root, uint32_t block);

/* Frees the leaves of a taken root beyond the first `leaves`. */
void ff__frames_trim_root(struct ff__frames *frames, uint32_t root, uint32_t leaves);

/* A spare root, as far as the block needs it; FF_NONE: there is none left. */
uint32_t ff__frames_alloc_spare(struct ff__frames *frames, uint32_t leaves, uint32_t block);

/* Keeps so many roots from being allocated: free ones at once, others when they are free. */
void ff__frames_withhold(struct ff__frames *frames, uint32_t roots);

/* Roots that are in use although they are to be withheld. */
static inline uint32_t ff__frames_excess(const struct ff__frames *frames) {
    return frames->to_withhold - frames->withheld;
}

/* Roots that may be in use: those from here on are not. */
uint32_t ff__frames_end(const struct ff__frames *frames);

/* Gives leaves of a taken root back to a former owner, who could not leave after all. */
void ff__frames_give_back(struct ff__frames *frames, uint32_t frame, uint32_t leaves,
                          uint32_t block);

/* Frees all leaves of the root that are the block's. */
void ff__frames_free_owner(struct ff__frames *frames, uint32_t root, uint32_t block);

#endif
