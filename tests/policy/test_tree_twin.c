/* The prefetch tree against a twin: the driver's rules again, step by step, over plain arrays of
 * bool. Slow, and simple enough to be believed. TEST_SCALE is a percentage. */
#include "base/random.h"
#include "policy/nvidia/tree_mask.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CASES 300000ul
#define LEAST 100000ul
#define PAGES 512

struct test_case {
    bool faulted[PAGES], resident[PAGES], thrashing[PAGES];
    int page_count, lead, threshold;
    bool quirk;
};

/* ---- the twin --------------------------------------------------------------------------- */

static bool any_in(const bool *pages, int first, int end) {
    for (int i = first; i < end; i++)
        if (pages[i])
            return true;
    return false;
}

/* T3 for one group of pages. */
static void grow(const struct test_case *c, bool *leaf, int offset, int first, int end) {
    if (!any_in(c->faulted, first, end) || any_in(c->thrashing, first, end))
        return;
    for (int page = first; page < end; page++)
        leaf[page + offset] = true;
}

/* T2: [*first, *end) is the largest run of whole 64 KiB groups by address; empty if none fits. */
static void find_big(const struct test_case *c, int *first, int *end) {
    *first = *end = 0;
    for (int page = 0; page + 16 <= c->page_count; page++) {
        if ((c->lead + page) % 16 != 0)
            continue;
        if (*end == 0)
            *first = page;
        *end = page + 16;
    }
}

static void grow_groups(const struct test_case *c, bool *leaf, int offset, int first, int end) {
    if (first == end) {
        grow(c, leaf, offset, 0, c->page_count);
        return;
    }
    grow(c, leaf, offset, 0, first);
    for (int page = first; page < end; page += 16)
        grow(c, leaf, offset, page, page + 16);
    grow(c, leaf, offset, end, c->page_count);
}

static int level_count(int leaves) {
    int levels = 1;
    while ((1 << (levels - 1)) < leaves)
        levels++;
    return levels;
}

/* T4: climbs from the leaf to the root; the last subtree that passes wins. */
static bool climb(const struct test_case *c, const int *set_before, int leaves, int leaf,
                  int *first, int *end) {
    bool found = false;
    for (int level = 0; level < level_count(leaves); level++) {
        int size = 1 << level, s = leaf / size * size, e = s + size < leaves ? s + size : leaves;
        int count = set_before[e] - set_before[s];
        if (count * 100 > (e - s) * c->threshold) {
            *first = s;
            *end = e;
            found = true;
        }
    }
    return found;
}

static void twin_mask(const struct test_case *c, bool *out) {
    bool leaf[2 * PAGES] = {false};
    int big_first, big_end;
    find_big(c, &big_first, &big_end);
    int offset = big_first > 0 ? 16 - big_first : 0, leaves = c->page_count + offset;

    for (int page = 0; page < c->page_count; page++) {
        out[page] = false;
        leaf[page + offset] = c->resident[page] || c->faulted[page];
    }
    grow_groups(c, leaf, offset, big_first, big_end);
    int set_before[2 * PAGES + 1] = {0};
    for (int i = 0; i < leaves; i++)
        set_before[i + 1] = set_before[i] + leaf[i];

    for (int page = 0; page < c->page_count; page++) {
        int s, e;
        if (!c->faulted[page] || c->thrashing[page] ||
            !climb(c, set_before, leaves, page + offset, &s, &e))
            continue;
        int first = s < offset ? (c->quirk ? offset : 0) : s - offset; /* T5 */
        int end = e - offset < c->page_count ? e - offset : c->page_count;
        for (int i = first; i < end; i++)
            out[i] = true;
        if (end == c->page_count) /* T6 */
            break;
    }
    for (int page = 0; page < c->page_count; page++) /* S5 and S7 */
        if (c->faulted[page] || c->thrashing[page])
            out[page] = false;
}

/* ---- random cases ----------------------------------------------------------------------- */

static void scatter(struct ff__random *random, bool *pages, int page_count, uint32_t count) {
    while (count--)
        pages[ff__random_below(random, (uint32_t)page_count)] = true;
}

static void add_runs(struct ff__random *random, bool *pages, int page_count, uint32_t runs,
                     uint32_t longest) {
    while (runs--) {
        int first = (int)ff__random_below(random, (uint32_t)page_count);
        int length = 1 + (int)ff__random_below(random, longest);
        for (int i = first; i < first + length && i < page_count; i++)
            pages[i] = true;
    }
}

/* Whole 64 KiB groups, as the tree itself leaves behind. */
static void add_groups(struct ff__random *random, struct test_case *c, uint32_t in_32) {
    bool chosen[PAGES / 16];
    for (int i = 0; i < PAGES / 16; i++)
        chosen[i] = ff__random_below(random, 32) < in_32;
    for (int page = 0; page < c->page_count; page++)
        if (chosen[(page + c->lead) / 16])
            c->resident[page] = true;
}

static void draw_shape(struct ff__random *random, struct test_case *c) {
    c->lead = 0;
    c->page_count = PAGES;
    switch (ff__random_below(random, 4)) {
    case 0: /* full */
        break;
    case 1: /* a range that starts inside the window */
        c->lead = 1 + (int)ff__random_below(random, PAGES - 1);
        c->page_count = PAGES - c->lead;
        break;
    case 2: /* one that ends inside it */
        c->page_count = 1 + (int)ff__random_below(random, PAGES);
        break;
    default: /* both, often with no whole group in it */
        c->lead = (int)ff__random_below(random, PAGES - 1);
        c->page_count = 1 + (int)ff__random_below(random, (uint32_t)(PAGES - c->lead));
        if (ff__random_below(random, 2) && c->page_count > 34)
            c->page_count = 1 + (int)ff__random_below(random, 34);
    }
}

static void draw_case(struct ff__random *random, struct test_case *c) {
    static const int thresholds[] = {0, 1, 25, 50, 51, 75, 99, 100};
    memset(c, 0, sizeof *c);
    draw_shape(random, c);
    c->threshold = ff__random_below(random, 4) == 0 ? (int)ff__random_below(random, 101)
                                                    : thresholds[ff__random_below(random, 8)];
    c->quirk = ff__random_below(random, 2);

    int n = c->page_count;
    uint32_t style = ff__random_below(random, 8);
    scatter(random, c->faulted, n, 1 + ff__random_below(random, style == 0 ? 200 : 6));
    if (style == 1)
        add_runs(random, c->faulted, n, 3, 60);
    switch (ff__random_below(random, 5)) {
    case 0:
        break;
    case 1:
        scatter(random, c->resident, n, ff__random_below(random, 500));
        break;
    case 2:
        add_runs(random, c->resident, n, 1 + ff__random_below(random, 5), 200);
        break;
    default:
        add_groups(random, c, ff__random_below(random, 33));
    }
    uint32_t thrashing = ff__random_below(random, 4);
    if (thrashing == 0)
        scatter(random, c->thrashing, n, 1 + ff__random_below(random, 12));
    if (thrashing == 1) /* some of the faulted ones */
        for (int page = 0; page < n; page++)
            c->thrashing[page] = c->faulted[page] && ff__random_below(random, 2);
}

/* ---- the comparison --------------------------------------------------------------------- */

static struct ff_mask to_mask(const bool *pages) {
    struct ff_mask mask = {0};
    for (uint32_t page = 0; page < PAGES; page++)
        if (pages[page])
            ff_mask_set(&mask, page);
    return mask;
}

static void print_mask(const char *name, const struct ff_mask *mask) {
    char text[MASK_TEXT];
    print_error("  %-9s %s\n", name, mask_text(mask, text));
}

static void check_case(const struct test_case *c, unsigned long number, uint64_t seed) {
    struct ff_mask faulted = to_mask(c->faulted), resident = to_mask(c->resident);
    struct ff_mask thrashing = to_mask(c->thrashing), got;
    bool out[PAGES] = {false};
    struct ff__tree_input in = {
        .faulted = &faulted,
        .resident = &resident,
        .thrashing = ff_mask_empty(&thrashing) && number % 2 ? NULL : &thrashing,
        .page_count = (uint32_t)c->page_count,
        .lead = (uint32_t)c->lead,
        .threshold = (uint32_t)c->threshold,
        .quirk = c->quirk,
    };
    ff__tree_mask(&in, &got);
    twin_mask(c, out);
    struct ff_mask expected = to_mask(out);
    if (ff_mask_equal(&expected, &got))
        return;
    print_error("case %lu of seed %llu: %d pages, lead %d, threshold %d, quirk %d\n", number,
                (unsigned long long)seed, c->page_count, c->lead, c->threshold, c->quirk);
    print_mask("faulted", &faulted);
    print_mask("resident", &resident);
    print_mask("thrashing", &thrashing);
    print_mask("twin", &expected);
    print_mask("got", &got);
    fail();
}

static void test_random_cases(void **state) {
    (void)state;
    const uint64_t seed = 595;
    struct ff__random random = ff__random_seeded(seed);
    struct test_case c;
    for (unsigned long i = 0, count = scaled(CASES, LEAST); i < count; i++) {
        draw_case(&random, &c);
        check_case(&c, i, seed);
    }
}

/* Every single fault of every empty block that starts or ends in the first or last group. */
static void test_single_faults(void **state) {
    (void)state;
    static struct test_case c;
    c.threshold = 51;
    for (c.lead = 0; c.lead < 20; c.lead++) {
        for (int cut = 0; cut < 20; cut++) {
            c.page_count = PAGES - c.lead - cut;
            c.quirk = cut % 2;
            for (int page = 0; page < c.page_count; page += page < 40 ? 1 : 13) {
                c.faulted[page] = true;
                check_case(&c, (unsigned long)page, 0);
                c.faulted[page] = false;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases),
        cmocka_unit_test(test_single_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
