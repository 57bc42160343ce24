/* Flat arrays that cost what is touched: parts of them are cleared, and nothing else is. */
#include "cases.h"

#include "base/lazy.h"
#include "base/random.h"

#include <sys/mman.h>
#include <unistd.h>

#define SIZE ((size_t)2 << 20)

static void check_is(const unsigned char *array, size_t from, size_t to, unsigned char expected) {
    for (size_t i = from; i < to; i++)
        if (array[i] != expected)
            fail_msg("byte %zu is %u, not %u", i, array[i], expected);
}

static void check_clear(unsigned char *array, size_t from, size_t size) {
    memset(array, 0xA5, SIZE);
    ff__lazy_clear(array + from, size);
    check_is(array, 0, from, 0xA5);
    check_is(array, from, from + size, 0);
    check_is(array, from + size, SIZE, 0xA5);
}

/* Of any size, from any byte on: some are written, some given back. */
static void test_clears_a_part(void **state) {
    (void)state;
    unsigned char *array = ff__lazy_map(SIZE);
    assert_non_null(array);
    check_is(array, 0, SIZE, 0);
    struct ff__random random = ff__random_seeded(1);
    for (int i = 0; i < 200; i++) {
        size_t from = ff__random_below(&random, SIZE);
        check_clear(array, from, ff__random_below(&random, (uint32_t)(SIZE - from) + 1));
    }
    check_clear(array, 0, 0);
    check_clear(array, 0, SIZE);
    ff__lazy_unmap(array, SIZE);
}

static size_t pages_held(unsigned char *array) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), held = 0;
    unsigned char there[SIZE / 4096];
    assert_int_equal(mincore(array, SIZE, there), 0);
    for (size_t i = 0; i < SIZE / page; i++)
        held += there[i] & 1;
    return held;
}

static void test_gives_memory_back(void **state) {
    (void)state;
    unsigned char *array = ff__lazy_map(SIZE);
    assert_non_null(array);
    memset(array, 1, SIZE);
    assert_true(pages_held(array) > 2);
    ff__lazy_clear(array + 1, SIZE - 2);
    assert_true(pages_held(array) <= 2);
    ff__lazy_unmap(array, SIZE);
}

/* A page that is read, one that is written, one that is written zeros, and others; before a last
 * page that is no whole one. */
static void test_tells_what_is_used(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = SIZE * 4;
    unsigned char *array = ff__lazy_map(size + page);
    assert_non_null(array);
    assert_int_equal(ff__lazy_used(array, size), 0);
    volatile unsigned char *bytes = array;
    assert_int_equal(bytes[3 * page], 0);
    bytes[5 * page] = 0;
    bytes[7 * page] = 1;
    bytes[9 * page - 1] = 1;
    bytes[size - 1] = 1;
    bytes[size] = 1;
    assert_int_equal(ff__lazy_used(array, size), 3 * page);
    assert_int_equal(ff__lazy_used(array, size + page / 2), 3 * page);
    assert_int_equal(ff__lazy_used(array, size + page), 4 * page);
    assert_int_equal(ff__lazy_used(array, 0), 0);
    assert_true(pages_held(array) <=
                4); /* of the first pages, those above: a look allocates nothing */
    ff__lazy_unmap(array, size + page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clears_a_part),
        cmocka_unit_test(test_gives_memory_back),
        cmocka_unit_test(test_tells_what_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
