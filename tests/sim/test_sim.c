/* The simulator counts what it must, and says the same twice. */
#include "sim/little.h"

#define MIB (UINT64_C(1) << 20)

static const struct little stream = {
    .pages = 2048, .launches = 1, .ctas = 8, .warps = 4, .host_writes = true};

static void test_every_page_faults_once(void **state) {
    (void)state;
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result r = little_run(&stream, gpus[i], "demand", 0);
        assert_int_equal(r.faults, 2048);
        assert_int_equal(r.pages_in, 2048);
        assert_int_equal(r.accesses, 2048);
        assert_int_equal(r.hits, 0);
        assert_int_equal(r.stats.evictions, 0);
        assert_int_equal(r.demanded, 2048);
        assert_int_equal(r.demanded_hits, 0);
    }
}

static void test_time_of_single_pages(void **state) {
    (void)state;
    struct ff__sim_result r = little_run(&stream, "gtx1080ti", "demand", 0);
    /* 1.76 us a page */
    assert_in_range(r.kernel_ns, 2048 * 1700, 2048 * 1900);
    assert_int_equal(r.fault_ns, 2048 * UINT64_C(45000));
}

static void test_cyclic_misses_everything(void **state) {
    (void)state;
    struct little cyclic = stream;
    cyclic.launches = 3;
    cyclic.ctas = cyclic.warps = 1;
    struct ff__sim_result r = little_run(&cyclic, "gtx1080ti", "demand", 4 * MIB);
    assert_int_equal(r.faults, 3 * 2048);
    assert_int_equal(r.thrashed, 2 * 2048);
    r = little_run(&cyclic, "v100-16g", "demand", 4 * MIB);
    assert_int_equal(r.faults, 3 * 2048);
}

static void test_second_launch_hits(void **state) {
    (void)state;
    struct little twice = stream;
    twice.launches = 2;
    struct ff__sim_result r = little_run(&twice, "v100-16g", "nvidia-1", 0);
    assert_int_equal(r.demanded, 2 * 2048);
    assert_true(r.demanded_hits >= 2048);
    assert_int_equal(r.prefetched, r.pages_in - r.faults);
    assert_int_equal(r.prefetched_used, r.prefetched);
}

static void test_writes_come_back(void **state) {
    (void)state;
    struct little writes = stream;
    writes.writes = writes.host_reads = true;
    struct ff__sim_result r = little_run(&writes, "v100-16g", "demand", 0);
    assert_int_equal(r.bytes_out, 8 * MIB);
    assert_int_equal(r.evicted_dirty, 2048);
    assert_int_equal(r.stats.resident, 0);
}

static void test_same_twice(void **state) {
    (void)state;
    static const char *const systems[] = {"demand", "nvidia", "nvidia-1"};
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    struct little busy = {.pages = 5000, .launches = 3, .ctas = 100, .warps = 8, .writes = true};
    for (unsigned i = 0; i < 6; i++) {
        struct ff__sim_result a = little_run(&busy, gpus[i % 2], systems[i / 2], 12 * MIB);
        struct ff__sim_result b = little_run(&busy, gpus[i % 2], systems[i / 2], 12 * MIB);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.stats.resident_peak <= 12 * MIB);
        assert_true(a.stats.evictions > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_page_faults_once),
        cmocka_unit_test(test_time_of_single_pages),
        cmocka_unit_test(test_cyclic_misses_everything),
        cmocka_unit_test(test_second_launch_hits),
        cmocka_unit_test(test_writes_come_back),
        cmocka_unit_test(test_same_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
