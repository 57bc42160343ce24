/* The sample policies, from shared objects: each loads as its comment says, and does what it is
 * for. */
#include <farfault/policy.h>
#include <string.h>
#include <unistd.h>

#include "runtime/fixture.h"

#define MB (UINT64_C(1) << 20)

static void test_stride_policy_prefetches(void **state) {
    (void)state;
    struct ff_config config = standard_config(64 * MB);
    config.policy_file = FARFAULT_STRIDE;
    config.system = "nvidia-1:prefetch=stride,depth=4";
    struct ff_context *context = open_or_skip(&config);
    size_t size = 48 * MB;
    unsigned char *data = alloc(context, size);
    memset(data, 5, size);
    assert_int_equal(ff_mem_hint(context, data, size, FF_HINT_EVICT, 0), 0);
    struct ff_stats before, after;
    ff_stats_read(context, &before);
    unsigned sum = 0;
    for (size_t i = 0; i < size; i += 64)
        sum += data[i];
    assert_int_equal(sum, 5 * size / 64);
    ff_stats_read(context, &after);
    assert_true(after.faults - before.faults <= size / (2 * MB));
    assert_true(after.prefetched > before.prefetched);
    ff_close(context);
}

/* Opens a context under a sample policy, as its comment says. */
static struct ff_context *open_sample(const char *file, const char *system, uint32_t devices) {
    struct ff_config config = standard_config(8 * MB);
    config.policy_file = file;
    config.system = system;
    config.devices = devices;
    config.check = true;
    return open_or_skip(&config);
}

static void fill(unsigned char *data, size_t size, unsigned char first) {
    for (size_t i = 0; i < size; i += 4096)
        data[i] = (unsigned char)(first + i / 4096);
}

static void check_content(const unsigned char *data, size_t size, unsigned char first) {
    for (size_t i = 0; i < size; i += 4096)
        assert_int_equal(data[i], (unsigned char)(first + i / 4096));
}

/* A block that is served in every round stays, the others take turns. */
static void test_clock_policy_evicts(void **state) {
    (void)state;
    struct ff_context *context = open_sample(FARFAULT_CLOCK, "nvidia-1:evict=clock", 1);
    size_t size = 24 * MB;
    unsigned char *data = alloc(context, size);
    struct ff_stats stats;
    for (unsigned char round = 0; round < 3; round++) {
        fill(data, size, round);
        check_content(data, size, round);
    }
    ff_stats_read(context, &stats);
    assert_true(stats.evictions > 0);
    assert_int_equal(ff_check(context, NULL), 0);
    ff_close(context);
}

/* Four kernels, each with a range of its own, again and again, and room for two ranges: once the
 * period is known, a kernel's range comes while the one before it runs. */
static void test_period_policy_learns_launches(void **state) {
    (void)state;
    struct ff_context *context = open_sample(FARFAULT_PERIOD, "nvidia-1:prefetch=period", 1);
    const size_t size = 4 * MB;
    unsigned char *ranges[4];
    struct ff_stats before, after;
    for (int i = 0; i < 4; i++)
        ranges[i] = alloc(context, size);
    ff_stats_read(context, &before);
    for (int launch = 0; launch < 16; launch++) {
        const void *operand = ranges[launch % 4];
        ff_launch_begin(context, 0, (uint64_t)launch % 4, "k", &operand, NULL, 1);
        fill(ranges[launch % 4], size, (unsigned char)launch);
        usleep(20000); /* for the prefetches of the next one */
        ff_launch_end(context, 0, (uint64_t)launch % 4);
    }
    for (int i = 0; i < 4; i++)
        check_content(ranges[i], size, (unsigned char)(12 + i));
    ff_stats_read(context, &after);
    assert_true(after.advice_applied > 0);
    assert_true(after.prefetched > before.prefetched);
    assert_int_equal(ff_check(context, NULL), 0);
    ff_close(context);
}

/* No backend has a peer tier yet: the first choice is not followed, and said so. */
static void test_roomiest_policy_places(void **state) {
    (void)state;
    struct ff_context *context = open_sample(FARFAULT_ROOMIEST, "nvidia-1:place=roomiest", 2);
    size_t size = 24 * MB;
    unsigned char *data = alloc(context, size);
    struct ff_stats stats;
    fill(data, size, 1);
    check_content(data, size, 1);
    ff_stats_read(context, &stats);
    assert_true(stats.evictions > 0);
    assert_true(stats.pages_lent > 0);
    assert_int_equal(stats.dropped_by_reason[FF_DROP_UNSUPPORTED], 0);
    ff_close(context);
}

static void test_parameters_are_checked(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff_context *context = NULL;
    struct ff_error error;
    config.policy_file = FARFAULT_STRIDE;
    config.system = "nvidia:prefetch=stride,depth=99";
    assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
    assert_non_null(strstr(error.message, "1 to 32"));
    config.system = "nvidia:prefetch=stride,threshold=3";
    assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
    assert_non_null(strstr(error.message, "depth"));
}

int main(void) {
    struct ff_config config = standard_config(8 * MB);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stride_policy_prefetches),
        cmocka_unit_test(test_clock_policy_evicts),
        cmocka_unit_test(test_period_policy_learns_launches),
        cmocka_unit_test(test_roomiest_policy_places),
        cmocka_unit_test(test_parameters_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
