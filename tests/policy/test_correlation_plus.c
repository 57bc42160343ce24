/* The prefetching of deepum-plus, and the two policies of eviction that go by its forecast, event
 * by event. */
#include "learner.h"

static const struct ff_prefetch_policy *hooks(void) {
    return &ff__prefetch_correlation_plus;
}

static void prepare(void) {
    instance_set(&policy, "reach", 100);
}

/* ---- chaining ---- */

static void test_chain(void **state) {
    (void)state;
    open_policy("kernels", 2);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    expect(LIST(1, 2, 3, 11, 12, 21, 22, 23)); /* and pauses, two kernels ahead */
    expect(NOTHING);
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&fake, 1, block) = ff_mask_of_run(0, FF_BLOCK_PAGES);
    *fake_resident(&fake, 1, 2) = (struct ff_mask){{0}};
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    tell(FF_EVENT_LAUNCH, 1, FF_NONE); /* the next ends with 0 */
    expect(LIST(2));
    close_policy();
}

static void test_fault_begins_anew(void **state) {
    (void)state;
    open_policy("chain", 0);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 2, FF_NONE); /* not what was predicted */
    tell(FF_EVENT_FAULT, 2, 22);
    expect(LIST(23));
    tell(FF_EVENT_FAULT, FF_NONE, 1); /* the host's */
    expect(NOTHING);
    close_policy();
}

static void test_unknown_kernel_ends_the_chain(void **state) {
    (void)state;
    open_policy(NULL, 0);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 9, FF_NONE);
    tell(FF_EVENT_FAULT, 9, 40);
    tell(FF_EVENT_FAULT, 9, 41);
    expect(NOTHING); /* and nothing is brought for a kernel that runs for the first time */
    close_policy();
}

/* Advice that found no room is repeated when something has happened, from where it was refused. */
static void test_stall(void **state) {
    (void)state;
    open_policy("kernels", 2);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    expect(LIST(1, 2, 3, 11, 12, 21, 22, 23));
    tell(FF_EVENT_NO_ROOM, 1, 12);
    tell(FF_EVENT_NO_ROOM, 2, 21);
    expect(NOTHING);
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    expect(LIST(12, 21, 22, 23));
    close_policy();
}

/* With a fault comes the block, or what the driver would bring: more than half of a subtree is
 * there or coming. */
static void test_whole(void **state) {
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        open_policy("whole", whole);
        struct ff_fault_group group = {.block = 2, .tier = 1, .launch = 0};
        struct ff_fault_advice advice = {0};
        group.faulted = mask_of("5 9");
        hooks()->on_fault(policy.state, &fake.view, &group, &advice);
        struct ff_mask came = ff_mask_or(&advice.prefetch, &group.faulted);
        assert_int_equal(ff_mask_count(&came), whole ? 512 : 16);
        close_policy();
    }
}

/* ---- ranges of which little is used ---- */

static void allocate(uint64_t blocks) {
    fake.view.allocated = blocks * FF_BLOCK_PAGES;
}

/* A fault costs a millisecond, and so does the transfer of a block to the device; one from it costs
 * three. All blocks are at the host, and one more than fits. */
static void open_costly(const char *name, int64_t value) {
    static struct ff_link_cost links[4];
    links[1] = (struct ff_link_cost){0, FF_BLOCK_SIZE * UINT64_C(1000), 0};
    links[2] = (struct ff_link_cost){1000000, FF_BLOCK_SIZE * UINT64_C(1000) / 2, 0};
    open_policy(name, value);
    fake.view.links = links;
    fake.view.fault_ns = 1000000;
    allocate(BLOCKS + 1);
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&fake, 0, block) = ff_mask_of_run(0, FF_BLOCK_PAGES);
}

/* A fault on a page of the block; returns how many pages come. */
static uint32_t come(uint32_t block, uint32_t page) {
    struct ff_fault_group group = {.block = block, .tier = 1, .launch = 0};
    struct ff_fault_advice advice = {0};
    struct ff_mask *there = fake_resident(&fake, 1, block);
    ff_mask_set(&group.faulted, page);
    hooks()->on_fault(policy.state, &fake.view, &group, &advice);
    struct ff_mask pages = ff_mask_or(&advice.prefetch, &group.faulted);
    pages = ff_mask_minus(&pages, there);
    *there = ff_mask_or(there, &pages);
    *fake_resident(&fake, 0, block) = ff_mask_minus(fake_resident(&fake, 0, block), &pages);
    fake_set_frame(&fake, 1, block, block);
    return ff_mask_count(&pages);
}

static void go(uint32_t block) {
    *fake_resident(&fake, 0, block) =
        ff_mask_or(fake_resident(&fake, 0, block), fake_resident(&fake, 1, block));
    *fake_resident(&fake, 1, block) = (struct ff_mask){{0}};
    fake_set_frame(&fake, 1, block, FF_NONE);
    hooks()->base.on_leave(policy.state, &fake.view,
                           &(struct ff_leave){FF_LEAVE_RELEASED, block, 1, NULL});
}

/* So many blocks come and leave, one after the other, each with so many faults in leaves of its
 * own. Returns how many came with less than all of their pages. */
static uint32_t pass(uint32_t count, uint32_t faults) {
    uint32_t in_parts = 0;
    for (uint32_t i = 0; i < count; i++) {
        in_parts += come(i % BLOCKS, 0) < FF_BLOCK_PAGES;
        for (uint32_t fault = 1; fault < faults; fault++)
            come(i % BLOCKS, fault * 64);
        go(i % BLOCKS);
    }
    return in_parts;
}

/* Of one block in 64 only what the tree brings comes; once three of them have shown that this costs
 * less, of all, until they show that it costs more. */
static void test_sparse(void **state) {
    (void)state;
    open_costly(NULL, 0);
    assert_int_equal(pass(191, 1), 2);
    assert_int_equal(pass(1, 1), 1);
    assert_int_equal(pass(100, 1), 100);
    assert_in_range(pass(100, 2), 1, 40);
    assert_int_equal(pass(64, 2), 1);
    hooks()->base.range_freed(policy.state, 0);
    assert_int_equal(pass(63, 1), 0);
    assert_int_equal(pass(1, 1), 1);
    close_policy();
    open_costly("sparse", 0);
    assert_int_equal(pass(200, 1), 0);
    close_policy();
}

/* A witness whose parts cost as much as the whole comes whole, and its range goes on with whole
 * blocks. */
static void test_dense(void **state) {
    (void)state;
    open_costly(NULL, 0);
    pass(63, 1);
    assert_int_equal(come(63, 0), 16);
    assert_int_equal(come(63, 100), FF_BLOCK_PAGES - 16);
    go(63);
    assert_int_equal(pass(256, 2), 4);
    close_policy();
}

/* A block that is nowhere comes whole when its faults would have cost as much as its way out, four
 * milliseconds with its own; what little is used of it before is what comes. When it is back from
 * the host, it comes whole at once. */
static void test_without_content(void **state) {
    (void)state;
    open_costly(NULL, 0);
    *fake_resident(&fake, 0, 5) = (struct ff_mask){{0}};
    for (uint32_t fault = 0; fault < 3; fault++)
        assert_int_equal(come(5, fault * 64), 16);
    assert_int_equal(come(5, 3 * 64), FF_BLOCK_PAGES - 3 * 16);
    go(5);
    assert_int_equal(come(5, 0), FF_BLOCK_PAGES);
    close_policy();
    open_costly("sparse", 0);
    *fake_resident(&fake, 0, 5) = (struct ff_mask){{0}};
    assert_int_equal(come(5, 0), FF_BLOCK_PAGES);
    close_policy();
}

/* So does any block that is more than the walk may bring at a time; both ways and its fault cost
 * five. */
static void test_large(void **state) {
    (void)state;
    open_costly("reach", 12);
    fake.view.capacity[1] = 8 * FF_BLOCK_PAGES;
    for (uint32_t fault = 0; fault < 4; fault++)
        assert_int_equal(come(5, fault * 64), 16);
    assert_int_equal(come(5, 4 * 64), FF_BLOCK_PAGES - 4 * 16);
    fake.view.capacity[1] = 9 * FF_BLOCK_PAGES;
    assert_int_equal(come(6, 0), FF_BLOCK_PAGES);
    close_policy();
}

/* Where all ranges fit, no block has to leave, and all come whole. */
static void test_all_fits(void **state) {
    (void)state;
    open_costly(NULL, 0);
    allocate(BLOCKS);
    *fake_resident(&fake, 0, 5) = (struct ff_mask){{0}};
    assert_int_equal(come(5, 0), FF_BLOCK_PAGES);
    close_policy();
}

/* Where parts of a block cost more than their share, it comes whole. */
static void test_parts_cost_more(void **state) {
    (void)state;
    open_costly(NULL, 0);
    fake.view.parts_cost_more = true;
    *fake_resident(&fake, 0, 5) = (struct ff_mask){{0}};
    assert_int_equal(come(5, 0), FF_BLOCK_PAGES);
    go(5);
    assert_int_equal(pass(256, 1), 0);
    close_policy();
}

/* Before the same four kernels have come once, the running one alone says which is next. */
static void test_fallback(void **state) {
    (void)state;
    for (int fallback = 0; fallback < 2; fallback++) {
        open_policy("fallback", fallback);
        instance_close(&policy);
        instance_set(&policy, "kernels", 2);
        instance_open(&policy, &fake.view, FF_NONE);
        learn_three(1);
        tell(FF_EVENT_LAUNCH, 0, FF_NONE);
        expect(fallback ? LIST(1, 2, 3, 11, 12, 21, 22, 23) : LIST(1, 2, 3));
        close_policy();
    }
}

/* ---- the forecast ---- */

static uint64_t next_use(uint32_t block) {
    uint64_t next = ff_view_next_use(&fake.view, 1, block);
    uint64_t launch = ff_view_next_launch(&fake.view, 1, block);
    assert_true(launch == (next == FF_NO_USE ? next : next >> 32));
    return next;
}

static void test_forecast(void **state) {
    (void)state;
    open_policy("slack", 0);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    uint64_t now = ff_view_current_use(&fake.view, 1) >> 32;
    assert_true(next_use(1) < next_use(2) && next_use(2) < next_use(3) &&
                next_use(3) < next_use(11));
    assert_true(next_use(12) < next_use(21) && next_use(23) < FF_NO_USE);
    assert_int_equal(next_use(23) >> 32, now + 2);
    assert_int_equal(next_use(40), FF_NO_USE);
    tell(FF_EVENT_FAULT, 0, 3); /* 1 and 2 are over, and come back in three kernels */
    assert_int_equal(next_use(3) >> 32, now);
    assert_int_equal(next_use(1) >> 32, now + 3);
    tell(FF_EVENT_FAULT, 0, 1); /* no, it is still in use */
    assert_int_equal(next_use(1) >> 32, now);
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    assert_int_equal(next_use(3) >> 32, now + 3);
    tell(FF_EVENT_LAUNCH, 9, FF_NONE); /* never seen before: nothing is predicted */
    assert_int_equal(next_use(11), FF_NO_USE);
    close_policy();
}

/* The ring of launches has several words, and goes round. */
static void test_far_forecast(void **state) {
    (void)state;
    enum { KERNELS = 200, FAR = 150, ITERATIONS = 3 };
    open_policy("kernels", 254);
    for (uint32_t i = 0; i < ITERATIONS * KERNELS; i++) {
        uint32_t launch = i % KERNELS, usual = 1 + launch % 40;
        run(launch, LIST(usual, launch == FAR ? 50 : usual));
        uint32_t left = (FAR + KERNELS - launch) % KERNELS;
        if (i < 2 * KERNELS || left == 0)
            continue;
        uint64_t now = ff_view_current_use(&fake.view, 1) >> 32;
        assert_int_equal(next_use(50) >> 32, now + left);
        assert_int_equal(next_use(60), FF_NO_USE);
    }
    close_policy();
}

/* Uses that come back after more kernels than are predicted, which only deepum-far asks for. */
static void test_beyond(void **state) {
    (void)state;
    enum { KERNELS = 10, AHEAD = 3, ITERATIONS = 5 };
    for (int beyond = 0; beyond < 2; beyond++) {
        open_policy("kernels", AHEAD);
        instance_close(&policy);
        instance_set(&policy, "beyond", beyond);
        instance_open(&policy, &fake.view, FF_NONE);
        for (uint32_t i = 0; i < ITERATIONS * KERNELS; i++) {
            uint32_t launch = i % KERNELS;
            run(launch, LIST(1 + launch, launch == 2 || launch == 8 ? 30 : 1 + launch));
        }
        tell(FF_EVENT_LAUNCH, 0, FF_NONE);
        fake.view.forecast.state = policy.state;
        uint64_t now = ff_view_current_use(&fake.view, 1) >> 32;
        assert_int_equal(ff_view_next_launch(&fake.view, 1, 30), now + 2);
        assert_int_equal(ff_view_next_launch(&fake.view, 1, 6), FF_NO_USE);
        uint64_t next = ff_view_next_use(&fake.view, 1, 6);
        assert_int_equal(next, beyond ? (now + 5) << 32 : FF_NO_USE);
        for (uint32_t launch = 1; launch <= 4; launch++)
            run(launch, LIST(1 + launch));
        assert_int_equal(ff_view_next_use(&fake.view, 1, 1), beyond ? (now + 10) << 32 : FF_NO_USE);
        assert_int_equal(ff_view_next_use(&fake.view, 1, 40), FF_NO_USE); /* never used */
        close_policy();
    }
}

/* What has a freed block's number is another block: nothing of it is expected, of the launches that
 * are predicted nor of those that come later; until it is learned anew. */
static void test_freed(void **state) {
    (void)state;
    open_policy("kernels", 1);
    instance_close(&policy);
    instance_set(&policy, "beyond", 1);
    instance_open(&policy, &fake.view, FF_NONE);
    fake.view.forecast.state = policy.state;
    learn_three(4);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    assert_true(next_use(2) != FF_NO_USE && next_use(12) != FF_NO_USE);
    assert_true(ff_view_next_use(&fake.view, 1, 22) != FF_NO_USE); /* beyond */
    static const uint32_t freed[] = {2, 12, 22};
    for (int i = 0; i < 3; i++) {
        uint64_t before = ff_view_retractions(&fake.view, 1);
        hooks()->base.block_freed(policy.state, freed[i]);
        assert_int_equal(ff_view_next_use(&fake.view, 1, freed[i]), FF_NO_USE);
        assert_true(ff_view_retractions(&fake.view, 1) > before);
    }
    hooks()->base.block_freed(policy.state, 40); /* of which nothing is known */
    expect(LIST(1, 3, 11));
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    run(1, LIST(11, 12)); /* used again */
    tell(FF_EVENT_LAUNCH, 2, FF_NONE);
    expect(LIST(21, 23, 1, 3));
    assert_int_equal(ff_view_next_launch(&fake.view, 1, 22), FF_NO_USE);
    tell(FF_EVENT_LAUNCH_END, 2, FF_NONE);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    expect(LIST(1, 3, 11, 12));
    close_policy();
}

/* Nor does another block's row name it any more, as what comes next or as where the kernel ends. */
static void test_freed_successor(void **state) {
    (void)state;
    open_policy("chain", 0);
    run(0, LIST(11, 12, 13));
    run(0, LIST(11, 12, 13));
    hooks()->base.block_freed(policy.state, 12);
    run(0, LIST(11, 13, 14, 12)); /* what has the number now comes last */
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 11);
    expect(LIST(13, 14, 12));
    close_policy();
}

/* What is kept by block has room for the devices there are, not for all there could be. */
static void test_record_size(void **state) {
    (void)state;
    open_policy("beyond", 1);
    for (int iteration = 0; iteration < 2; iteration++)
        run(0, LIST(0, 1, BLOCKS - 2, BLOCKS - 1));
    struct ff_fault_group group = {.block = BLOCKS - 1, .tier = 1, .faulted = mask_of("0-511")};
    struct ff_fault_advice advice = {0};
    hooks()->on_fault(policy.state, &fake.view, &group, &advice);
    assert_in_range(instance_written(&policy, &fake.view), (BLOCKS - 1) * 52, BLOCKS * 52);
    close_policy();
}

/* Two processors, each with its half of the data. The halves were learned one after the other,
 * because each was there while the other was missing. */
static void test_order_is_learned_anew(void **state) {
    (void)state;
    open_policy("slack", 1);
    run(0, LIST(11, 12, 13, 14, 15, 16));
    run(0, LIST(1, 2, 3, 4, 5, 6));
    static const uint32_t both[] = {1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16, FF_NONE};
    for (int i = 0; i < 3; i++)
        run(0, both);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    for (uint32_t i = 0; i + 1 < 12; i++)
        assert_true(next_use(both[i]) < next_use(both[i + 1]));
    close_policy();
}

/* A block that is used out of its order, once, does not tell where the kernel is. */
static void test_leap(void **state) {
    (void)state;
    open_policy("slack", 1);
    for (int iteration = 0; iteration < 2; iteration++)
        run(0, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9));
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    uint64_t now = ff_view_current_use(&fake.view, 1) >> 32;
    tell(FF_EVENT_FAULT, 0, 1);
    tell(FF_EVENT_FAULT, 0, 8);
    assert_int_equal(next_use(3) >> 32, now + 1); /* it seems to be over */
    tell(FF_EVENT_FAULT, 0, 2);
    assert_int_equal(next_use(3) >> 32, now);
    assert_int_equal(next_use(9) >> 32, now);
    assert_true(next_use(8) < next_use(4));
    close_policy();
}

/* ---- eviction ---- */

static void test_predicted(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_predicted_plus;
    open_evictor(evict);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 40);
    assert_int_equal(first_victim(evict, FF_EVICT_AHEAD, FF_NONE), 40);
    leave(evict, 40);
    leave(evict, 41);
    leave(evict, 50); /* which is not recent any more, by one */
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 23); /* least recently migrated */
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 11), 23);
    leave(evict, 23);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 2), 12);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 11), FF_NONE); /* same kernel */
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 21), FF_NONE); /* needed later */
    leave(evict, 12); /* what is left is the running kernel's: what it needs last */
    assert_int_equal(first_victim(evict, FF_EVICT_AHEAD, FF_NONE), FF_NONE);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 3);
    leave(evict, 3);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 2);
    close_evictor();
}

/* However short the list is, nothing is written behind its end. */
static void test_short_lists(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_predicted_plus;
    for (int by_page = 0; by_page < 2; by_page++) {
        open_evictor(evict);
        fake.view.unit = by_page ? 1 : FF_BLOCK_PAGES;
        static const uint32_t gone[] = {40, 41, 50, 23, 12}; /* others are the running kernel's */
        for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
            leave(evict, gone[i]);
        for (uint32_t capacity = 0; capacity < 3; capacity++) {
            struct ff_victim_list list = {victims, 0, capacity};
            const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, 1, 60, FF_BLOCK_PAGES,
                                                     fake.view.unit};
            memset(victims, 0x5a, sizeof victims);
            evict->pick(evictor.state, &fake.view, &request, &list);
            assert_int_equal(list.count, capacity);
            for (uint32_t i = capacity; i < 4; i++)
                assert_int_equal(victims[i].block, 0x5a5a5a5a);
        }
        close_evictor();
    }
}

/* Nor does a list that is longer than what one answer names make room for more: of forty blocks
 * that the running kernel needs, the sixteen that it needs last. */
static void test_long_list(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_predicted_plus;
    uint32_t needed[41], count = 0;
    for (; count < 40; count++)
        needed[count] = count;
    needed[count] = FF_NONE;
    open_policy(NULL, 0);
    fake.view.unit = 1;
    run(0, needed);
    run(0, needed);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    instance_init(&evictor, &evict->base);
    instance_open(&evictor, &fake.view, 1);
    for (uint32_t block = 0; block < 50; block++)
        arrive(evict, block);
    for (uint32_t block = 40; block < 50;
         block++) /* came so that none of the others is a latest arrival */
        leave(evict, block);
    struct ff_victim_list list = {victims, 0, BLOCKS};
    const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, 1, 60, FF_BLOCK_PAGES, 1};
    evict->pick(evictor.state, &fake.view, &request, &list);
    assert_int_equal(list.count, 16);
    for (uint32_t i = 0; i < list.count; i++)
        assert_int_equal(victims[i].block, 39 - i);
    close_evictor();
}

static void test_farthest(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_farthest;
    open_evictor(evict);
    static const uint32_t order[] = {40, 41, 50, 23, 12, 3, 2, 1};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), order[i]);
        leave(evict, order[i]);
    }
    close_evictor();
}

/* Blocks that share a chunk are judged by the one that is needed first. */
static void test_shared_chunks(void **state) {
    (void)state;
    const struct ff_evict_policy *const both[] = {&ff__evict_predicted_plus, &ff__evict_farthest};
    for (int i = 0; i < 2; i++) {
        const struct ff_evict_policy *evict = both[i];
        open_evictor(evict);
        /* the first to leave lies in the chunk of 3, which the running kernel uses */
        fake.mate[40] = 3 + 1;
        fake.mate[3] = 40 + 1;
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 41);
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 21), 41);
        leave(evict, 41);
        leave(evict, 50);
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), evict == both[0] ? 40 : 23);
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 21), FF_NONE);
        close_evictor();
    }
}

/* How many blocks of how many are kept free. */
static void test_reserve(void **state) {
    (void)state;
    const struct ff_evict_policy *const both[] = {&ff__evict_predicted_plus, &ff__evict_farthest};
    static const uint64_t free_blocks[][2] = {{1, 0}, {7, 0}, {8, 1}, {31, 1}, {64, 2}, {512, 8}};
    for (unsigned i = 0; i < 4; i++) {
        const struct ff_evict_policy *evict = both[i / 2];
        const unsigned preevict = i % 2;
        open_policy(NULL, 0);
        instance_init(&evictor, &evict->base);
        instance_set(&evictor, "preevict", preevict);
        instance_open(&evictor, &fake.view, 1);
        for (size_t size = 0; size < sizeof free_blocks / sizeof free_blocks[0]; size++) {
            fake.view.capacity[1] = free_blocks[size][0] * FF_BLOCK_PAGES;
            assert_int_equal(evict->reserve(evictor.state, &fake.view),
                             preevict * free_blocks[size][1] * FF_BLOCK_PAGES);
        }
        close_evictor();
    }
}

static void test_farthest_does_no_harm(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_farthest;
    open_evictor(evict);
    leave(evict, 40);
    leave(evict, 41);
    leave(evict, 50);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 11), 23);
    leave(evict, 23);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 22), FF_NONE);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 11), FF_NONE); /* same kernel */
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 2), 12);
    /* what holds nothing of value leaves first */
    fake_facts(&fake, 1)->inactive = ff_mask_of_run(0, FF_BLOCK_PAGES);
    evict->base.on_leave(evictor.state, &fake.view,
                         &(struct ff_leave){.kind = FF_LEAVE_DEAD, .block = 1, .tier = 1});
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_FAULT, 60), 1);
    close_evictor();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_fault_begins_anew),
        cmocka_unit_test(test_unknown_kernel_ends_the_chain),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_without_content),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_all_fits),
        cmocka_unit_test(test_parts_cost_more),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_far_forecast),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_order_is_learned_anew),
        cmocka_unit_test(test_leap),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_freed_successor),
        cmocka_unit_test(test_record_size),
        cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_short_lists),
        cmocka_unit_test(test_long_list),
        cmocka_unit_test(test_farthest),
        cmocka_unit_test(test_farthest_does_no_harm),
        cmocka_unit_test(test_shared_chunks),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
