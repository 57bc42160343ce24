/* The bound: with equal pages on demand no policy misses less than Belady's MIN, and the policy
 * that is to be MIN misses exactly as often, on hundreds of random programs. */
#include "sim/touch.h"

#include "backend/sim/host/future.h"

#include <errno.h>
#include <stdlib.h>

#define LENGTH     2500u
#define PAGES_MAX  1100u
#define BLOCKS_MAX 24u

/* ---- MIN, as its definition has it ---- */

/* For every position, that of the same unit's next use; `length` if there is none. */
static void find_next(const uint64_t *order, uint32_t length, uint32_t *next) {
    for (uint32_t i = 0; i < length; i++) {
        next[i] = i + 1;
        while (next[i] < length && order[next[i]] != order[i])
            next[i]++;
    }
}

static uint32_t needed_last(const bool *here, const uint32_t *until) {
    uint32_t last = PAGES_MAX;
    for (uint32_t unit = 0; unit < PAGES_MAX; unit++)
        if (here[unit] && (last == PAGES_MAX || until[unit] > until[last]))
            last = unit;
    return last;
}

static uint32_t naive_min(const uint64_t *order, uint32_t length, uint32_t room) {
    static uint32_t next[LENGTH], until[PAGES_MAX];
    static bool here[PAGES_MAX];
    uint32_t misses = 0, held = 0;
    find_next(order, length, next);
    memset(here, 0, sizeof here);
    for (uint32_t i = 0; i < length; i++) {
        uint64_t unit = order[i];
        if (!here[unit]) {
            misses++;
            if (held == room)
                here[needed_last(here, until)] = false;
            else
                held++;
        }
        here[unit] = true;
        until[unit] = next[i];
    }
    return misses;
}

/* ---- programs ---- */

struct program {
    uint64_t order[LENGTH];
    uint32_t pages, room; /* of the memory; in units */
    struct ff_future future;
};

static void make_future(struct program *program) {
    struct recording recording = {.order = program->order, .count = LENGTH};
    uint64_t blocks = (program->pages + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES;
    assert_int_equal(ff__future_make(&recording, blocks * FF_BLOCK_PAGES, &program->future), 0);
}

static void draw_program(struct program *program, uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    program->room = FF_BLOCK_PAGES + ff__random_below(&random, 200);
    program->pages = program->room + 1 + ff__random_below(&random, PAGES_MAX - program->room);
    touch_draw(&random, program->order, LENGTH, program->pages);
    make_future(program);
}

static struct ff_stats play(const struct program *program, const char *system, bool by_page) {
    static struct toucher toucher;
    struct toucher_shape shape = {.system = system,
                                  .memory = program->room * (by_page ? 1u : FF_BLOCK_PAGES),
                                  .pages = program->pages,
                                  .by_page = by_page,
                                  .future = &program->future};
    touch_open(&toucher, &shape);
    for (uint32_t i = 0; i < LENGTH; i++)
        touch(&toucher, program->order[i], program->order[i] % 3 == 0);
    struct ff_stats stats = toucher.engine.space.stats;
    assert_int_equal(stats.faults, toucher.misses);
    assert_true(stats.resident_peak <= shape.memory * FF_PAGE_SIZE);
    touch_close(&toucher);
    return stats;
}

static uint64_t moved_in(const struct ff_stats *stats) {
    return stats->pages_in + stats->populated;
}

/* ---- pages on demand ---- */

static void check_evictors(const struct program *program, uint64_t seed, uint64_t least) {
    const struct ff_policy *policy;
    for (unsigned i = 0; (policy = ff__policy_at(FF__EVICT, i)); i++) {
        char system[64];
        snprintf(system, sizeof system, "demand:evict=%s", policy->name);
        uint64_t misses = play(program, system, true).faults;
        if (strcmp(policy->name, "belady") == 0 ? misses != least : misses < least)
            fail_msg("seed %llu: %s misses %llu times, MIN %llu", (unsigned long long)seed,
                     policy->name, (unsigned long long)misses, (unsigned long long)least);
    }
}

static void test_evictors(void **state) {
    (void)state;
    static struct program program;
    uint64_t above = 0, all = scaled_cases(120, 24);
    for (uint64_t seed = 1; seed <= all; seed++) {
        draw_program(&program, seed);
        uint64_t least = naive_min(program.order, LENGTH, program.room);
        check_evictors(&program, seed, least);
        above += play(&program, "demand:evict=lru-4k", true).faults > least;
        ff__future_free(&program.future);
    }
    assert_true(above > all / 2); /* else the programs were too easy to tell anything */
}

/* ---- any system ---- */

/* A policy that prefetches may miss less, but not move less: each page that is used has to have
 * come. */
static void check_system(const struct program *program, const char *system, uint64_t seed,
                         uint64_t least) {
    struct ff_stats stats = play(program, system, true);
    if (moved_in(&stats) < least)
        fail_msg("seed %llu: %s brings %llu pages, MIN %llu", (unsigned long long)seed, system,
                 (unsigned long long)moved_in(&stats), (unsigned long long)least);
}

static void test_systems(void **state) {
    (void)state;
    static struct program program;
    const struct ff__system_row *row;
    for (uint64_t seed = 1001; seed <= 1000 + scaled_cases(40, 8); seed++) {
        draw_program(&program, seed);
        uint64_t least = naive_min(program.order, LENGTH, program.room);
        for (unsigned i = 0; (row = ff__system_at(i)); i++)
            check_system(&program, row->name, seed, least);
        ff__future_free(&program.future);
    }
}

/* It knows as much as MIN and acts ahead of need: hardly anything is missed. */
static void test_oracle(void **state) {
    (void)state;
    static struct program program;
    for (uint64_t seed = 2001; seed <= 2000 + scaled_cases(100, 16); seed++) {
        draw_program(&program, seed);
        uint64_t misses = play(&program, "oracle", true).faults;
        assert_in_range(misses, 1, naive_min(program.order, LENGTH, program.room) / 100);
        ff__future_free(&program.future);
    }
}

/* ---- blocks ---- */

/* Every fault brings its whole block, so that blocks are the equal pages. */
static void draw_blocks(struct program *program, uint64_t blocks[LENGTH], uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    uint32_t count = 3 + ff__random_below(&random, BLOCKS_MAX - 2);
    program->room = 1 + ff__random_below(&random, count - 1);
    program->pages = count * FF_BLOCK_PAGES;
    touch_draw(&random, blocks, LENGTH, count);
    for (uint32_t i = 0; i < LENGTH; i++)
        program->order[i] = blocks[i] * FF_BLOCK_PAGES + ff__random_below(&random, FF_BLOCK_PAGES);
    make_future(program);
}

static void test_blocks(void **state) {
    (void)state;
    static struct program program;
    static uint64_t blocks[LENGTH];
    const struct ff_policy *policy;
    for (uint64_t seed = 3001; seed <= 3000 + scaled_cases(50, 10); seed++) {
        draw_blocks(&program, blocks, seed);
        uint64_t least = naive_min(blocks, LENGTH, program.room);
        for (unsigned i = 0; (policy = ff__policy_at(FF__EVICT, i)); i++) {
            char system[64];
            snprintf(system, sizeof system, "nvidia-1:thrashing=0,evict=%s", policy->name);
            uint64_t misses = play(&program, system, false).faults;
            if (strcmp(policy->name, "belady") == 0 ? misses != least : misses < least)
                fail_msg("seed %llu: %s misses %llu blocks, MIN %llu", (unsigned long long)seed,
                         policy->name, (unsigned long long)misses, (unsigned long long)least);
        }
        ff__future_free(&program.future);
    }
}

/* So that a run of any length cannot use up the machine's memory. */
static void test_longest_future(void **state) {
    struct recording recording = {.count = FF__RECORDING_MAX};
    (void)state;
    assert_int_equal(ff__recording_add(&recording, 1), -EOVERFLOW);
    recording.count = 0;
    assert_int_equal(ff__recording_add(&recording, 1), 0);
    free(recording.order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_future), cmocka_unit_test(test_evictors),
        cmocka_unit_test(test_systems),        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
