/* Which blocks lie on the device when: small recordings whose best residences are known, and random
 * ones, where memory is never exceeded and a naive twin comes to the same. A page costs as much as
 * an access of the host, a fault as much as nine. */
#include "policy/bounds/residence.h"

#include "base/random.h"
#include "policy/recording.h"
#include "policy/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS RECORDED_BLOCKS
#define COST   10u /* of a block of one page on its way in, in accesses; one more on its way out */

struct bench {
    struct fake fake;
    struct ff_link_cost links[4];
    struct recording recording;
    struct ff__residence residence;
    struct ff__residence_block blocks[BLOCKS];
};

/* Room for so many pages; memory is allocated by the block. */
static void bench_open(struct bench *bench, uint64_t capacity) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    const struct ff_link_cost cost = {0, FF_PAGE_SIZE * UINT64_C(1000000), 1000000};
    bench->links[FF_TIER_HOST * 2 + TIER] = bench->links[TIER * 2 + FF_TIER_HOST] = cost;
    bench->fake.view.links = bench->links;
    bench->fake.view.fault_ns = 9000;
    bench->fake.view.capacity[TIER] = capacity;
    record_start(&bench->recording);
}

static void bench_close(struct bench *bench) {
    fake_close(&bench->fake);
}

static bool make(struct bench *bench) {
    return ff__residence_make(&bench->residence, &bench->fake.view, TIER,
                              record_end(&bench->recording), bench->blocks, BLOCKS);
}

/* The block is resident in these windows alone; first > last: in none. */
static void expect(const struct bench *bench, uint32_t block, uint32_t first, uint32_t last) {
    for (uint32_t w = 0; w < FF__WINDOWS; w++)
        assert_int_equal(ff__residence_is_resident(&bench->residence, block, w),
                         first <= w && w <= last);
}

/* ---- where there is memory for all ---- */

/* It comes when it pays, and not before; it need not leave. */
static void test_one_window(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, BLOCKS * FF_BLOCK_PAGES);
    record_use(&bench.recording, 3, 0, 1, COST + 1);
    record_use(&bench.recording, 3, 1, 1, COST);
    assert_true(make(&bench));
    expect(&bench, 0, 3, 3);
    expect(&bench, 1, 1, 0); /* saves nothing */
    expect(&bench, 2, 1, 0); /* is not used */
    bench_close(&bench);
}

/* Uses that are few in each window add up. */
static void test_few_uses(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, BLOCKS * FF_BLOCK_PAGES);
    record_uses(&bench.recording, 7, 9, 0, 1, COST / 2);
    record_uses(&bench.recording, 7, 8, 1, 1, COST / 2);
    assert_true(make(&bench));
    expect(&bench, 0, 7, 9);
    expect(&bench, 1, 1, 0);
    bench_close(&bench);
}

/* The way in is that of the pages that are used. */
static void test_pages(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, BLOCKS * FF_BLOCK_PAGES);
    record_use(&bench.recording, 0, 0, 100, 109);
    record_use(&bench.recording, 0, 1, 100, 110);
    assert_true(make(&bench));
    expect(&bench, 0, 1, 0);
    expect(&bench, 1, 0, 0);
    bench_close(&bench);
}

/* A block stays over windows without a use, as that saves a migration. */
static void test_pause(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, BLOCKS * FF_BLOCK_PAGES);
    record_use(&bench.recording, 3, 0, 1, 100);
    record_use(&bench.recording, 30, 0, 1, 100);
    assert_true(make(&bench));
    expect(&bench, 0, 3, 30);
    bench_close(&bench);
}

/* ---- where there is not ---- */

/* What is used most comes first; the other one after it. */
static void test_contention(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, FF_BLOCK_PAGES);
    record_uses(&bench.recording, 0, 15, 0, 1, 100);
    record_uses(&bench.recording, 0, 30, 1, 1, 60);
    assert_true(make(&bench));
    expect(&bench, 0, 0, 15);
    expect(&bench, 1, 16, 30);
    bench_close(&bench);
}

/* During its pause another one has the memory. */
static void test_pause_is_used(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, FF_BLOCK_PAGES);
    record_use(&bench.recording, 3, 0, 1, 100);
    record_use(&bench.recording, 5, 0, 1, 100);
    record_use(&bench.recording, 4, 1, 1, 50);
    assert_true(make(&bench));
    expect(&bench, 1, 4, 4);
    for (uint32_t w = 0; w < FF__WINDOWS; w++)
        assert_int_equal(ff__residence_is_resident(&bench.residence, 0, w), w == 3 || w == 5);
    bench_close(&bench);
}

/* It has to leave again, which costs as well. */
static void test_way_out(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, FF_BLOCK_PAGES);
    record_use(&bench.recording, 2, 0, 1, COST + 1);
    record_use(&bench.recording, 8, 1, 1, COST + 2);
    assert_true(make(&bench));
    expect(&bench, 0, 1, 0);
    expect(&bench, 1, 8, 8);
    bench_close(&bench);
}

/* Memory that is not allocated in whole chunks has room for two small blocks. */
static void test_small_blocks(void **state) {
    (void)state;
    static const uint32_t granules[] = {FF_LEAF_PAGES, FF_BLOCK_PAGES};
    for (uint32_t i = 0; i < 2; i++) {
        struct bench bench;
        bench_open(&bench, FF_BLOCK_PAGES);
        bench.fake.view.unit = granules[i];
        bench.fake.blocks[0].page_count = bench.fake.blocks[1].page_count = FF_BLOCK_PAGES / 2;
        record_use(&bench.recording, 2, 0, 1, 100);
        record_use(&bench.recording, 2, 1, 1, 200);
        assert_true(make(&bench));
        assert_int_equal(ff__residence_is_resident(&bench.residence, 0, 2), i == 0);
        expect(&bench, 1, 2, 2);
        bench_close(&bench);
    }
}

/* ---- around it ---- */

/* No remote access. */
static void test_no_choice(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, FF_BLOCK_PAGES);
    bench.links[FF_TIER_HOST * 2 + TIER].access_ps = 0;
    assert_false(make(&bench));
    bench_close(&bench);
}

/* The live run may be longer than the recorded one, and blocks that were not recorded come as they
 * would without a choice. */
static void test_limits(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, FF_BLOCK_PAGES);
    assert_true(make(&bench));
    assert_int_equal(ff__residence_window(&bench.residence, 0), 0);
    assert_int_equal(ff__residence_window(&bench.residence, WINDOW_USES - 1), 0);
    assert_int_equal(ff__residence_window(&bench.residence, WINDOW_USES), 1);
    assert_int_equal(ff__residence_window(&bench.residence, RECORDED_USES), FF__WINDOWS - 1);
    assert_int_equal(ff__residence_window(&bench.residence, UINT64_MAX), FF__WINDOWS - 1);
    assert_true(ff__residence_is_resident(&bench.residence, BLOCKS, 0));
    bench_close(&bench);
}

/* ---- random recordings ---- */

static void draw(struct bench *bench, uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    bench_open(bench, FF_BLOCK_PAGES * (1 + ff__random_below(&random, BLOCKS)));
    bench->fake.view.unit = ff__random_below(&random, 2) ? FF_BLOCK_PAGES : FF_LEAF_PAGES;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t pages = 1 + ff__random_below(&random, ff__random_below(&random, 2) ? 2 : 40);
        uint32_t first = ff__random_below(&random, FF__WINDOWS),
                 often = ff__random_below(&random, 50);
        bench->fake.blocks[b].page_count = (uint16_t)(64 + ff__random_below(&random, 449));
        for (uint32_t w = first; w < FF__WINDOWS; w += 1 + ff__random_below(&random, 3))
            record_use(&bench->recording, w, b, pages, ff__random_below(&random, often + 1));
    }
}

/* Pages of memory that the block takes. */
static uint64_t taken(const struct bench *bench, uint32_t block) {
    return bench->fake.view.unit == FF_BLOCK_PAGES ? FF_BLOCK_PAGES
                                                   : bench->fake.blocks[block].page_count;
}

static void test_capacity(void **state) {
    (void)state;
    unsigned full = 0;
    for (uint64_t seed = 1; seed <= scaled(200, 20); seed++) {
        struct bench bench;
        draw(&bench, seed);
        assert_true(make(&bench));
        for (uint32_t w = 0; w < FF__WINDOWS; w++) {
            uint64_t pages = 0;
            for (uint32_t b = 0; b < BLOCKS; b++)
                pages += ff__residence_is_resident(&bench.residence, b, w) ? taken(&bench, b) : 0;
            assert_true(pages <= bench.fake.view.capacity[TIER]);
            full += pages + FF_BLOCK_PAGES > bench.fake.view.capacity[TIER];
        }
        bench_close(&bench);
    }
    assert_true(full > 100);
}

/* The naive twin: link time of the whole run, in accesses, if the block lies where `resident` says.
 */
static uint32_t link_time(const struct bench *bench, uint32_t block, uint32_t resident,
                          bool tight) {
    const struct ff__residence_block *b = &bench->blocks[block];
    uint32_t time = 0, migration = 9 + b->pages + (tight ? b->pages : 0);
    for (uint32_t w = 0; w < FF__WINDOWS; w++) {
        bool is_in = resident >> w & 1, was_in = w > 0 && resident >> (w - 1) & 1;
        time += is_in ? (was_in ? 0 : migration) : b->uses[w];
    }
    return time;
}

struct twin {
    uint32_t resident[BLOCKS]; /* a bit for each window */
    bool tight;
};

static bool has_room(const struct bench *bench, const struct twin *twin, uint32_t block,
                     uint32_t window) {
    uint64_t pages = taken(bench, block);
    for (uint32_t b = 0; b < BLOCKS; b++)
        pages += twin->resident[b] >> window & 1 ? taken(bench, b) : 0;
    return pages <= bench->fake.view.capacity[TIER];
}

/* Of all residences that there is room for, the one that saves most for each of its windows. False:
 * none saves anything. */
static bool add_best(const struct bench *bench, struct twin *twin) {
    double most = 0;
    uint32_t best = 0, longer = 0;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t before = link_time(bench, b, twin->resident[b], twin->tight);
        for (uint32_t first = 0; first < FF__WINDOWS; first++) {
            uint32_t resident = twin->resident[b];
            for (uint32_t w = first; w < FF__WINDOWS; w++) {
                if (resident >> w & 1 || !has_room(bench, twin, b, w))
                    break;
                resident |= 1u << w;
                double saved = (double)before - link_time(bench, b, resident, twin->tight);
                if (saved / (w + 1 - first) <= most)
                    continue;
                most = saved / (w + 1 - first);
                best = b;
                longer = resident;
            }
        }
    }
    if (most > 0)
        twin->resident[best] = longer;
    return most > 0;
}

static void test_twin(void **state) {
    (void)state;
    unsigned tight = 0, resident = 0;
    for (uint64_t seed = 1; seed <= scaled(100, 10); seed++) {
        struct bench bench;
        struct twin twin = {.tight = false};
        uint64_t pages = 0;
        draw(&bench, seed);
        assert_true(make(&bench));
        for (uint32_t b = 0; b < BLOCKS; b++)
            pages += bench.blocks[b].pages > 0 ? taken(&bench, b) : 0;
        twin.tight = pages > bench.fake.view.capacity[TIER];
        while (add_best(&bench, &twin))
            ;
        for (uint32_t b = 0; b < BLOCKS; b++) {
            assert_int_equal(bench.blocks[b].resident, twin.resident[b]);
            resident += twin.resident[b] != 0;
        }
        tight += twin.tight;
        bench_close(&bench);
    }
    assert_true(tight > 3 && resident > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_window), cmocka_unit_test(test_few_uses),
        cmocka_unit_test(test_pages),      cmocka_unit_test(test_pause),
        cmocka_unit_test(test_contention), cmocka_unit_test(test_pause_is_used),
        cmocka_unit_test(test_way_out),    cmocka_unit_test(test_small_blocks),
        cmocka_unit_test(test_no_choice),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_capacity),   cmocka_unit_test(test_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
