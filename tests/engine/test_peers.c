/* Memory that devices lend to each other's evictions: random faults, advice, copies to the host and
 * changes of what is lent, with a version of every page, so that content that gets lost shows at
 * the next touch. */
#include "base/cases.h"

#include "backend/sim/pages.h"
#include "base/random.h"
#include "engine/internal.h"
#include "fake/costs.h"

#include <errno.h>

#define DEVICES     3u
#define BLOCKS      12u /* of each device's range */
#define CHUNKS      5u
#define FLIGHTS     4u
#define BLOCK_BYTES ((uint64_t)FF_BLOCK_SIZE)
#define ALL         (DEVICES * BLOCKS)

struct block {
    uint32_t at[FF_TIERS_MAX][FF_BLOCK_PAGES]; /* versions; [0] the host's */
    uint32_t truth[FF_BLOCK_PAGES];
};

static struct ff__description backend;
static struct ff__engine engine;
static struct ff__page_counts counts;
static struct block blocks[64];
static struct ff__job flights[FLIGHTS];
static uint32_t flight_count, version;
static struct ff__random dice;
static uint64_t now_ns;

/* ---- the place policy: a peer, then another one, then the host ---- */

static uint32_t to_peers(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                         uint32_t tiers[FF_TIERS_MAX]) {
    (void)state, (void)block;
    for (uint32_t i = 0; i + 2 < view->tier_count; i++)
        tiers[i] = 1 + (from + i) % (view->tier_count - 1);
    tiers[view->tier_count - 2] = FF_TIER_HOST;
    return view->tier_count - 1;
}

static const struct ff_place_policy peers_policy = {
    .base = {.name = "to-peers", .summary = "to other devices", .api = FF_POLICY_API},
    .place = to_peers,
};

static void open_engine(uint32_t granule, bool copies_clean) {
    backend = (struct ff__description){
        .tier_count = DEVICES + 1,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS,
        .separate = true,
        .peer_links = true,
        .writes_back = true,
        .copies_clean = copies_clean,
    };
    set_costs(&backend);
    struct ff__engine_config config = {
        .backend = &backend,
        .address_space = 64 * BLOCK_BYTES,
        .devices = DEVICES,
        .memory = CHUNKS * BLOCK_BYTES,
        .allocator = granule == 1 ? &ff__page_allocator : NULL,
        .allocator_state = &counts,
        .check = true,
        .virtual_time = true,
    };
    struct ff_error error = {""};
    for (uint32_t tier = 1; tier <= DEVICES; tier++)
        config.lend[tier] = 3 * BLOCK_BYTES;
    if (ff__system_parse("nvidia:place=to-peers,discard=inactive,parts=1", &config.system,
                         &error) ||
        ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    memset(blocks, 0, sizeof blocks);
    memset(&counts, 0, sizeof counts);
    flight_count = version = 0;
    for (uint32_t tier = 1; tier <= DEVICES; tier++) {
        uint32_t range;
        assert_int_equal(ff__engine_range_add(&engine, BLOCKS * FF_BLOCK_PAGES, 0, tier, &range),
                         0);
    }
}

/* ---- a backend that moves versions ---- */

static void move_out(struct ff__move *out, const struct ff__job *job) {
    struct block *b = &blocks[out->block];
    struct ff_mask *dirty = &ff__page_facts(&engine.space, out->block)->dirty;
    bool fetched = out->to.tier != FF_TIER_HOST && !out->lends;
    assert_true(!fetched || (job->has_in && job->in.block == out->block));
    FF_MASK_FOR_EACH_PAGE(&out->pages, page) {
        bool is_clean = ff_mask_test(&out->held, page) && !ff_mask_test(dirty, page);
        bool copies = out->keep ||
                      (out->guest || backend.copies_clean ? !is_clean : ff_mask_test(dirty, page));
        if (out->to.tier != FF_TIER_HOST)
            b->at[out->to.tier][page] = b->at[out->from.tier][page];
        else if (copies)
            b->at[FF_TIER_HOST][page] = b->at[out->from.tier][page];
        if (fetched || (out->to.tier == FF_TIER_HOST && copies))
            ff_mask_set(&out->copied, page);
        if (out->to.tier == FF_TIER_HOST)
            ff_mask_unset(dirty, page);
    }
}

static void move_in(const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct block *b = &blocks[in->block];
    struct ff_mask fetched = {{0}};
    for (uint32_t i = 0; i < job->out_count; i++)
        if (job->out[i].block == in->block)
            fetched = ff_mask_or(&fetched, &job->out[i].pages);
    FF_MASK_FOR_EACH_PAGE(&in->pages, page) {
        if (!ff_mask_test(&fetched, page))
            b->at[in->to.tier][page] = ff_mask_test(&in->held, page) ? b->at[0][page] : 0;
    }
}

static void end_flight(void) {
    uint32_t which = ff__random_below(&dice, flight_count);
    ff__engine_finish(&engine, ++now_ns, &flights[which]);
    flights[which] = flights[--flight_count];
}

/* Bytes move when a job begins; it ends some time later. */
static void fly(int status, struct ff__job *job) {
    if (status != FF__JOB_RUN)
        return;
    for (uint32_t i = 0; i < job->out_count; i++)
        move_out(&job->out[i], job);
    if (job->has_in)
        move_in(job);
    flight_count++;
}

static struct ff__job *next_job(void) {
    if (flight_count == FLIGHTS)
        end_flight();
    return &flights[flight_count];
}

/* ---- what happens ---- */

static uint32_t any_block(void) {
    return ff__random_below(&dice, ALL);
}

/* A device uses a page of its range, or now and then of another one's. */
static void touch(void) {
    uint32_t block = any_block(), page = ff__random_below(&dice, 64) * 8;
    uint32_t tier =
        ff__random_below(&dice, 8) ? 1 + block / BLOCKS : 1 + ff__random_below(&dice, DEVICES);
    struct ff_facts *facts = ff__facts(&engine.space, block);
    if (ff_mask_test(&facts->tier[tier].resident, page)) {
        if (facts->busy && engine.view.unit > 1)
            return; /* it may be leaving */
        assert_int_equal(blocks[block].at[tier][page], blocks[block].truth[page]);
        if (ff__is_guest(&engine, block, tier) || ff__random_below(&dice, 2))
            return;
        blocks[block].at[tier][page] = blocks[block].truth[page] = ++version;
        ff_mask_set(&ff__page_facts(&engine.space, block)->dirty, page);
        return;
    }
    struct ff_fault_group group = {
        .block = block, .tier = tier, .launch = FF_NONE, .faulted = ff_mask_of_page(page)};
    struct ff__job *job = next_job();
    fly(ff__engine_fault(&engine, ++now_ns, &group, job), job);
    while (ff__engine_take_late(&engine, &group)) {
        job = next_job();
        fly(ff__engine_fault(&engine, ++now_ns, &group, job), job);
    }
}

static void advise(void) {
    static const enum ff_action actions[] = {FF_BRING, FF_EVICT, FF_WRITE_BACK, FF_WRITE_BACK,
                                             FF_LEND};
    uint32_t block = any_block(), tier = 1 + block / BLOCKS;
    struct ff_advice advice = {
        .action = actions[ff__random_below(&dice, 5)], .block = block, .launch = FF_NONE};
    if (advice.action == FF_LEND || advice.action == FF_BRING)
        advice.pages = ff_mask_of_run(0, 1 + ff__random_below(&dice, FF_BLOCK_PAGES));
    if (advice.action != FF_BRING) /* also where it is a guest */
        tier = 1 + ff__random_below(&dice, DEVICES);
    advice.tier = tier;
    struct ff__job *job = next_job();
    fly(ff__engine_advise(&engine, ++now_ns, &advice, job), job);
}

static void preevict(void) {
    struct ff__job *job = next_job();
    fly(ff__engine_preevict(&engine, ++now_ns, 1 + ff__random_below(&dice, DEVICES), job), job);
}

/* What no device touches: its content is dead when it leaves, and is not moved. */
static void deactivate(void) {
    uint32_t first = 8 * ff__random_below(&dice, 64);
    struct ff_mask pages = ff_mask_of_run(first + 1, first + 8);
    ff__engine_set_inactive(&engine, any_block(), &pages, ff__random_below(&dice, 2));
}

static void change_memory(void) {
    uint32_t tier = 1 + ff__random_below(&dice, DEVICES);
    uint64_t chunks = CHUNKS - ff__random_below(&dice, 2);
    assert_int_equal(ff__engine_set_memory(&engine, tier, chunks * BLOCK_BYTES), 0);
}

/* ---- what must hold ---- */

static void check_lending(void) {
    struct ff_error error = {""};
    if (ff__engine_check(&engine, &error))
        fail_msg("%s", error.message);
    assert_string_equal(engine.failure.message, "");
    for (uint32_t tier = 1; tier <= DEVICES && flight_count == 0; tier++) {
        uint64_t lent = 0, removable = 0;
        for (uint32_t block = 0; block < ALL; block++) {
            const struct ff_facts *facts = ff__facts(&engine.space, block);
            if (!ff__is_guest(&engine, block, tier))
                continue;
            struct ff_mask clean =
                ff_mask_and(&facts->tier[tier].resident, &facts->tier[0].resident);
            clean = ff_mask_minus(&clean, &ff__page_facts(&engine.space, block)->dirty);
            lent +=
                engine.view.unit == 1 ? ff_mask_count(&facts->tier[tier].resident) : FF_BLOCK_PAGES;
            removable += ff_mask_count(&clean);
        }
        assert_int_equal(engine.view.lending[tier].lent, lent);
        assert_int_equal(engine.view.lending[tier].removable, removable);
        assert_int_equal(engine.view.lending[tier].writing_back, 0);
    }
}

static void live(uint32_t granule, uint64_t seed, uint32_t steps) {
    dice = ff__random_seeded(seed);
    open_engine(granule, seed % 4 < 2);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t choice = ff__random_below(&dice, 100);
        if (choice < 60)
            touch();
        else if (choice < 75)
            advise();
        else if (choice < 85)
            preevict();
        else if (choice < 86)
            change_memory();
        else if (choice < 90)
            deactivate();
        else if (flight_count > 0)
            end_flight();
        check_lending();
    }
    while (flight_count > 0)
        end_flight();
    check_lending();
    const struct ff_stats *stats = &engine.space.stats;
    assert_true(stats->pages_lent > 0 && stats->pages_written_back > 0 && stats->pages_out > 0);
    ff__engine_fini(&engine);
}

static void test_nothing_is_lost(void **state) {
    (void)state;
    static const uint32_t granules[] = {1, FF_BLOCK_PAGES};
    for (uint32_t seed = 0; seed < 20; seed++)
        live(granules[seed % 2], seed, (uint32_t)scaled_cases(4000, 1000));
}

/* A device that needs what it lends gets the guests out first, and those that the host has a copy
 * of without one. */
static void test_reclaim(void **state) {
    (void)state;
    dice = ff__random_seeded(1);
    open_engine(FF_BLOCK_PAGES, false);
    struct ff__job *job = &flights[0];
    for (uint32_t block = 0; block < CHUNKS + 2; block++) {
        struct ff_fault_group group = {
            .block = block, .tier = 1, .launch = FF_NONE, .faulted = ff_mask_of_page(3)};
        assert_int_equal(ff__engine_fault(&engine, ++now_ns, &group, job), FF__JOB_RUN);
        ff_mask_set(&ff__page_facts(&engine.space, block)->dirty, 3);
        ff__engine_finish(&engine, ++now_ns, job);
    }
    assert_int_equal(engine.view.lending[2].lent, 2 * FF_BLOCK_PAGES);
    assert_true(ff__is_guest(&engine, 0, 2) && ff__is_guest(&engine, 1, 2));
    assert_true(engine.space.stats.borrowed > 0);
    struct ff_advice advice = {.action = FF_WRITE_BACK, .block = 1, .tier = 2, .launch = FF_NONE};
    assert_int_equal(ff__engine_advise(&engine, ++now_ns, &advice, job), FF__JOB_RUN);
    assert_true(job->out[0].keep && engine.view.lending[2].writing_back > 0);
    uint64_t writing = engine.view.lending[2].writing_back;
    move_out(&job->out[0], job);
    ff_mask_clear(&ff__page_facts(&engine.space, 1)->dirty);
    ff__engine_finish(&engine, ++now_ns, job);
    assert_int_equal(engine.view.lending[2].removable, writing);
    assert_int_equal(ff__engine_set_memory(&engine, 2, BLOCK_BYTES), 0);
    assert_int_equal(ff__engine_preevict(&engine, ++now_ns, 2, job), FF__JOB_RUN);
    assert_int_equal(job->out_count, 1);
    assert_int_equal(job->out[0].block, 1); /* the one that needs no copy, not the oldest */
    assert_int_equal(job->out[0].to.tier, FF_TIER_HOST);
    ff__engine_finish(&engine, ++now_ns, job);
    assert_int_equal(engine.view.lending[2].lent, FF_BLOCK_PAGES);
    assert_int_equal(ff__engine_preevict(&engine, ++now_ns, 2, job), FF__JOB_NONE);
    /* back to its device, straight from the peer */
    struct ff_fault_group group = {
        .block = 0, .tier = 1, .launch = FF_NONE, .faulted = ff_mask_of_page(3)};
    assert_int_equal(ff__engine_fault(&engine, ++now_ns, &group, job), FF__JOB_RUN);
    bool fetched = false;
    for (uint32_t i = 0; i < job->out_count; i++)
        fetched = fetched || (job->out[i].from.tier == 2 && job->out[i].to.tier == 1);
    assert_true(fetched);
    ff__engine_finish(&engine, ++now_ns, job);
    ff__engine_fini(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_reclaim),
    };
    if (ff__policy_register(FF__PLACE, &peers_policy.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
