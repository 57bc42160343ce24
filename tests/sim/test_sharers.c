/* Who met the latest faults of a block, as a policy sees it on a modelled device; and that remote
 * use ends when advice says so. */
#include "sim/little.h"

static struct {
    uint32_t most;     /* sharers that a fault has found */
    uint32_t faults;   /* that the policy was asked about */
    bool maps, mapped; /* leaves pages on the host; has done so */
    bool briefly;      /* the faulted ones alone, until the next batch */
} watch;

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    uint32_t sharers = ff_view_sharers(view, group->block);
    watch.most = sharers > watch.most ? sharers : watch.most;
    watch.faults++;
    if (watch.maps)
        advice->remote = watch.briefly ? group->faulted : ff_view_pages(view, group->block);
    watch.mapped = watch.maps;
}

/* Each launch begins without remote pages. */
static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)state;
    if (event->begins && watch.mapped)
        ff_advise_block(advice, view, FF_END_REMOTE, 0, event->tier);
}

static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    (void)state, (void)count;
    if (watch.briefly && watch.mapped)
        ff_advise_block(advice, view, FF_END_REMOTE, 0, groups[0].tier);
}

static const struct ff_prefetch_policy watcher = {
    .base = {.name = "watcher",
             .summary = "watches who meets faults",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_SHARERS,
             .controls = FF_CONTROLS_FAULTS,
             .on_launch = on_launch},
    .on_batch = on_batch,
    .on_fault = on_fault,
};

static struct ff__sim_result run(const struct little *little) {
    static struct ff__gpu preset;
    struct ff__array array;
    struct ff__workload workload = little_workload(little, &array);
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &preset, .devices = 1, .seed = 1, .check = true};
    struct ff__sim_result result = {0};
    assert_int_equal(ff__gpu_read_spec("v100-16g", GPU_FOLDER, &preset, &error), 0);
    assert_int_equal(ff__system_parse("demand", &config.system, &error), 0);
    config.system.policy[FF__PREFETCH] = &watcher.base;
    if (ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s", error.message);
    return result;
}

/* Two SMs share a uTLB; two warps of an SM are one. */
static void test_sharers(void **state) {
    (void)state;
    static const struct {
        uint32_t ctas, warps, sharers;
    } cases[] = {{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {8, 1, 4}, {16, 1, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct little little = {
            .pages = 512, .launches = 1, .ctas = cases[i].ctas, .warps = cases[i].warps};
        memset(&watch, 0, sizeof watch);
        run(&little);
        assert_int_equal(watch.most, cases[i].sharers);
    }
}

/* All on the same page, which is brought once. */
static void test_sharers_of_a_page(void **state) {
    (void)state;
    struct little little = {.pages = 1, .passes = 8, .launches = 1, .ctas = 8, .warps = 1};
    memset(&watch, 0, sizeof watch);
    run(&little);
    assert_int_equal(watch.faults, 1);
    assert_int_equal(watch.most, 4);
}

static void test_end_of_remote_use(void **state) {
    (void)state;
    struct little little = {
        .pages = 64, .launches = 3, .ctas = 1, .warps = 1, .synchronizes = true};
    memset(&watch, 0, sizeof watch);
    watch.maps = true;
    struct ff__sim_result result = run(&little);
    assert_int_equal(watch.faults, little.launches); /* once in each */
    assert_int_equal(result.pages_in, 0);
}

/* Pages whose remote use has ended fault again in the same launch, too. */
static void test_end_within_a_launch(void **state) {
    (void)state;
    struct little little = {.pages = 64, .passes = 2, .launches = 1, .ctas = 1, .warps = 1};
    memset(&watch, 0, sizeof watch);
    watch.maps = watch.briefly = true;
    run(&little);
    assert_int_equal(watch.faults, 2 * little.pages);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharers),
        cmocka_unit_test(test_sharers_of_a_page),
        cmocka_unit_test(test_end_of_remote_use),
        cmocka_unit_test(test_end_within_a_launch),
    };
    return cmocka_run_group_tests_name("sim.sharers", tests, NULL, NULL);
}
