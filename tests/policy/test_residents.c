/* Which pages stay on a device with room for four, and which are used from the host (policy/bounds/residents.h). A page costs
 * 400 ns to bring, a remote access 10. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/bounds/residents.h"

#define TIER 1u
#define ROOM 4u
#define USES 200000u

struct bench {
    struct fake fake;
    uint64_t first[2 * FF_BLOCK_PAGES + 1], position[USES], order[USES], length;
    struct ff_future future;
    struct ff__belady belady;
    struct ff__use *uses;
    struct ff__residents residents;
};

static struct bench bench;

static void record(uint64_t first, uint64_t end, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++)
        for (uint64_t page = first; page < end; page++)
            bench.order[bench.length++] = page;
}

static void index_uses(void) {
    uint64_t count = 0;
    for (uint64_t page = 0; page < 2 * FF_BLOCK_PAGES; page++) {
        bench.first[page] = count;
        for (uint64_t i = 0; i < bench.length; i++)
            if (bench.order[i] == page)
                bench.position[count++] = i;
    }
    bench.first[2 * FF_BLOCK_PAGES] = count;
    bench.future = (struct ff_future){2 * FF_BLOCK_PAGES, bench.length, bench.first, bench.position,
                                      bench.order};
}

static void choose(bool by_page) {
    static struct ff_link_cost links[4];
    links[TIER] = (struct ff_link_cost){0, FF_PAGE_SIZE * UINT64_C(2500000), 10000};
    fake_open(&bench.fake, 2, 2);
    bench.fake.view.links = links;
    bench.fake.view.by_page = by_page;
    bench.fake.view.capacity[TIER] = by_page ? ROOM : FF_BLOCK_PAGES;
    for (uint32_t block = 0; block < 2; block++)
        *fake_resident(&bench.fake, FF_TIER_HOST, block) = ff_mask_of_run(0, 500);
    index_uses();
    bench.uses = calloc(2 * FF_BLOCK_PAGES, sizeof *bench.uses);
    assert_non_null(bench.uses);
    const struct ff_policy_env env = {
        .block_limit = 2, .block_state = bench.uses, .future = &bench.future};
    assert_int_equal(ff__belady_start(&bench.belady, &env), 0);
    ff__residents_choose(&bench.residents, &bench.belady, &bench.fake.view, TIER);
    assert_int_equal(bench.belady.at, 0);
    for (uint32_t page = 0; page < 2 * FF_BLOCK_PAGES;
         page++) { /* the rehearsal has left nothing behind */
        assert_int_equal(bench.uses[page].passed, 0);
        assert_false(ff__heap_has(&bench.belady.heap, page));
    }
}

static struct ff_mask remote(uint32_t block) {
    return ff__residents_remote(&bench.residents, &bench.belady, &bench.fake.view, block);
}

static void close_bench(void) {
    free(bench.uses);
    fake_close(&bench.fake);
    bench.residents = (struct ff__residents){.stay = false};
    bench.length = 0;
}

static void expect_remote(uint32_t first, uint32_t end) {
    struct ff_mask pages = remote(0);
    assert_int_equal(ff_mask_count(&pages), end - first);
    assert_int_equal(ff_mask_count_run(&pages, first, end), end - first);
}

/* Two pages are used often; the others, once in a while or never, are not worth a transfer. */
static void test_often(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 30; i++) {
        record(0, 2, 40);
        record(2, 12, 1);
    }
    choose(true);
    assert_true(bench.residents.stay);
    expect_remote(2, 500);
    close_bench();
}

/* Eight pages in a circle: as many stay as there is room for. */
static void test_circle(void **state) {
    (void)state;
    record(0, 8, 100);
    choose(true);
    assert_true(bench.residents.stay);
    expect_remote(ROOM, 500);
    close_bench();
}

/* One after the other is used often: they migrate. */
static void test_one_after_the_other(void **state) {
    (void)state;
    for (uint64_t page = 0; page < 8; page++)
        record(page, page + 1, 100);
    choose(true);
    assert_false(bench.residents.stay);
    expect_remote(0, 0);
    close_bench();
}

/* By block: the one that is used more stays, and of the other what the host has is used from there. */
static void test_blocks(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        record(0, 25, 1);
        record(512, 550, 2);
    }
    choose(false);
    assert_true(bench.residents.stay);
    expect_remote(0, 500);
    struct ff_mask of_other = remote(1);
    assert_true(ff_mask_empty(&of_other));
    close_bench();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_often),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
