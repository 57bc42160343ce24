/* The engine: every registered system and policy through the same random life, and its calls one
 * by one. */
#include "engine/world.h"

/* ---- conformance ---- */

static unsigned long steps(void) {
    return scaled_cases(4000, 400);
}

/* Tight memory, several devices, ample memory, memory by leaf, pages that are mapped to be used
 * from the host; the first two twice, for the same decisions. */
static void check_system(const char *system) {
    static const struct world_shape shapes[] = {{NULL, 1, 3, 11, 0, false},
                                                {NULL, 2, 2, 12, 0, false},
                                                {NULL, 1, 1, 13, 0, false},
                                                {NULL, 4, 3, 14, 0, false},
                                                {NULL, 1, 64, 15, 0, false},
                                                {NULL, 2, 3, 16, FF_LEAF_PAGES, false},
                                                {NULL, 1, 1, 17, FF_LEAF_PAGES, false},
                                                {NULL, 1, 3, 18, 0, true},
                                                {NULL, 2, 3, 19, FF_LEAF_PAGES, true}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct world_shape shape = shapes[i];
        shape.system = system;
        uint64_t first = live(&shape, steps());
        if (i < 2)
            assert_int_equal(live(&shape, steps()), first);
    }
}

static void test_every_system(void **state) {
    (void)state;
    const struct ff__system_row *row;
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        check_system(row->name);
}

static void check_slot(enum ff__slot slot) {
    const struct ff_policy *policy;
    for (unsigned i = 0; (policy = ff__policy_at(slot, i)); i++) {
        char system[128];
        snprintf(system, sizeof system, "nvidia:%s=%s", ff__slot_name(slot), policy->name);
        check_system(system);
    }
}

static void test_every_prefetch_policy(void **state) {
    (void)state;
    check_slot(FF__PREFETCH);
    assert_string_equal(rogue_finding, "");
}

static void test_every_evict_policy(void **state) {
    (void)state;
    check_slot(FF__EVICT);
    assert_string_equal(rogue_finding, "");
}

static void test_every_place_policy(void **state) {
    (void)state;
    check_slot(FF__PLACE);
}

static void test_every_discard_policy(void **state) {
    (void)state;
    check_slot(FF__DISCARD);
}

/* All of them wrong at once. */
static void test_rogues_cost_time_only(void **state) {
    (void)state;
    check_system("nvidia:prefetch=rogue-greedy,evict=rogue-liar,place=rogue-nowhere");
    check_system("nvidia:prefetch=rogue-stall,evict=rogue-quiet,discard=rogue-dead");
    check_system("nvidia-1:evict=watch,discard=rogue-dead");
    check_system("demand:prefetch=watch,evict=watch");
    assert_string_equal(rogue_finding, "");
}

static void test_seeds(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 100 + scaled_cases(8, 2); seed++) {
        struct world_shape shape = {seed % 2 ? "nvidia" : "nvidia:prefetch=next,evict=rogue-liar",
                                    1 + (uint32_t)(seed % 3),
                                    1 + (uint32_t)(seed % 5),
                                    seed,
                                    seed % 7 < 3   ? FF_LEAF_PAGES
                                    : seed % 7 < 5 ? 1
                                                   : 0,
                                    false};
        uint64_t log = live(&shape, steps());
        shape.seed += 1000;
        assert_int_not_equal(live(&shape, steps() / 4), log);
    }
}

/* The lives above were eventful enough. */
static void test_everything_has_happened(void **state) {
    (void)state;
    for (int i = 0; i < SEEN_MAX; i++) {
        print_message("%llu ", (unsigned long long)seen[i]);
        if (seen[i] < 20)
            fail_msg("case %d was met %llu times", i, (unsigned long long)seen[i]);
    }
    print_message("\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_system),
        cmocka_unit_test(test_every_prefetch_policy),
        cmocka_unit_test(test_every_evict_policy),
        cmocka_unit_test(test_every_place_policy),
        cmocka_unit_test(test_every_discard_policy),
        cmocka_unit_test(test_rogues_cost_time_only),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_everything_has_happened),
    };
    rogues_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
