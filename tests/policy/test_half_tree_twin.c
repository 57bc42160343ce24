/* Ganguly's half tree against a twin: its rules (ISCA 2019; UVMSmart, gpu-sim.cc) from the leaves up in
 * post-order, over plain arrays. FARFAULT_TEST_SCALE is a percentage. */
#include "base/random.h"
#include "policy/common/half_tree.h"
#include "policy/common/neighbours.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CASES 150000ul
#define FLOOR 100000ul
#define PAGES 512
#define LEAF  16

struct test_case {
    bool faulted[PAGES], valid[PAGES], evictable[PAGES / LEAF];
    int page_count;
};

/* ---- the twin ---- */

struct twin {
    int pages[PAGES / LEAF]; /* valid ones of a leaf; a leaf with nothing missing has 16 */
    bool changed[PAGES / LEAF];
    int leaf_count;
    const bool *evictable;
};

static struct twin twin_of(const bool *valid, int page_count) {
    struct twin twin = {.leaf_count = (page_count + LEAF - 1) / LEAF};
    for (int leaf = 0; leaf < twin.leaf_count; leaf++) {
        int end = (leaf + 1) * LEAF < page_count ? (leaf + 1) * LEAF : page_count;
        bool whole = true;
        for (int page = leaf * LEAF; page < end; page++) {
            twin.pages[leaf] += valid[page];
            whole = whole && valid[page];
        }
        if (whole)
            twin.pages[leaf] = LEAF;
    }
    return twin;
}

static int twin_sum(const struct twin *twin, int first, int end) {
    int sum = 0;
    for (int leaf = first; leaf < end; leaf++)
        sum += twin->pages[leaf];
    return sum;
}

static int twin_leaves(const struct twin *twin) {
    int leaves = 1;
    while (leaves < twin->leaf_count)
        leaves *= 2;
    return leaves;
}

/* More than half valid: what is empty fills. */
static void twin_fill(struct twin *twin, int first, int leaves) {
    if (leaves == 1)
        return;
    twin_fill(twin, first, leaves / 2);
    twin_fill(twin, first + leaves / 2, leaves / 2);
    if (twin_sum(twin, first, first + leaves) <= leaves * LEAF / 2)
        return;
    for (int leaf = first; leaf < first + leaves; leaf++) {
        if (twin->pages[leaf] > 0)
            continue;
        twin->pages[leaf] = LEAF;
        twin->changed[leaf] = true;
    }
}

/* Less than half valid: what is full, and may go, goes. Beyond the block's end there is nothing. */
static void twin_drain(struct twin *twin, int first, int leaves) {
    if (leaves == 1 || first >= twin->leaf_count)
        return;
    twin_drain(twin, first, leaves / 2);
    twin_drain(twin, first + leaves / 2, leaves / 2);
    int end = first + leaves < twin->leaf_count ? first + leaves : twin->leaf_count;
    if (twin_sum(twin, first, end) * 2 >= (end - first) * LEAF)
        return;
    for (int leaf = first; leaf < end; leaf++) {
        if (twin->pages[leaf] < LEAF || !twin->evictable[leaf])
            continue;
        twin->pages[leaf] = 0;
        twin->changed[leaf] = true;
    }
}

/* What comes along with the faults: their whole leaves, then what fills. */
static void twin_prefetch(const struct test_case *c, bool out[PAGES]) {
    bool valid[PAGES], asked[PAGES / LEAF] = {false};
    for (int page = 0; page < c->page_count; page++)
        asked[page / LEAF] = asked[page / LEAF] || c->faulted[page];
    for (int page = 0; page < c->page_count; page++)
        valid[page] = c->valid[page] || asked[page / LEAF];
    struct twin twin = twin_of(valid, c->page_count);
    twin_fill(&twin, 0, twin_leaves(&twin));
    for (int page = 0; page < c->page_count; page++)
        out[page] = (asked[page / LEAF] || twin.changed[page / LEAF]) && !c->faulted[page] &&
                    !c->valid[page];
}

/* ---- random cases ---- */

/* Leaves that are full, empty or in between; sparse and dense. */
static void draw_case(struct ff__random *random, struct test_case *c) {
    memset(c, 0, sizeof *c);
    uint32_t full = ff__random_below(random, 9), part = ff__random_below(random, 9);
    c->page_count = ff__random_below(random, 2) ? PAGES : 1 + (int)ff__random_below(random, PAGES);
    for (int leaf = 0; leaf < PAGES / LEAF; leaf++) {
        bool is_full = ff__random_below(random, 8) < full;
        bool is_part = ff__random_below(random, 8) < part;
        c->evictable[leaf] = ff__random_below(random, 4) > 0;
        for (int page = leaf * LEAF; page < (leaf + 1) * LEAF && page < c->page_count; page++)
            c->valid[page] = is_full || (is_part && ff__random_below(random, 3) == 0);
    }
    for (uint32_t i = 0, count = 1 + ff__random_below(random, 4); i < count; i++)
        c->faulted[ff__random_below(random, (uint32_t)c->page_count)] = true;
    for (int page = 0; page < c->page_count; page++)
        c->valid[page] = c->valid[page] && !c->faulted[page];
}

static struct ff_mask to_mask(const bool *pages) {
    struct ff_mask mask = {{0}};
    for (uint32_t page = 0; page < PAGES; page++)
        if (pages[page])
            ff_mask_set(&mask, page);
    return mask;
}

static uint32_t to_leaves(const bool *leaves) {
    uint32_t bits = 0;
    for (uint32_t leaf = 0; leaf < PAGES / LEAF; leaf++)
        bits |= (uint32_t)leaves[leaf] << leaf;
    return bits;
}

static void check_prefetch(const struct test_case *c, unsigned long number) {
    struct ff_mask faulted = to_mask(c->faulted), valid = to_mask(c->valid);
    bool out[PAGES] = {false};
    twin_prefetch(c, out);
    struct ff_mask expected = to_mask(out);
    struct ff_mask got =
        ff__neighbours_of(FF__NEIGHBOURS_TREE, &faulted, &valid, (uint32_t)c->page_count, NULL);
    if (!ff_mask_equal(&expected, &got))
        fail_msg("case %lu: another prefetch than the twin's, of %d pages", number, c->page_count);
}

static void check_drain(const struct test_case *c, unsigned long number) {
    struct ff_mask valid = to_mask(c->valid);
    struct twin twin = twin_of(c->valid, c->page_count);
    twin.evictable = c->evictable;
    twin_drain(&twin, 0, twin_leaves(&twin));
    struct ff__half_tree tree = ff__half_tree_of(&valid, (uint32_t)c->page_count);
    uint32_t gone = ff__half_tree_drain(&tree, to_leaves(c->evictable));
    if (gone != to_leaves(twin.changed))
        fail_msg("case %lu: leaves %x go, the twin's %x, of %d pages", number, gone,
                 to_leaves(twin.changed), c->page_count);
}

static void test_random_cases(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2019);
    struct test_case c;
    for (unsigned long i = 0, count = scaled(CASES, FLOOR); i < count; i++) {
        draw_case(&random, &c);
        check_prefetch(&c, i);
        check_drain(&c, i);
    }
}

/* Every second leaf of eight, and one more: the rest follows, level by level. */
static void test_avalanche(void **state) {
    (void)state;
    static const uint32_t faults[] = {1, 3, 5, 7, 0};
    static const uint32_t brought[] = {0, 0, 0, 0, 1u << 2 | 1u << 4 | 1u << 6};
    struct ff_mask there = {{0}};
    for (int i = 0; i < 5; i++) {
        struct ff_mask leaf = ff__leaf_pages(1u << faults[i], 8 * LEAF);
        there = ff_mask_or(&there, &leaf);
        struct ff__half_tree tree = ff__half_tree_of(&there, 8 * LEAF);
        uint32_t filled = ff__half_tree_fill(&tree);
        assert_int_equal(filled, brought[i]);
        struct ff_mask more = ff__leaf_pages(filled, 8 * LEAF);
        there = ff_mask_or(&there, &more);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases),
        cmocka_unit_test(test_avalanche),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
