/* The log of uses beside a naive twin: when every page was used last. */
#include "policy/common/use_log.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 3u
#define PAGES  (BLOCKS * FF_BLOCK_PAGES)
#define STEPS  40000u

struct pair {
    struct ff__use_log log;
    void *memory;
    uint32_t used[PAGES], clock; /* the twin: when last; 0: not there */
};

static void start(struct pair *pair, uint32_t percent) {
    memset(pair, 0, sizeof *pair);
    pair->memory = calloc(BLOCKS, FF__USE_LOG_BLOCK);
    assert_non_null(pair->memory);
    ff__use_log_start(&pair->log, pair->memory, BLOCKS, percent);
}

static void touch(struct pair *pair, uint32_t page) {
    ff__use_log_touch(&pair->log, page);
    pair->used[page] = ++pair->clock;
}

static void take_out(struct pair *pair, uint32_t page) {
    ff__use_log_remove(&pair->log, page);
    pair->used[page] = 0;
}

/* As policies do with many uses. */
static void touch_many(struct pair *pair, struct ff__random *random) {
    uint32_t end;
    ff__use_log_prepare(&pair->log, 100);
    end = pair->log.end;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t page = ff__random_below(random, PAGES);
        ff__use_log_touch_if_present(&pair->log, page, &end);
        if (pair->used[page])
            pair->used[page] = ++pair->clock;
    }
    pair->log.end = end;
}

/* Walks the whole order, coldest first; as many at its beginning are reserved as should be. */
static void compare(const struct pair *pair) {
    const struct ff__use_log *log = &pair->log;
    uint32_t count = 0, before = 0, there = 0;
    for (uint32_t page = 0; page < PAGES; page++) {
        there += pair->used[page] != 0;
        assert_int_equal(ff__use_log_has(log, page), pair->used[page] != 0);
    }
    assert_int_equal(log->count, there);
    assert_int_equal(log->reserved, (uint64_t)there * log->percent / 100);
    for (uint32_t use = ff__use_log_next(log, log->first); use < log->end;
         use = ff__use_log_next(log, use + 1)) {
        uint32_t page = ff__use_log_page(log, use);
        assert_true(pair->used[page] > before);
        assert_int_equal(use < log->edge, count < log->reserved);
        before = pair->used[page];
        count++;
    }
    assert_int_equal(count, there);
    assert_true(log->end - log->first <= log->size && log->size <= log->most);
}

/* The coldest page that was used after `after`; PAGES: there is none. */
static uint32_t coldest(const struct pair *pair, uint32_t after) {
    uint32_t found = PAGES;
    for (uint32_t page = 0; page < PAGES; page++)
        if (pair->used[page] > after && (found == PAGES || pair->used[page] < pair->used[found]))
            found = page;
    return found;
}

/* As policies do with victims. */
static void evict(struct pair *pair) {
    struct ff__use_log *log = &pair->log;
    uint32_t page = coldest(pair, 0), use = ff__use_log_first(log);
    if (page == PAGES) {
        assert_int_equal(use, log->end);
        return;
    }
    assert_int_equal(ff__use_log_page(log, use), page);
    uint32_t next = coldest(pair, pair->used[page]), second = ff__use_log_second(log);
    assert_int_equal(second == log->end, next == PAGES);
    if (next < PAGES)
        assert_int_equal(ff__use_log_page(log, second), next);
    take_out(pair, page);
}

static uint32_t skewed(struct ff__random *random) {
    uint32_t range = ff__random_below(random, 2) ? 40 : PAGES;
    return ff__random_below(random, range);
}

static void play(uint32_t percent, uint64_t seed, bool late) {
    struct pair pair;
    struct ff__random random = ff__random_seeded(seed);
    start(&pair, percent);
    if (late) /* so that the numbers run out */
        pair.log.first = pair.log.end = pair.log.edge = UINT32_MAX - STEPS / 3;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t what = ff__random_below(&random, 8);
        if (what < 5)
            touch(&pair, skewed(&random));
        else if (what < 7)
            take_out(&pair, skewed(&random));
        else if (i % 4)
            evict(&pair);
        else if (percent == 0)
            touch_many(&pair, &random);
        if (i % 97 == 0)
            compare(&pair);
    }
    compare(&pair);
    for (uint32_t page = 0; page < PAGES; page++)
        take_out(&pair, page);
    compare(&pair);
    free(pair.memory);
}

static void test_twin(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        play(0, seed, false);
        play(20, seed, false);
        play(99, seed, false);
    }
}

static void test_numbers_run_out(void **state) {
    (void)state;
    play(0, 1, true);
    play(30, 2, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_numbers_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
