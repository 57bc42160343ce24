/* What moved by kernel and by allocation: whose it is, what stays of allocations that were freed,
 * which come first. */
#include "runtime/fixture.h"

#include <farfault/policy.h>

#define MB (UINT64_C(1) << 20)

struct sweep {
    char *data;
    size_t size;
    unsigned passes;
};

/* Writes to each page, pass by pass. */
static void sweep(const struct ff_work *work, void *arguments) {
    const struct sweep *it = arguments;
    for (size_t i = 0; work->first == 0 && i < it->passes * it->size; i += 4096)
        it->data[i % it->size]++;
}

static struct ff_context *open_small(void) {
    struct ff_config config = standard_config(8 * MB);
    config.system = "nvidia-1";
    config.workers = 1;
    return open_or_skip(&config);
}

static void launch(struct ff_context *context, const char *name, void *data, size_t size,
                   unsigned passes, const uint8_t *strides) {
    struct ff_stream *stream = NULL;
    const void *operands[] = {data};
    const struct sweep arguments = {data, size, passes};
    const struct ff_launch what = {.name = name,
                                   .kernel = sweep,
                                   .grid = 1,
                                   .arguments = &arguments,
                                   .argument_size = sizeof arguments,
                                   .operands = operands,
                                   .strides = strides,
                                   .operand_count = 1};
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    assert_int_equal(ff_kernel_launch(stream, &what), 0);
    ff_stream_destroy(stream);
}

/* The list and the statistics of one moment: the last job may be counted a little after its pages
 * are there. */
static void read_both(struct ff_context *context, enum ff_moved_by by, struct ff_moved_list *list,
                      struct ff_stats *stats) {
    struct ff_stats before;
    do {
        ff_stats_read(context, &before);
        ff_moved_read(context, by, list);
        ff_stats_read(context, stats);
    } while (before.faults != stats->faults || before.pages_in != stats->pages_in ||
             before.pages_out != stats->pages_out);
}

/* `rest`: bytes may have moved for nobody in the list, as what is prefetched after its launch has
 * ended. */
static void check_sums(struct ff_context *context, enum ff_moved_by by, bool rest) {
    struct ff_moved_list list;
    struct ff_stats stats;
    read_both(context, by, &list, &stats);
    struct ff_moved all = list.rest;
    for (uint32_t i = 0; i < list.count; i++) {
        all.faults += list.worst[i].faults;
        all.refaults += list.worst[i].refaults;
        all.bytes_in += list.worst[i].bytes_in;
        all.bytes_out += list.worst[i].bytes_out;
    }
    assert_int_equal(all.faults, stats.faults);
    assert_int_equal(all.refaults, stats.refaults);
    assert_true(all.bytes_in <= stats.pages_in * 4096 && all.bytes_out <= stats.pages_out * 4096);
    assert_true(rest || all.bytes_in == stats.pages_in * 4096);
    assert_true(rest || all.bytes_out == stats.pages_out * 4096);
}

static void test_kernels_and_allocations(void **state) {
    (void)state;
    static const uint8_t strided[] = {FF_STRIDE_HINT};
    struct ff_context *context = open_small();
    struct ff_moved_list kernels, buffers;
    char *small = alloc(context, MB), *large = alloc(context, 16 * MB);
    launch(context, "once", small, MB, 1, NULL);
    launch(context, "often", large, 16 * MB, 3, strided);
    launch(context, "often", large, 16 * MB, 2, NULL); /* other arguments: another execution ID */
    launch(context, "once", large, 2 * MB, 1, NULL);
    ff_moved_read(context, FF_MOVED_BY_KERNEL, &kernels);
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &buffers);
    assert_int_equal(kernels.count, 2);
    assert_int_equal(kernels.rest_count, 0);
    assert_string_equal(kernels.worst[0].kernel, "often");
    assert_string_equal(kernels.worst[1].kernel, "once");
    assert_int_equal(kernels.worst[0].launches, 2);
    assert_int_equal(kernels.worst[1].launches, 2);
    assert_int_equal(kernels.worst[0].size, 16 * MB);
    assert_true(kernels.worst[0].bytes_in >= 3 * 8 * MB); /* half of it each time but the first */
    assert_true(kernels.worst[0].stall_ns > 0);
    assert_true(kernels.worst[0].refaults > 0 && kernels.worst[0].bytes_out > 0);
    assert_true(kernels.worst[0].prefetched_bytes > 0);
    assert_int_equal(buffers.count, 2);
    assert_int_equal(buffers.worst[0].number, 1);
    assert_string_equal(buffers.worst[0].kernel, "often");
    assert_int_equal(buffers.worst[0].size, 16 * MB);
    assert_int_equal(buffers.worst[0].touched, 16 * MB);
    assert_int_equal(buffers.worst[0].launches, 3);
    assert_true(buffers.worst[0].is_strided);
    assert_int_equal(buffers.worst[1].number, 0);
    assert_string_equal(buffers.worst[1].kernel, "once");
    assert_int_equal(buffers.worst[1].size, MB);
    assert_int_equal(buffers.worst[1].touched, MB);
    assert_false(buffers.worst[1].is_strided);
    check_sums(context, FF_MOVED_BY_KERNEL, true);
    check_sums(context, FF_MOVED_BY_ALLOCATION, false);
    ff_close(context);
}

/* What a thread outside of launches does is no kernel's. */
static void test_outside_launches(void **state) {
    (void)state;
    struct ff_context *context = open_small();
    struct ff_moved_list list;
    char *data = alloc(context, 2 * MB);
    data[0] = 1;
    ff_moved_read(context, FF_MOVED_BY_KERNEL, &list);
    assert_int_equal(list.count, 0);
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &list);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.worst[0].faults, 1);
    assert_string_equal(list.worst[0].kernel, "");
    launch(context, NULL, data, 2 * MB, 1, NULL);
    ff_moved_read(context, FF_MOVED_BY_KERNEL, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.worst[0].kernel, "");
    assert_int_equal(list.worst[0].launches, 1);
    ff_close(context);
}

/* Allocations that were freed keep their numbers, and others get new ones. */
static void test_freed_allocations(void **state) {
    (void)state;
    struct ff_context *context = open_small();
    struct ff_moved_list list;
    for (unsigned i = 0; i < FF_MOVED_MAX + 4; i++) {
        char *data = alloc(context, (i + 1) * MB);
        launch(context, i % 2 ? "odd" : "even", data, (i + 1) * MB, 1, NULL);
        assert_int_equal(ff_mem_free(context, data), 0);
    }
    char *kept = alloc(context, 32 * MB);
    launch(context, "odd", kept, 32 * MB, 4, NULL);
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &list);
    assert_int_equal(list.count, FF_MOVED_MAX);
    assert_int_equal(list.rest_count, 5);
    uint64_t size = list.rest.size, seen = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        const struct ff_moved *item = &list.worst[i];
        bool even = item->number < FF_MOVED_MAX + 4 && item->number % 2 == 0;
        assert_true(i == 0 || item->stall_ns <= list.worst[i - 1].stall_ns);
        assert_string_equal(item->kernel, even ? "even" : "odd");
        assert_int_equal(item->touched, item->size);
        seen |= UINT64_C(1) << item->number;
        size += item->size;
    }
    assert_int_equal(__builtin_popcountll(seen), FF_MOVED_MAX);
    assert_int_equal(size, (FF_MOVED_MAX + 4) * (FF_MOVED_MAX + 5) / 2 * MB + 32 * MB);
    assert_int_equal(list.rest.launches, 5);
    check_sums(context, FF_MOVED_BY_ALLOCATION, false);
    ff_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_and_allocations),
        cmocka_unit_test(test_outside_launches),
        cmocka_unit_test(test_freed_allocations),
    };
    return run_or_skip(tests);
}
