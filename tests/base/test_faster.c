/* Which of two ways is faster: by votes, of pieces of work that end in any order. */
#include "base/faster.h"

#include "cases.h"

#include <pthread.h>

#define PIECES (2 * FF__FASTER_PAIRS)

/* Begins all pieces that are timed; each has taken so long by now, by way. */
static void begin(struct ff__faster *faster, struct ff__piece *pieces, uint64_t first_ns,
                  uint64_t second_ns) {
    *faster = (struct ff__faster){0};
    for (uint32_t i = 0; i < PIECES; i++) {
        pieces[i] = ff__faster_begin(faster, true);
        assert_int_equal(pieces[i].way, i % 2);
        pieces[i].start_ns -= i % 2 ? second_ns : first_ns;
    }
}

static uint32_t way_after(struct ff__faster *faster, struct ff__piece *pieces) {
    for (uint32_t i = PIECES; i-- > 0;) {
        assert_int_equal(ff__faster_begin(faster, true).way, 0); /* it is not known yet */
        ff__faster_end(faster, &pieces[i]);
    }
    struct ff__piece next = ff__faster_begin(faster, true);
    assert_int_equal(next.start_ns, 0);
    assert_int_equal(ff__faster_begin(faster, false).way, next.way);
    return next.way;
}

static void test_faster_way_wins(void **state) {
    (void)state;
    struct ff__faster faster;
    struct ff__piece pieces[PIECES];
    begin(&faster, pieces, 2000000000, 1000000000);
    assert_int_equal(way_after(&faster, pieces), 1);
    begin(&faster, pieces, 1000000000, 2000000000);
    assert_int_equal(way_after(&faster, pieces), 0);
}

/* One that was interrupted for long has one vote. */
static void test_chance_has_a_vote(void **state) {
    (void)state;
    struct ff__faster faster;
    struct ff__piece pieces[PIECES];
    begin(&faster, pieces, 200000000, 100000000);
    pieces[3].start_ns -= 3000000000;
    assert_int_equal(way_after(&faster, pieces), 1);
}

static void test_others_are_not_timed(void **state) {
    (void)state;
    struct ff__faster faster = {0};
    for (uint32_t i = 0; i < 3 * PIECES; i++) {
        struct ff__piece piece = ff__faster_begin(&faster, false);
        assert_true(piece.way == 0 && piece.start_ns == 0);
        ff__faster_end(&faster, &piece);
    }
    assert_int_equal(faster.begun, 0);
    assert_int_equal(faster.ended, 0);
}

static void *work(void *argument) {
    struct ff__faster *faster = argument;
    for (uint32_t i = 0; i < PIECES; i++) {
        struct ff__piece piece = ff__faster_begin(faster, true);
        if (piece.start_ns > 0)
            piece.start_ns -= piece.way ? 1000000000 : 2000000000;
        ff__faster_end(faster, &piece);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct ff__faster faster = {0};
    pthread_t threads[4];
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &faster), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(faster.ended, PIECES);
    assert_int_equal(ff__faster_begin(&faster, true).way, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faster_way_wins),
        cmocka_unit_test(test_chance_has_a_vote),
        cmocka_unit_test(test_others_are_not_timed),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
