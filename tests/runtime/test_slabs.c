/* Small allocations share ranges, and stay apart: their data, hints, places and what moved of them.
 */
#include "runtime/fixture.h"

#include <pthread.h>

#include "base/random.h"

#define KB ((size_t)1 << 10)
#define MB (UINT64_C(1) << 20)

static struct ff_stats stats_of(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats;
}

static void assert_all(const unsigned char *data, size_t size, unsigned char value) {
    assert_int_equal(data[0], value);
    assert_memory_equal(data, data + 1, size - 1);
}

/* ---- places ---- */

static void test_each_has_its_own_pages(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4095, 4096, 4097, 8 * KB, 65535, 65536, 65537, 3 * MB};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    struct ff_config config = standard_config(8 * MB);
    struct ff_context *context = open_or_skip(&config);
    unsigned char *data[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        data[i] = alloc(context, sizes[i]);
        assert_all(data[i], sizes[i], 0);
        memset(data[i], (int)i + 1, sizes[i]);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        void *base;
        size_t size, whole = (sizes[i] + 4095) / 4096 * 4096;
        assert_all(data[i], sizes[i], (unsigned char)(i + 1));
        assert_true(ff_mem_lookup(context, data[i] + sizes[i] - 1, &base, &size));
        assert_ptr_equal(base, data[i]);
        assert_int_equal(size, whole);
        assert_int_equal(ff_mem_free(context, data[i] + 1), -EINVAL);
        assert_int_equal(ff_mem_prefetch(context, data[i], whole + 1, 0), -EINVAL);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(ff_mem_free(context, data[i]), 0);
        assert_false(ff_mem_lookup(context, data[i], NULL, NULL));
        assert_int_equal(ff_mem_free(context, data[i]), -EINVAL);
    }
    assert_int_equal(stats_of(context).allocated, 0);
    assert_true(stats_of(context).allocated_peak > 3 * MB);
    ff_close(context);
}

/* A few take a leaf; thousands fit where their pages fit. */
static void test_take_what_they_need(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    config.check = false;
    struct ff_context *context = open_or_skip(&config);
    for (unsigned i = 0; i < 3; i++)
        memset(alloc(context, 100), 1, 100);
    assert_int_equal(stats_of(context).resident, 64 * KB);
    for (unsigned i = 0; i < 1000; i++)
        memset(alloc(context, 4096), 1, 4096);
    assert_int_equal(stats_of(context).evictions, 0);
    assert_int_equal(stats_of(context).pages_out, 0);
    assert_true(stats_of(context).resident <= 6 * MB);
    assert_int_equal(stats_of(context).allocated, 1003 * 4 * KB);
    ff_close(context);
}

/* ---- hints ---- */

static void test_hints_are_exact(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        unsigned char *data[40];
        for (unsigned i = 0; i < 40; i++) {
            data[i] = alloc(context, 8 * KB);
            memset(data[i], (int)i + 1, 8 * KB);
        }
        ff_mem_hint(context, data[7], 8 * KB, FF_HINT_EVICT, 0);
        assert_int_equal(stats_of(context).pages_out, 2);
        ff_mem_hint(context, data[8], 8 * KB, FF_HINT_DISCARD, 0);
        assert_int_equal(stats_of(context).pages_out, 2);
        uint64_t faults = stats_of(context).faults;
        for (unsigned i = 0; i < 40; i++)
            if (i != 7 && i != 8)
                assert_all(data[i], 8 * KB, (unsigned char)(i + 1));
        assert_int_equal(stats_of(context).faults, faults);
        assert_all(data[7], 8 * KB, 8);
        ff_close(context);
    }
}

static const struct ff_moved *find_moved(const struct ff_moved_list *list, uint32_t number) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->worst[i].number == number)
            return &list->worst[i];
    fail_msg("no allocation %u", number);
    return NULL;
}

static void test_what_moved_is_exact(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    config.system = "demand";
    struct ff_context *context = open_or_skip(&config);
    unsigned char *data[4];
    struct ff_moved_list list;
    for (unsigned i = 0; i < 4; i++)
        data[i] = alloc(context, 12 * KB);
    for (unsigned i = 0; i < 3; i++)
        memset(data[i], 1, (i + 1) * 4 * KB);
    ff_mem_hint(context, data[2], 12 * KB, FF_HINT_EVICT, 0);
    assert_int_equal(data[2][0], 1);
    ff_mem_free(context, data[1]);
    ff_mem_hint(context, data[0], 12 * KB, FF_HINT_EVICT, 0); /* after the faults are counted */
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &list);
    assert_int_equal(list.count, 4);
    const struct ff_moved *first = find_moved(&list, 0), *gone = find_moved(&list, 1),
                          *third = find_moved(&list, 2), *last = find_moved(&list, 3);
    assert_int_equal(first->faults, 1);
    assert_int_equal(first->bytes_out, 4 * KB);
    assert_int_equal(first->touched, 4 * KB);
    assert_int_equal(gone->faults, 2);
    assert_int_equal(gone->touched, 8 * KB);
    assert_int_equal(gone->bytes_out, 0);
    assert_int_equal(third->faults, 4);
    assert_int_equal(third->refaults, 1);
    assert_int_equal(third->bytes_in, 4 * KB);
    assert_int_equal(third->bytes_out, 12 * KB);
    assert_true(third->stall_ns > 0);
    assert_int_equal(last->faults + last->bytes_in + last->bytes_out + last->touched, 0);
    ff_close(context);
}

/* The pages are another allocation's: nothing of the first is seen of it. */
static void test_counts_begin_anew(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    config.system = "demand"; /* else neighbours come along */
    struct ff_context *context = open_or_skip(&config);
    struct ff_moved_list list;
    unsigned char *data = alloc(context, 4096);
    memset(data, 1, 4096);
    ff_mem_hint(context, data, 4096, FF_HINT_EVICT, 0);
    ff_mem_free(context, data); /* all there is: given back at once */
    assert_ptr_equal(alloc(context, 64 * KB - 1), data);
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &list);
    assert_int_equal(find_moved(&list, 1)->touched, 0);
    assert_int_equal(find_moved(&list, 1)->bytes_out, 0);
    uint64_t refaults = stats_of(context).refaults;
    assert_all(data, 64 * KB - 1, 0);
    assert_int_equal(stats_of(context).refaults, refaults);
    ff_close(context);
}

/* ---- against a twin ---- */

#define LIVE 300u

struct twin {
    struct ff_context *context;
    struct ff__random random;
    unsigned char *data[LIVE], value[LIVE];
    size_t size[LIVE], allocated;
};

static void twin_alloc(struct twin *twin, unsigned i) {
    size_t size = 1 + ff__random_below(&twin->random, 20 * 1024);
    twin->data[i] = alloc(twin->context, size);
    assert_all(twin->data[i], size, 0); /* never what was there before */
    twin->size[i] = size;
    twin->value[i] = (unsigned char)(1 + ff__random_below(&twin->random, 255));
    twin->allocated += (size + 4095) / 4096 * 4096;
    memset(twin->data[i], twin->value[i], size);
}

static void twin_check(struct twin *twin, unsigned i) {
    assert_all(twin->data[i], twin->size[i], twin->value[i]);
}

static void twin_free(struct twin *twin, unsigned i) {
    twin_check(twin, i);
    assert_int_equal(ff_mem_free(twin->context, twin->data[i]), 0);
    twin->allocated -= (twin->size[i] + 4095) / 4096 * 4096;
    twin->data[i] = NULL;
}

static void twin_hint(struct twin *twin, unsigned i) {
    size_t size = twin->size[i];
    switch (ff__random_below(&twin->random, 4)) {
    case 0:
        ff_mem_hint(twin->context, twin->data[i], size, FF_HINT_EVICT, 0);
        break;
    case 1:
        ff_mem_prefetch(twin->context, twin->data[i], size, 0);
        break;
    case 2:
        ff_mem_hint(twin->context, twin->data[i], size, FF_HINT_DISCARD, 0);
        memset(twin->data[i], twin->value[i], size);
        break;
    default:
        twin->value[i] ^= 0x55;
        ff_mem_hint(twin->context, twin->data[i], size, FF_HINT_OVERWRITE, 0);
        memset(twin->data[i], twin->value[i], size);
    }
}

static void run_twin(const struct ff_config *config, uint64_t seed, unsigned steps) {
    struct twin twin = {.context = open_or_skip(config), .random = ff__random_seeded(seed)};
    unsigned char *large = alloc(twin.context, 3 * MB);
    memset(large, 7, 3 * MB); /* so that small ones are evicted, too */
    for (unsigned step = 0; step < steps; step++) {
        unsigned i = ff__random_below(&twin.random, LIVE);
        if (!twin.data[i])
            twin_alloc(&twin, i);
        else if (ff__random_below(&twin.random, 2))
            twin_hint(&twin, i);
        else
            twin_free(&twin, i);
        if (step % 64 == 0)
            large[ff__random_below(&twin.random, 3u << 20)] = 7;
        assert_int_equal(stats_of(twin.context).allocated, twin.allocated + 3 * MB);
    }
    for (unsigned i = 0; i < LIVE; i++)
        if (twin.data[i])
            twin_free(&twin, i);
    assert_all(large, 3 * MB, 7);
    struct ff_error error;
    if (ff_check(twin.context, &error))
        fail_msg("%s", error.message);
    ff_close(twin.context);
}

static void test_twin(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 4 * MB) {
        run_twin(&config, 1 + step, (unsigned)scaled_cases(600, 60));
    }
}

/* ---- threads ---- */

struct work {
    struct ff_context *context;
    unsigned char value;
    bool is_right;
};

static void *alloc_and_free(void *argument) {
    struct work *it = argument;
    for (unsigned round = 0; round < 30 && it->is_right; round++) {
        unsigned char *data[20];
        for (unsigned i = 0; i < 20; i++) {
            void *pointer = NULL;
            it->is_right = it->is_right && ff_mem_alloc(it->context, 5000, &pointer) == 0;
            data[i] = pointer;
            for (size_t at = 0; it->is_right && at < 5000; at += 100)
                it->is_right = data[i][at] == 0;
            if (it->is_right)
                memset(data[i], it->value, 5000);
        }
        for (unsigned i = 0; it->is_right && i < 20; i++) {
            it->is_right = data[i][4999] == it->value;
            ff_mem_free(it->context, data[i]);
        }
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct ff_config config = standard_config(4 * MB);
    struct ff_context *context = open_or_skip(&config);
    struct work work[4];
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        work[i] = (struct work){context, (unsigned char)(i + 1), true};
        assert_int_equal(pthread_create(&threads[i], NULL, alloc_and_free, &work[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(work[i].is_right);
    }
    assert_int_equal(stats_of(context).allocated, 0);
    ff_close(context);
}

/* ---- two devices ---- */

static void nothing(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
}

/* One buffer of many that another device uses does not send the others back and forth. */
static void test_home_of_most(void **state) {
    (void)state;
    struct ff_config config = standard_config(4 * MB);
    config.devices = 2;
    struct ff_context *context = open_or_skip(&config);
    struct ff_stream *streams[2];
    const void *operands[10];
    for (unsigned i = 0; i < 10; i++) {
        operands[i] = alloc(context, 4096);
        memset((void *)(uintptr_t)operands[i], 1, 4096);
    }
    for (uint32_t device = 0; device < 2; device++)
        assert_int_equal(ff_stream_create(context, device, &streams[device]), 0);
    for (unsigned round = 0; round < 5; round++) {
        for (uint32_t device = 0; device < 2; device++) {
            const struct ff_launch launch = {.name = device ? "one" : "most",
                                             .kernel = nothing,
                                             .grid = 1,
                                             .operands = device ? &operands[9] : operands,
                                             .operand_count = device ? 1 : 9};
            assert_int_equal(ff_kernel_launch(streams[device], &launch), 0);
            ff_stream_synchronize(streams[device]);
        }
    }
    assert_int_equal(stats_of(context).pages_out, 0);
    for (uint32_t device = 0; device < 2; device++)
        ff_stream_destroy(streams[device]);
    ff_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_its_own_pages),
        cmocka_unit_test(test_take_what_they_need),
        cmocka_unit_test(test_hints_are_exact),
        cmocka_unit_test(test_what_moved_is_exact),
        cmocka_unit_test(test_counts_begin_anew),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_home_of_most),
    };
    return run_or_skip(tests);
}
