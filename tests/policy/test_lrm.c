/* Least recently migrated: the order, the exceptions, and a twin that keeps it in a plain array.
 * Also the two policies that have nothing to decide. */
#include "base/random.h"
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS 40u

struct bench {
    struct fake fake;
    struct instance instance;
};

static void bench_open(struct bench *bench) {
    fake_open(&bench->fake, 2, BLOCKS);
    instance_init(&bench->instance, &ff__evict_lrm.base);
    instance_open(&bench->instance, &bench->fake.view, TIER);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void activate(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, block);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = TIER, .faulted = true};
    ff__evict_lrm.base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
}

static void use(struct bench *bench, uint32_t block) {
    const struct ff_mask pages = ff_view_pages(&bench->fake.view, block);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_SERVED, .block = block, .tier = TIER, .faulted = true, .pages = &pages};
    ff__evict_lrm.base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
}

static void discard(struct bench *bench, uint32_t block) {
    const struct ff_leave leave = {.kind = FF_LEAVE_DEAD, .block = block, .tier = TIER};
    ff__evict_lrm.base.on_leave(bench->instance.state, &bench->fake.view, &leave);
}

static void release(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    const struct ff_leave leave = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    ff__evict_lrm.base.on_leave(bench->instance.state, &bench->fake.view, &leave);
}

/* The victims in order; returns their number. */
static uint32_t pick(struct bench *bench, uint32_t capacity, uint32_t for_block,
                     enum ff_evict_cause cause, uint32_t out[BLOCKS]) {
    static struct ff_victim items[BLOCKS];
    struct ff_victim_list list = {items, 0, capacity};
    struct ff_evict_request request = {cause, TIER, for_block, FF_BLOCK_PAGES, FF_BLOCK_PAGES};
    ff__evict_lrm.pick(bench->instance.state, &bench->fake.view, &request, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        assert_true(ff_mask_empty(&items[i].pages)); /* the whole block */
        out[i] = items[i].block;
    }
    return list.count;
}

static void check_order(struct bench *bench, const char *expected) {
    uint32_t victims[BLOCKS];
    char text[200] = "";
    uint32_t count = pick(bench, BLOCKS, FF_NONE, FF_EVICT_AHEAD, victims);
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%u", i ? " " : "", victims[i]);
    }
    assert_string_equal(text, expected);
}

static void test_order(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    check_order(&bench, "");
    for (uint32_t block = 0; block < 5; block++)
        activate(&bench, block);
    check_order(&bench, "0 1 2 3 4");
    use(&bench, 1);
    check_order(&bench, "0 2 3 4 1");
    use(&bench, 1);
    use(&bench, 0);
    check_order(&bench, "2 3 4 1 0");
    release(&bench, 4);
    release(&bench, 2);
    release(&bench, 0);
    check_order(&bench, "3 1");
    activate(&bench, 4);
    check_order(&bench, "3 1 4");
    ff__evict_lrm.base.block_freed(bench.instance.state, 3);
    ff__evict_lrm.base.block_freed(bench.instance.state, 30); /* never had memory */
    check_order(&bench, "1 4");
    bench_close(&bench);
}

static void test_discarded_first(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    for (uint32_t block = 0; block < 5; block++)
        activate(&bench, block);
    discard(&bench, 3);
    discard(&bench, 1);
    check_order(&bench, "3 1 0 2 4");
    discard(&bench, 3);
    check_order(&bench, "1 3 0 2 4");
    use(&bench, 1);
    check_order(&bench, "3 0 2 4 1");
    release(&bench, 3);
    check_order(&bench, "0 2 4 1");
    discard(&bench, 3); /* has no memory there: nothing to evict */
    use(&bench, 3);
    fake_set_frame(&bench.fake, TIER, 3, 3);
    check_order(&bench, "0 2 4 1");
    bench_close(&bench);
}

/* A block shorter than 2 MiB moves when it gets memory, and not after. */
static void test_short_block(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    bench.fake.blocks[0].page_count = 511;
    activate(&bench, 0);
    activate(&bench, 1);
    use(&bench, 0);
    check_order(&bench, "0 1");
    discard(&bench, 0);
    use(&bench, 1);
    check_order(&bench, "0 1");
    activate(&bench, 0);
    check_order(&bench, "1 0");
    bench_close(&bench);
}

static void test_exclusions(void **state) {
    (void)state;
    struct bench bench;
    uint32_t victims[BLOCKS];
    bench_open(&bench);
    for (uint32_t block = 0; block < 6; block++)
        activate(&bench, block);
    fake_facts(&bench.fake, 1)->busy = 1;
    fake_set_frame(&bench.fake, TIER, 2, FF_NONE);
    assert_int_equal(pick(&bench, 2, 0, FF_EVICT_FOR_FAULT, victims), 2);
    assert_int_equal(victims[0], 3);
    assert_int_equal(victims[1], 4);
    assert_int_equal(pick(&bench, 2, 0, FF_EVICT_FOR_PREFETCH, victims), 2);
    assert_int_equal(victims[0], 3);
    assert_int_equal(pick(&bench, 0, 0, FF_EVICT_FOR_FAULT, victims), 0);
    bench_close(&bench);
}

/* ---- the twin --------------------------------------------------------------------------- */

struct twin {
    uint32_t order[2][BLOCKS], count[2]; /* discarded, used */
};

static bool twin_remove(struct twin *twin, uint32_t block) {
    for (int list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < twin->count[list]; i++) {
            if (twin->order[list][i] != block)
                continue;
            twin->count[list]--;
            for (; i < twin->count[list]; i++)
                twin->order[list][i] = twin->order[list][i + 1];
            return true;
        }
    }
    return false;
}

static void twin_append(struct twin *twin, int list, uint32_t block) {
    twin->order[list][twin->count[list]++] = block;
}

static void twin_touch(struct twin *twin, const struct bench *bench, int list, uint32_t block) {
    if (bench->fake.blocks[block].page_count == 512 && twin_remove(twin, block))
        twin_append(twin, list, block);
}

static void twin_check(const struct twin *twin, struct bench *bench, uint32_t capacity,
                       uint32_t for_block, unsigned long step) {
    uint32_t victims[BLOCKS], expected[BLOCKS], wanted = 0;
    for (int list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < twin->count[list]; i++) {
            uint32_t block = twin->order[list][i];
            if (wanted < capacity && block != for_block && !fake_facts(&bench->fake, block)->busy)
                expected[wanted++] = block;
        }
    }
    uint32_t count = pick(bench, capacity, for_block, FF_EVICT_FOR_FAULT, victims);
    bool same = count == wanted && memcmp(victims, expected, count * sizeof victims[0]) == 0;
    if (!same)
        print_error("step %lu: the twin would pick otherwise\n", step);
    assert_true(same);
}

static void twin_step(struct twin *twin, struct bench *bench, uint32_t op, uint32_t block) {
    switch (op) {
    case 0:
    case 1:
        twin_remove(twin, block);
        twin_append(twin, 1, block);
        activate(bench, block);
        break;
    case 2:
    case 3:
    case 4:
        twin_touch(twin, bench, 1, block);
        use(bench, block);
        break;
    case 5:
        twin_touch(twin, bench, 0, block);
        discard(bench, block);
        break;
    case 6:
        twin_remove(twin, block);
        release(bench, block);
        break;
    case 7:
        fake_facts(&bench->fake, block)->busy ^= 1;
        break;
    default:
        twin_remove(twin, block);
        fake_set_frame(&bench->fake, TIER, block, FF_NONE);
        ff__evict_lrm.base.block_freed(bench->instance.state, block);
    }
}

static void test_twin(void **state) {
    (void)state;
    struct bench bench;
    struct twin twin = {.count = {0, 0}};
    struct ff__random random = ff__random_seeded(6);
    bench_open(&bench);
    for (uint32_t block = 0; block < BLOCKS; block += 7)
        bench.fake.blocks[block].page_count = 17;
    for (unsigned long i = 0, count = scaled(200000, 20000); i < count; i++) {
        uint32_t op = ff__random_below(&random, 9);
        twin_step(&twin, &bench, op, ff__random_below(&random, BLOCKS));
        uint32_t for_block = ff__random_below(&random, BLOCKS);
        twin_check(&twin, &bench, ff__random_below(&random, BLOCKS + 1), for_block, i);
    }
    bench_close(&bench);
}

static void test_host_and_declared(void **state) {
    (void)state;
    assert_null(ff__place_host.place);
    assert_string_equal(ff__place_host.base.name, "host");
    assert_string_equal(ff__discard_declared.base.name, "declared");
    assert_null(ff__discard_declared.dead);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),       cmocka_unit_test(test_discarded_first),
        cmocka_unit_test(test_short_block), cmocka_unit_test(test_exclusions),
        cmocka_unit_test(test_twin),        cmocka_unit_test(test_host_and_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
