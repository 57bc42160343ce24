/* Launches of which it is predicted what they access: what is brought before they begin, and which
 * of their faults were not expected. */
#include "runtime/predicted.h"
#include "runtime/stream.h"

#include <sched.h>

#include "runtime/fixture.h"

#define PAGE   4096u
#define MB     (UINT64_C(1) << 20)
#define HALVES 2u
#define HALF   64u /* pages */

struct watched {
    struct ff__predicted predicted; /* the first member */
    struct ff_context *context;
    struct ff__interval order; /* empty: nothing is brought */
    uint64_t absent, orders, dropped, pages;
    unsigned begun, ended; /* atomic */
};

static void begins(struct ff__predicted *predicted) {
    struct watched *it = (struct watched *)predicted;
    const struct ff__order_counts counts = {&it->orders, &it->dropped, &it->pages};
    if (it->order.high > it->order.low)
        it->absent = ff__order(it->context, it->order, 0, &counts);
    __atomic_fetch_add(&it->begun, 1, __ATOMIC_RELAXED);
}

static void ends(struct ff__predicted *predicted) {
    __atomic_fetch_add(&((struct watched *)predicted)->ended, 1, __ATOMIC_RELEASE);
}

static struct ff__interval half_of(const unsigned char *data, unsigned half) {
    uint64_t low = (uintptr_t)data + half * HALF * (uint64_t)PAGE;
    return (struct ff__interval){low, low + HALF * (uint64_t)PAGE};
}

static struct watched watched_of(struct ff_context *context, struct ff__interval interval) {
    struct watched it = {.predicted = {.begins = begins, .ends = ends}, .context = context};
    ff__prediction_add(&it.predicted.what, interval);
    return it;
}

static struct ff_context *open_demand(uint32_t workers) {
    struct ff_config config = standard_config(8 * MB);
    config.system = "demand";
    config.workers = workers;
    return open_or_skip(&config);
}

static struct ff_stream *make_stream(struct ff_context *context) {
    struct ff_stream *stream = NULL;
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    return stream;
}

/* An item is a page. */
static void touch(const struct ff_work *work, void *arguments) {
    unsigned char *data = *(unsigned char **)arguments;
    for (size_t i = work->first; i < work->end; i++)
        data[i * PAGE] = 1;
}

static void launch(struct ff_stream *stream, unsigned char *first, struct watched *it) {
    const struct ff_launch what = {
        .kernel = touch, .grid = HALF, .arguments = &first, .argument_size = sizeof first};
    assert_null(ff__stream_expect(stream, it != NULL ? &it->predicted : NULL));
    assert_int_equal(ff_kernel_launch(stream, &what), 0);
}

/* ---- what it faults on ---- */

static void run_on_half(unsigned half, uint64_t outside) {
    struct ff_context *context = open_demand(2);
    struct ff_stream *stream = make_stream(context);
    unsigned char *data = alloc(context, HALVES * HALF * PAGE);
    struct watched it = watched_of(context, half_of(data, 0));
    launch(stream, data + half * HALF * PAGE, &it);
    ff_stream_synchronize(stream);
    assert_int_equal(it.begun, 1);
    assert_int_equal(it.ended, 1);
    assert_true(ff__prediction_is_alone(&it.predicted.what));
    assert_int_equal(it.predicted.what.faults, HALF);
    assert_int_equal(it.predicted.what.outside, outside);
    ff_stream_destroy(stream);
    ff_close(context);
}

static void test_exact(void **state) {
    (void)state;
    run_on_half(0, 0);
}

static void test_wrong(void **state) {
    (void)state;
    run_on_half(1, HALF);
}

/* Only the launch that it was for has it. */
static void test_refused(void **state) {
    (void)state;
    struct ff_context *context = open_demand(1);
    struct ff_stream *stream = make_stream(context);
    unsigned char *data = alloc(context, HALVES * HALF * PAGE);
    struct watched it = watched_of(context, half_of(data, 0));
    const struct ff_launch none = {.kernel = touch, .grid = 0};
    ff__stream_expect(stream, &it.predicted);
    assert_int_equal(ff_kernel_launch(stream, &none), -EINVAL);
    assert_ptr_equal(ff__stream_expect(stream, NULL), &it.predicted);
    launch(stream, data, NULL);
    ff_stream_synchronize(stream);
    assert_int_equal(it.begun, 0);
    assert_int_equal(it.predicted.what.faults, 0);
    ff_stream_destroy(stream);
    ff_close(context);
}

/* ---- what is brought ---- */

/* The kernel may have been there first: what counts the order must outlive it. */
static void wait_for_order(const struct watched *it) {
    while (it->orders > 0 && __atomic_load_n(&it->dropped, __ATOMIC_RELAXED) == 0 &&
           __atomic_load_n(&it->pages, __ATOMIC_RELAXED) == 0)
        sched_yield();
}

/* Each page either comes because of the order, or is faulted on. What is there is not ordered. */
static void test_order(void **state) {
    (void)state;
    struct ff_context *context = open_demand(1);
    struct ff_stream *stream = make_stream(context);
    unsigned char *data = alloc(context, HALVES * HALF * PAGE);
    for (unsigned turn = 0; turn < 2; turn++) {
        struct watched it = watched_of(context, half_of(data, 0));
        it.order = half_of(data, 0);
        launch(stream, data, &it);
        ff_stream_synchronize(stream);
        wait_for_order(&it);
        assert_int_equal(it.absent, turn == 0 ? HALF : 0);
        assert_int_equal(it.orders, turn == 0 ? 1 : 0);
        assert_int_equal(it.predicted.what.outside, 0);
        assert_int_equal(it.predicted.what.faults + it.pages, it.absent);
    }
    struct ff__interval nowhere = {PAGE, 2 * PAGE};
    assert_int_equal(ff__order(context, nowhere, 0, NULL), 0);
    ff_stream_destroy(stream);
    ff_close(context);
}

/* Before a launch that waits for it all is there: the order alone brings it. */
static void test_order_alone(void **state) {
    (void)state;
    struct ff_context *context = open_demand(1);
    unsigned char *data = alloc(context, HALF * PAGE);
    uint64_t orders = 0, dropped = 0, pages = 0;
    const struct ff__order_counts counts = {&orders, &dropped, &pages};
    assert_int_equal(ff__order(context, half_of(data, 0), 0, NULL), HALF);
    assert_int_equal(orders, 0);
    assert_int_equal(ff__order(context, half_of(data, 0), 0, &counts), HALF);
    while (ff__order(context, half_of(data, 0), 0, NULL) > 0)
        sched_yield();
    assert_int_equal(orders, 1);
    assert_int_equal(dropped, 0);
    assert_int_equal(pages, HALF);
    ff_close(context);
}

/* ---- company ---- */

struct meeting {
    unsigned here; /* atomic */
};

/* Returns when two of these have met. */
static void meet(const struct ff_work *work, void *arguments) {
    struct meeting *meeting = *(struct meeting **)arguments;
    (void)work;
    __atomic_fetch_add(&meeting->here, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&meeting->here, __ATOMIC_RELAXED) < 2)
        sched_yield();
}

/* On two streams, with the second one announced, or quiet, or in the first one's place. */
static void test_company(void **state) {
    (void)state;
    struct ff_context *context = open_demand(2);
    struct ff_stream *streams[] = {make_stream(context), make_stream(context)};
    unsigned char *data = alloc(context, HALF * PAGE);
    for (unsigned quiet = 0; quiet < 2; quiet++)
        for (unsigned first = 0; first < 2; first++) {
            struct meeting meeting = {0}, *with = &meeting;
            const struct ff_launch what = {
                .kernel = meet, .grid = 1, .arguments = &with, .argument_size = sizeof with};
            struct watched it = watched_of(context, half_of(data, 0));
            for (unsigned turn = 0; turn < 2; turn++) {
                if (turn == first)
                    ff__stream_expect(streams[0], &it.predicted);
                assert_int_equal(turn == first ? ff_kernel_launch(streams[0], &what)
                                 : quiet       ? ff__stream_run(streams[1], &what)
                                               : ff_kernel_launch(streams[1], &what),
                                 0);
            }
            ff_stream_synchronize(streams[0]);
            ff_stream_synchronize(streams[1]);
            assert_false(ff__prediction_is_alone(&it.predicted.what));
        }
    struct watched alone = watched_of(context, half_of(data, 0));
    launch(streams[0], data, &alone);
    ff_stream_synchronize(streams[0]);
    assert_true(ff__prediction_is_alone(&alone.predicted.what));
    ff_stream_destroy(streams[0]);
    ff_stream_destroy(streams[1]);
    ff_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),       cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_alone), cmocka_unit_test(test_company),
    };
    return run_or_skip(tests);
}
