/* What the page of a trace says: counts, distances and tips of traces that can be followed by hand.
 */
#include "trace/fixture.h"

#include "report/page/page.h"

#include <farfault/mask.h>

#define PAGES 8u /* of the buffer */
#define ROOM  4u /* pages that fit on the device */

/* A run: launches walk a buffer; each page faults and arrives, and the one that came first leaves.
 */
struct walker {
    struct ff_trace_writer *writer;
    uint64_t now;
    unsigned arrived;
};

static void put(struct walker *walker, struct ff_trace_event event) {
    event.time_ns = walker->now += 10;
    assert_int_equal(ff_trace_write(walker->writer, &event), 0);
}

static void begin(struct walker *walker) {
    const struct ff_trace_info info = {
        .source = "live", .subject = "walk", .memory = ROOM * FF_PAGE_SIZE};
    *walker = (struct walker){0};
    assert_int_equal(ff_trace_create(in_folder("walk"), &info, &walker->writer), 0);
    put(walker, (struct ff_trace_event){.kind = FF_TRACE_RANGE, .bytes = PAGES * FF_PAGE_SIZE});
}

static void walk(struct walker *walker) {
    for (unsigned i = 0; i < PAGES; i++) {
        put(walker, (struct ff_trace_event){.kind = FF_TRACE_FAULT, .page = i});
        if (walker->arrived >= ROOM)
            put(walker, (struct ff_trace_event){.kind = FF_TRACE_EVICT,
                                                .page = (walker->arrived - ROOM) % PAGES,
                                                .pages = 1});
        put(walker, (struct ff_trace_event){.kind = FF_TRACE_MIGRATE, .page = i, .pages = 1});
        walker->arrived++;
    }
}

static void launch(struct walker *walker, bool begins) {
    put(walker, (struct ff_trace_event){.kind = begins ? FF_TRACE_LAUNCH : FF_TRACE_LAUNCH_END,
                                        .identity = 1,
                                        .name = begins ? "walk" : NULL});
}

static struct ff__run_history *read_history(struct walker *walker) {
    struct ff__run_history *history;
    struct ff_error error;
    assert_int_equal(ff_trace_finish(walker->writer), 0);
    if (ff__history_read(in_folder("walk"), &history, &error))
        fail_msg("%s", error.message);
    return history;
}

/* The numbers of the tips, in their order, as a decimal number. */
static unsigned tips_of(const struct ff__run_history *history) {
    json_t *tips = ff__page_tips(history), *tip;
    unsigned numbers = 0;
    size_t i;
    json_array_foreach(tips, i, tip) {
        numbers = 10 * numbers + (unsigned)json_integer_value(json_object_get(tip, "number"));
    }
    json_decref(tips);
    return numbers;
}

static void test_passes(void **state) {
    struct walker walker;
    (void)state;
    begin(&walker);
    for (unsigned i = 0; i < 3; i++) {
        launch(&walker, true);
        walk(&walker);
        launch(&walker, false);
    }
    struct ff__run_history *history = read_history(&walker);
    const struct ff__history_counts *counts = &history->counts;
    assert_int_equal(counts->faults, 24);
    assert_int_equal(counts->refaults, 16);
    assert_int_equal(counts->pages_in, 24);
    assert_int_equal(counts->pages_back, 16);
    assert_int_equal(counts->pages_out, 20);
    assert_int_equal(counts->pages_once, 24);
    assert_int_equal(history->held_peak, ROOM);
    assert_int_equal(history->footprint, PAGES * FF_PAGE_SIZE);
    assert_int_equal(history->kernel_count, 2);
    assert_int_equal(history->kernels[0].counts.faults, 0);
    assert_int_equal(history->kernels[1].launches, 3);
    assert_int_equal(history->kernels[1].counts.pages_in, 24);
    assert_int_equal(history->buffers[0].launches_in, 3);
    /* a page leaves four arrivals after its own, and comes back another four later: it is the first
     * of five to leave until then */
    for (unsigned i = 0; i < FF__HISTORY_BINS; i++)
        assert_int_equal(history->distances[i], ff__history_bin_end(i) == 6 ? 16 : 0);
    assert_int_equal(tips_of(history), 134);
    ff__history_free(history);
}

static void test_repeats_in_a_launch(void **state) {
    struct walker walker;
    (void)state;
    begin(&walker);
    launch(&walker, true);
    walk(&walker);
    walk(&walker); /* and the launch does not end */
    struct ff__run_history *history = read_history(&walker);
    assert_int_equal(history->counts.pages_in, 16);
    assert_int_equal(history->counts.pages_once, 8);
    assert_int_equal(history->kernels[1].launches, 1);
    assert_int_equal(history->bar_count, 1);
    assert_int_equal(tips_of(history), 124);
    ff__history_free(history);
}

/* What is allocated anew has never been anywhere; what happens outside of launches is no kernel's.
 */
static void test_freed(void **state) {
    struct walker walker;
    (void)state;
    begin(&walker);
    walk(&walker);
    put(&walker, (struct ff_trace_event){.kind = FF_TRACE_FREE});
    put(&walker, (struct ff_trace_event){.kind = FF_TRACE_RANGE, .bytes = FF_PAGE_SIZE});
    put(&walker, (struct ff_trace_event){.kind = FF_TRACE_FAULT});
    launch(&walker, true);
    launch(&walker, false);
    struct ff__run_history *history = read_history(&walker);
    assert_int_equal(history->counts.faults, 9);
    assert_int_equal(history->counts.refaults, 0);
    assert_int_equal(history->kernels[0].counts.pages_in, 8);
    assert_int_equal(history->buffers[0].allocations, 2);
    assert_int_equal(history->buffers[0].bytes, PAGES * FF_PAGE_SIZE);
    assert_int_equal(history->footprint, PAGES * FF_PAGE_SIZE);
    assert_int_equal(tips_of(history), 6);
    ff__history_free(history);
}

static void test_contradictions(void **state) {
    static const struct ff_trace_event wrong[] = {
        {.kind = FF_TRACE_FAULT, .page = PAGES},
        {.kind = FF_TRACE_FAULT, .range = 7},
        {.kind = FF_TRACE_MIGRATE, .page = 1, .pages = PAGES},
        {.kind = FF_TRACE_EVICT, .page = UINT64_MAX, .pages = 2},
        {.kind = FF_TRACE_RANGE, .range = UINT32_MAX, .bytes = 1},
        {.kind = FF_TRACE_RANGE, .range = 1, .bytes = UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct walker walker;
        struct ff__run_history *history;
        struct ff_error error;
        begin(&walker);
        put(&walker, wrong[i]);
        assert_int_equal(ff_trace_finish(walker.writer), 0);
        int status = ff__history_read(in_folder("walk"), &history, &error);
        assert_int_equal(status, wrong[i].kind == FF_TRACE_RANGE ? -EFBIG : -EBADMSG);
        assert_null(history);
        assert_non_null(strstr(error.message, "range"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_repeats_in_a_launch),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_contradictions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
