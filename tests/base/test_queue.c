/* The single-producer, single-consumer queue: order, bounds, counters that wrap, two threads. */
#include "cases.h"

#include "base/queue.h"
#include "base/random.h"

#include <pthread.h>
#include <sched.h>

#define ITEM_MAX 200

/* An item of any size that tells its number in every byte. */
static void write_item(unsigned char *item, size_t size, uint32_t number) {
    for (size_t i = 0; i < size; i++)
        item[i] = (unsigned char)(number * 2654435761u >> (i % 4 * 8));
}

static void check_item(const unsigned char *item, size_t size, uint32_t number) {
    unsigned char expected[ITEM_MAX];
    write_item(expected, size, number);
    assert_memory_equal(item, expected, size);
}

static void push_number(struct ff__queue *queue, uint32_t number, bool expected) {
    unsigned char item[ITEM_MAX];
    write_item(item, queue->item_size, number);
    assert_int_equal(ff__queue_push(queue, item), expected);
}

static void pop_number(struct ff__queue *queue, uint32_t number) {
    unsigned char item[ITEM_MAX + 1];
    item[queue->item_size] = 0xA5;
    assert_true(ff__queue_pop(queue, item));
    assert_int_equal(item[queue->item_size], 0xA5);
    check_item(item, queue->item_size, number);
}

static void check_full_and_empty(uint32_t capacity, size_t item_size, uint32_t start) {
    struct ff__queue queue;
    unsigned char item[ITEM_MAX] = {0};
    assert_int_equal(ff__queue_init(&queue, capacity, item_size), 0);
    queue.head = queue.tail = start; /* anywhere in the life of the free-running counters */
    for (int round = 0; round < 3; round++) {
        assert_true(ff__queue_empty(&queue));
        assert_false(ff__queue_pop(&queue, item));
        for (uint32_t i = 0; i < capacity; i++)
            push_number(&queue, i, true);
        push_number(&queue, 77, false);
        assert_false(ff__queue_empty(&queue));
        for (uint32_t i = 0; i < capacity; i++)
            pop_number(&queue, i);
    }
    assert_true(ff__queue_empty(&queue));
    ff__queue_fini(&queue);
}

static void test_full_and_empty(void **state) {
    (void)state;
    static const uint32_t capacities[] = {1, 2, 4, 64, 1024};
    static const size_t sizes[] = {1, 3, 4, 8, 17, 64, 200};
    for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; c++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (uint32_t back = 0; back < 3; back++)
                check_full_and_empty(capacities[c], sizes[s], 0u - back * (capacities[c] / 2 + 1));
}

/* A twin that knows only the numbers of the oldest and the newest item. */
static void test_random_steps_over_the_wrap(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    struct ff__queue queue;
    assert_int_equal(ff__queue_init(&queue, 16, 12), 0);
    queue.head = queue.tail = UINT32_MAX - 1000;
    uint32_t first = 0, next = 0;
    for (unsigned long i = 0, count = scaled_cases(400000, 20000); i < count; i++) {
        bool filling = (i / 50) % 2 == 0;
        if (ff__random_below(&random, 4) < (filling ? 3u : 1u)) {
            push_number(&queue, next, next - first < 16);
            next += next - first < 16;
        } else if (first < next) {
            pop_number(&queue, first++);
        }
        assert_int_equal(ff__queue_empty(&queue), first == next);
    }
    assert_true(queue.tail < UINT32_MAX / 2); /* it did wrap */
    ff__queue_fini(&queue);
}

static void test_fini_leaves_nothing(void **state) {
    (void)state;
    struct ff__queue queue;
    assert_int_equal(ff__queue_init(&queue, 8, 8), 0);
    ff__queue_fini(&queue);
    assert_null(queue.items);
    ff__queue_fini(&queue);
}

/* ---- two threads ---- */

struct traffic {
    struct ff__queue queue;
    uint64_t count;
};

struct message {
    uint64_t number, check, filler[3];
};

static void *produce(void *argument) {
    struct traffic *traffic = argument;
    for (uint64_t i = 0; i < traffic->count;) {
        struct message message = {i, ~i * 3, {i, i + 1, i + 2}};
        if (ff__queue_push(&traffic->queue, &message))
            i++;
        else
            sched_yield();
    }
    return NULL;
}

static uint64_t consume(struct traffic *traffic) {
    uint64_t bad = 0;
    for (uint64_t i = 0; i < traffic->count;) {
        struct message m;
        if (!ff__queue_pop(&traffic->queue, &m)) {
            sched_yield();
            continue;
        }
        bad += m.number != i || m.check != ~i * 3 || m.filler[0] != i || m.filler[2] != i + 2;
        i++;
    }
    return bad;
}

static void run_traffic(uint32_t capacity, uint64_t count) {
    struct traffic traffic = {.count = count};
    pthread_t producer;
    assert_int_equal(ff__queue_init(&traffic.queue, capacity, sizeof(struct message)), 0);
    traffic.queue.head = traffic.queue.tail = UINT32_MAX - (uint32_t)(count / 2);
    assert_int_equal(pthread_create(&producer, NULL, produce, &traffic), 0);
    uint64_t bad = consume(&traffic);
    pthread_join(producer, NULL);
    assert_int_equal(bad, 0);
    assert_true(ff__queue_empty(&traffic.queue));
    ff__queue_fini(&traffic.queue);
}

static void test_two_threads(void **state) {
    (void)state;
    unsigned long count = scaled_cases(1000000, 50000);
    run_traffic(1024, count);
    run_traffic(8, count / 4);
    run_traffic(1, count / 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_and_empty),
        cmocka_unit_test(test_random_steps_over_the_wrap),
        cmocka_unit_test(test_fini_leaves_nothing),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
