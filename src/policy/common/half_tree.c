#include "policy/common/half_tree.h"

uint32_t ff__leaves_of(const struct ff_mask *pages) {
    uint32_t leaves = 0;
    for (uint32_t leaf = 0; leaf < FF__TREE_LEAVES; leaf++) {
        uint64_t part = pages->word[leaf / 4] >> (leaf % 4 * FF_LEAF_PAGES);
        leaves |= (uint32_t)((part & 0xffff) != 0) << leaf;
    }
    return leaves;
}

struct ff_mask ff__leaf_pages(uint32_t leaves, uint32_t page_count) {
    struct ff_mask pages = {{0}};
    for (uint32_t leaf = 0; leaf < FF__TREE_LEAVES; leaf++) {
        uint64_t part = leaves >> leaf & 1 ? UINT64_C(0xffff) : 0;
        pages.word[leaf / 4] |= part << (leaf % 4 * FF_LEAF_PAGES);
    }
    ff_mask_unset_run(&pages, page_count, FF_BLOCK_PAGES);
    return pages;
}

struct ff__half_tree ff__half_tree_of(const struct ff_mask *valid, uint32_t page_count) {
    struct ff__half_tree tree = {.page_count = page_count, .size = 1};
    tree.leaf_count = (page_count + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES;
    while (tree.size < tree.leaf_count)
        tree.size *= 2;
    for (uint32_t leaf = 0; leaf < tree.leaf_count; leaf++) {
        struct ff_run run = ff__leaf_run(leaf, page_count);
        uint32_t pages = ff_mask_count_run(valid, run.first, run.end);
        tree.valid[leaf] = (uint16_t)(pages == run.end - run.first ? FF_LEAF_PAGES : pages);
    }
    return tree;
}

static uint32_t valid_below(const struct ff__half_tree *tree, uint32_t first, uint32_t end) {
    uint32_t pages = 0;
    for (uint32_t leaf = first; leaf < end; leaf++)
        pages += tree->valid[leaf];
    return pages;
}

/* A node looks only at what lies below it, so that level by level is the same as post-order. */
uint32_t ff__half_tree_fill(struct ff__half_tree *tree) {
    uint32_t filled = 0;
    for (uint32_t size = 2; size <= tree->size; size *= 2) {
        for (uint32_t first = 0; first < tree->size; first += size) {
            uint32_t pages = valid_below(tree, first, first + size);
            if (2 * pages <= size * FF_LEAF_PAGES)
                continue;
            for (uint32_t leaf = first; leaf < first + size; leaf++) {
                if (tree->valid[leaf] > 0)
                    continue;
                tree->valid[leaf] = FF_LEAF_PAGES;
                filled |= leaf < tree->leaf_count ? 1u << leaf : 0;
            }
        }
    }
    return filled;
}

uint32_t ff__half_tree_drain(struct ff__half_tree *tree, uint32_t evictable) {
    uint32_t gone = 0;
    for (uint32_t size = 2; size <= tree->size; size *= 2) {
        for (uint32_t first = 0; first < tree->leaf_count; first += size) {
            uint32_t end = first + size < tree->leaf_count ? first + size : tree->leaf_count;
            uint32_t pages = valid_below(tree, first, end);
            if (pages == 0 || 2 * pages >= (end - first) * FF_LEAF_PAGES)
                continue;
            for (uint32_t leaf = first; leaf < end; leaf++) {
                if (tree->valid[leaf] < FF_LEAF_PAGES || !(evictable >> leaf & 1))
                    continue;
                tree->valid[leaf] = 0;
                gone |= 1u << leaf;
            }
        }
    }
    return gone;
}
