/* The inbox: order, items that run out, producers that never go on, several threads. */
#include "cases.h"

#include "base/inbox.h"

#include <pthread.h>
#include <sched.h>

#define PRODUCERS 3u

struct message {
    uint64_t producer, number, check;
};

/* What was taken. */
struct reader {
    uint64_t next[PRODUCERS]; /* [producer] the number that comes next */
    uint64_t count, bad;
};

static void read_message(void *user, const void *item) {
    struct reader *reader = user;
    const struct message *m = item;
    reader->bad += m->number != reader->next[m->producer]++ || m->check != ~m->number * 3;
    reader->count++;
}

static bool put(struct ff__inbox *inbox, uint64_t producer, uint64_t number) {
    struct message *m = ff__inbox_claim(inbox);
    if (!m)
        return false;
    *m = (struct message){producer, number, ~number * 3};
    ff__inbox_put(inbox, m);
    return true;
}

static void test_order(void **state) {
    (void)state;
    struct ff__inbox inbox;
    struct reader reader = {.count = 0};
    uint64_t number = 0;
    assert_int_equal(ff__inbox_init(&inbox, sizeof(struct message)), 0);
    for (unsigned round = 0; round < 3 * FF__INBOX_ITEMS; round++) {
        assert_true(ff__inbox_empty(&inbox));
        for (unsigned i = 0; i < round % (FF__INBOX_ITEMS + 1); i++)
            assert_true(put(&inbox, 0, number++));
        assert_int_equal(ff__inbox_empty(&inbox), round % (FF__INBOX_ITEMS + 1) == 0);
        ff__inbox_take(&inbox, read_message, &reader);
        assert_int_equal(reader.count, number);
    }
    assert_int_equal(reader.bad, 0);
    ff__inbox_fini(&inbox);
}

/* Whoever was interrupted for good has what it claimed, and nobody waits for it. */
static void test_claimed_for_good(void **state) {
    (void)state;
    struct ff__inbox inbox;
    struct reader reader = {.count = 0};
    uint64_t number = 0;
    assert_int_equal(ff__inbox_init(&inbox, sizeof(struct message)), 0);
    for (unsigned lost = 0; lost < FF__INBOX_ITEMS; lost++) {
        for (unsigned i = 0; i < FF__INBOX_ITEMS - lost; i++)
            assert_true(put(&inbox, 0, number++));
        assert_false(put(&inbox, 0, number));
        ff__inbox_take(&inbox, read_message, &reader);
        assert_int_equal(reader.count, number);
        assert_non_null(ff__inbox_claim(&inbox));
    }
    assert_false(put(&inbox, 0, number));
    assert_int_equal(reader.bad, 0);
    ff__inbox_fini(&inbox);
}

struct traffic {
    struct ff__inbox inbox;
    uint64_t count;
    unsigned producers; /* atomic */
};

static void *produce(void *argument) {
    struct traffic *traffic = argument;
    uint64_t own = __atomic_fetch_add(&traffic->producers, 1, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < traffic->count;)
        if (put(&traffic->inbox, own, i))
            i++;
        else
            sched_yield();
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct traffic traffic = {.count = scaled_cases(200000, 20000)};
    struct reader reader = {.count = 0};
    pthread_t threads[PRODUCERS];
    assert_int_equal(ff__inbox_init(&traffic.inbox, sizeof(struct message)), 0);
    for (unsigned i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &traffic), 0);
    while (reader.count < PRODUCERS * traffic.count) {
        ff__inbox_take(&traffic.inbox, read_message, &reader);
        sched_yield();
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(reader.bad, 0);
    assert_true(ff__inbox_empty(&traffic.inbox));
    ff__inbox_fini(&traffic.inbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_claimed_for_good),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
