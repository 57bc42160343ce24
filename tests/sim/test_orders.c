/* The orders of eviction against twins: the victims of every single eviction of many random
 * programs, found a second time by looking at everything. */
#include "sim/touch.h"

#include "base/leaves.h"
#include "policy/common/tree.h"

#include <errno.h>

#define LENGTH 3000u
#define PAGES  1900u
#define BLOCKS 4u
#define LEAVES FF__BLOCK_LEAVES

/* What a policy may know: when everything was used last, and how often. Kept as arrays of times. */
struct twin {
    uint64_t clock, page_used[BLOCKS * FF_BLOCK_PAGES], leaf_used[BLOCKS][LEAVES];
    uint64_t block_used[BLOCKS], count[BLOCKS];
    bool written[BLOCKS];
};

/* One eviction: what is resident before, what needs room, and which victims are expected. */
struct question {
    const struct twin *twin;
    struct ff_mask here[BLOCKS], gone[BLOCKS];
    uint32_t own, reserve;
    uint64_t need, named, named_before;
};

struct order {
    const char *name;
    void (*find)(struct question *question);       /* adds to `gone` */
    void (*find_block)(struct question *question); /* by block: the one that goes */
};

/* ---- uses ---- */

static void use_leaves(struct twin *twin, uint32_t block, uint32_t leaves) {
    twin->block_used[block] = ++twin->clock;
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        if (leaves >> leaf & 1)
            twin->leaf_used[block][leaf] = ++twin->clock;
}

static void see_access(struct twin *twin, uint64_t page, bool write, bool missing) {
    uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES);
    twin->count[block]++;
    twin->written[block] |= write;
    if (missing)
        return;
    twin->page_used[page] = ++twin->clock;
    use_leaves(twin, block, 1u << page % FF_BLOCK_PAGES / FF_LEAF_PAGES);
}

static void see_arrival(struct twin *twin, uint32_t block, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        twin->page_used[block * FF_BLOCK_PAGES + page] = ++twin->clock;
    }
    use_leaves(twin, block, ff__leaves_of(pages));
}

/* ---- choices ---- */

static uint32_t pages_of(uint32_t block) {
    return block + 1 < BLOCKS ? FF_BLOCK_PAGES : PAGES - block * FF_BLOCK_PAGES;
}

/* What is still there. */
static struct ff_mask left_of(const struct question *question, uint32_t block) {
    return ff_mask_minus(&question->here[block], &question->gone[block]);
}

static bool is_whole(const struct question *question, uint32_t block) {
    struct ff_mask left = left_of(question, block);
    return ff_mask_count(&left) == pages_of(block);
}

static void take(struct question *question, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask left = left_of(question, block), taken = ff_mask_and(pages, &left);
    question->gone[block] = ff_mask_or(&question->gone[block], &taken);
    question->named += ff_mask_count(&taken);
}

/* The coldest of those that hold something and have not been `tried`; BLOCKS if there is none. */
static uint32_t coldest_block(const struct question *question, const bool tried[BLOCKS]) {
    uint32_t coldest = BLOCKS;
    for (uint32_t block = 0; block < BLOCKS; block++)
        if (!tried[block] && !ff_mask_empty(&question->here[block]) &&
            (coldest == BLOCKS ||
             question->twin->block_used[block] < question->twin->block_used[coldest]))
            coldest = block;
    return coldest;
}

static uint32_t blocks_left(const struct question *question) {
    uint32_t count = 0;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask left = left_of(question, block);
        count += !ff_mask_empty(&left);
    }
    return count;
}

/* Whether groups have named enough for once: a reserve is taken anew at each eviction, which is
 * that of one unit then. */
static bool is_over(const struct question *question) {
    return question->named >= question->need ||
           (question->reserve > 0 && question->named > question->named_before);
}

/* ---- lru-4k ---- */

static uint64_t coldest_page(const struct question *question, bool also_own) {
    uint64_t coldest = UINT64_MAX;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask left = left_of(question, block);
        FF_MASK_FOR_EACH_PAGE(&left, page) {
            uint64_t id = block * FF_BLOCK_PAGES + page;
            if ((also_own || block != question->own) &&
                (coldest == UINT64_MAX ||
                 question->twin->page_used[id] < question->twin->page_used[coldest]))
                coldest = id;
        }
    }
    return coldest;
}

static void find_pages(struct question *question) {
    struct ff_mask skipped[BLOCKS] = {{{0}}};
    uint64_t pages = 0;
    for (uint32_t block = 0; block < BLOCKS; block++)
        pages += ff_mask_count(&question->here[block]);
    for (uint64_t skip = pages * question->reserve / 100; skip > 0; skip--) {
        uint64_t id = coldest_page(question, true);
        ff_mask_set(&skipped[id / FF_BLOCK_PAGES], id % FF_BLOCK_PAGES);
        ff_mask_unset(&question->here[id / FF_BLOCK_PAGES], id % FF_BLOCK_PAGES);
    }
    while (question->named < question->need) {
        uint64_t id = coldest_page(question, true);
        struct ff_mask page = {{0}};
        ff_mask_set(&page, id % FF_BLOCK_PAGES);
        take(question, (uint32_t)(id / FF_BLOCK_PAGES), &page);
    }
    for (uint32_t block = 0; block < BLOCKS; block++)
        question->here[block] = ff_mask_or(&question->here[block], &skipped[block]);
}

static void find_block_of_page(struct question *question) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    take(question, (uint32_t)(coldest_page(question, false) / FF_BLOCK_PAGES), &all);
}

/* ---- lru-2m ---- */

/* Whole blocks, then blocks with pages missing, then reserved ones: the next kind only if no block
 * is of the one before. */
static void find_blocks(struct question *question) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    for (int pass = 0; pass < 3 && question->named == question->named_before; pass++) {
        bool tried[BLOCKS] = {false};
        uint32_t skip = pass == 2 ? 0 : blocks_left(question) * question->reserve / 100, block;
        while (!is_over(question) && (block = coldest_block(question, tried)) < BLOCKS) {
            tried[block] = true;
            struct ff_mask left = left_of(question, block);
            if (ff_mask_empty(&left))
                continue;
            if (skip > 0)
                skip--;
            else if (block != question->own && (pass > 0 || is_whole(question, block)))
                take(question, block, &all);
        }
    }
}

static void find_coldest_block(struct question *question) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    bool tried[BLOCKS] = {false};
    tried[question->own] = true;
    take(question, coldest_block(question, tried), &all);
}

/* ---- lru-64k and tree-half ---- */

static uint32_t coldest_leaf(const struct question *question, uint32_t block, uint32_t leaves) {
    uint32_t coldest = LEAVES;
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        if (leaves >> leaf & 1 &&
            (coldest == LEAVES ||
             question->twin->leaf_used[block][leaf] < question->twin->leaf_used[block][coldest]))
            coldest = leaf;
    return coldest;
}

static uint32_t whole_leaves(const struct question *question, uint32_t block) {
    struct ff_mask all = ff_mask_of_run(0, pages_of(block)), left = left_of(question, block);
    struct ff_mask missing = ff_mask_minus(&all, &left);
    return ~ff__leaves_of(&missing);
}

static void take_leaves(struct question *question, uint32_t block, uint32_t leaves, bool drains) {
    static const struct ff__tree_shape half = {FF_LEAF_PAGES, FF_BLOCK_PAGES, 50, false};
    struct ff_mask left = left_of(question, block);
    struct ff__tree tree;
    ff__tree_start(&tree, &half, &left, pages_of(block));
    while (leaves && !is_over(question)) {
        uint32_t leaf = coldest_leaf(question, block, leaves), gone = 1u << leaf;
        struct ff_mask may_go = ff__leaf_pages(leaves & ~gone, FF_BLOCK_PAGES), more;
        ff_mask_unset_run(&tree.set[0], leaf * FF_LEAF_PAGES, (leaf + 1) * FF_LEAF_PAGES);
        if (drains) {
            ff__tree_drain(&tree, &may_go, &more);
            gone |= ff__leaves_of(&more);
        }
        struct ff_mask pages = ff__leaf_pages(gone, pages_of(block));
        take(question, block, &pages);
        leaves &= ~gone;
    }
}

static uint32_t leaves_left(const struct question *question) {
    uint32_t count = 0;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask left = left_of(question, block);
        count += (uint32_t)__builtin_popcount(ff__leaves_of(&left));
    }
    return count;
}

static void find_leaves_of_pass(struct question *question, int pass, bool drains) {
    bool tried[BLOCKS] = {false};
    uint32_t skip = pass == 2 ? 0 : leaves_left(question) * question->reserve / 100, block;
    while (!is_over(question) && (block = coldest_block(question, tried)) < BLOCKS) {
        tried[block] = true;
        struct ff_mask left = left_of(question, block);
        uint32_t leaves = ff__leaves_of(&left);
        for (; skip > 0 && leaves; skip--)
            leaves &= ~(1u << coldest_leaf(question, block, leaves));
        if (pass == 0)
            leaves &= whole_leaves(question, block);
        if (pass != 1 || block != question->own)
            take_leaves(question, block, leaves, drains);
    }
}

static void find_any_leaves(struct question *question, bool drains) {
    for (int pass = 0; pass < 3 && question->named == question->named_before; pass++)
        find_leaves_of_pass(question, pass, drains);
}

static void find_leaves(struct question *question) {
    find_any_leaves(question, false);
}

static void find_tree(struct question *question) {
    find_any_leaves(question, true);
}

/* ---- lfu-2m ---- */

static bool is_colder(const struct twin *twin, uint32_t a, uint32_t b) {
    if (twin->count[a] != twin->count[b])
        return twin->count[a] < twin->count[b];
    if (twin->written[a] != twin->written[b])
        return !twin->written[a];
    return twin->block_used[a] < twin->block_used[b];
}

static uint32_t least_used(const struct question *question, const bool tried[BLOCKS]) {
    uint32_t least = BLOCKS;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask left = left_of(question, block);
        if (!tried[block] && !ff_mask_empty(&left) &&
            (least == BLOCKS || is_colder(question->twin, block, least)))
            least = block;
    }
    return least;
}

/* Whole blocks; else the best of the others alone. */
static void find_least_used(struct question *question) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    bool tried[BLOCKS] = {false};
    uint32_t skip = blocks_left(question) * question->reserve / 100, block;
    uint32_t parts = BLOCKS, reserved = BLOCKS;
    while (question->named < question->need && (block = least_used(question, tried)) < BLOCKS) {
        tried[block] = true;
        bool is_reserved = skip > 0;
        skip -= is_reserved;
        if (block == question->own)
            continue;
        if (is_reserved)
            reserved = reserved == BLOCKS ? block : reserved;
        else if (is_whole(question, block))
            take(question, block, &all);
        else
            parts = parts == BLOCKS ? block : parts;
    }
    if (question->named == question->named_before && (parts < BLOCKS || reserved < BLOCKS))
        take(question, parts < BLOCKS ? parts : reserved, &all);
}

static void find_least_used_block(struct question *question) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    bool tried[BLOCKS] = {false};
    tried[question->own] = true;
    take(question, least_used(question, tried), &all);
}

/* ---- the comparison ---- */

static uint64_t evictions;

static void look(struct question *question, const struct toucher *toucher,
                 const struct twin *twin) {
    memset(question, 0, sizeof *question);
    question->twin = twin;
    for (uint32_t block = 0; block < BLOCKS; block++)
        question->here[block] = ff__facts(&toucher->engine.space, block)->tier[1].resident;
}

/* The engine asks until it has enough, or no victim is named any more. */
static void answer(struct question *question, const struct order *order, bool by_page) {
    if (!by_page) {
        order->find_block(question);
        return;
    }
    do {
        question->named_before = question->named;
        order->find(question);
    } while (question->named < question->need && question->named > question->named_before);
}

static void check_answer(const struct question *question, const struct ff__job *job,
                         const char *system, uint32_t i) {
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask out = {{0}};
        for (uint32_t k = 0; k < job->out_count; k++)
            if (job->out[k].block == block)
                out = job->out[k].pages;
        if (!ff_mask_equal(&out, &question->gone[block]))
            fail_msg("%s, touch %u for block %u: %u pages of block %u leave, the twin's %u", system,
                     i, question->own, ff_mask_count(&out), block,
                     ff_mask_count(&question->gone[block]));
    }
}

static void forget_empty(struct twin *twin, const struct toucher *toucher) {
    for (uint32_t block = 0; block < BLOCKS; block++)
        if (ff__frame(&toucher->engine.space, 1, block) == FF_NONE)
            twin->written[block] = false;
}

static void step(struct toucher *toucher, struct twin *twin, const struct order *order,
                 const char *system, uint32_t reserve, uint64_t page, uint32_t i) {
    static struct question question;
    bool write = i % 7 == 0, by_page = toucher->engine.view.unit == 1;
    uint64_t room = ff_view_free_pages(&toucher->engine.view, 1);
    forget_empty(twin, toucher);
    see_access(twin, page, write, !touch_has(toucher, page));
    look(&question, toucher, twin);
    if (!touch(toucher, page, write))
        return;
    const struct ff__job *job = &toucher->job;
    uint64_t wanted = ff_mask_count(&job->in.pages);
    question.own = job->in.block;
    question.reserve = reserve;
    question.need = by_page ? (wanted > room ? wanted - room : 0) : job->out_count;
    if (question.need > 0)
        answer(&question, order, by_page);
    evictions += question.need > 0;
    check_answer(&question, job, system, i);
    see_arrival(twin, job->in.block, &job->in.pages);
}

static void check_program(const struct order *order, const char *prefetch, uint32_t reserve,
                          bool by_page, uint64_t seed) {
    static struct toucher toucher;
    static struct twin twin;
    static uint64_t pages[LENGTH];
    char system[96];
    struct ff__random random = ff__random_seeded(seed);
    struct toucher_shape shape = {.system = system, .pages = PAGES, .by_page = by_page};
    shape.memory = by_page ? 1100 + ff__random_below(&random, 600)
                           : FF_BLOCK_PAGES * (2 + ff__random_below(&random, 2));
    snprintf(system, sizeof system, "demand:prefetch=%s,evict=%s,reserve=%u", prefetch, order->name,
             reserve);
    touch_draw(&random, pages, LENGTH, PAGES);
    memset(&twin, 0, sizeof twin);
    touch_open(&toucher, &shape);
    for (uint32_t i = 0; i < LENGTH; i++)
        step(&toucher, &twin, order, system, reserve, pages[i], i);
    touch_close(&toucher);
}

static void check_order(const struct order *order) {
    static const char *const prefetch[] = {"none", "sequential", "tree-half"};
    evictions = 0;
    for (uint64_t seed = 1; seed <= scaled_cases(18, 6); seed++) {
        check_program(order, prefetch[seed % 3], seed % 2 ? 0 : 20, true, seed);
        check_program(order, prefetch[seed % 3], 0, false, seed);
    }
    print_message("%llu evictions\n", (unsigned long long)evictions);
    assert_true(evictions > 200);
}

static void test_lru_4k(void **state) {
    (void)state;
    check_order(&(struct order){"lru-4k", find_pages, find_block_of_page});
}

static void test_lru_64k(void **state) {
    (void)state;
    check_order(&(struct order){"lru-64k", find_leaves, find_coldest_block});
}

static void test_lru_2m(void **state) {
    (void)state;
    check_order(&(struct order){"lru-2m", find_blocks, find_coldest_block});
}

static void test_tree_half(void **state) {
    (void)state;
    check_order(&(struct order){"tree-half", find_tree, find_coldest_block});
}

static void test_lfu_2m(void **state) {
    (void)state;
    check_order(&(struct order){"lfu-2m", find_least_used, find_least_used_block});
}

/* ---- how much there is ---- */

static void expect_room(const struct toucher *toucher, uint64_t free, uint64_t held,
                        uint64_t excess) {
    struct ff__tier_memory memory = ff__page_allocator.memory(&toucher->engine, 1);
    assert_int_equal(memory.free, free);
    assert_int_equal(memory.held, held);
    assert_int_equal(memory.excess, excess);
}

/* What is held above a lowered capacity leaves first; what is forgotten is free, and still there.
 */
static void test_capacity(void **state) {
    (void)state;
    static struct toucher toucher;
    struct toucher_shape shape = {
        .system = "demand:evict=lru-4k", .pages = 512, .memory = 100, .by_page = true};
    touch_open(&toucher, &shape);
    for (uint64_t page = 0; page < 80; page++)
        touch(&toucher, page, false);
    expect_room(&toucher, 20, 80, 0);
    assert_int_equal(ff__engine_set_memory(&toucher.engine, 1, 60 * FF_PAGE_SIZE), 0);
    expect_room(&toucher, 0, 80, 20);
    touch(&toucher, 100, false); /* in the place of another one */
    expect_room(&toucher, 0, 80, 20);
    assert_int_equal(ff__engine_preevict(&toucher.engine, ++toucher.now_ns, 1, &toucher.job),
                     FF__JOB_RUN);
    touch_finish(&toucher, &toucher.job);
    expect_room(&toucher, 0, 60, 0);
    assert_int_equal(ff__engine_set_memory(&toucher.engine, 1, 100 * FF_PAGE_SIZE), 0);
    expect_room(&toucher, 40, 60, 0);
    assert_int_equal(ff__engine_set_memory(&toucher.engine, 1, 101 * FF_PAGE_SIZE), -EINVAL);
    assert_int_equal(toucher.engine.space.stats.capacity, 100 * FF_PAGE_SIZE);
    ff__pages_forget(&toucher.engine, ++toucher.now_ns, 1);
    expect_room(&toucher, 100, 60, 0);
    assert_true(touch_has(&toucher, 100));
    assert_int_equal(
        ff__engine_evict(&toucher.engine, ++toucher.now_ns, 0, 1, NULL, NULL, &toucher.job),
        FF__JOB_RUN);
    touch_finish(&toucher, &toucher.job);
    ff__pages_forget(&toucher.engine, ++toucher.now_ns, 1);
    expect_room(&toucher, 100, 0, 0);
    touch_close(&toucher);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity),  cmocka_unit_test(test_lru_4k),
        cmocka_unit_test(test_lru_64k),   cmocka_unit_test(test_lru_2m),
        cmocka_unit_test(test_tree_half), cmocka_unit_test(test_lfu_2m),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
