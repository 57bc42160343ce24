/* Forest's two halves, without an engine: what the profile asks for and learns, and random cases
 * against naive twins. The prefetcher's twin is the paper's tree as it stands there: leaves of 16
 * KiB, nodes with marks for isolation and motion, which are flipped to give it another shape.
 * TEST_SCALE is a percentage. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/forest/profile.h"
#include "policy/registry.h"
#include "view.h"

#define CASES  120000ul
#define FLOOR  10000ul
#define BLOCKS 5u
#define PAGES  (BLOCKS * FF_BLOCK_PAGES)

/* ---- the profile ---- */

struct bench {
    struct fake fake;
    struct instance instance;
    struct ff_advice items[64];
    struct ff_advice_list list;
};

static const struct ff_prefetch_policy *const prefetch = &ff__prefetch_forest;
static const struct ff_evict_policy *const evict = &ff__evict_forest;

/* One range of so many pages, on tier 1. */
static void open_bench(struct bench *bench, const struct ff_policy *policy, uint32_t pages) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    bench->fake.range.page_count = pages;
    bench->fake.range.block_count = (pages + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES;
    for (uint32_t i = 0; i < BLOCKS; i++)
        bench->fake.blocks[i].page_count =
            (uint16_t)(pages > i * FF_BLOCK_PAGES + FF_BLOCK_PAGES ? FF_BLOCK_PAGES
                       : pages > i * FF_BLOCK_PAGES                ? pages - i * FF_BLOCK_PAGES
                                                                   : 0);
    instance_init(&bench->instance, policy);
    bench->list = (struct ff_advice_list){.items = bench->items, .capacity = 64};
}

static void start_bench(struct bench *bench) {
    instance_open(&bench->instance, &bench->fake.view, 1);
    bench->instance.policy->range_added(bench->instance.state, &bench->fake.view, 0);
}

static void close_bench(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void launch(struct bench *bench, uint32_t id) {
    const struct ff_operand operand = {.reads = true, .writes = true};
    const struct ff_launch_event event = {id, 1, true, &operand, 1, false};
    bench->list.count = 0;
    bench->instance.policy->on_launch(bench->instance.state, &bench->fake.view, &event,
                                      &bench->list);
}

/* A round in which these pages were used in this order. */
static void show_round(struct bench *bench, uint32_t id, const uint32_t *pages, uint32_t count) {
    static struct ff_sample samples[PAGES];
    for (uint32_t i = 0; i < count; i++)
        samples[i] = (struct ff_sample){.block = pages[i] / FF_BLOCK_PAGES,
                                        .page = (uint16_t)(pages[i] % FF_BLOCK_PAGES),
                                        .page_count = 1,
                                        .rank = i};
    const struct ff_sample_round round = {
        .range = 0, .launch = id, .tier = 1, .items = samples, .count = count};
    bench->list.count = 0;
    bench->instance.policy->samples->on_samples(bench->instance.state, &bench->fake.view, &round,
                                                &bench->list);
}

static const uint32_t line[] = {10, 11, 12, 13}, nothing[] = {10, 13, 11, 12};

static struct ff__tree_shape shape_of(const struct bench *bench) {
    return ff__profile_shape(bench->instance.state, 0);
}

static void expect_shape(const struct bench *bench, uint32_t leaf_kib, uint32_t tree_kib) {
    assert_int_equal(shape_of(bench).leaf_pages, leaf_kib / 4);
    assert_int_equal(shape_of(bench).span_pages, tree_kib / 4);
}

static void expect_sampling(const struct bench *bench, uint32_t index, uint32_t launch_id,
                            bool wanted) {
    const struct ff_advice *advice = &bench->items[index];
    assert_true(bench->list.count > index);
    assert_int_equal(advice->action, FF_SAMPLE);
    assert_int_equal(advice->block, 0);
    assert_int_equal(advice->tier, 1);
    assert_int_equal(advice->launch, launch_id);
    assert_int_equal(advice->ceases, !wanted);
}

/* Armed with a launch, ceased when a class is found; the next launch starts anew. */
static void test_profile(void **state) {
    (void)state;
    static const struct ff_policy *const policies[] = {&ff__prefetch_forest.base,
                                                       &ff__evict_forest.base};
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;
        open_bench(&bench, policies[i], 1000);
        start_bench(&bench);
        expect_shape(&bench, 64, 2048);
        launch(&bench, 7);
        assert_int_equal(bench.list.count, 1);
        expect_sampling(&bench, 0, 7, true);
        show_round(&bench, 6, line, 4); /* of an earlier launch */
        assert_int_equal(bench.list.count, 0);
        show_round(&bench, 7, nothing, 4);
        assert_int_equal(bench.list.count, 0);
        expect_shape(&bench, 64, 2048);
        show_round(&bench, 7, line, 4);
        assert_int_equal(bench.list.count, 1);
        expect_sampling(&bench, 0, 7, false);
        expect_shape(&bench, 256, 4096);
        show_round(&bench, 7, nothing, 4);
        expect_shape(&bench, 256, 4096);
        launch(&bench, 7);
        expect_sampling(&bench, 0, 7, true);
        expect_shape(&bench, 64, 2048);
        close_bench(&bench);
    }
}

/* The four shapes. */
static void test_shapes(void **state) {
    (void)state;
    struct bench bench;
    uint32_t pages[500];
    open_bench(&bench, &prefetch->base, 1000);
    start_bench(&bench);
    for (uint32_t i = 0; i < 500; i++) /* every second page, not in order */
        pages[i] = i * 467 % 500 * 2;
    launch(&bench, 1);
    show_round(&bench, 1, pages, 500);
    expect_shape(&bench, 64, 512);
    launch(&bench, 2);
    show_round(&bench, 2, pages, 300);
    expect_shape(&bench, 16, 512);
    close_bench(&bench);
}

/* After ten rounds without a pattern there is none. */
static void test_rounds(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, &prefetch->base, 1000);
    start_bench(&bench);
    launch(&bench, 1);
    for (unsigned i = 0; i < 10; i++) {
        show_round(&bench, 1, nothing, 4);
        assert_int_equal(bench.list.count, i == 9);
    }
    expect_sampling(&bench, 0, 1, false);
    show_round(&bench, 1, line, 4);
    expect_shape(&bench, 64, 2048);
    close_bench(&bench);
}

/* With `record`, a kernel's class is there when it comes again, for this range only. */
static void test_record(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, &prefetch->base, 1000);
    instance_set(&bench.instance, "record", 1);
    start_bench(&bench);
    launch(&bench, 1);
    show_round(&bench, 1, line, 4);
    launch(&bench, 2);
    expect_shape(&bench, 64, 2048);
    expect_sampling(&bench, 0, 2, true);
    launch(&bench, 1);
    assert_int_equal(bench.list.count, 0);
    expect_shape(&bench, 256, 4096);
    struct ff_finding finding;
    assert_true(prefetch->base.report(bench.instance.state, 0, &finding));
    assert_int_equal(finding.launch, 1);
    assert_int_equal(finding.range, 0);
    assert_string_equal(finding.text, "linear; launches: profiled 1 (1 rounds), recorded 1");
    assert_true(prefetch->base.report(bench.instance.state, 1, &finding));
    assert_int_equal(finding.range, FF_NONE);
    assert_string_equal(finding.text, "3 ranges of launches: profiled 1, recorded 1");
    assert_false(prefetch->base.report(bench.instance.state, 2, &finding));
    prefetch->base.range_freed(bench.instance.state, 0);
    prefetch->base.range_added(bench.instance.state, &bench.fake.view, 0);
    launch(&bench, 1);
    expect_sampling(&bench, 0, 1, true);
    close_bench(&bench);
}

/* What the sources leave open: `within`, `agree`, `keep`. */
static void test_readings(void **state) {
    (void)state;
    struct bench bench;
    uint32_t pages[300];
    for (uint32_t i = 0; i < 300; i++) /* 300 of 600, of a range of 1000 */
        pages[i] = i * 467 % 300 * 2;
    open_bench(&bench, &prefetch->base, 1000);
    instance_set(&bench.instance, "within", 1);
    instance_set(&bench.instance, "agree", 2);
    instance_set(&bench.instance, "keep", 1);
    instance_set(&bench.instance, "coverage", 50);
    start_bench(&bench);
    launch(&bench, 1);
    show_round(&bench, 1, line, 4);
    assert_int_equal(bench.list.count, 0);
    expect_shape(&bench, 64, 2048);
    show_round(&bench, 1, pages, 300); /* another class */
    expect_shape(&bench, 64, 2048);
    show_round(&bench, 1, pages, 300);
    expect_sampling(&bench, 0, 1, false);
    expect_shape(&bench, 64, 512);
    launch(&bench, 2);
    expect_sampling(&bench, 0, 2, true);
    expect_shape(&bench, 64, 512);
    show_round(&bench, 2, line, 4);
    show_round(&bench, 2, line, 4);
    expect_shape(&bench, 256, 4096);
    close_bench(&bench);
}

/* Three ranges of a kernel: one with a fixed stride, two that are indexed by one variable. */
static void test_guesses(void **state) {
    (void)state;
    struct bench bench;
    static struct ff_range ranges[3];
    const struct ff_operand operands[3] = {{.range = 0, .stride = FF_STRIDE_SOURCE},
                                           {.range = 1, .group = 1},
                                           {.range = 2, .group = 1}};
    const struct ff_launch_event event = {7, 1, true, operands, 3, false};
    open_bench(&bench, &prefetch->base, 1000);
    for (uint32_t i = 0; i < 3; i++)
        ranges[i] = bench.fake.range;
    bench.fake.view.ranges = ranges;
    instance_set(&bench.instance, "declared", 1);
    instance_set(&bench.instance, "similar", 1);
    instance_set(&bench.instance, "record", 1);
    start_bench(&bench);
    for (uint32_t i = 1; i < 3; i++)
        prefetch->base.range_added(bench.instance.state, &bench.fake.view, i);
    prefetch->base.on_launch(bench.instance.state, &bench.fake.view, &event, &bench.list);
    expect_shape(&bench, 256, 4096);
    assert_int_equal(bench.list.count, 1); /* of the second one alone */
    assert_int_equal(ff__profile_shape(bench.instance.state, 2).leaf_pages, 16);
    struct ff_sample samples[4];
    for (uint32_t i = 0; i < 4; i++)
        samples[i] = (struct ff_sample){.page = (uint16_t)i, .page_count = 1, .rank = i};
    const struct ff_sample_round round = {
        .range = 1, .launch = 7, .tier = 1, .items = samples, .count = 4};
    prefetch->base.samples->on_samples(bench.instance.state, &bench.fake.view, &round, &bench.list);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(ff__profile_shape(bench.instance.state, i).leaf_pages, 64);
    bench.list.count = 0;
    prefetch->base.on_launch(bench.instance.state, &bench.fake.view, &event, &bench.list);
    assert_int_equal(bench.list.count, 0); /* all are recorded */
    struct ff_finding finding;
    assert_true(prefetch->base.report(bench.instance.state, 3, &finding));
    assert_string_equal(
        finding.text,
        "6 ranges of launches: profiled 1, recorded 3, similar 1, declared by sources 1");
    close_bench(&bench);
}

/* One shape for all, and nothing is sampled. */
static void test_fixed(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, &prefetch->base, 1000);
    instance_set(&bench.instance, "leaf", 128 << 10);
    start_bench(&bench);
    launch(&bench, 1);
    assert_int_equal(bench.list.count, 0);
    expect_shape(&bench, 128, 2048);
    show_round(&bench, 1, line, 4);
    expect_shape(&bench, 128, 2048);
    close_bench(&bench);
}

/* Leaves of 64 KiB become leaves of 256 KiB: those that are there in part are completed, also the
 * last one. */
static void test_completion(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, &prefetch->base, 1000);
    start_bench(&bench);
    launch(&bench, 1);
    *fake_resident(&bench.fake, 1, 0) = mask_of("0-63 80-95");
    *fake_resident(&bench.fake, 1, 1) = mask_of("448-463");
    show_round(&bench, 1, line, 4);
    assert_int_equal(bench.list.count, 3);
    expect_sampling(&bench, 0, 1, false);
    struct ff_mask first = mask_of("64-79 96-127"), last = mask_of("464-487");
    assert_int_equal(bench.items[1].block, 0);
    assert_true(ff_mask_equal(&bench.items[1].pages, &first));
    assert_int_equal(bench.items[2].block, 1);
    assert_true(ff_mask_equal(&bench.items[2].pages, &last));
    close_bench(&bench);
}

/* Ours: a fault brings its block, and a linear range with a threshold below half its neighbour,
 * which a range without a class does not. */
static void test_whole(void **state) {
    (void)state;
    struct bench bench;
    struct ff_fault_group group = {.block = 1, .tier = 1, .faulted = mask_of("70")};
    struct ff_fault_advice advice = {0};
    open_bench(&bench, &prefetch->base, 1000);
    instance_set(&bench.instance, "whole", 1);
    instance_set(&bench.instance, "threshold", 45);
    start_bench(&bench);
    launch(&bench, 1);
    struct ff_mask rest = mask_of("0-69 71-487"), all = mask_of("0-511");
    prefetch->on_fault(bench.instance.state, &bench.fake.view, &group, &advice);
    assert_true(ff_mask_equal(&advice.prefetch, &rest));
    bench.list.count = 0;
    prefetch->on_batch(bench.instance.state, &bench.fake.view, &group, 1, &bench.list);
    assert_int_equal(bench.list.count, 0);
    show_round(&bench, 1, line, 4);
    bench.list.count = 0;
    prefetch->on_batch(bench.instance.state, &bench.fake.view, &group, 1, &bench.list);
    assert_int_equal(bench.list.count, 1);
    assert_int_equal(bench.items[0].block, 0);
    assert_true(ff_mask_equal(&bench.items[0].pages, &all));
    close_bench(&bench);
}

/* ---- the prefetcher's twin ---- */

#define LEVELS 9 /* nodes of 16 KiB to 4 MiB */

struct twin {
    bool there[2 * PAGES], wanted[2 * PAGES]; /* there: or on its way */
    bool isolation[LEVELS][2 * PAGES / 4], motion[LEVELS][2 * PAGES / 4];
    int pages, leaf;
};

static int size_of(int level) {
    return 4 << level;
}

static void mark(struct twin *twin, int leaf_pages, int tree_pages) {
    for (int level = 0; level < LEVELS; level++)
        for (int i = 0; i < 2 * (int)PAGES / 4; i++) {
            twin->motion[level][i] = size_of(level) > 4 && size_of(level) <= leaf_pages;
            twin->isolation[level][i] = size_of(level) > tree_pages;
        }
    twin->leaf = leaf_pages;
}

/* The size of the leaf that a page is in: as high as motion goes. */
static int leaf_level(const struct twin *twin, int page) {
    int level = 0;
    while (level + 1 < LEVELS && twin->motion[level + 1][page / size_of(level + 1)])
        level++;
    return level;
}

/* And that of its tree: up to where nodes are isolated, or memory of two blocks ends. */
static int tree_level(const struct twin *twin, int page) {
    int level = leaf_level(twin, page);
    while (level + 1 < LEVELS && !twin->isolation[level + 1][page / size_of(level + 1)])
        level++;
    return level;
}

/* Where memory ends, in whole leaves. */
static int end_of(const struct twin *twin) {
    return (twin->pages + twin->leaf - 1) / twin->leaf * twin->leaf;
}

static int count(const struct twin *twin, int first, int end) {
    int sum = 0;
    for (int i = first; i < end; i++)
        sum += twin->there[i] || twin->wanted[i];
    return sum;
}

/* Post-order. */
static void visit(struct twin *twin, int level, int index) {
    int first = index * size_of(level), end = first + size_of(level);
    end = end < end_of(twin) ? end : end_of(twin);
    if (first >= end || level == 0 || twin->motion[level][index])
        return;
    visit(twin, level - 1, 2 * index);
    visit(twin, level - 1, 2 * index + 1);
    if (twin->isolation[level][index] || count(twin, first, end) * 2 <= end - first)
        return;
    for (int leaf = first; leaf < end; leaf += twin->leaf)
        if (count(twin, leaf, leaf + twin->leaf) == 0)
            for (int i = leaf; i < leaf + twin->leaf; i++)
                twin->wanted[i] = true;
}

/* A last leaf that is cut off counts as whole if nothing of it is missing. */
static void round_last_leaf(struct twin *twin) {
    int first = twin->pages / twin->leaf * twin->leaf;
    bool whole = first < twin->pages;
    for (int i = first; i < twin->pages; i++)
        whole = whole && (twin->there[i] || twin->wanted[i]);
    for (int i = twin->pages; i < end_of(twin); i++)
        twin->there[i] = whole;
}

/* What comes along with these faults. */
static void twin_fault(struct twin *twin, const bool *faulted) {
    memset(twin->wanted, 0, sizeof twin->wanted);
    for (int page = 0; page < twin->pages; page++)
        if (faulted[page]) {
            int size = size_of(leaf_level(twin, page)), first = page / size * size;
            for (int i = first; i < first + size && i < twin->pages; i++)
                twin->wanted[i] = true;
        }
    round_last_leaf(twin);
    for (int page = 0; page < twin->pages; page++)
        if (faulted[page]) {
            int level = tree_level(twin, page);
            visit(twin, level, page / size_of(level));
        }
}

/* ---- random cases ---- */

static void set_pattern(struct bench *bench, struct twin *twin, uint32_t pattern) {
    ff__profile_range(bench->instance.state, 0)->pattern = (uint8_t)pattern;
    mark(twin, (int)shape_of(bench).leaf_pages, (int)shape_of(bench).span_pages);
}

static struct ff_mask mask_at(const bool *pages, uint32_t block, uint32_t end) {
    struct ff_mask mask = {{0}};
    for (uint32_t i = 0; i < FF_BLOCK_PAGES && block * FF_BLOCK_PAGES + i < end; i++)
        if (pages[block * FF_BLOCK_PAGES + i])
            ff_mask_set(&mask, i);
    return mask;
}

/* Fault a few pages of a block; returns what comes along by the policy, page by page. */
static void ask(struct bench *bench, const bool *faulted, uint32_t block, bool *comes) {
    struct ff_fault_group group = {.block = block, .tier = 1};
    struct ff_fault_advice advice = {0};
    group.faulted = mask_at(faulted, block, PAGES);
    bench->list.count = 0;
    prefetch->on_batch(bench->instance.state, &bench->fake.view, &group, 1, &bench->list);
    prefetch->on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    FF_MASK_FOR_EACH_PAGE(&advice.prefetch, page) {
        comes[block * FF_BLOCK_PAGES + page] = true;
    }
    for (uint32_t i = 0; i < bench->list.count; i++) {
        assert_int_equal(bench->items[i].action, FF_BRING);
        assert_int_not_equal(bench->items[i].block, block);
        FF_MASK_FOR_EACH_PAGE(&bench->items[i].pages, page) {
            comes[bench->items[i].block * FF_BLOCK_PAGES + page] = true;
        }
    }
}

static void check_fault(struct bench *bench, struct twin *twin, struct ff__random *random) {
    bool faulted[PAGES] = {false}, comes[PAGES] = {false};
    uint32_t page_count = (uint32_t)twin->pages, any = 0;
    uint32_t block = ff__random_below(random, bench->fake.range.block_count);
    for (uint32_t i = 1 + ff__random_below(random, 4); i > 0; i--) {
        uint32_t page =
            block * FF_BLOCK_PAGES + ff__random_below(random, bench->fake.blocks[block].page_count);
        faulted[page] = !twin->there[page];
        any += faulted[page];
    }
    if (any == 0)
        return;
    twin_fault(twin, faulted);
    ask(bench, faulted, block, comes);
    for (uint32_t i = 0; i < page_count; i++) {
        bool expected = twin->wanted[i] && !twin->there[i] && !faulted[i];
        if (expected != comes[i])
            fail_msg("page %u of %u, a fault in block %u, leaves of %d pages: %s", i, page_count,
                     block, twin->leaf, expected ? "does not come" : "comes");
    }
    uint32_t other = block ^ 1; /* its pages are advice, and may be dropped */
    bool dropped = ff__random_below(random, 8) == 0;
    for (uint32_t i = 0; i < page_count; i++)
        if (twin->wanted[i] && !(dropped && i / FF_BLOCK_PAGES == other))
            twin->there[i] = true;
}

static void evict_some(struct twin *twin, struct ff__random *random) {
    static const uint32_t sizes[] = {1, 4, 16, 64, 512, 1024};
    uint32_t size = sizes[ff__random_below(random, 6)];
    uint32_t first = ff__random_below(random, (uint32_t)twin->pages) / size * size;
    for (uint32_t i = first; i < first + size && i < PAGES; i++)
        twin->there[i] = false;
}

static void test_prefetch_twin(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    static struct twin twin;
    unsigned long cases = scaled_cases(CASES, FLOOR);
    for (unsigned long done = 0; done < cases;) {
        struct bench bench;
        uint32_t pages = 1 + ff__random_below(&random, PAGES);
        pages = ff__random_below(&random, 2) ? (pages + 15) / 16 * 16 : pages;
        open_bench(&bench, &prefetch->base, pages);
        start_bench(&bench);
        memset(&twin, 0, sizeof twin);
        twin.pages = (int)pages;
        set_pattern(&bench, &twin, ff__random_below(&random, FF__CLASSES));
        for (unsigned i = 0; i < 400; i++, done++) {
            if (ff__random_below(&random, 40) == 0)
                set_pattern(&bench, &twin, ff__random_below(&random, FF__CLASSES));
            if (ff__random_below(&random, 4) == 0)
                evict_some(&twin, &random);
            for (uint32_t block = 0; block < bench.fake.range.block_count; block++)
                *fake_resident(&bench.fake, 1, block) = mask_at(twin.there, block, pages);
            check_fault(&bench, &twin, &random);
        }
        close_bench(&bench);
    }
}

/* ---- the evictor's twin ---- */

#define RANGES 4u

struct evictor {
    struct bench bench;
    struct ff_range ranges[RANGES];
    uint64_t range_used[RANGES];
    uint32_t page_used[RANGES * 2 * FF_BLOCK_PAGES];
    uint32_t timer;
};

/* Ranges of one block and of two in turn. */
static void open_evictor(struct evictor *e, bool by_page, int64_t slack, int64_t order) {
    memset(e, 0, sizeof *e);
    fake_open(&e->bench.fake, 2, RANGES * 2);
    for (uint32_t i = 0; i < RANGES; i++) {
        e->ranges[i] = (struct ff_range){.first_block = 2 * i, .block_count = 1 + i % 2};
        e->bench.fake.blocks[2 * i].range = e->bench.fake.blocks[2 * i + 1].range = i;
    }
    struct ff_view *view = &e->bench.fake.view;
    view->ranges = e->ranges;
    view->unit = by_page ? 1 : FF_BLOCK_PAGES;
    view->now_ns = 1000;
    view->last_uses[1] = (struct ff_last_uses){e->range_used, e->page_used};
    instance_init(&e->bench.instance, &evict->base);
    instance_set(&e->bench.instance, "slack", slack);
    instance_set(&e->bench.instance, "order", order);
    instance_open(&e->bench.instance, view, 1);
    for (uint32_t i = 0; i < RANGES; i++) {
        evict->base.range_added(e->bench.instance.state, view, i);
        ff__profile_range(e->bench.instance.state, i)->pattern = (uint8_t)(i % FF__CLASSES);
    }
}

static void come(struct evictor *e, uint32_t block, struct ff_mask pages) {
    struct ff_mask *resident = fake_resident(&e->bench.fake, 1, block);
    const struct ff_arrival arrival = {FF_ARRIVAL_SERVED, block, 1, true, &pages};
    pages = ff_mask_minus(&pages, resident);
    *resident = ff_mask_or(resident, &pages);
    fake_set_frame(&e->bench.fake, 1, block, 0);
    e->range_used[block / 2] = ++e->bench.fake.view.now_ns;
    e->timer++;
    FF_MASK_FOR_EACH_PAGE(&pages, page) {
        e->page_used[block * FF_BLOCK_PAGES + page] = e->timer | FF_PAGE_UNUSED;
    }
    evict->base.on_arrival(e->bench.instance.state, &e->bench.fake.view, &arrival);
}

static void use_page(struct evictor *e, uint32_t block, uint32_t page) {
    if (!ff_mask_test(fake_resident(&e->bench.fake, 1, block), page))
        return;
    e->range_used[block / 2] = ++e->bench.fake.view.now_ns;
    e->page_used[block * FF_BLOCK_PAGES + page] = ++e->timer;
}

static void leave(struct evictor *e, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask *resident = fake_resident(&e->bench.fake, 1, block);
    *resident = ff_mask_minus(resident, pages);
    if (!ff_mask_empty(resident))
        return;
    fake_set_frame(&e->bench.fake, 1, block, FF_NONE);
    const struct ff_leave left = {FF_LEAVE_RELEASED, block, 1, NULL};
    evict->base.on_leave(e->bench.instance.state, &e->bench.fake.view, &left);
}

static uint32_t blocks_there(const struct evictor *e, const struct ff_mask *there, uint32_t range) {
    (void)e;
    return !ff_mask_empty(&there[2 * range]) + !ff_mask_empty(&there[2 * range + 1]);
}

/* The range, by all that is there and has not been named. */
static uint32_t twin_range(const struct evictor *e, const struct ff_mask *left,
                           const struct ff_mask *there, uint64_t slack) {
    uint32_t best = FF_NONE;
    uint64_t now = e->bench.fake.view.now_ns;
    for (uint32_t i = 0; i < RANGES; i++) {
        if (blocks_there(e, left, i) == 0)
            continue;
        if (best == FF_NONE) {
            best = i;
            continue;
        }
        bool new_i = e->range_used[i] + slack > now, new_best = e->range_used[best] + slack > now;
        bool older = slack > 0 && new_i && new_best
                         ? blocks_there(e, there, i) > blocks_there(e, there, best)
                         : e->range_used[i] < e->range_used[best];
        best = older ? i : best;
    }
    return best;
}

/* Names what the policy should name, page by page of all blocks. */
static void twin_pick(const struct evictor *e, uint64_t slack, uint64_t wanted,
                      struct ff_mask *named) {
    static const uint32_t leaf_of_class[FF__CLASSES] = {16, 64, 16, 4};
    struct ff_mask left[2 * RANGES], there[2 * RANGES];
    for (uint32_t i = 0; i < 2 * RANGES; i++)
        there[i] = left[i] = *fake_resident(&e->bench.fake, 1, i);
    for (uint64_t count = 0; count < wanted;) {
        uint32_t range = twin_range(e, left, there, slack), oldest = FF_NONE, at = 0;
        if (range == FF_NONE)
            return;
        for (uint32_t i = 0; i < 2 * FF_BLOCK_PAGES; i++) {
            uint32_t use = e->page_used[range * 2 * FF_BLOCK_PAGES + i] & ~FF_PAGE_UNUSED;
            if (ff_mask_test(&left[2 * range + i / FF_BLOCK_PAGES], i % FF_BLOCK_PAGES) &&
                use < oldest) {
                oldest = use;
                at = i;
            }
        }
        uint32_t leaf = leaf_of_class[range % FF__CLASSES], block = 2 * range + at / FF_BLOCK_PAGES;
        for (uint32_t i = at / leaf * leaf; i < at / leaf * leaf + leaf; i++) {
            uint32_t page = i % FF_BLOCK_PAGES;
            if (!ff_mask_test(&left[block], page))
                continue;
            ff_mask_unset(&left[block], page);
            ff_mask_set(&named[block], page);
            count++;
        }
    }
}

static void check_pick(struct evictor *e, struct ff__random *random, uint64_t slack) {
    struct ff_victim items[16];
    struct ff_victim_list victims = {.items = items, .capacity = 16};
    struct ff_mask expected[2 * RANGES] = {0}, named[2 * RANGES] = {0};
    const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, 1, FF_NONE,
                                             1 + ff__random_below(random, 40), 1};
    twin_pick(e, slack, request.pages, expected);
    evict->pick(e->bench.instance.state, &e->bench.fake.view, &request, &victims);
    for (uint32_t i = 0; i < victims.count; i++)
        named[items[i].block] = items[i].pages;
    for (uint32_t i = 0; i < 2 * RANGES; i++) {
        if (!ff_mask_equal(&named[i], &expected[i])) {
            char a[MASK_TEXT], b[MASK_TEXT];
            fail_msg("block %u: %s named, not %s", i, mask_text(&named[i], a),
                     mask_text(&expected[i], b));
        }
        if (ff__random_below(random, 4) > 0) /* mostly they do leave */
            leave(e, i, &named[i]);
    }
}

static void test_evict_twin(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(5);
    unsigned long cases = scaled_cases(CASES, FLOOR);
    static struct evictor e;
    for (unsigned long done = 0; done < cases;) {
        uint64_t slack = ff__random_below(&random, 3) ? ff__random_below(&random, 200) : 0;
        open_evictor(&e, true, (int64_t)slack, 0);
        for (unsigned i = 0; i < 2000; i++) {
            uint32_t range = ff__random_below(&random, RANGES);
            uint32_t block = 2 * range + ff__random_below(&random, 1 + range % 2);
            uint32_t page = ff__random_below(&random, FF_BLOCK_PAGES);
            uint32_t what = ff__random_below(&random, 8);
            if (what == 0) {
                come(&e, block, ff_mask_of_run(page & ~15u, (page & ~15u) + 16));
            } else if (what == 1) {
                check_pick(&e, &random, slack);
                done++;
            } else {
                use_page(&e, block, page);
            }
        }
        close_bench(&e.bench);
    }
}

/* By block, the block that has the oldest page of all ranges, and who gets the memory is not named.
 */
static void test_evict_block(void **state) {
    (void)state;
    static struct evictor e;
    struct ff_victim items[16];
    struct ff_victim_list victims = {.items = items, .capacity = 16};
    const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, 1, 2, FF_BLOCK_PAGES, 1};
    open_evictor(&e, false, 0, 0);
    for (uint32_t block = 0; block < 4; block++)
        if (block != 1)
            come(&e, block, ff_mask_of_run(0, 32));
    use_page(&e, 0, 3);
    use_page(&e, 0, 4); /* range 1, of blocks 2 and 3, is the older one */
    evict->pick(e.bench.instance.state, &e.bench.fake.view, &request, &victims);
    assert_int_equal(victims.count, 2);
    assert_int_equal(items[0].block, 3);
    assert_int_equal(items[1].block, 0);
    close_bench(&e.bench);
}

/* The range that would lose a page now. */
static uint32_t losing_range(struct evictor *e) {
    struct ff_victim item;
    struct ff_victim_list victims = {.items = &item, .capacity = 1};
    const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, 1, FF_NONE, 1, 1};
    evict->pick(e->bench.instance.state, &e->bench.fake.view, &request, &victims);
    assert_int_equal(victims.count, 1);
    return item.block / 2;
}

static void see_round(struct evictor *e) {
    struct ff_advice items[RANGES];
    struct ff_advice_list advice = {.items = items, .capacity = RANGES};
    const struct ff_sample_round round = {.range = 0, .tier = 1, .launch = FF_NONE};
    evict->base.samples->on_samples(e->bench.instance.state, &e->bench.fake.view, &round, &advice);
}

static void begin_launch(struct evictor *e) {
    struct ff_advice items[RANGES];
    struct ff_advice_list advice = {.items = items, .capacity = RANGES};
    const struct ff_launch_event event = {.launch = 1, .tier = 1, .begins = true};
    evict->base.on_launch(e->bench.instance.state, &e->bench.fake.view, &event, &advice);
}

/* Ranges 0, 1 and 2 come in turn, and then range 0 is used. */
static void open_order(struct evictor *e, int64_t order) {
    open_evictor(e, true, 0, order);
    for (uint32_t range = 0; range < 3; range++)
        come(e, 2 * range, ff_mask_of_run(0, 32));
    use_page(e, 0, 3);
}

static void test_evict_order(void **state) {
    (void)state;
    static struct evictor e;
    open_order(&e, 0); /* uses */
    assert_int_equal(losing_range(&e), 1);
    close_bench(&e.bench);
    open_order(&e, 1); /* faults */
    assert_int_equal(losing_range(&e), 0);
    come(&e, 0, ff_mask_of_run(32, 48));
    assert_int_equal(losing_range(&e), 1);
    see_round(&e);
    use_page(&e, 2, 3);
    begin_launch(&e);
    assert_int_equal(losing_range(&e), 1);
    close_bench(&e.bench);
    open_order(&e, 2); /* what the driver knows */
    begin_launch(&e);
    assert_int_equal(losing_range(&e), 0);
    see_round(&e);
    assert_int_equal(losing_range(&e), 1);
    come(&e, 2, ff_mask_of_run(32, 48));
    assert_int_equal(losing_range(&e), 2);
    close_bench(&e.bench);
    open_order(&e, 3); /* what was when the launch began */
    see_round(&e);
    assert_int_equal(losing_range(&e), 0);
    begin_launch(&e);
    use_page(&e, 2, 3);
    come(&e, 2, ff_mask_of_run(32, 48));
    assert_int_equal(losing_range(&e), 1);
    close_bench(&e.bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evict_order),   cmocka_unit_test(test_profile),
        cmocka_unit_test(test_shapes),        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_record),        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_guesses),       cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_completion),    cmocka_unit_test(test_whole),
        cmocka_unit_test(test_prefetch_twin), cmocka_unit_test(test_evict_twin),
        cmocka_unit_test(test_evict_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
