/* Which pages come with a fault of a thread that goes through rows of a fixed length: those that it
 * uses next, and hardly any other. */
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "policy/adaptive/sweep.h"

#define TIER   1u
#define BLOCKS 48u
#define SIZE   ((int64_t)BLOCKS * FF_BLOCK_SIZE)

struct bench {
    struct fake fake;
    struct ff__sweeps sweeps;
    struct ff_mask used[BLOCKS];
    uint32_t faults;
};

static void bench_open(struct bench *bench) {
    *bench = (struct bench){.faults = 0};
    fake_open(&bench->fake, 2, BLOCKS);
}

static void bench_close(struct bench *bench) {
    fake_close(&bench->fake);
}

static void use_page(struct bench *bench, uint32_t thread, uint32_t page) {
    uint32_t block = page / FF_BLOCK_PAGES, in_block = page % FF_BLOCK_PAGES;
    struct ff_mask *there = fake_resident(&bench->fake, TIER, block);
    ff_mask_set(&bench->used[block], in_block);
    if (ff_mask_test(there, in_block))
        return;
    struct ff_fault_group group = {
        .block = block, .tier = TIER, .launch = FF_NONE, .thread = thread};
    ff_mask_set(&group.faulted, in_block);
    struct ff_mask ahead = ff__sweeps_fault(&bench->sweeps, &bench->fake.view, &group);
    struct ff_mask pages = ff_view_pages(&bench->fake.view, block);
    assert_true(ff_mask_within(&ahead, &pages));
    *there = ff_mask_or(there, &ahead);
    ff_mask_set(there, in_block);
    bench->faults++;
}

/* Some bytes at a place. */
static void use(struct bench *bench, uint32_t thread, int64_t place, int64_t bytes) {
    for (int64_t page = place / FF_PAGE_SIZE; page <= (place + bytes - 1) / FF_PAGE_SIZE; page++)
        if (page < SIZE / FF_PAGE_SIZE)
            use_page(bench, thread, (uint32_t)page);
}

/* The same part of each row. */
static void use_rows(struct bench *bench, int64_t from, int64_t row, int64_t bytes) {
    for (int64_t place = from; place < SIZE && place >= 0; place += row)
        use(bench, 1, place, bytes);
}

static void all_leave(struct bench *bench) {
    for (uint32_t block = 0; block < BLOCKS; block++) {
        ff_mask_clear(fake_resident(&bench->fake, TIER, block));
        ff_mask_clear(&bench->used[block]);
    }
    bench->faults = 0;
}

struct outcome {
    uint32_t used, faults,
        wrong; /* pages; of them with a fault of their own; that have come and are not used */
};

static void assert_outcome(const struct bench *bench, struct outcome expected) {
    struct outcome is = {.faults = bench->faults};
    for (uint32_t block = 0; block < BLOCKS; block++) {
        struct ff_mask wrong =
            ff_mask_minus(fake_resident(&bench->fake, TIER, block), &bench->used[block]);
        is.used += ff_mask_count(&bench->used[block]);
        is.wrong += ff_mask_count(&wrong);
    }
    assert_int_equal(is.used, expected.used);
    assert_int_equal(is.faults, expected.faults);
    assert_int_equal(is.wrong, expected.wrong);
}

static void test_rows(void **state) {
    /* bytes of a row, of what is used of it; what the first sweep gives, and a second one elsewhere
     * in the rows */
    static const struct {
        int64_t row, bytes;
        struct outcome first, second;
    } cases[] = {
        {4096, 4096, {24576, 55, 0}, {24576, 49, 0}}, /* from end to end */
        {65536, 16, {1536, 53, 0}, {1536, 49, 0}},    /* whole pages */
        {20064, 16, {5018, 84, 15}, {5056, 129, 33}}, /* 4.9 pages */
        {20064,
         1024,
         {6274, 272, 1049},
         {6269, 201, 1056}}, /* of which a fourth goes on in a second page */
        {65532, 16, {1543, 63, 19}, {1540, 50, 14}},   /* just less than 16 pages */
        {207872, 128, {485, 87, 0}, {606, 212, 0}},    /* 50.75 pages: ten to a block */
        {4 << 20, 4096, {48, 48, 0}, {48, 48, 0}},     /* more than a block */
        {-20064, 16, {5057, 224, 66}, {5017, 74, 18}}, /* backwards */
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench);
        use_rows(&bench, cases[i].row > 0 ? 1228 : SIZE - 1228, cases[i].row, cases[i].bytes);
        assert_outcome(&bench, cases[i].first);
        all_leave(&bench);
        use_rows(&bench, cases[i].row > 0 ? 3000 : SIZE - 3000, cases[i].row, cases[i].bytes);
        assert_outcome(&bench, cases[i].second);
        bench_close(&bench);
    }
}

static void use_by_threads(uint32_t second, struct outcome expected) {
    struct bench bench;
    bench_open(&bench);
    for (int64_t place = 0; place < SIZE / 2; place += 20064) {
        use(&bench, 1, place, 16);
        use(&bench, second, SIZE / 2 + place / 20064 * 32768, 16);
    }
    assert_outcome(&bench, expected);
    bench_close(&bench);
}

/* Two threads at different places of different rows, in turns; and two that share an element of the
 * table: no sweep is known until the second one is through. */
static void test_threads(void **state) {
    (void)state;
    use_by_threads(2, (struct outcome){4045, 85, 17});
    use_by_threads(1 + FF__SWEEPS, (struct outcome){4045, 3111, 17});
}

/* No page behind the last one of a block, whatever lies there. */
static void test_short_block(void **state) {
    (void)state;
    for (uint16_t count = 200; count < 300; count++) {
        struct bench bench;
        bench_open(&bench);
        bench.fake.blocks[0].page_count = count;
        for (int64_t place = 0; place + 1024 <= (int64_t)count * FF_PAGE_SIZE; place += 20064)
            use(&bench, 1, place, 1024);
        bench_close(&bench);
    }
}

/* Random use has no stride: what comes with it by chance is little. */
static void test_random(void **state) {
    struct bench bench;
    struct ff__random random = ff__random_seeded(7);
    (void)state;
    bench_open(&bench);
    for (uint32_t i = 0; i < 8192; i++)
        use_page(&bench, 1, ff__random_below(&random, BLOCKS * FF_BLOCK_PAGES));
    assert_outcome(&bench, (struct outcome){6947, 6947, 0});
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_short_block),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
