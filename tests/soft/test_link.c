/* Paced links: whatever moves, nothing is faster than the link. How much slower it may be is a
 * matter of the machine and of what else it does, so no test says. */
#include <farfault/farfault.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "backend/soft/link.h"
#include "base/clock.h"
#include "runtime/fixture.h"

#define MB      (UINT64_C(1) << 20)
#define PAGE    UINT64_C(4096)
#define RATE    500e6
#define LATENCY 20000u

static uint64_t transfer_ns(uint64_t bytes) {
    return (uint64_t)((double)bytes / RATE * 1e9);
}

/* ---- the schedule ---- */

static void test_reservations(void **state) {
    (void)state;
    struct ff__link link = {.speed = {RATE, LATENCY}};
    const uint64_t one = transfer_ns(MB), now = 5000000000u;
    assert_int_equal(ff__link_reserve(&link, now, 0), now);
    /* transfers queue; latency is on top and does not keep the link busy */
    assert_int_equal(ff__link_reserve(&link, now, MB), now + one + LATENCY);
    assert_int_equal(ff__link_reserve(&link, now, MB), now + 2 * one + LATENCY);
    assert_int_equal(ff__link_reserve(&link, now + one, MB), now + 3 * one + LATENCY);
    /* what was idle is lost */
    assert_int_equal(ff__link_reserve(&link, now + 9 * one, MB), now + 10 * one + LATENCY);

    struct ff__link unpaced = {{0, 0}, 0};
    assert_int_equal(ff__link_reserve(&unpaced, now, MB), now);
}

enum { THREADS = 4, TRANSFERS = 20000 };

static void *reserve_many(void *argument) {
    struct ff__link *link = argument;
    for (int i = 0; i < TRANSFERS; i++)
        ff__link_reserve(link, 0, PAGE);
    return NULL;
}

/* No reservation is lost when threads meet. */
static void test_reservations_of_threads(void **state) {
    (void)state;
    struct ff__link link = {.speed = {RATE, LATENCY}};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reserve_many, &link), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(link.busy_until, THREADS * TRANSFERS * transfer_ns(PAGE));
}

static void test_wait(void **state) {
    (void)state;
    static const uint64_t waits[] = {0, 1000, 70000, 90000, 3000000};
    const bool aborted = false;
    for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        uint64_t until = ff__clock_ns() + waits[i];
        assert_true(ff__link_wait(until, &aborted));
        assert_true(ff__clock_ns() >= until);
    }
}

/* ---- a device behind it ---- */

/* Each job's time is rounded down to nanoseconds. */
static void assert_not_faster(uint64_t start_ns, uint64_t bytes) {
    assert_true(ff__clock_ns() - start_ns + bytes / PAGE >= transfer_ns(bytes));
}

/* All of it is on the host, and must come. */
static void read_in(struct ff_context *context, const struct ff_config *config, size_t size) {
    unsigned char *data = alloc(context, size), *content = malloc(size);
    assert_non_null(content);
    memset(content, 3, size);
    assert_int_equal(ff_mem_write(context, data, content, size), 0);
    free(content);
    uint64_t start = ff__clock_ns();
    for (size_t i = 0; i < size; i += PAGE)
        assert_int_equal(data[i], 3);
    assert_not_faster(start, size);
    if (runs(config, "demand")) /* one page at a time, for one thread */
        assert_true(ff__clock_ns() - start >= size / PAGE * LATENCY);
    assert_int_equal(ff_mem_free(context, data), 0);
}

/* All of it is changed on the device, which has room for it, and must go. */
static void send_out(struct ff_context *context, size_t size) {
    struct ff_stats before, after;
    unsigned char *data = alloc(context, size);
    memset(data, 4, size);
    ff_stats_read(context, &before);
    uint64_t start = ff__clock_ns();
    assert_int_equal(ff_mem_hint(context, data, size, FF_HINT_EVICT, 0), 0);
    assert_not_faster(start, size);
    ff_stats_read(context, &after);
    assert_int_equal(after.pages_out - before.pages_out, size / PAGE);
}

static void test_device(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 4 * MB) {
        struct ff_error error;
        assert_int_equal(ff_config_set(&config, "link", "host=500MB/s,20us", &error), 0);
        struct ff_context *context = open_or_skip(&config);
        read_in(context, &config, 12 * MB);
        send_out(context, 2 * MB);
        ff_close(context);
    }
}

/* A prefetch that the link needs 3 seconds for is aborted. */
static void test_close_does_not_wait_for_prefetches(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 4 * MB) {
        struct ff_error error;
        assert_int_equal(ff_config_set(&config, "link", "host=1MB/s,1s", &error), 0);
        struct ff_context *context = open_or_skip(&config);
        unsigned char *data = alloc(context, 2 * MB), content[PAGE] = {1};
        for (size_t i = 0; i < 2 * MB; i += PAGE)
            assert_int_equal(ff_mem_write(context, data + i, content, PAGE), 0);
        assert_int_equal(ff_mem_prefetch(context, data, 2 * MB, 0), 0);
        usleep(5000);
        uint64_t start = ff__clock_ns();
        ff_close(context);
        assert_true(ff__clock_ns() - start < UINT64_C(1000000000));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_reservations_of_threads),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_close_does_not_wait_for_prefetches),
    };
    return run_or_skip(tests);
}
