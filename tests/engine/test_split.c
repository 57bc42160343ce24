/* Blocks that are split, one call at a time: what they take, what they give back, who leaves for
 * them. */
#include "engine/single.h"

static void open_leaves(const char *system, uint64_t chunks) {
    struct ff__engine_config config = config_for(system, chunks);
    struct ff_error error = {""};
    config.granule = FF_LEAF_PAGES;
    if (ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&fake, &engine.space, 1);
}

/* Pages of all leaves from `first` on, before `end`. */
static void bring_leaves(uint32_t block, uint32_t first, uint32_t end) {
    bring(block, first * FF_LEAF_PAGES, end * FF_LEAF_PAGES);
}

static uint32_t leaves_used(void) {
    return engine.space.frames[1].leaves_used;
}

/* Leaves that the block holds. */
static uint32_t leaves_of(uint32_t block) {
    uint32_t count = 0;
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
        count += *ff__frames_leaf(&engine.space.frames[1], block, leaf) != 0;
    return count;
}

/* Whose turn it is to leave, and which pages of it. */
static struct ff_victim next_victims[4];
static uint32_t next_count;
static struct ff_evict_request last_request;

static void scripted_pick(void *state, const struct ff_view *view,
                          const struct ff_evict_request *request, struct ff_victim_list *victims) {
    (void)state, (void)view;
    last_request = *request;
    for (uint32_t i = 0; i < next_count && victims->count < victims->capacity; i++)
        victims->items[victims->count++] = next_victims[i];
    next_count = 0;
}

static const struct ff_evict_policy scripted = {
    ROGUE_BASE("scripted", "names what the test says"),
    .pick = scripted_pick,
};

static void name(uint32_t block, struct ff_mask pages) {
    next_victims[next_count++] = (struct ff_victim){block, pages};
}

/* ---- taking ---- */

static void test_blocks_share_chunks(void **state) {
    (void)state;
    open_leaves("demand", 2);
    uint32_t block = add_range(40 * FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < 40; i++)
        bring(block + i, 5, 6);
    assert_int_equal(leaves_used(), 40);
    assert_int_equal(engine.space.stats.resident, 40 * FF_LEAF_SIZE);
    assert_int_equal(engine.space.stats.evictions, 0);
    bring(block, 0, 16); /* the same leaf */
    assert_int_equal(leaves_used(), 40);
    bring(block, 15, 33); /* two more */
    assert_int_equal(leaves_used(), 42);
    assert_int_equal(leaves_of(block), 3);
    assert_int_equal(ff_view_free_pages(&engine.view, 1), (64 - 42) * FF_LEAF_PAGES);
    assert_int_equal(ff_view_granule(&engine.view, 1, block), FF_LEAF_PAGES);
    close_engine();
}

static void test_chunks_of_split_blocks(void **state) {
    (void)state;
    uint32_t owners[FF_CHUNK_LEAVES];
    open_leaves("demand", 2);
    uint32_t block = add_range(3 * FF_BLOCK_PAGES);
    bring_leaves(block, 3, 4);
    bring_leaves(block + 1, 0, 2);
    bring_leaves(block, 7, 8); /* behind those of the other */
    uint32_t chunk = ff__space_chunk(&engine.space, 1, block);
    assert_int_equal(ff__space_chunk(&engine.space, 1, block + 1), chunk);
    assert_int_equal(ff__frames_blocks(&engine.space.frames[1], chunk, owners), 2);
    assert_true(owners[0] == block && owners[1] == block + 1);
    assert_int_equal(ff_view_mates(&engine.view, 1, block + 1, owners), 2);
    assert_int_equal(ff__frames_blocks(&engine.space.frames[1], 1 - chunk, owners), 0);
    close_engine();
}

/* A policy wants so many of the block's first pages, with its memory in this granule. */
static void advise(uint32_t block, uint32_t pages, uint32_t granule) {
    struct ff_advice advice = {.action = FF_BRING,
                               .block = block,
                               .tier = 1,
                               .launch = FF_NONE,
                               .pages = ff_mask_of_run(0, pages),
                               .granule = granule};
    assert_int_equal(ff__engine_advise(&engine, 1000, &advice, &job), FF__JOB_RUN);
}

/* A block has its memory in one way at a time, that of who asked first. */
static void test_advice_chooses(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    advise(block, 20, FF_LEAF_PAGES);
    carry_out(&job);
    assert_int_equal(leaves_used(), 2);
    bring(block, 100, 101); /* a fault, too */
    assert_int_equal(leaves_used(), 3);
    bring(block + 1, 0, 1);
    assert_int_equal(leaves_used(), 3 + 32);
    assert_int_equal(ff_view_granule(&engine.view, 1, block), FF_LEAF_PAGES);
    assert_int_equal(ff_view_granule(&engine.view, 1, block + 1), FF_BLOCK_PAGES);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, NULL, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
    bring(block, 0, 1); /* without advice it is the device's own */
    assert_int_equal(ff_view_granule(&engine.view, 1, block), FF_BLOCK_PAGES);
    for (uint32_t granule = 1; granule <= 1024; granule *= 2) {
        uint64_t before = engine.space.stats.dropped_by_reason[FF_DROP_UNSUPPORTED];
        struct ff_advice advice = {.action = FF_BRING,
                                   .block = block,
                                   .tier = 1,
                                   .launch = FF_NONE,
                                   .pages = ff_mask_of_run(300 + granule % 99, 301 + granule % 99),
                                   .granule = granule};
        bool can = granule == 1 || granule == FF_LEAF_PAGES || granule == FF_BLOCK_PAGES;
        assert_int_equal(ff__engine_advise(&engine, 1000, &advice, &job),
                         can ? FF__JOB_RUN : FF__JOB_DROPPED);
        if (can)
            carry_out(&job);
        assert_int_equal(engine.space.stats.dropped_by_reason[FF_DROP_UNSUPPORTED], before + !can);
    }
    close_engine();
}

static void test_advice_chooses_chunks(void **state) {
    (void)state;
    open_leaves("demand", 4);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    advise(block, 1, FF_BLOCK_PAGES);
    carry_out(&job);
    assert_int_equal(leaves_used(), FF_CHUNK_LEAVES);
    close_engine();
}

/* ---- leaving ---- */

static void test_leaves_come_back(void **state) {
    (void)state;
    open_leaves("demand", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    bring_leaves(block, 0, 4);
    struct ff_advice evict = {.action = FF_EVICT,
                              .block = block,
                              .tier = 1,
                              .launch = FF_NONE,
                              .pages = ff_mask_of_run(20, 21)};
    assert_int_equal(ff__engine_advise(&engine, 1000, &evict, &job), FF__JOB_RUN);
    assert_int_equal(ff_mask_count(&job.out[0].pages), FF_LEAF_PAGES); /* all of its leaf */
    assert_false(job.out[0].whole);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 3);
    assert_int_equal(leaves_used(), 3);
    struct ff_mask some = ff_mask_of_run(0, 8), rest = ff_mask_of_run(8, FF_BLOCK_PAGES);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, &some, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 3); /* half of a leaf keeps it */
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, &rest, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_int_equal(leaves_used(), 0);
    assert_false(ff_view_holds(&engine.view, 1, block));
    close_engine();
}

/* Of a split victim, the leaves of the named pages leave; it stays for the rest. */
static void test_victims_leave_in_part(void **state) {
    (void)state;
    open_leaves("demand:evict=scripted", 1);
    uint32_t block = add_range(3 * FF_BLOCK_PAGES);
    bring_leaves(block, 0, 20);
    bring_leaves(block + 1, 0, 12);
    name(block, ff_mask_of_run(33, 34));
    name(block, ff_mask_of_run(100, 101)); /* the same block once more */
    name(block + 1, ff_mask_of_run(0, 512));
    assert_int_equal(fault(block + 2, 0, 17, &job), FF__JOB_RUN); /* two leaves */
    assert_int_equal(last_request.pages, 2 * FF_LEAF_PAGES);
    assert_int_equal(last_request.granule, FF_LEAF_PAGES);
    assert_int_equal(job.out_count, 1);
    assert_int_equal(ff_mask_count(&job.out[0].pages), 2 * FF_LEAF_PAGES);
    assert_true(ff_mask_test(&job.out[0].pages, 32) && ff_mask_test(&job.out[0].pages, 111));
    assert_false(job.out[0].whole);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 18);
    assert_int_equal(leaves_of(block + 1), 12);
    assert_int_equal(leaves_of(block + 2), 2);
    close_engine();
}

/* ---- in single pages ---- */

static void open_pages(const char *system, uint64_t chunks) {
    struct ff__engine_config config = config_for(system, chunks);
    struct ff_error error = {""};
    config.granule = 1;
    if (ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&fake, &engine.space, 1);
}

/* One page of each leaf, and `count` times the next one of each. */
static void bring_columns(uint32_t block, uint32_t first, uint32_t count) {
    for (uint32_t column = 0; column < count; column++)
        for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
            bring(block, leaf * FF_LEAF_PAGES + first + column,
                  leaf * FF_LEAF_PAGES + first + column + 1);
}

/* 32 pages of as many leaves of addresses take two leaves of memory, and the block has them for
 * itself. */
static void test_pages_share_leaves(void **state) {
    (void)state;
    open_pages("demand", 2);
    uint32_t block = add_range(3 * FF_BLOCK_PAGES);
    assert_int_equal(ff_view_granule(&engine.view, 1, block), 1);
    bring_columns(block, 3, 1);
    assert_int_equal(leaves_of(block), 2);
    assert_int_equal(ff_view_granule(&engine.view, 1, block), 1);
    bring(block, 100, 101);
    assert_int_equal(leaves_of(block), 3);
    bring(block + 1, 0, 1); /* though two leaves have room */
    assert_int_equal(leaves_used(), 4);
    assert_int_equal(engine.space.stats.resident, 4 * FF_LEAF_SIZE);
    bring(block + 1, 1, 512);
    assert_int_equal(leaves_of(block + 1), 32);
    assert_int_equal(ff_view_free_pages(&engine.view, 1), (64 - 35) * FF_LEAF_PAGES);
    close_engine();
}

/* A victim's named pages take those along that lie in the same leaves of memory: what came at the
 * same time. */
static void test_pages_leave_by_what_lies_together(void **state) {
    (void)state;
    open_pages("demand:evict=scripted", 1);
    uint32_t block = add_range(3 * FF_BLOCK_PAGES);
    bring_columns(block, 0, 2); /* four leaves: each has a column's upper or lower half */
    bring(block + 1, 0, 28 * FF_LEAF_PAGES);
    name(block, ff_mask_of_run(1, 2));
    assert_int_equal(fault(block + 2, 7, 8, &job), FF__JOB_RUN);
    assert_int_equal(last_request.pages, FF_LEAF_PAGES);
    assert_int_equal(last_request.granule, FF_LEAF_PAGES);
    assert_int_equal(job.out_count, 1);
    assert_int_equal(ff_mask_count(&job.out[0].pages), 16);
    for (uint32_t leaf = 0; leaf < 16; leaf++)
        assert_true(ff_mask_test(&job.out[0].pages, leaf * FF_LEAF_PAGES + 1));
    carry_out(&job);
    assert_int_equal(leaves_of(block), 3);
    assert_int_equal(leaves_of(block + 2), 1);
    close_engine();
}

/* Pages that leave on advice leave room for others of their block alone. */
static void test_holes_are_filled(void **state) {
    (void)state;
    open_pages("demand", 2);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff_mask pages = ff_mask_of_page(3);
    ff_mask_set(&pages, 20);
    ff_mask_set(&pages, 31);
    bring(block, 0, 32);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, &pages, NULL, &job), FF__JOB_RUN);
    assert_int_equal(ff_mask_count(&job.out[0].pages), 3);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 2);
    bring(block, 400, 403);
    assert_int_equal(leaves_of(block), 2);
    bring(block, 3, 4);
    assert_int_equal(leaves_of(block), 3);
    close_engine();
}

/* A chunk for a block that takes one: of a block in pages, what lies in it leaves, wherever its
 * addresses are. */
static void test_a_chunk_with_pages_is_emptied(void **state) {
    (void)state;
    open_pages("demand:evict=scripted", 2);
    uint32_t block = add_range(4 * FF_BLOCK_PAGES);
    bring(block + 1, 0, 30 * FF_LEAF_PAGES);
    bring_columns(block, 5, 2); /* two leaves in the first chunk, two in the other */
    name(block + 1, ff_mask_of_run(0, 1));
    advise(block + 3, 1, FF_BLOCK_PAGES);
    assert_int_equal(job.out_count, 2);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 2);
    assert_int_equal(leaves_of(block + 1), 0);
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        assert_int_equal(ff_mask_test(ff_view_resident(&engine.view, 1, block), page),
                         page % FF_LEAF_PAGES == 6);
    close_engine();
}

/* More pages than there is room for: those that are faulted on, and room for 16 more a leaf. */
static void test_pages_that_find_no_room(void **state) {
    (void)state;
    open_pages("demand:evict=rogue-quiet", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    struct ff_fault_group late;
    bring(block + 1, 8, 10);
    bring(block, 0, 30 * FF_LEAF_PAGES);
    assert_int_equal(fault(block + 1, 100, 164, &job),
                     FF__JOB_RUN); /* 14 beside the two, and a leaf */
    assert_int_equal(job.out_count, 0);
    assert_int_equal(ff_mask_count(&job.faulted), 14 + FF_LEAF_PAGES);
    carry_out(&job);
    assert_true(ff__engine_take_late(&engine, &late));
    assert_int_equal(ff_mask_count(&late.faulted), 64 - 14 - FF_LEAF_PAGES);
    close_engine();
}

/* A chunk for a block that takes one: of split blocks, what lies in it leaves. */
static void test_a_chunk_is_emptied(void **state) {
    (void)state;
    open_leaves("demand:evict=scripted", 2);
    uint32_t block = add_range(4 * FF_BLOCK_PAGES);
    bring_leaves(block, 0, 20);
    bring_leaves(block + 1, 0, 32); /* twelve in the first chunk, twenty in the other */
    bring_leaves(block + 2, 0, 12);
    name(block, ff_mask_of_run(0, 1));
    advise(block + 3, 1, FF_BLOCK_PAGES);
    assert_int_equal(last_request.granule, FF_BLOCK_PAGES);
    assert_int_equal(job.out_count, 2);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 0);
    assert_int_equal(leaves_of(block + 1), 20);
    assert_int_equal(leaves_of(block + 2), 12);
    assert_true(ff_view_holds(&engine.view, 1, block + 1));
    assert_false(ff_view_holds(&engine.view, 1, block));
    close_engine();
}

/* What could not leave keeps its leaf, and who was to get it comes another time. */
static void test_what_stays_keeps_its_leaf(void **state) {
    (void)state;
    open_leaves("demand:evict=scripted", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    bring_leaves(block, 0, 32);
    name(block, ff_mask_of_run(0, 32));
    assert_int_equal(fault(block + 1, 0, 17, &job), FF__JOB_RUN);
    struct ff_mask part = ff_mask_of_run(0, 20);
    fake_begin(&job.out[0]);
    fake_move(&fake, &job.out[0], &part);
    job.in.left = job.in.pages;
    ff__engine_finish(&engine, 2000, &job);
    assert_int_equal(leaves_of(block), 31); /* one has left, one had pages that stayed */
    assert_int_equal(leaves_of(block + 1), 0);
    assert_int_equal(leaves_used(), 31);
    assert_false(ff_view_holds(&engine.view, 1, block + 1));
    close_engine();
}

/* A fault of more leaves than there is room for gets some, and the others when its job has ended.
 */
static void test_faults_are_served_in_part(void **state) {
    (void)state;
    open_leaves("demand:evict=rogue-quiet", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    struct ff_fault_group late;
    bring_leaves(block, 0, 30);
    assert_int_equal(fault(block + 1, 0, 64, &job), FF__JOB_RUN); /* two of four leaves */
    assert_int_equal(job.out_count, 0);
    assert_int_equal(ff_mask_count(&job.faulted), 2 * FF_LEAF_PAGES);
    carry_out(&job);
    assert_true(ff__engine_take_late(&engine, &late));
    assert_int_equal(ff_mask_count(&late.faulted), 2 * FF_LEAF_PAGES);
    assert_int_equal(ff__engine_fault(&engine, 3000, &late, &job), FF__JOB_RUN);
    assert_int_equal(job.out[0].block, block); /* nobody was named: the lowest */
    carry_out(&job);
    assert_int_equal(leaves_of(block + 1), 4);
    assert_int_equal(leaves_of(block), 0);
    close_engine();
}

/* A block does not leave for itself. */
static void test_no_block_leaves_for_itself(void **state) {
    (void)state;
    open_leaves("demand:evict=scripted", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    bring_leaves(block, 0, 20);
    bring_leaves(block + 1, 0, 12);
    name(block, ff_mask_of_run(0, 512));
    assert_int_equal(fault(block, 400, 401, &job), FF__JOB_RUN);
    assert_int_equal(job.out_count, 1);
    assert_int_equal(job.out[0].block, block + 1);
    carry_out(&job);
    assert_int_equal(leaves_of(block), 21);
    close_engine();
}

/* Where nobody can leave, leaves share the spare chunks, too, which are emptied when they can be.
 */
static void test_spare_leaves(void **state) {
    (void)state;
    struct ff__engine_config config = config_for("demand:evict=scripted", 1);
    config.granule = FF_LEAF_PAGES;
    config.spare = 4;
    config.virtual_time = false;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    fake_open(&fake, &engine.space, 1);
    uint32_t block = add_range(4 * FF_BLOCK_PAGES);
    struct ff_mask nothing = {{0}};
    bring_leaves(block, 0, 32);
    assert_int_equal(fault(block + 1, 0, 1, &job), FF__JOB_RUN);
    fake_begin(&job.out[0]);
    fake_move(&fake, &job.out[0], &nothing);
    job.in.left = job.in.pages;
    ff__engine_finish(&engine, 2000, &job);
    for (uint32_t i = 0; i < 3; i++)
        bring_leaves(block + 1, i, i + 1);
    assert_int_equal(leaves_of(block + 1), 3);
    assert_int_equal(engine.space.frames[1].spare_used, 1);
    assert_int_equal(engine.space.stats.overshoot, FF_BLOCK_SIZE);
    assert_int_equal(ff__engine_preevict(&engine, UINT64_C(1) << 40, 1, &job), FF__JOB_RUN);
    assert_int_equal(job.out_count, 1);
    carry_out(&job);
    assert_int_equal(engine.space.frames[1].spare_used, 0);
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_share_chunks),
        cmocka_unit_test(test_chunks_of_split_blocks),
        cmocka_unit_test(test_advice_chooses),
        cmocka_unit_test(test_advice_chooses_chunks),
        cmocka_unit_test(test_leaves_come_back),
        cmocka_unit_test(test_victims_leave_in_part),
        cmocka_unit_test(test_pages_share_leaves),
        cmocka_unit_test(test_pages_leave_by_what_lies_together),
        cmocka_unit_test(test_holes_are_filled),
        cmocka_unit_test(test_a_chunk_with_pages_is_emptied),
        cmocka_unit_test(test_pages_that_find_no_room),
        cmocka_unit_test(test_a_chunk_is_emptied),
        cmocka_unit_test(test_what_stays_keeps_its_leaf),
        cmocka_unit_test(test_faults_are_served_in_part),
        cmocka_unit_test(test_no_block_leaves_for_itself),
        cmocka_unit_test(test_spare_leaves),
    };
    rogues_register();
    if (ff__policy_register(FF__EVICT, &scripted.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
