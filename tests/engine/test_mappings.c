/* Pages that are mapped to be used from the host, beside a naive twin: a list of pages, each with
 * the time at which it was mapped. */
#include "engine/internal.h"
#include "engine/single.h"

#define BLOCKS 5u
#define PAGES  500u /* of the last block: the others have 512 */

static struct {
    bool mapped[BLOCKS][FF_BLOCK_PAGES];
    uint64_t since[BLOCKS][FF_BLOCK_PAGES]; /* or when its end was last tried, and failed */
    bool stays[BLOCKS];
} twin;

static struct ff__random dice;
static uint64_t now;

static struct ff_mask twin_mapped(uint32_t block) {
    struct ff_mask pages = {{0}};
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        if (twin.mapped[block][page])
            ff_mask_set(&pages, page);
    return pages;
}

/* The first time at which a page may have been mapped long enough; UINT64_MAX: none is mapped. */
static uint64_t twin_until(uint32_t block) {
    uint64_t first = UINT64_MAX;
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        if (twin.mapped[block][page] && twin.since[block][page] + FF__MAPPED_NS < first)
            first = twin.since[block][page] + FF__MAPPED_NS;
    return first;
}

static void check_twin(void) {
    struct ff_error error = {""};
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask expected = twin_mapped(block), got = ff__mapped(&engine, block);
        assert_true(ff_mask_equal(&got, &expected));
        assert_true(ff_mask_equal(&fake.blocks[block].mapped, &expected));
        assert_true(ff__engine_mapped_until(&engine) <= twin_until(block));
        if (!ff__facts(&engine.space, block)->busy)
            fake_compare(&fake, block);
    }
    assert_int_equal(ff__engine_check(&engine, &error), 0);
    assert_string_equal(fake.violation, "");
    assert_int_equal(engine.space.stats.pages_mapped, fake.mapped);
}

/* ---- jobs; each may end with a part of its pages left ---- */

static struct ff_mask some(uint32_t block) {
    uint32_t count = engine.space.blocks[block].page_count;
    uint32_t first = ff__random_below(&dice, count);
    uint32_t end = first + 1 + ff__random_below(&dice, ff__random_below(&dice, 4) ? 8 : 200);
    return ff_mask_of_run(first, end < count ? end : count);
}

static void do_move(struct ff__move *move, bool may_fail) {
    struct ff_mask part = some(move->block);
    bool fails = may_fail && ff__random_below(&dice, 4) == 0;
    fake_begin(move);
    fake_move(&fake, move, fails ? &part : NULL);
    struct ff_mask done = ff_mask_minus(&move->pages, &move->left);
    if (!move->mapped)
        return;
    FF_MASK_FOR_EACH_PAGE(&done, page) {
        twin.mapped[move->block][page] = ff__move_arrives(move);
        twin.since[move->block][page] = now;
    }
    FF_MASK_FOR_EACH_PAGE(&move->left, page) {
        twin.since[move->block][page] = now;
    }
    if (!ff__move_arrives(move))
        twin.stays[move->block] = !ff_mask_empty(&move->left);
}

static void do_job(bool may_fail) {
    bool all_left = true;
    for (uint32_t i = 0; i < job.out_count; i++) {
        do_move(&job.out[i], may_fail && job.out[i].mapped);
        all_left = all_left && ff_mask_empty(&job.out[i].left);
    }
    if (job.has_in && all_left)
        do_move(&job.in, may_fail && job.in.mapped);
    else if (job.has_in)
        job.in.left = job.in.pages;
    ff__engine_finish(&engine, now, &job);
}

/* ---- steps ---- */

static uint64_t mapped_count, migrated_count, ended_count, stayed_count;

/* Maps what is left for the host to be used from there. A part that the policy has left there
 * before comes first, and the rest is late. */
static void map_absent(struct ff_fault_group *group) {
    struct ff_mask present = ff__block_present(&engine.space, group->block),
                   mapped = twin_mapped(group->block);
    struct ff_mask absent = ff_mask_minus(&group->faulted, &present);
    absent = ff_mask_minus(&absent, &mapped);
    int status = ff__engine_fault(&engine, now, group, &job);
    assert_int_equal(status, ff_mask_empty(&absent) ? FF__JOB_NONE : FF__JOB_RUN);
    if (status != FF__JOB_RUN)
        return;
    assert_true(job.has_in && job.in.mapped && job.out_count == 0);
    assert_true(ff_mask_within(&job.in.pages, &absent) && !ff_mask_empty(&job.in.pages));
    do_job(true);
    mapped_count++;
}

/* Nothing migrates, nothing is forgotten. */
static void step_fault(uint32_t block) {
    struct ff_fault_group group = {block, FF_NONE, FF_NONE, some(block), {{0}}, 0}, late;
    struct ff_mask wanted = group.faulted, failed = {{0}};
    map_absent(&group);
    failed = ff_mask_or(&failed, &job.in.left);
    while (ff__engine_take_late(&engine, &late)) {
        assert_true(late.block == block);
        map_absent(&late);
        failed = ff_mask_or(&failed, &job.in.left);
    }
    struct ff_mask present = ff__block_present(&engine.space, block), mapped = twin_mapped(block);
    mapped = ff_mask_or(&mapped, &present);
    mapped = ff_mask_or(&mapped, &failed);
    assert_true(ff_mask_within(&wanted, &mapped));
}

/* Pages that migrate are not mapped any more; those that the kernel keeps mapped do not migrate. */
static void step_bring(uint32_t block) {
    struct ff_advice advice = {.block = block, .tier = 1, .launch = FF_NONE, .pages = some(block)};
    struct ff_mask mapped = twin_mapped(block);
    int status = ff__engine_advise(&engine, now, &advice, &job);
    if (status != FF__JOB_RUN)
        return;
    struct ff_mask ends = ff_mask_and(&advice.pages, &mapped), both = {{0}}, ended = {{0}};
    for (uint32_t i = 0; i < job.out_count; i++)
        if (job.out[i].mapped)
            ended = job.out[i].pages;
    assert_true(ff_mask_equal(&ended, twin.stays[block] ? &both : &ends));
    if (twin.stays[block])
        both = ff_mask_and(&job.in.pages, &mapped);
    assert_true(ff_mask_empty(&both));
    migrated_count += !ff_mask_empty(&ended);
    do_job(true);
}

static void step_evict(uint32_t block) {
    if (ff__engine_evict(&engine, now, block, 1, NULL, NULL, &job) == FF__JOB_RUN)
        do_job(false);
}

/* Ends all that is mapped of the block. */
static void check_end(uint32_t block) {
    struct ff_mask mapped = twin_mapped(block);
    assert_true(!job.has_in && job.out_count == 1 && job.out[0].mapped);
    assert_true(job.out[0].block == block && ff_mask_equal(&job.out[0].pages, &mapped));
    do_job(true);
    stayed_count += twin.stays[block];
    ended_count++;
}

static void step_unmap(uint32_t block) {
    struct ff_mask mapped = twin_mapped(block);
    int status = ff__engine_unmap(&engine, block, &job);
    assert_int_equal(status, ff_mask_empty(&mapped) ? FF__JOB_NONE : FF__JOB_RUN);
    if (status == FF__JOB_RUN)
        check_end(block);
}

/* A block that something is at work on has its turn later, once more. */
static void step_due(uint32_t busy) {
    ff__facts(&engine.space, busy)->busy = ff__random_below(&dice, 2) != 0;
    bool is_busy = ff__facts(&engine.space, busy)->busy;
    while (ff__engine_unmap_due(&engine, now, &job) == FF__JOB_RUN) {
        assert_true(!is_busy || job.out[0].block != busy);
        check_end(job.out[0].block);
    }
    ff__facts(&engine.space, busy)->busy = 0;
    for (uint32_t page = 0; page < FF_BLOCK_PAGES && is_busy; page++)
        twin.since[busy][page] = now;
    assert_true(ff__engine_mapped_until(&engine) > now);
}

/* Content that is dead is forgotten, but not where it is in use. */
static void step_discard(uint32_t block) {
    struct ff_mask pages = some(block), there = fake_on_devices(&fake, block);
    struct ff_mask gone = ff_mask_minus(&pages, &there), mapped = twin_mapped(block);
    gone = ff_mask_minus(&gone, &mapped);
    fake_discard(&fake, block, &gone);
    ff__engine_discard(&engine, block, &pages);
}

static void step(void) {
    uint32_t block = ff__random_below(&dice, BLOCKS), choice = ff__random_below(&dice, 100);
    if (choice < 40)
        step_fault(block);
    else if (choice < 55)
        step_bring(block);
    else if (choice < 60)
        step_evict(block);
    else if (choice < 65)
        step_unmap(block);
    else if (choice < 85)
        step_due(block);
    else if (choice < 90)
        step_discard(block);
    for (uint32_t page = 0; page < PAGES; page += 1 + ff__random_below(&dice, 50))
        fake_touch(&fake, block, page, ff__random_below(&dice, 2));
    now += ff__random_below(&dice, FF__MAPPED_NS / 4);
}

/* ---- lives ---- */

static void open_remote(uint32_t granule) {
    struct ff__engine_config config = config_for("zerocopy", 3);
    struct ff_error error = {""};
    backend.controls |= FF_CONTROLS_REMOTE;
    backend.shows |= FF_SEES_REMOTE;
    backend.maps_remote = true;
    config.granule = granule;
    if (ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&fake, &engine.space, 1);
    assert_int_equal(add_range((BLOCKS - 1) * FF_BLOCK_PAGES + PAGES), 0);
    memset(&twin, 0, sizeof twin);
    now = 1000;
}

static void live(uint64_t seed) {
    dice = ff__random_seeded(seed);
    open_remote(seed % 2 ? FF_LEAF_PAGES : 0);
    for (unsigned long i = 0; i < 3000; i++) {
        step();
        check_twin();
    }
    now += 2 * FF__MAPPED_NS;
    for (uint32_t i = 0; i < 100 && ff__engine_mapped_until(&engine) != UINT64_MAX; i++) {
        step_due(0);
        now += 2 * FF__MAPPED_NS;
    }
    assert_int_equal(ff__engine_mapped_until(&engine), UINT64_MAX);
    check_twin();
    remove_range(0);
    close_engine();
}

static void test_seeds(void **state) {
    (void)state;
    mapped_count = migrated_count = ended_count = stayed_count = 0;
    for (uint64_t seed = 1; seed <= scaled_cases(12, 2); seed++)
        live(seed);
    print_message("%llu mapped, %llu migrated, %llu ended, %llu stayed\n",
                  (unsigned long long)mapped_count, (unsigned long long)migrated_count,
                  (unsigned long long)ended_count, (unsigned long long)stayed_count);
    assert_true(mapped_count > 100 && migrated_count > 20 && ended_count > 100);
    assert_true(stayed_count > 20);
}

/* Blocks end in the order in which their first page was mapped, and no sooner. */
static void test_order(void **state) {
    static const uint32_t order[] = {3, 0, 4, 1};
    (void)state;
    open_remote(0);
    for (uint32_t i = 0; i < 8; i++) {
        struct ff_fault_group group = group_of(order[i % 4], i, i + 1);
        now = 1000 + i;
        assert_int_equal(ff__engine_fault(&engine, now, &group, &job), FF__JOB_RUN);
        do_job(false);
        assert_int_equal(ff__engine_mapped_until(&engine), 1000 + FF__MAPPED_NS);
    }
    for (uint32_t i = 0; i < 4; i++) {
        now = 1000 + FF__MAPPED_NS + i;
        assert_int_equal(ff__engine_unmap_due(&engine, now - 1, &job), FF__JOB_NONE);
        assert_int_equal(ff__engine_unmap_due(&engine, now, &job), FF__JOB_RUN);
        assert_int_equal(job.out[0].block, order[i]);
        assert_int_equal(ff_mask_count(&job.out[0].pages), 2);
        do_job(false);
        check_twin();
    }
    remove_range(0);
    close_engine();
}

/* An eviction drops no page that is used from the host, whatever has been declared dead. */
static void test_dead(void **state) {
    (void)state;
    open_remote(0);
    struct ff_advice advice = {.tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 4)};
    assert_int_equal(ff__engine_advise(&engine, now, &advice, &job), FF__JOB_RUN);
    do_job(false);
    struct ff_fault_group group = group_of(0, 6, 8);
    assert_int_equal(ff__engine_fault(&engine, now, &group, &job), FF__JOB_RUN);
    do_job(false);
    struct ff_mask dead = ff_mask_of_run(2, 10), left = ff_mask_of_run(2, 10);
    left = ff_mask_minus(&left, &group.faulted);
    assert_int_equal(ff__engine_evict(&engine, now, 0, 1, NULL, &dead, &job), FF__JOB_RUN);
    assert_true(ff_mask_equal(&job.out[0].dead, &left));
    do_job(false);
    assert_int_equal(ff__engine_unmap(&engine, 0, &job), FF__JOB_RUN);
    do_job(false);
    check_twin();
    remove_range(0);
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_dead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
