/* DeepUM's prefetching, pre-eviction and invalidation as published, event by event. */
#include "learner.h"

static const struct ff_prefetch_policy *hooks(void) {
    return &ff__prefetch_correlation;
}

static bool faulted_end;

static void prepare(void) {
    instance_set(&policy, "faulted_end", faulted_end);
}

/* ---- Figure 7 ---- */

/* Execution ID 0 goes a b e, a p, b q; ID 1 goes k g t, k n, g i u. Prefetching b for ID 0 brings
 * its successors e and q; q is the end, so k follows, the start for ID 1. */
static void test_figure_7(void **state) {
    (void)state;
    enum { a, b, e = 4, g = 6, i = 8, k = 10, n = 13, p = 15, q, t = 19, u };
    open_policy("kernels", 2);
    for (int iteration = 0; iteration < 3; iteration++) {
        run(0, LIST(a, p, a, b, e, b, q));
        run(1, LIST(k, n, k, g, t, g, i, u));
    }
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, b);
    expect(LIST(q, k, g, n, i, t, u, b, q)); /* most recent successors first; 0 now begins with b */
    assert_int_equal(items[0].launch, 0);
    assert_int_equal(items[1].launch, 1);
    assert_int_equal(items[7].launch, 0);
    expect(NOTHING); /* it pauses, two kernels ahead */
    close_policy();
}

/* ---- chaining ---- */

/* Kernel 0 has one fault, which brings the rest of it: its end stays, unless it is that of faults
 * alone, when it is where it begins. */
static void check_chain(const uint32_t *kernel_0) {
    open_policy("kernels", 2);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2, 3, 11, 12, 21, 22, 23));
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    tell(FF_EVENT_LAUNCH, 1, FF_NONE); /* as predicted: on with kernel 0 */
    expect(kernel_0);
    tell(FF_EVENT_LAUNCH_END, 1, FF_NONE);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE); /* not as predicted */
    expect(NOTHING);
    close_policy();
}

static void test_chain(void **state) {
    (void)state;
    check_chain(LIST(1, 2, 3));
    faulted_end = true;
    check_chain(LIST(1));
    faulted_end = false;
}

/* A walk that has not come to its end when the next kernel begins says nothing of where that is. */
static void test_end_of_an_unfinished_walk(void **state) {
    (void)state;
    open_policy("kernels", 1);
    learn_three(2);
    run(0, LIST(1)); /* nothing is asked for meanwhile */
    run(1, LIST(11));
    run(2, LIST(21));
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2, 3, 11, 12));
    close_policy();
}

/* Where the successors do not lead to the end block, it is the last that they led to. */
static void test_end_of_the_walk(void **state) {
    (void)state;
    open_policy("kernels", 1);
    learn_three(2);
    hooks()->base.block_freed(policy.state, 3);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2));
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    run(1, LIST(11));
    run(2, LIST(21));
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2, 11, 12));
    close_policy();
}

/* Nothing is predicted before the same four kernels were met. */
static void test_four_kernels(void **state) {
    (void)state;
    open_policy(NULL, 0);
    learn_three(1);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2, 3));
    close_policy();
}

/* Start is the first fault of the latest execution that had any, end the last. */
static void test_start_and_end(void **state) {
    (void)state;
    open_policy("kernels", 1);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    run(1, LIST(12));
    tell(FF_EVENT_LAUNCH, 2, FF_NONE);
    tell(FF_EVENT_LAUNCH_END, 2, FF_NONE);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 2);
    expect(LIST(3, 12));
    close_policy();
}

/* Where the end block is gone, the walk does not meet it, and ends. */
static void test_no_end(void **state) {
    (void)state;
    open_policy("kernels", 1);
    learn_three(2);
    hooks()->base.block_freed(policy.state, 3);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2));
    close_policy();
}

static void test_fault_begins_anew(void **state) {
    (void)state;
    open_policy("kernels", 1);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    tell(FF_EVENT_FAULT, 0, 2);
    expect(LIST(3, 11, 12));
    tell(FF_EVENT_FAULT, FF_NONE, 1); /* the host's */
    expect(NOTHING);
    tell(FF_EVENT_FAULT, 0, 3); /* the end: on with the next kernel */
    expect(LIST(11, 12));
    close_policy();
}

/* A prefetch that found no room is repeated when something has happened. */
static void test_wait(void **state) {
    (void)state;
    open_policy("kernels", 2);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 1);
    expect(LIST(2, 3, 11, 12, 21, 22, 23));
    tell(FF_EVENT_NO_ROOM, 1, 12);
    tell(FF_EVENT_NO_ROOM, 2, 21);
    expect(NOTHING);
    tell(FF_EVENT_LAUNCH_END, 0, FF_NONE);
    expect(LIST(12, 21, 22, 23));
    close_policy();
}

/* With a fault comes its block, or what the driver brings. */
static void test_fault(void **state) {
    (void)state;
    for (int tree = 0; tree <= 1; tree++) {
        open_policy("tree", tree);
        struct ff_fault_group group = {.block = 2, .tier = 1, .launch = 0};
        struct ff_fault_advice advice = {0};
        group.faulted = mask_of("5");
        hooks()->on_fault(policy.state, &fake.view, &group, &advice);
        struct ff_mask came = ff_mask_or(&advice.prefetch, &group.faulted);
        assert_int_equal(ff_mask_count(&came), tree ? FF_LEAF_PAGES : FF_BLOCK_PAGES);
        close_policy();
    }
}

/* What has a freed block's number is another block, of which no row and no end block tells. */
static void test_freed(void **state) {
    (void)state;
    open_policy("kernels", 1);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    tell(FF_EVENT_FAULT, 0, 11);
    tell(FF_EVENT_FAULT, 0, 12); /* the end of this execution */
    hooks()->base.block_freed(policy.state, 12);
    assert_int_equal(ff_view_next_launch(&fake.view, 1, 12), FF_NO_USE);
    run(0, LIST(11, 13, 11));
    expect(LIST(13));
    close_policy();
}

/* ---- pre-eviction ---- */

/* First what is not expected, least recently migrated first. If everything is, only faults evict.
 */
static void test_predicted(void **state) {
    (void)state;
    const struct ff_evict_policy *evict = &ff__evict_predicted;
    open_evictor(evict);
    static const enum ff_evict_cause causes[] = {FF_EVICT_FOR_FAULT, FF_EVICT_FOR_PREFETCH,
                                                 FF_EVICT_AHEAD};
    for (int i = 0; i < 3; i++)
        assert_int_equal(first_victim(evict, causes[i], 60), 40);
    leave(evict, 40);
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 41), 50); /* not for itself */
    leave(evict, 41);
    for (uint32_t block = 50; block < 59; block++) {
        assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 60), block);
        leave(evict, block);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(first_victim(evict, causes[i], 60),
                         causes[i] == FF_EVICT_FOR_FAULT ? 23 : FF_NONE);
    arrive(evict, 42); /* is not expected */
    assert_int_equal(first_victim(evict, FF_EVICT_FOR_PREFETCH, 60), 42);
    leave(evict, 42);
    tell(FF_EVENT_LAUNCH, 9, FF_NONE); /* was not predicted: nothing is expected any more */
    assert_int_equal(first_victim(evict, FF_EVICT_AHEAD, FF_NONE), 23);
    close_evictor();
}

/* ---- invalidation ---- */

static void test_inactive(void **state) {
    (void)state;
    for (int parts = 0; parts < 2; parts++) {
        struct ff_mask dead = {{0}};
        struct instance discard;
        fake_open(&fake, 2, 4);
        instance_init(&discard, &ff__discard_inactive.base);
        instance_set(&discard, "parts", parts);
        instance_open(&discard, &fake.view, FF_NONE);
        fake_facts(&fake, 1)->inactive = ff_mask_of_run(0, FF_BLOCK_PAGES);
        fake_facts(&fake, 2)->inactive = mask_of("7-9");
        ff__discard_inactive.dead(discard.state, &fake.view, 1, &dead);
        assert_int_equal(ff_mask_count(&dead), 512);
        ff_mask_clear(&dead);
        ff__discard_inactive.dead(discard.state, &fake.view, 2, &dead);
        assert_int_equal(ff_mask_count(&dead), parts ? 3 : 0);
        instance_close(&discard);
        fake_close(&fake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_7),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_four_kernels),
        cmocka_unit_test(test_start_and_end),
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_fault_begins_anew),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_inactive),
        cmocka_unit_test(test_end_of_the_walk),
        cmocka_unit_test(test_end_of_an_unfinished_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
