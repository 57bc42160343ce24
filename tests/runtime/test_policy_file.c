/* A policy from a shared object, which also puts the correlator and the prefetching thread to
 * work. */
#include <string.h>

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
    assert_int_equal(ff_mem_advise(context, data, size, FF_ADVISE_EVICT, 0), 0);
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
        cmocka_unit_test(test_parameters_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
