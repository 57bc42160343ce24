/* The tree that several policies share (policy/common/tree.h) against a twin: its rules in
 * post-order, over plain arrays of bool, with random leaves, spans and thresholds. Then Ganguly's
 * prefetcher, which uses it, in UVMSmart's shape. TEST_SCALE is a percentage. */
#include "base/random.h"
#include "policy/common/neighbours.h"
#include "policy/common/tree.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CASES      100000ul
#define LEAST      100000ul
#define PREFETCHES 20000ul
#define PAGES      (int)FF__TREE_PAGES

struct test_case {
    bool set[PAGES], evictable[PAGES]; /* evictable: by leaf */
    int leaf_pages, span_pages, threshold, page_count;
    bool rounded;
};

/* ---- the twin ---- */

struct twin {
    const struct test_case *c;
    bool set[PAGES], changed[PAGES]; /* changed: by leaf */
    int end;                         /* nodes end there */
};

static int twin_end(const struct test_case *c) {
    int leaves = (c->page_count + c->leaf_pages - 1) / c->leaf_pages;
    int before = (leaves - 1) / (c->span_pages / c->leaf_pages) * (c->span_pages / c->leaf_pages);
    int in_last = 1;
    while (in_last < leaves - before)
        in_last *= 2;
    return (c->rounded ? before + in_last : leaves) * c->leaf_pages;
}

/* A last leaf that is cut off counts as whole if nothing of it is missing. */
static void twin_open(struct twin *twin, const struct test_case *c) {
    int cut = c->page_count / c->leaf_pages * c->leaf_pages;
    bool whole = true;
    memset(twin, 0, sizeof *twin);
    twin->c = c;
    twin->end = twin_end(c);
    memcpy(twin->set, c->set, sizeof twin->set);
    for (int page = cut; page < c->page_count; page++)
        whole = whole && c->set[page];
    for (int page = c->page_count; whole && cut < c->page_count && page < cut + c->leaf_pages;
         page++)
        twin->set[page] = true;
}

static int twin_count(const struct twin *twin, int first, int end) {
    int count = 0;
    for (int page = first; page < end; page++)
        count += twin->set[page];
    return count;
}

/* Changes the leaves of a node that are empty, or whole and evictable, to the opposite. */
static void twin_change(struct twin *twin, int first, int end, bool drains) {
    const int size = twin->c->leaf_pages;
    for (int leaf = first / size; leaf < end / size; leaf++) {
        int count = twin_count(twin, leaf * size, (leaf + 1) * size);
        if (drains ? count < size || !twin->c->evictable[leaf] : count > 0)
            continue;
        twin->changed[leaf] = true;
        for (int page = leaf * size; page < (leaf + 1) * size; page++)
            twin->set[page] = !drains;
    }
}

static void twin_visit(struct twin *twin, int first, int size, bool drains) {
    if (size == twin->c->leaf_pages || first >= twin->end)
        return;
    twin_visit(twin, first, size / 2, drains);
    twin_visit(twin, first + size / 2, size / 2, drains);
    int end = first + size < twin->end ? first + size : twin->end;
    int share = twin_count(twin, first, end) * 100, limit = (end - first) * twin->c->threshold;
    if (drains ? share < limit : share > limit)
        twin_change(twin, first, end, drains);
}

static void twin_visit_all(struct twin *twin, bool drains) {
    for (int first = 0; first < twin->end; first += twin->c->span_pages)
        twin_visit(twin, first, twin->c->span_pages, drains);
}

/* Climbs from the leaf; the last node that passes is the widest. */
static struct ff_run twin_widest(const struct twin *twin, int page) {
    int first = page / twin->c->leaf_pages * twin->c->leaf_pages;
    struct ff_run widest = {(uint32_t)first, (uint32_t)(first + twin->c->leaf_pages)};
    for (int size = 2 * twin->c->leaf_pages; size <= twin->c->span_pages; size *= 2) {
        first = page / size * size;
        int end = first + size < twin->end ? first + size : twin->end;
        if (twin_count(twin, first, end) * 100 > (end - first) * twin->c->threshold)
            widest = (struct ff_run){(uint32_t)first, (uint32_t)end};
    }
    return widest;
}

/* ---- random cases ---- */

static void draw_shape(struct ff__random *random, struct test_case *c) {
    static const int thresholds[] = {50, 51, 1, 0, 100, 75};
    c->leaf_pages = 1 << ff__random_below(random, 7);
    c->span_pages = c->leaf_pages;
    for (uint32_t levels = ff__random_below(random, 11); levels > 0; levels--)
        c->span_pages *= c->span_pages < PAGES ? 2 : 1;
    c->threshold = ff__random_below(random, 4) == 0 ? (int)ff__random_below(random, 101)
                                                    : thresholds[ff__random_below(random, 6)];
    c->rounded = ff__random_below(random, 2);
    uint32_t most = c->span_pages > (int)FF_BLOCK_PAGES ? FF__TREE_PAGES : FF_BLOCK_PAGES;
    c->page_count = (int)(ff__random_below(random, 2) ? most : 1 + ff__random_below(random, most));
}

/* Leaves that are whole, empty or in between; sparse and dense. */
static void draw_case(struct ff__random *random, struct test_case *c) {
    uint32_t full = ff__random_below(random, 9), part = ff__random_below(random, 9);
    memset(c, 0, sizeof *c);
    draw_shape(random, c);
    for (int leaf = 0; leaf * c->leaf_pages < c->page_count; leaf++) {
        bool is_full = ff__random_below(random, 8) < full;
        bool is_part = ff__random_below(random, 8) < part;
        int end = (leaf + 1) * c->leaf_pages;
        c->evictable[leaf] = ff__random_below(random, 4) > 0;
        for (int page = leaf * c->leaf_pages; page < end && page < c->page_count; page++)
            c->set[page] = is_full || (is_part && ff__random_below(random, 3) == 0);
    }
}

static void to_masks(const bool *units, int unit_pages, struct ff_mask masks[FF__TREE_MASKS]) {
    memset(masks, 0, FF__TREE_MASKS * sizeof *masks);
    for (int page = 0; page < PAGES; page++)
        if (units[page / unit_pages])
            ff_mask_set(&masks[page / (int)FF_BLOCK_PAGES], (uint32_t)page % FF_BLOCK_PAGES);
}

static void fail_case(const struct test_case *c, unsigned long number, const char *what) {
    fail_msg("case %lu: %s: leaves of %d in %d pages, %d %%, %s%d pages", number, what,
             c->leaf_pages, c->span_pages, c->threshold, c->rounded ? "rounded, " : "",
             c->page_count);
}

static struct ff__tree tree_of(const struct test_case *c) {
    struct ff__tree tree;
    struct ff_mask set[FF__TREE_MASKS];
    const struct ff__tree_shape shape = {(uint32_t)c->leaf_pages, (uint32_t)c->span_pages,
                                         (uint32_t)c->threshold, c->rounded};
    to_masks(c->set, 1, set);
    ff__tree_start(&tree, &shape, set, (uint32_t)c->page_count);
    return tree;
}

/* What has changed, and what is set after that. */
static void compare(const struct test_case *c, unsigned long number, const struct ff__tree *tree,
                    const struct twin *twin, const struct ff_mask *got, const char *what) {
    struct ff_mask changed[FF__TREE_MASKS], set[FF__TREE_MASKS];
    to_masks(twin->changed, c->leaf_pages, changed);
    to_masks(twin->set, 1, set);
    for (uint32_t i = 0; i < tree->masks; i++)
        if (!ff_mask_equal(&changed[i], &got[i]) || !ff_mask_equal(&set[i], &tree->set[i]))
            fail_case(c, number, what);
}

static void check_fill(const struct test_case *c, unsigned long number) {
    struct ff__tree tree = tree_of(c);
    struct ff_mask filled[FF__TREE_MASKS];
    static struct twin twin;
    twin_open(&twin, c);
    twin_visit_all(&twin, false);
    ff__tree_fill(&tree, filled);
    compare(c, number, &tree, &twin, filled, "another fill than the twin's");
}

static void check_drain(const struct test_case *c, unsigned long number) {
    struct ff__tree tree = tree_of(c);
    struct ff_mask evictable[FF__TREE_MASKS], gone[FF__TREE_MASKS];
    static struct twin twin;
    twin_open(&twin, c);
    twin_visit_all(&twin, true);
    to_masks(c->evictable, c->leaf_pages, evictable);
    ff__tree_drain(&tree, evictable, gone);
    compare(c, number, &tree, &twin, gone, "other leaves go than the twin's");
}

static void check_widest(const struct test_case *c, unsigned long number, uint32_t page) {
    struct ff__tree tree = tree_of(c);
    struct ff__tree_sums sums;
    static struct twin twin;
    twin_open(&twin, c);
    ff__tree_sum(&tree, &sums);
    struct ff_run expected = twin_widest(&twin, (int)page);
    struct ff_run got = ff__tree_widest(&tree, &sums, page);
    if (got.first != expected.first || got.end != expected.end)
        fail_case(c, number, "another widest node than the twin's");
}

static void test_random_cases(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2019);
    static struct test_case c;
    for (unsigned long i = 0, count = scaled(CASES, LEAST); i < count; i++) {
        draw_case(&random, &c);
        check_fill(&c, i);
        check_drain(&c, i);
        check_widest(&c, i, ff__random_below(&random, (uint32_t)c.page_count));
    }
}

/* ---- in UVMSmart's shape ---- */

/* What comes along with the faults: their whole leaves, then what fills. */
static void check_prefetch(struct ff__random *random, struct test_case *c, unsigned long number) {
    static struct twin twin;
    static struct test_case asked;
    bool faulted[PAGES] = {false}, came[PAGES] = {false};
    for (uint32_t i = 0, count = 1 + ff__random_below(random, 4); i < count; i++)
        faulted[ff__random_below(random, (uint32_t)c->page_count)] = true;
    asked = *c;
    for (int page = 0; page < c->page_count; page++) {
        c->set[page] = c->set[page] && !faulted[page];
        asked.set[page] = c->set[page];
    }
    for (int page = 0; page < c->page_count; page++)
        for (int other = page - page % 16; other < page - page % 16 + 16; other++)
            asked.set[page] = asked.set[page] || faulted[other];
    twin_open(&twin, &asked);
    twin_visit_all(&twin, false);
    for (int page = 0; page < c->page_count; page++)
        came[page] = twin.set[page] && !faulted[page] && !c->set[page];
    struct ff_mask faults[FF__TREE_MASKS], there[FF__TREE_MASKS], expected[FF__TREE_MASKS];
    to_masks(faulted, 1, faults);
    to_masks(c->set, 1, there);
    to_masks(came, 1, expected);
    struct ff_mask got =
        ff__neighbours_of(FF__NEIGHBOURS_TREE, faults, there, (uint32_t)c->page_count, NULL);
    if (!ff_mask_equal(expected, &got))
        fail_case(c, number, "another prefetch than the twin's");
}

static void test_prefetch(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2021);
    static struct test_case c;
    for (unsigned long i = 0, count = scaled(PREFETCHES, PREFETCHES); i < count; i++) {
        do
            draw_case(&random, &c);
        while (c.leaf_pages != (int)FF_LEAF_PAGES || c.page_count > (int)FF_BLOCK_PAGES);
        c.span_pages = FF_BLOCK_PAGES;
        c.threshold = 50;
        c.rounded = true;
        check_prefetch(&random, &c, i);
    }
}

/* Every second leaf of eight, and one more: the rest follows, level by level. */
static void test_avalanche(void **state) {
    (void)state;
    static const uint32_t faults[] = {1, 3, 5, 7, 0};
    static const struct ff__tree_shape half = {FF_LEAF_PAGES, FF_BLOCK_PAGES, 50, true};
    const uint32_t leaf = FF_LEAF_PAGES;
    struct ff_mask there = {{0}}, filled;
    for (int i = 0; i < 5; i++) {
        struct ff__tree tree;
        ff_mask_set_run(&there, faults[i] * leaf, (faults[i] + 1) * leaf);
        ff__tree_start(&tree, &half, &there, 8 * leaf);
        ff__tree_fill(&tree, &filled);
        there = ff_mask_or(&there, &filled);
        assert_int_equal(ff_mask_count(&there), i < 4 ? (i + 1) * 16 : 128);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases),
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_avalanche),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
