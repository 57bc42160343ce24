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
static unsigned numbers_of(json_t *tips) {
    unsigned numbers = 0;
    const json_t *tip;
    size_t i;
    json_array_foreach(tips, i, tip) {
        unsigned number = (unsigned)json_integer_value(json_object_get(tip, "number"));
        numbers = (number < 10 ? 10 : 100) * numbers + number;
    }
    json_decref(tips);
    return numbers;
}

static unsigned tips_of(const struct ff__run_history *history) {
    return numbers_of(ff__page_tips(history));
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

/* ---- results of several systems ---- */

static json_t *run_of(const char *subject, const char *system, double seconds, double slowdown,
                      int mib) {
    json_int_t bytes = (json_int_t)mib << 20;
    return json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:I,s:i,s:b}", "subject", subject, "system",
                     system, "share", "50%", "seconds", seconds, "min", 0.9 * seconds, "max",
                     1.1 * seconds, "slowdown", slowdown, "bytes_in", bytes, "bytes_out", 0, "good",
                     1);
}

static json_t *bound_of(const char *subject, double seconds, int mib) {
    return json_pack("{s:s,s:s,s:s,s:f,s:I,s:i}", "subject", subject, "kind", "lower bound",
                     "share", "50%", "seconds", seconds, "bytes_in", (json_int_t)mib << 20,
                     "bytes_out", 0);
}

static bool has(const json_t *tips, size_t i, const char *text) {
    const char *all = json_string_value(json_object_get(json_array_get(tips, i), "text"));
    return all && strstr(all, text) != NULL;
}

/* One system is fastest in one program, and equal in the other; that has four times its bound's
 * time and ten times its bytes, and the first is near its bound, and costs little. */
static void test_compared(void **state) {
    (void)state;
    json_t *runs =
        json_pack("[o,o,o,o,o]", run_of("near", "slow", 2, 2, 20),
                  run_of("near", "fast", 1.05, 1.05, 10), run_of("far", "slow", 4, 4, 100),
                  run_of("far", "fast", 4.1, 4.1, 90), run_of("near", "part", 1, 1, 1));
    json_t *bounds = json_pack("[o,o]", bound_of("near", 0.8, 9), bound_of("far", 1, 10));
    json_t *tips = json_array();
    json_object_set_new(json_array_get(runs, 4), "good", json_false());
    json_array_append_new(runs, run_of("odd", "fast", 0.7, 0.7, 1));
    ff__page_compare(bounds, runs, tips);
    assert_true(has(tips, 0, "near under part"));
    assert_true(has(tips, 1, "fast: 1.01 times the time of the fastest"));
    assert_true(has(tips, 1, "itself in 2 of 3."));
    assert_false(has(tips, 1, "slow")); /* which is apart in one program */
    assert_true(has(tips, 2, "far is at 25 % of its lower bound under slow"));
    assert_true(has(tips, 3, "far moves 100 MiB under slow, the fastest; its lower bound is 10"));
    assert_true(has(tips, 4, ": near."));
    assert_true(has(tips, 5, "By more than a fifth: odd."));
    assert_int_equal(numbers_of(tips), 1289101113);
    double part = json_number_value(json_object_get(json_array_get(runs, 0), "of_bound"));
    assert_true(part == 0.4);
    json_decref(bounds);
    json_decref(runs);
}

static void test_equal(void **state) {
    (void)state;
    json_t *runs = json_pack("[o,o,o]", run_of("one", "a", 2, 2, 1),
                             run_of("one", "b", 2.1, 2.1, 1), run_of("one", "c", 3, 3, 1));
    json_t *tips = json_array();
    ff__page_compare(NULL, runs, tips);
    assert_true(has(tips, 0, "to tell, under: b."));
    assert_int_equal(numbers_of(tips), 8);
    json_array_remove(runs, 1);
    json_array_remove(runs, 1);
    tips = json_array();
    ff__page_compare(NULL, runs, tips); /* of one system there is nothing to say */
    assert_int_equal(numbers_of(tips), 0);
    json_decref(runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compared), cmocka_unit_test(test_equal),
        cmocka_unit_test(test_passes),   cmocka_unit_test(test_repeats_in_a_launch),
        cmocka_unit_test(test_freed),    cmocka_unit_test(test_contradictions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
