#include "policy/common/tree.h"

/* `to`: a power of two. */
static uint32_t round_up(uint32_t pages, uint32_t to) {
    return (pages + to - 1) & -to;
}

/* Where nodes end: with the last leaf, or with the last span's next power of two of leaves. */
static uint32_t end_of(const struct ff__tree_shape *shape, uint32_t page_count) {
    uint32_t end = round_up(page_count, shape->leaf_pages);
    uint32_t last = (end - 1) & -shape->span_pages, size = shape->leaf_pages;
    if (!shape->rounded)
        return end;
    while (size < end - last)
        size *= 2;
    return last + size;
}

static void set_run(struct ff_mask *masks, uint32_t first, uint32_t end) {
    for (uint32_t i = first / FF_BLOCK_PAGES; i * FF_BLOCK_PAGES < end; i++) {
        uint32_t base = i * FF_BLOCK_PAGES;
        ff_mask_set_run(&masks[i], first > base ? first - base : 0, end - base);
    }
}

/* The pages of a leaf that are set. A leaf lies in one word. */
static uint32_t count_leaf(const struct ff_mask *masks, uint32_t first, uint32_t leaf_pages) {
    uint64_t word = masks[first / FF_BLOCK_PAGES].word[first % FF_BLOCK_PAGES / 64];
    uint64_t leaf = ~UINT64_C(0) >> (64 - leaf_pages);
    return (uint32_t)__builtin_popcountll(word >> first % 64 & leaf);
}

void ff__tree_start(struct ff__tree *tree, const struct ff__tree_shape *shape,
                    const struct ff_mask *set, uint32_t page_count) {
    uint32_t leaf_pages = shape->leaf_pages, cut = page_count & (leaf_pages - 1);
    uint32_t covered = page_count > shape->span_pages ? page_count : shape->span_pages;
    tree->shape = *shape;
    tree->page_count = end_of(shape, page_count);
    tree->masks = round_up(covered, FF_BLOCK_PAGES) / FF_BLOCK_PAGES;
    for (uint32_t i = 0; i < tree->masks; i++)
        if (i * FF_BLOCK_PAGES < page_count)
            tree->set[i] = set[i];
        else
            ff_mask_clear(&tree->set[i]);
    if (cut > 0 && count_leaf(tree->set, page_count - cut, leaf_pages) == cut)
        set_run(tree->set, page_count, page_count - cut + leaf_pages);
}

/* ---- bottom-up ---- */

/* A level of the tree: pages of each node. */
struct level {
    uint16_t set[FF__TREE_PAGES];
    uint16_t changing[FF__TREE_PAGES]; /* of leaves that change if this node, or one above it,
                                          decides so */
};

/* Goes one level up. Two nodes become the one above them; a last node without a neighbour stays as
 * it is. Returns how many nodes the new level has. */
static uint32_t rise(struct level *level, uint32_t count) {
    uint32_t above = count / 2;
    for (uint32_t i = 0; i < above; i++) {
        level->set[i] = (uint16_t)(level->set[2 * i] + level->set[2 * i + 1]);
        level->changing[i] = (uint16_t)(level->changing[2 * i] + level->changing[2 * i + 1]);
    }
    if (count % 2 == 0)
        return above;
    level->set[above] = level->set[count - 1];
    level->changing[above] = level->changing[count - 1];
    return above + 1;
}

/* Lets every node decide, level by level. That is the same as post-order, as a node looks only at
 * what lies below it. A node that decides to change changes all leaves below it that can, so that
 * none of them is left for a node above. Marks the nodes that have changed. */
static void decide_all(const struct ff__tree *tree, struct level *level, bool drains,
                       struct ff_mask *marked) {
    const uint32_t threshold = tree->shape.threshold, end = tree->page_count;
    uint32_t count = end / tree->shape.leaf_pages;
    for (uint32_t size = 2 * tree->shape.leaf_pages; size <= tree->shape.span_pages; size *= 2) {
        count = rise(level, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = i * size, pages = end - first < size ? end - first : size;
            uint32_t share = level->set[i] * 100u, limit = pages * threshold;
            if (level->changing[i] == 0 || (drains ? share >= limit : share <= limit))
                continue;
            level->set[i] = (uint16_t)(drains ? level->set[i] - level->changing[i]
                                              : level->set[i] + level->changing[i]);
            level->changing[i] = 0;
            set_run(marked, first, first + pages);
        }
    }
}

static void clear(struct ff_mask *masks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        ff_mask_clear(&masks[i]);
}

void ff__tree_fill(struct ff__tree *tree, struct ff_mask *filled) {
    const uint32_t leaf_pages = tree->shape.leaf_pages, leaves = tree->page_count / leaf_pages;
    struct level level;
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        uint32_t pages = count_leaf(tree->set, leaf * leaf_pages, leaf_pages);
        level.set[leaf] = (uint16_t)pages;
        level.changing[leaf] = (uint16_t)(pages == 0 ? leaf_pages : 0);
    }
    clear(filled, tree->masks);
    decide_all(tree, &level, false, filled);
    for (uint32_t i = 0; i < tree->masks; i++) {
        struct ff_mask there = ff__tree_leaves_of(&tree->set[i], leaf_pages);
        filled[i] = ff_mask_minus(&filled[i], &there);
        tree->set[i] = ff_mask_or(&tree->set[i], &filled[i]);
    }
}

/* The whole leaves among those that may go. */
static void whole_leaves(const struct ff__tree *tree, const struct ff_mask *evictable,
                         struct ff_mask *whole) {
    for (uint32_t i = 0; i < tree->masks; i++) {
        struct ff_mask absent;
        FF_MASK_FOR_EACH_WORD(word)
        absent.word[word] = ~tree->set[i].word[word];
        struct ff_mask parts = ff__tree_leaves_of(&absent, tree->shape.leaf_pages);
        whole[i] = ff_mask_minus(&evictable[i], &parts);
    }
}

void ff__tree_drain(struct ff__tree *tree, const struct ff_mask *evictable, struct ff_mask *gone) {
    const uint32_t leaf_pages = tree->shape.leaf_pages, leaves = tree->page_count / leaf_pages;
    struct ff_mask whole[FF__TREE_MASKS];
    struct level level;
    whole_leaves(tree, evictable, whole);
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        level.set[leaf] = (uint16_t)count_leaf(tree->set, leaf * leaf_pages, leaf_pages);
        level.changing[leaf] = (uint16_t)count_leaf(whole, leaf * leaf_pages, leaf_pages);
    }
    clear(gone, tree->masks);
    decide_all(tree, &level, true, gone);
    for (uint32_t i = 0; i < tree->masks; i++) {
        gone[i] = ff_mask_and(&gone[i], &whole[i]);
        tree->set[i] = ff_mask_minus(&tree->set[i], &gone[i]);
    }
}

/* ---- top-down ---- */

void ff__tree_sum(const struct ff__tree *tree, struct ff__tree_sums *sums) {
    uint32_t sum = 0, *before = sums->before_word;
    for (uint32_t i = 0; i < tree->masks; i++) {
        FF_MASK_FOR_EACH_WORD(word) {
            *before++ = sum;
            sum += (uint32_t)__builtin_popcountll(tree->set[i].word[word]);
        }
    }
    *before = sum;
}

/* `first` is a multiple of `size`, which is a power of two. */
static uint32_t count_node(const struct ff__tree *tree, const struct ff__tree_sums *sums,
                           uint32_t first, uint32_t size) {
    if (size >= 64)
        return sums->before_word[(first + size) / 64] - sums->before_word[first / 64];
    return count_leaf(tree->set, first, size);
}

struct ff_run ff__tree_widest(const struct ff__tree *tree, const struct ff__tree_sums *sums,
                              uint32_t page) {
    const uint32_t threshold = tree->shape.threshold, leaf_pages = tree->shape.leaf_pages;
    for (uint32_t size = tree->shape.span_pages; size > leaf_pages; size /= 2) {
        uint32_t first = page & -size;
        uint32_t end = first + size < tree->page_count ? first + size : tree->page_count;
        if (count_node(tree, sums, first, size) * 100 > (end - first) * threshold)
            return (struct ff_run){first, end};
    }
    page &= -leaf_pages;
    return (struct ff_run){page, page + leaf_pages};
}
