#include "policy/common/neighbours.h"

#include "policy/common/tree.h"

static struct ff_mask leaves_of(const struct ff_mask *faulted, uint32_t page_count) {
    struct ff_mask leaves = ff__tree_leaves_of(faulted, FF_LEAF_PAGES);
    ff_mask_unset_run(&leaves, page_count, FF_BLOCK_PAGES);
    return leaves;
}

/* UVMSmart moves the leaves beyond a block's end, too, and they take memory. A block here has no
 * pages there: they count where a subtree fills, and then nothing comes of them. To have them
 * moved, allocate a range of the rounded size. */
static struct ff_mask tree_of(const struct ff_mask *faulted, const struct ff_mask *there,
                              uint32_t page_count) {
    static const struct ff__tree_shape half = {FF_LEAF_PAGES, FF_BLOCK_PAGES, 50, true};
    struct ff_mask leaves = leaves_of(faulted, page_count), filled;
    struct ff_mask valid = ff_mask_or(there, &leaves);
    struct ff__tree tree;
    ff__tree_start(&tree, &half, &valid, page_count);
    ff__tree_fill(&tree, &filled);
    ff_mask_unset_run(&filled, page_count, FF_BLOCK_PAGES);
    return ff_mask_or(&leaves, &filled);
}

/* UVMSmart draws from the whole tree, also from what is there or beyond the end, and then brings
 * nothing. Its logs show it: 4718 faults for 6786 pages of backprop, about ln 2 of them. */
static struct ff_mask random_of(const struct ff_mask *faulted, uint32_t page_count,
                                struct ff__random *random) {
    uint32_t tree_pages = FF_LEAF_PAGES;
    while (tree_pages < page_count)
        tree_pages *= 2;
    struct ff_mask drawn = {{0}};
    FF_MASK_FOR_EACH_PAGE(faulted, page) {
        ff_mask_set(&drawn, ff__random_below(random, tree_pages));
    }
    ff_mask_unset_run(&drawn, page_count, FF_BLOCK_PAGES);
    return drawn;
}

struct ff_mask ff__neighbours_of(enum ff__neighbour_kind kind, const struct ff_mask *faulted,
                                 const struct ff_mask *there, uint32_t page_count,
                                 struct ff__random *random) {
    struct ff_mask pages = {{0}};
    if (kind == FF__NEIGHBOURS_TREE)
        pages = tree_of(faulted, there, page_count);
    else if (kind == FF__NEIGHBOURS_SEQUENTIAL)
        pages = leaves_of(faulted, page_count);
    else if (kind == FF__NEIGHBOURS_RANDOM)
        pages = random_of(faulted, page_count, random);
    pages = ff_mask_minus(&pages, faulted);
    return ff_mask_minus(&pages, there);
}

void ff__neighbours_advise(enum ff__neighbour_kind kind, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff__random *random,
                           struct ff_fault_advice *advice) {
    struct ff_mask coming = ff_mask_minus(&group->faulted, &advice->remote);
    if (kind == FF__NEIGHBOURS_NONE || ff_mask_empty(&coming))
        return;
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    uint32_t page_count = view->blocks[group->block].page_count;
    advice->prefetch = ff__neighbours_of(kind, &coming, &there, page_count, random);
}
