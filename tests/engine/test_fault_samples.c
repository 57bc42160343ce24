/* Samples from far faults: rounds by the share of a range that has come, in the order of use, and
 * last uses. */
#include "engine/single.h"

#include "engine/fault_samples.h"

#define LEAVES 128u /* of a range: 4 blocks; a round is 40 percent of them */
#define ROUND  51u
#define CHUNKS 32u
#define BLOCKS 64u /* of all addresses */

static struct ff__fault_samples samples;
static uint64_t clock_ns;

static struct {
    uint32_t rounds, count, range, launch, tier;
    struct ff_sample items[FF__SAMPLES_MAX];
} shown;

/* A policy that is shown rounds. */
static void note_round(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    (void)state, (void)view, (void)advice;
    shown.rounds++;
    shown.count = round->count;
    shown.range = round->range;
    shown.launch = round->launch;
    shown.tier = round->tier;
    memcpy(shown.items, round->items, round->count * sizeof shown.items[0]);
}

static const struct ff_sample_hooks hooks = {.on_samples = note_round};
static const struct ff_prefetch_policy seer = {
    .base = {.name = "seer",
             .summary = "sees samples",
             .api = FF_POLICY_API,
             .sees = FF_SEES_SAMPLES,
             .samples = &hooks},
};

/* ---- a backend that sees uses of pages that stay ---- */

static struct {
    struct ff_mask used[BLOCKS]; /* [block] what it says next */
    struct ff_mask asked;        /* of the latest block */
    uint32_t calls, calls_for[BLOCKS];
    int status;
} seen;

static int say_used(void *self, uint32_t block, const struct ff_mask *pages, struct ff_mask *used) {
    (void)self;
    seen.calls++;
    seen.calls_for[block]++;
    seen.asked = *pages;
    *used = ff_mask_and(&seen.used[block], pages);
    ff_mask_clear(&seen.used[block]);
    return seen.status;
}

static const struct ff__backend seeing = {.accessed = say_used};

static uint32_t open_samples_under(const char *system) {
    struct ff__engine_config config = config_for(system, CHUNKS);
    struct ff_error error = {""};
    memset(&shown, 0, sizeof shown);
    memset(&seen, 0, sizeof seen);
    clock_ns = 1000;
    backend.shows |= FF_SEES_SAMPLES | FF_SEES_LAUNCHES;
    backend.controls |= FF_CONTROLS_SAMPLING;
    config.system.policy[FF__PREFETCH] = &seer.base;
    if (ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&fake, &engine.space, 1);
    assert_int_equal(ff__fault_samples_open(&samples, &engine, &seeing, NULL), 0);
    return add_range(LEAVES * FF_LEAF_PAGES);
}

static uint32_t open_samples(void) {
    return open_samples_under("demand");
}

static void close_samples(void) {
    ff__fault_samples_close(&samples);
    close_engine();
}

/* A launch that uses one range. */
static void begin(uint64_t identity, uint32_t range) {
    struct ff_advice items[4];
    struct ff_advice_list advice = {.items = items, .capacity = 4};
    const struct ff_operand operand = {.range = range, .reads = true};
    const struct ff__launch launch = {
        .tier = 1, .begins = true, .identity = identity, .operands = &operand, .operand_count = 1};
    ff__fault_samples_begin(&samples, &launch, ++clock_ns);
    assert_int_equal(ff__engine_launch(&engine, clock_ns, &launch, &advice), 0);
}

static void end(uint64_t identity) {
    ff__fault_samples_end(&samples, 1, ++clock_ns);
    assert_int_equal(tell_launch(&engine, clock_ns, 1, identity, false), 0);
}

static void ask(uint32_t block, bool wanted) {
    const struct ff_advice advice = {.action = FF_SAMPLE,
                                     .block = block,
                                     .tier = 1,
                                     .launch = ff__running_latest(&engine.running[1]),
                                     .ceases = !wanted};
    ff__engine_advise_now(&engine, &advice);
}

/* A leaf of the range is faulted on. */
static void use(uint32_t first_block, uint32_t leaf) {
    struct ff_advice items[4];
    struct ff_advice_list advice = {.items = items, .capacity = 4};
    uint32_t page = leaf % FF__BLOCK_LEAVES * FF_LEAF_PAGES;
    bring(first_block + leaf / FF__BLOCK_LEAVES, page, page + FF_LEAF_PAGES);
    ff__fault_samples_arrived(&samples, &job, ++clock_ns, &advice);
}

static void give_up(uint32_t block) {
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, NULL, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
}

/* Backwards: the first sample is that of the highest page. */
static void test_round(void **state) {
    (void)state;
    uint32_t block = open_samples(), range = engine.space.blocks[block].range;
    begin(7, range);
    ask(block, true);
    for (uint32_t i = 0; i < ROUND; i++) {
        assert_int_equal(shown.rounds, 0);
        use(block, LEAVES - 1 - i);
    }
    assert_int_equal(shown.rounds, 1);
    assert_int_equal(shown.range, range);
    assert_int_equal(shown.launch, ff__running_latest(&engine.running[1]));
    assert_int_equal(shown.tier, 1);
    assert_int_equal(shown.count, ROUND);
    for (uint32_t i = 0; i < ROUND; i++) {
        uint32_t leaf = LEAVES - 1 - i;
        assert_int_equal(shown.items[i].rank, i);
        assert_int_equal(shown.items[i].block, block + leaf / FF__BLOCK_LEAVES);
        assert_int_equal(shown.items[i].page, leaf % FF__BLOCK_LEAVES * FF_LEAF_PAGES);
        assert_int_equal(shown.items[i].page_count, FF_LEAF_PAGES);
    }
    close_samples();
}

/* What comes back is one sample, with its last use. */
static void test_again(void **state) {
    (void)state;
    uint32_t block = open_samples();
    begin(7, engine.space.blocks[block].range);
    ask(block, true);
    use(block, 3);
    for (uint32_t i = 0; i < ROUND - 2; i++)
        use(block + 1, i);
    give_up(block);
    use(block, 3);
    assert_int_equal(shown.rounds, 1);
    assert_int_equal(shown.count, ROUND - 1);
    assert_int_equal(shown.items[0].block, block + 1);
    assert_int_equal(shown.items[ROUND - 2].block, block);
    close_samples();
}

/* Not without being asked, nor when ceased, under the next launch, when the range is freed, or
 * after ten rounds. */
static void test_armed(void **state) {
    (void)state;
    uint32_t block = open_samples(), range = engine.space.blocks[block].range;
    begin(7, range);
    for (uint32_t i = 0; i < 32; i++)
        use(block, i);
    ask(block, true);
    for (uint32_t i = 32; i < 64; i++)
        use(block, i);
    ask(block, false);
    for (uint32_t i = 64; i < LEAVES; i++)
        use(block, i);
    ask(block, true);
    end(7);
    begin(8, range);
    for (uint32_t pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < LEAVES / FF__BLOCK_LEAVES; i++)
            give_up(block + i);
        for (uint32_t i = 0; i < LEAVES; i++)
            use(block, i);
    }
    assert_int_equal(shown.rounds, 0);
    ask(block, true);
    for (uint32_t pass = 0; pass < 5; pass++) {
        for (uint32_t i = 0; i < LEAVES / FF__BLOCK_LEAVES; i++)
            give_up(block + i);
        for (uint32_t i = 0; i < LEAVES; i++)
            use(block, i);
    }
    assert_int_equal(shown.rounds, FF__SAMPLE_ROUNDS);
    ask(block, true);
    remove_range(block);
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++)
        assert_false(samples.tables[1].rows[i].armed);
    assert_int_equal(engine.running[1].launches[0].operand_count, 0);
    close_samples();
}

/* What one launch has armed stays so when another begins and ends beside it. */
static void test_beside(void **state) {
    (void)state;
    uint32_t block = open_samples(), other = add_range(FF_BLOCK_PAGES);
    begin(7, engine.space.blocks[block].range);
    uint32_t launch = ff__running_latest(&engine.running[1]);
    ask(block, true);
    begin(8, engine.space.blocks[other].range);
    end(8);
    for (uint32_t i = 0; i < ROUND; i++)
        use(block, i);
    assert_int_equal(shown.rounds, 1);
    assert_int_equal(shown.launch, launch);
    close_samples();
}

/* The largest ranges have rows. */
static void test_rows(void **state) {
    (void)state;
    uint32_t large = open_samples(), small[FF__SAMPLE_ROWS];
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++)
        small[i] = add_range(FF_LEAF_PAGES * (i + 2));
    begin(7, engine.space.blocks[large].range);
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++)
        ask(small[i], true);
    ask(large, true);
    uint32_t smallest = engine.space.blocks[small[0]].range, rows = 0;
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++) {
        rows += samples.tables[1].rows[i].armed;
        assert_int_not_equal(samples.tables[1].rows[i].range, smallest);
    }
    assert_int_equal(rows, FF__SAMPLE_ROWS);
    close_samples();
}

/* Operands of the running launch are in use now, others since they came; what was brought along is
 * marked. */
static void test_last_uses(void **state) {
    (void)state;
    uint32_t block = open_samples(), other = add_range(2 * FF_BLOCK_PAGES);
    uint32_t range = engine.space.blocks[block].range,
             other_range = engine.space.blocks[other].range;
    const struct ff_last_uses *uses = &engine.view.last_uses[1];
    assert_ptr_not_equal(uses->range, NULL);
    begin(7, range);
    use(other, 0);
    uint64_t came = clock_ns;
    use(other, 1);
    assert_int_equal(uses->range[other_range], came + 1);
    ff__fault_samples_use(&samples, came + 100);
    assert_int_equal(uses->range[range], came + 100);
    assert_int_equal(uses->range[other_range], came + 1);
    ff__fault_samples_end(&samples, 1, came + 200);
    assert_int_equal(tell_launch(&engine, came + 200, 1, 7, false), 0);
    ff__fault_samples_use(&samples, came + 300);
    assert_int_equal(uses->range[range], came + 200);
    const uint32_t *page = &uses->page[(size_t)other * FF_BLOCK_PAGES];
    assert_true(page[0] > 0 && page[FF_LEAF_PAGES] > page[0]);
    assert_int_equal(page[2 * FF_LEAF_PAGES], 0);
    job.faulted = ff_mask_of_run(0, 1);
    struct ff_advice_list none = {.capacity = 0};
    ff__fault_samples_arrived(&samples, &job, ++clock_ns, &none); /* the second leaf came unasked */
    assert_true(page[FF_LEAF_PAGES] & FF_PAGE_UNUSED);
    close_samples();
}

/* A kernel reports its use of a page of a leaf. */
static void report(uint32_t first_block, uint32_t leaf, uint32_t page) {
    struct ff_advice items[4];
    struct ff_advice_list advice = {.items = items, .capacity = 4};
    ff__fault_samples_used(&samples, 1, first_block + leaf / FF__BLOCK_LEAVES,
                           leaf % FF__BLOCK_LEAVES * FF_LEAF_PAGES + page, ++clock_ns, &advice);
}

/* What is there is seen where its use is reported; a leaf counts once towards a round. */
static void test_reported(void **state) {
    (void)state;
    uint32_t block = open_samples(), range = engine.space.blocks[block].range;
    begin(7, range);
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        use(block, leaf);
    report(block, 0, 0); /* nobody has asked */
    ask(block, true);
    for (uint32_t leaf = 0; leaf < ROUND - 1; leaf++) {
        report(block, 2 * leaf, 3);
        report(block, 2 * leaf, 4);
        report(block, 0, 5);
        report(block, 2 * leaf, 6);
    }
    assert_int_equal(shown.rounds, 0);
    report(block, 127, 0);
    assert_int_equal(shown.rounds, 1);
    assert_int_equal(shown.count, ROUND);
    assert_int_equal(shown.items[ROUND - 1].block, block + 127 / FF__BLOCK_LEAVES);
    assert_int_equal(shown.items[ROUND - 2].block, block + 100 / FF__BLOCK_LEAVES);
    assert_int_equal(shown.items[ROUND - 3].block, block);
    assert_int_equal(shown.items[ROUND - 3].page, 0);
    const uint32_t *page = &samples.tables[1].page_used[(size_t)block * FF_BLOCK_PAGES];
    assert_true(page[5] > page[3]);
    assert_int_equal(samples.tables[1].range_used[range], clock_ns);
    close_samples();
}

/* ---- uses of pages that stay ---- */

static uint32_t *page_use(uint32_t block, uint32_t page) {
    return &samples.tables[1].page_used[(size_t)block * FF_BLOCK_PAGES + page];
}

static void look(void) {
    clock_ns += FF__LOOK_NS;
    ff__fault_samples_use(&samples, clock_ns);
}

/* Of what has stayed since a look the next one finds the uses, and gives them one number. */
static void test_looks(void **state) {
    (void)state;
    uint32_t block = open_samples_under("demand:evict=forest");
    uint32_t range = engine.space.blocks[block].range;
    use(block, 0);
    use(block, 1);
    uint32_t first = *page_use(block, 0), second = *page_use(block, FF_LEAF_PAGES);
    assert_true(second > first);
    seen.used[block] = ff_mask_of_run(0, 2 * FF_LEAF_PAGES);
    look(); /* what they came for */
    assert_int_equal(seen.calls, 1);
    assert_int_equal(ff_mask_count(&seen.asked), 2 * FF_LEAF_PAGES);
    assert_int_equal(*page_use(block, 0), first);
    seen.used[block] = ff_mask_of_run(3, 5);
    look();
    assert_true(*page_use(block, 3) > second);
    assert_int_equal(*page_use(block, 4), *page_use(block, 3));
    assert_int_equal(*page_use(block, 2), first);
    assert_int_equal(*page_use(block, FF_LEAF_PAGES), second);
    assert_int_equal(samples.tables[1].range_used[range], clock_ns);
    uint64_t used = clock_ns;
    look();
    assert_int_equal(samples.tables[1].range_used[range], used);
    close_samples();
}

/* What has left and come back since is new. */
static void test_looks_at_what_came_back(void **state) {
    (void)state;
    uint32_t block = open_samples_under("demand:evict=forest");
    use(block, 0);
    look();
    give_up(block);
    look();
    assert_int_equal(seen.calls, 1); /* nothing is there */
    use(block, 0);
    uint32_t came = *page_use(block, 0);
    seen.used[block] = ff_mask_of_run(0, FF_LEAF_PAGES);
    look();
    assert_int_equal(*page_use(block, 0), came);
    seen.used[block] = ff_mask_of_run(0, FF_LEAF_PAGES);
    look();
    assert_true(*page_use(block, 0) > came);
    close_samples();
}

/* So many blocks at a time, in turn, and not sooner than after so long. */
static void test_looks_in_turn(void **state) {
    (void)state;
    const uint32_t held = FF__LOOK_BLOCKS + 4;
    open_samples_under("demand:evict=forest");
    uint32_t block = add_range(held * FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < held; i++)
        use(block + i, 0);
    look();
    assert_int_equal(seen.calls, FF__LOOK_BLOCKS);
    ff__fault_samples_use(&samples, clock_ns + FF__LOOK_NS - 1);
    assert_int_equal(seen.calls, FF__LOOK_BLOCKS);
    look();
    assert_int_equal(seen.calls, 2 * FF__LOOK_BLOCKS);
    for (uint32_t i = 0; i < held; i++)
        assert_in_range(seen.calls_for[block + i], 1, 2);
    close_samples();
}

/* A block that is at work is left alone. A backend that says no for now is asked again, one that
 * says no is not. */
static void test_looks_are_refused(void **state) {
    (void)state;
    uint32_t block = open_samples_under("demand:evict=forest");
    struct ff_mask none = {{0}};
    use(block, 0);
    uint32_t came = *page_use(block, 0);
    assert_true(ff__engine_claim_block(&engine, block, &none));
    look();
    assert_int_equal(seen.calls, 0);
    ff__engine_release_block(&engine, block, &none);
    look();
    seen.status = -EAGAIN;
    seen.used[block] = ff_mask_of_run(0, 1);
    look();
    assert_int_equal(seen.calls, 2);
    assert_int_equal(*page_use(block, 0), came);
    seen.status = -ENOSYS;
    look();
    look();
    assert_int_equal(seen.calls, 3);
    close_samples();
}

/* An evictor that does not go by use does not pay for it. */
static void test_looks_only_for_evictors_by_use(void **state) {
    (void)state;
    use(open_samples_under("demand:evict=forest-plus"), 0);
    look();
    assert_int_equal(seen.calls, 0);
    close_samples();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_armed),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_last_uses),
        cmocka_unit_test(test_reported),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_looks_at_what_came_back),
        cmocka_unit_test(test_looks_in_turn),
        cmocka_unit_test(test_looks_are_refused),
        cmocka_unit_test(test_looks_only_for_evictors_by_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
