/* Ganguly's tree of a block (ISCA 2019; UVMSmart, gpu-sim.cc): a full binary tree whose leaves are
 * 64 KiB. A node that is more than half valid fills up, one that is less than half valid drains. One
 * tree a 2 MiB block; a shorter block has the next power of two of leaves, as UVMSmart rounds its
 * allocations up.
 *
 * UVMSmart moves the leaves of that rounding, too, and they take memory. A block here has no pages
 * there: they count where a subtree fills, and then nothing comes of them. Who wants them moved asks
 * for a range of the rounded size. */
#ifndef FF_POLICY_COMMON_HALF_TREE_H
#define FF_POLICY_COMMON_HALF_TREE_H

#include <farfault/mask.h>

#define FF__TREE_LEAVES (FF_BLOCK_PAGES / FF_LEAF_PAGES)

struct ff__half_tree {
    uint32_t page_count, leaf_count; /* what the block has */
    uint32_t size;                   /* leaves of the tree, a power of two */
    uint16_t valid[FF__TREE_LEAVES]; /* pages; FF_LEAF_PAGES in a leaf that has all of its pages */
};

/* The pages of a leaf, within the block. */
static inline struct ff_run ff__leaf_run(uint32_t leaf, uint32_t page_count) {
    uint32_t end = (leaf + 1) * FF_LEAF_PAGES;
    return (struct ff_run){leaf * FF_LEAF_PAGES, end < page_count ? end : page_count};
}

/* The leaves that have a page in the mask, as bits. */
uint32_t ff__leaves_of(const struct ff_mask *pages);

/* All pages of these leaves that the block has. */
struct ff_mask ff__leaf_pages(uint32_t leaves, uint32_t page_count);

/* The block's tree with these pages valid. */
struct ff__half_tree ff__half_tree_of(const struct ff_mask *valid, uint32_t page_count);

/* Bottom-up: any node that is more than half valid and not full gets all of its empty leaves.
 * Returns the leaves filled, within the block. */
uint32_t ff__half_tree_fill(struct ff__half_tree *tree);

/* Bottom-up: any node that is less than half valid and not empty loses its full leaves that are
 * among `evictable`. A node's size is that of its pages. Returns the leaves that go. */
uint32_t ff__half_tree_drain(struct ff__half_tree *tree, uint32_t evictable);

#endif
