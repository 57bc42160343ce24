/* DeepUM, deepum-plus and deepum-far on a loop over more data than fits, modelled: what the tables
 * learn in the first iteration saves faults in the others, and what is not moved for want of
 * knowing better stays. */
#include "sim/little.h"

#include <errno.h>

#define MB         (UINT64_C(1) << 20)
#define ITERATIONS 8u

static struct little loop(uint32_t iterations) {
    return (struct little){.pages = 48 * FF_BLOCK_PAGES,
                           .launches = iterations,
                           .ctas = 8,
                           .warps = 1,
                           .host_writes = true};
}

static struct ff__sim_result run(const char *system, uint32_t iterations) {
    struct little little = loop(iterations);
    return little_run(&little, "v100-16g", system, 64 * MB);
}

static void test_faults_go(void **state) {
    (void)state;
    struct ff__sim_result first = run("deepum-plus", 1), all = run("deepum-plus", ITERATIONS),
                          baseline = run("nvidia-1", ITERATIONS),
                          demand = run("demand", ITERATIONS);
    uint64_t later = all.stats.faults - first.stats.faults;
    print_message(
        "%llu faults in the first iteration, %llu in the other %u; nvidia-1 %llu, demand %llu\n",
        (unsigned long long)first.stats.faults, (unsigned long long)later, ITERATIONS - 1,
        (unsigned long long)baseline.stats.faults, (unsigned long long)demand.stats.faults);
    uint64_t later_of_baseline = baseline.stats.faults - baseline.stats.faults / ITERATIONS;
    assert_true(later * 3 < later_of_baseline);
    assert_int_equal(all.kernels, 1); /* all launches are of one execution ID, */
    assert_int_equal(all.kernels_faulted, 1);
    assert_true(all.table_bytes < 256 << 10); /* which has one table */
    assert_true(all.stats.faults * 20 < demand.stats.faults);
}

static void test_order_of_systems(void **state) {
    (void)state;
    struct ff__sim_result far = run("deepum-far", ITERATIONS),
                          deepum = run("deepum-plus", ITERATIONS),
                          baseline = run("nvidia-1", ITERATIONS),
                          oracle = run("oracle", ITERATIONS);
    print_message("MiB in: oracle %llu, deepum-far %llu, deepum-plus %llu, nvidia-1 %llu\n",
                  (unsigned long long)oracle.bytes_in >> 20, (unsigned long long)far.bytes_in >> 20,
                  (unsigned long long)deepum.bytes_in >> 20,
                  (unsigned long long)baseline.bytes_in >> 20);
    print_message("ms: oracle %.1f, deepum-far %.1f, deepum-plus %.1f, nvidia-1 %.1f\n",
                  (double)oracle.kernel_ns * 1e-6, (double)far.kernel_ns * 1e-6,
                  (double)deepum.kernel_ns * 1e-6, (double)baseline.kernel_ns * 1e-6);
    assert_true(far.kernel_ns < deepum.kernel_ns);
    assert_true(deepum.kernel_ns < baseline.kernel_ns);
    /* in bytes the oracle is the bound; in time, pre-eviction uses both directions of the link at
     * once, and the oracle has none */
    assert_true(far.bytes_in >= oracle.bytes_in);
    assert_in_range(far.kernel_ns, far.link_in_ns, far.link_in_ns * 8 / 5);
    assert_true(far.bytes_in < deepum.bytes_in);
    assert_true(deepum.bytes_in < baseline.bytes_in * 3 / 4);
}

static bool is_same(const struct ff__sim_result *a, const struct ff__sim_result *b) {
    return a->time_ps == b->time_ps && a->faults == b->faults && a->pages_in == b->pages_in &&
           a->pages_out == b->pages_out;
}

/* Each part of the system left out, as the paper's ablation has them: what it then costs. */
static void test_parts(void **state) {
    (void)state;
    struct ff__sim_result deepum = run("deepum-plus", ITERATIONS),
                          far = run("deepum-far", ITERATIONS);
    struct ff__sim_result r = run("deepum-plus:preevict=0,discard=declared", ITERATIONS);
    assert_true(r.kernel_ns > deepum.kernel_ns * 5 / 4); /* every block first waits for room, */
    assert_true(r.faults > deepum.faults);
    assert_in_range(r.pages_in, deepum.pages_in * 9 / 10, deepum.pages_in); /* and no more come */
    r = run("deepum-far:preevict=0", ITERATIONS);
    assert_true(r.kernel_ns > far.kernel_ns * 5 / 4);
    r = run("deepum-plus:evict=lrm", ITERATIONS); /* what is needed next leaves first */
    assert_true(r.pages_in > deepum.pages_in * 3 / 2);
    r = run("deepum-plus:whole=0", ITERATIONS); /* the driver's tree needs several faults a block */
    assert_true(r.faults > deepum.faults * 2);
    assert_true(r.kernel_ns > deepum.kernel_ns);
    r = run("deepum-plus:prefetch=correlation",
            ITERATIONS); /* without an order, what comes is not always what is needed */
    assert_true(r.faults > deepum.faults);
    assert_true(r.kernel_ns > deepum.kernel_ns);
}

/* What this loop has no use for changes nothing: an allocator's blocks, other kernels, more memory
 * for tables. */
static void test_parts_without_use(void **state) {
    (void)state;
    static const char *const systems[] = {"deepum-plus:discard=declared", "deepum-plus:chain=0",
                                          "deepum-plus:kernels=1", "deepum-plus:kernels=254",
                                          "deepum-plus:tables=64K"};
    struct ff__sim_result deepum = run("deepum-plus", ITERATIONS), r = {0};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        r = run(systems[i], ITERATIONS);
        if (!is_same(&r, &deepum))
            fail_msg("%s: not as deepum-plus", systems[i]);
    }
    assert_in_range(r.table_bytes, FF_PAGE_SIZE, 64 << 10);
    assert_true(r.table_bytes < deepum.table_bytes);
}

/* Without a forecast, DeepUM's evictions are the driver's, but for the reserve that is kept for
 * faults. */
static void test_eviction_without_forecast(void **state) {
    (void)state;
    struct ff__sim_result driver = run("nvidia-1", ITERATIONS),
                          predicted = run("nvidia-1:evict=predicted-plus", ITERATIONS),
                          farthest = run("nvidia-1:evict=farthest", ITERATIONS);
    assert_true(is_same(&predicted, &farthest));
    assert_int_equal(predicted.pages_in, driver.pages_in);
    assert_int_equal(predicted.faults, driver.faults);
    assert_true(predicted.stats.evictions > driver.stats.evictions);
    assert_true(predicted.kernel_ns < driver.kernel_ns * 3 / 4);
}

/* As published, a loop whose blocks are all expected has nothing to evict ahead; what does not come
 * so faults, as under the driver. */
static void test_as_published(void **state) {
    (void)state;
    struct ff__sim_result deepum = run("deepum", ITERATIONS), driver = run("nvidia", ITERATIONS),
                          plus = run("deepum-plus", ITERATIONS);
    assert_true(deepum.kernel_ns < driver.kernel_ns + driver.kernel_ns / 50);
    assert_true(plus.kernel_ns * 2 < deepum.kernel_ns);
}

/* ---- while a batch is fetched and sorted ---- */

struct watch {
    bool in_batch;
    uint64_t start_ns, sort_ns;
    uint32_t arrived, most; /* blocks since the batch began, while it is sorted */
};

static void watch(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct watch *watch = self;
    (void)seen;
    if (event->kind == FF_TRACE_BATCH)
        *watch = (struct watch){true, event->time_ns, watch->sort_ns, 0, watch->most};
    else if (event->kind == FF_TRACE_BATCH_END)
        watch->in_batch = false;
    else if (event->kind == FF_TRACE_MIGRATE && watch->in_batch &&
             event->time_ns < watch->start_ns + watch->sort_ns)
        watch->most = ++watch->arrived > watch->most ? watch->arrived : watch->most;
}

/* Prefetches begin, and end, while the driver fetches and sorts a batch: the faults do not wait to
 * be served yet. Four that are under way when it begins end in any case. */
static void test_while_sorting(void **state) {
    (void)state;
    struct little little = loop(ITERATIONS);
    struct ff__gpu gpu;
    struct ff_error error = {""};
    struct ff__sim_result result = {0};
    struct watch seen = {.sort_ns = 5000000};
    assert_int_equal(ff__gpu_read_spec("v100-16g:batch_ns=5000000", GPU_FOLDER, &gpu, &error), 0);
    struct ff__sim_config config = {.gpu = &gpu,
                                    .memory = 64 * MB,
                                    .devices = 1,
                                    .seed = 1,
                                    .observe = watch,
                                    .observer = &seen};
    assert_int_equal(little_try(&little, &config, "deepum-plus", &result, &error), 0);
    print_message("%u blocks arrived while a batch was sorted\n", seen.most);
    assert_true(seen.most > 4);
}

/* A stream that is seen once costs what it costs nvidia-1. */
static void test_once(void **state) {
    (void)state;
    uint64_t baseline = run("nvidia-1", 1).kernel_ns;
    assert_true(run("deepum-plus", 1).kernel_ns <= baseline + baseline / 20);
    assert_true(run("deepum-far", 1).kernel_ns <= baseline + baseline / 20);
}

/* The same where memory is but a few blocks, allocated by the page, all of which came lately: the
 * oldest of them leaves, not the one in use. Blocks come whole at once, as under nvidia-1. */
static void test_once_in_little_memory(void **state) {
    (void)state;
    struct little little = {
        .pages = 4 * FF_BLOCK_PAGES, .launches = 1, .ctas = 8, .warps = 1, .host_writes = true};
    uint64_t memory = 5 * MB + MB / 4;
    struct ff__sim_result baseline = little_run(&little, "gtx1080ti", "nvidia-1", memory),
                          far = little_run(&little, "gtx1080ti", "deepum-far:sparse=0", memory);
    assert_true(far.kernel_ns <= baseline.kernel_ns + baseline.kernel_ns / 20);
    assert_int_equal(far.bytes_in, baseline.bytes_in);
}

/* The whole arena of the tables is asked for when a run begins. Without it there is no run, and
 * nothing is left behind; afterwards no table needs any more memory. */
void *__real_ff__lazy_map(size_t size);
void *__wrap_ff__lazy_map(size_t size);
static size_t refused = SIZE_MAX;

void *__wrap_ff__lazy_map(size_t size) {
    return size == refused ? NULL : __real_ff__lazy_map(size);
}

static void test_no_memory_for_tables(void **state) {
    (void)state;
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    struct ff__gpu gpu;
    struct ff__sim_config config = {.gpu = &gpu, .memory = 64 * MB, .devices = 1, .seed = 1};
    struct ff__sim_result result;
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error), 0);
    assert_int_equal(ff__workload_open("stream:size=8M", 1, &workload, &error), 0);
    assert_int_equal(ff__system_parse("deepum-plus:tables=77M", &config.system, &error), 0);
    refused = 77 * MB;
    assert_int_equal(ff__sim_run(&config, workload, &result, &error), -ENOMEM);
    assert_true(error.message[0] != 0);
    refused = SIZE_MAX;
    assert_int_equal(ff__sim_run(&config, workload, &result, &error), 0);
    ff__workload_close(workload);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_go),
        cmocka_unit_test(test_order_of_systems),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_without_use),
        cmocka_unit_test(test_eviction_without_forecast),
        cmocka_unit_test(test_as_published),
        cmocka_unit_test(test_while_sorting),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_once_in_little_memory),
        cmocka_unit_test(test_no_memory_for_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
