/* The model of PyTorch's caching allocator against the rules of 1.8.0's CUDACachingAllocator.cpp.
 */
#include "base/cases.h"

#include "workload/dnn/allocator.h"

#include <errno.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static void test_rounding(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes, block, segment;
    } cases[] = {
        {1, 512, 2 * MIB},
        {512, 512, 2 * MIB},
        {513, 1024, 2 * MIB},
        {MIB, MIB, 2 * MIB},            /* the most that is small */
        {MIB + 1, MIB + 512, 20 * MIB}, /* the least that is large */
        {10 * MIB - 512, 10 * MIB - 512, 20 * MIB},
        {10 * MIB, 10 * MIB, 10 * MIB}, /* from here on, a segment each */
        {10 * MIB + 1, 10 * MIB + 512, 12 * MIB},
        {33 * MIB, 33 * MIB, 34 * MIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ff__caching_round(cases[i].bytes), cases[i].block);
        assert_int_equal(ff__caching_segment_size(cases[i].block), cases[i].segment);
    }
}

static uint32_t take(struct ff__caching *pool, uint64_t bytes) {
    uint32_t block;
    assert_int_equal(ff__caching_allocate(pool, bytes, &block), 0);
    return block;
}

static const struct ff__caching_block *at(const struct ff__caching *pool, uint32_t block) {
    return &pool->blocks[block];
}

/* Small requests are cut from one 2 MiB segment, one after the other. */
static void test_small_ones_share_a_segment(void **state) {
    (void)state;
    struct ff__caching pool;
    ff__caching_init(&pool, 0);
    uint32_t a = take(&pool, 100), b = take(&pool, 1000), c = take(&pool, MIB);
    assert_int_equal(pool.segment_count, 1);
    assert_int_equal(pool.reserved, 2 * MIB);
    assert_int_equal(at(&pool, a)->size, 512);
    assert_int_equal(at(&pool, b)->address, at(&pool, a)->address + 512);
    assert_int_equal(at(&pool, c)->address, at(&pool, b)->address + 1024);
    take(&pool, MIB); /* no room left: another segment */
    assert_int_equal(pool.segment_count, 2);
    ff__caching_fini(&pool);
}

/* What is left of a large block is cut off if it is more than 1 MiB, of a small one from 512 bytes.
 */
static void test_splitting(void **state) {
    (void)state;
    struct ff__caching pool;
    ff__caching_init(&pool, 0);
    uint32_t a = take(&pool, 9 * MIB); /* of 20 MiB */
    assert_int_equal(at(&pool, a)->size, 9 * MIB);
    uint32_t b = take(&pool, 9 * MIB + 512 * KIB); /* 1.5 MiB would be left: cut */
    assert_int_equal(pool.segment_count, 1);
    assert_int_equal(at(&pool, b)->size, 9 * MIB + 512 * KIB);
    uint32_t c = take(&pool, MIB + 512); /* 511.5 KiB would be left: not cut */
    assert_int_equal(pool.segment_count, 1);
    assert_int_equal(at(&pool, c)->size, MIB + 512 * KIB);
    ff__caching_fini(&pool);
}

/* The smallest that fits, and of equal ones the one with the lowest address. */
static void test_best_fit(void **state) {
    (void)state;
    struct ff__caching pool;
    ff__caching_init(&pool, 0);
    static const uint64_t sizes[] = {40 * MIB, 30 * MIB, 30 * MIB, 50 * MIB};
    uint32_t blocks[4];
    uint64_t second;
    for (int i = 0; i < 4; i++)
        blocks[i] = take(&pool, sizes[i]);
    second = at(&pool, blocks[1])->address;
    for (int i = 3; i >= 0; i--)
        ff__caching_release(&pool, blocks[i]);
    uint32_t block = take(&pool, 29 * MIB + 512 * KIB);
    assert_int_equal(at(&pool, block)->address, second);
    assert_int_equal(at(&pool, block)->size, 30 * MIB);
    assert_int_equal(pool.reserved, 150 * MIB);
    ff__caching_fini(&pool);
}

/* Neighbours become one again, in any order. */
static void test_merging(void **state) {
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct ff__caching pool;
        ff__caching_init(&pool, 0);
        uint32_t blocks[3];
        for (int j = 0; j < 3; j++)
            blocks[j] = take(&pool, 6 * MIB);
        assert_int_equal(pool.segment_count, 1);
        for (int j = 0; j < 3; j++)
            ff__caching_release(&pool, blocks[orders[i][j]]);
        uint32_t whole = take(&pool, 20 * MIB - 512 * KIB);
        assert_int_equal(pool.segment_count, 1);
        assert_int_equal(at(&pool, whole)->size, 20 * MIB);
        ff__caching_fini(&pool);
    }
}

/* A full device gets its cached segments back before an allocation fails. */
static void test_limit(void **state) {
    (void)state;
    struct ff__caching pool;
    uint32_t block;
    ff__caching_init(&pool, 64 * MIB);
    uint32_t a = take(&pool, 30 * MIB), b = take(&pool, 30 * MIB);
    assert_int_equal(ff__caching_allocate(&pool, 40 * MIB, &block), -ENOSPC);
    ff__caching_release(&pool, a);
    assert_int_equal(ff__caching_allocate(&pool, 40 * MIB, &block), -ENOSPC);
    ff__caching_release(&pool, b);
    take(&pool, 40 * MIB);
    assert_int_equal(pool.reserved, 40 * MIB);
    ff__caching_fini(&pool);
}

/* A naive twin: every live block apart from every other, sums right, under random use. */
static void test_random(void **state) {
    (void)state;
    enum { LIVE = 64 };
    struct ff__caching pool;
    uint32_t blocks[LIVE], count = 0;
    uint64_t random = 1, sum = 0;
    ff__caching_init(&pool, 0);
    for (unsigned long i = 0; i < scaled_cases(20000, 2000); i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t pick = random >> 33;
        if (count == LIVE || (count > 0 && pick % 2)) {
            uint32_t which = (uint32_t)(pick / 2 % count);
            sum -= at(&pool, blocks[which])->size;
            ff__caching_release(&pool, blocks[which]);
            blocks[which] = blocks[--count];
        } else {
            blocks[count] = take(&pool, 1 + (pick % 7 ? pick % (4 * MIB) : pick % (64 * MIB)));
            sum += at(&pool, blocks[count++])->size;
        }
        assert_int_equal(pool.active, sum);
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_true(at(&pool, blocks[i])->address >=
                            at(&pool, blocks[j])->address + at(&pool, blocks[j])->size ||
                        at(&pool, blocks[j])->address >=
                            at(&pool, blocks[i])->address + at(&pool, blocks[i])->size);
    while (count > 0)
        ff__caching_release(&pool, blocks[--count]);
    ff__caching_empty_cache(&pool);
    assert_int_equal(pool.reserved, 0);
    ff__caching_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),  cmocka_unit_test(test_small_ones_share_a_segment),
        cmocka_unit_test(test_splitting), cmocka_unit_test(test_best_fit),
        cmocka_unit_test(test_merging),   cmocka_unit_test(test_limit),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
