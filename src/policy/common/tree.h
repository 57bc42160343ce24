/* Prefetch trees: which memory comes along with what is there, and which leaves along with what has
 * left.
 *
 * The pages of a span of memory are the leaves of a full binary tree, by one or by several. No tree
 * is stored: the counts of its nodes are population counts of aligned runs of a mask. Where a span
 * is shorter than what the masks cover, there is one tree beside the other; where it is longer than
 * a block, the tree takes one mask a block.
 *
 * Three questions are asked of it. The NVIDIA driver asks for the widest node around a page that is
 * more than `threshold` percent set, and brings it whole (nvidia/tree_mask.h). Ganguly's prefetcher
 * (ISCA 2019; UVMSmart, gpu-sim.cc) goes bottom-up: any node that is more than `threshold` percent
 * set gets its empty leaves. His pre-eviction goes the same way: any node that is less than
 * `threshold` percent set loses its whole leaves. Forest's trees (ISCA 2025) are Ganguly's, with
 * leaves of 16 to 256 KiB and spans of 512 KiB to 4 MiB. */
#ifndef FF_POLICY_COMMON_TREE_H
#define FF_POLICY_COMMON_TREE_H

#include <farfault/mask.h>

#define FF__TREE_MASKS    2u /* blocks of the longest span: 4 MiB */
#define FF__TREE_PAGES    (FF__TREE_MASKS * FF_BLOCK_PAGES)
#define FF__TREE_LEAF_MAX 64u /* pages of the largest leaf: 256 KiB */

struct ff__tree_shape {
    uint32_t leaf_pages; /* a power of two, 1 to FF__TREE_LEAF_MAX */
    uint32_t span_pages; /* a power of two, leaf_pages to FF__TREE_PAGES */
    uint32_t threshold;  /* percent, 0 to 100 */
    /* The last span has the next power of two of leaves, whether there is memory or not, as
     * UVMSmart rounds its allocations up. Otherwise nodes end where the last leaf does. */
    bool rounded;
};

struct ff__tree {
    struct ff__tree_shape shape;
    uint32_t page_count; /* nodes end there */
    uint32_t masks;      /* in use: those of `page_count`, or of the span if it is longer */
    struct ff_mask set[FF__TREE_MASKS];
};

/* The tree of memory of `page_count` pages, at least 1, with these set: one mask a block, none at
 * or past page_count. A last leaf that memory ends in counts as whole if all of its pages are set.
 */
void ff__tree_start(struct ff__tree *tree, const struct ff__tree_shape *shape,
                    const struct ff_mask *set, uint32_t page_count);

/* Bottom-up: any node that is more than `threshold` percent set gets all of its empty leaves.
 * Writes `tree->masks` masks to `filled`: these leaves, whole, also where memory has ended. */
void ff__tree_fill(struct ff__tree *tree, struct ff_mask *filled);

/* Bottom-up: any node that is less than `threshold` percent set loses its whole leaves that are
 * among `evictable`, which names leaves by all of their pages. Writes these leaves to `gone`. */
void ff__tree_drain(struct ff__tree *tree, const struct ff_mask *evictable, struct ff_mask *gone);

/* How many pages are set in front of each word of the masks: nodes are then counted at once. */
struct ff__tree_sums {
    uint32_t before_word[FF__TREE_PAGES / 64 + 1];
};

void ff__tree_sum(const struct ff__tree *tree, struct ff__tree_sums *sums);

/* The widest node around the page that is more than `threshold` percent set; the page's leaf if no
 * node is. */
struct ff_run ff__tree_widest(const struct ff__tree *tree, const struct ff__tree_sums *sums,
                              uint32_t page);

/* The leaves of a word that have a page in it, whole. `leaf_pages` as above; best a constant. */
static inline uint64_t ff__tree_leaves_of_word(uint64_t word, uint32_t leaf_pages) {
    const uint64_t leaf = ~UINT64_C(0) >> (64 - leaf_pages), last = leaf_pages - 1;
    const uint64_t others = ~(~UINT64_C(0) / leaf << last); /* all but each leaf's last page */
    uint64_t any = (((word & others) + others) | word) & ~others;
    return any | (any - (any >> last));
}

static inline struct ff_mask ff__tree_leaves_of(const struct ff_mask *pages, uint32_t leaf_pages) {
    struct ff_mask leaves;
    FF_MASK_FOR_EACH_WORD(i)
    leaves.word[i] = ff__tree_leaves_of_word(pages->word[i], leaf_pages);
    return leaves;
}

#endif
