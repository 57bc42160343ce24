/* The second block of a pair is brought while that pays (policy/forest/pairs.h). */
#include "base/cases.h"

#include "policy/forest/pairs.h"

#define BLOCKS 256u

static struct ff__pair_block blocks[BLOCKS];

static void launch(struct ff__pairs *pairs) {
    const struct ff_launch_event event = {.begins = true};
    ff__pairs_launch(pairs, &event);
}

/* It is advised, and comes. */
static void bring(struct ff__pairs *pairs, uint32_t block, bool faulted) {
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = 1, .faulted = faulted};
    ff__pairs_advised(pairs, block);
    ff__pairs_arrival(pairs, &arrival);
}

static struct ff__pairs start(void) {
    struct ff__pairs pairs;
    memset(blocks, 0, sizeof blocks);
    ff__pairs_start(&pairs, blocks);
    return pairs;
}

static uint32_t brought_of(struct ff__pairs *pairs, uint32_t times) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < times; i++)
        count += ff__pairs_next(pairs);
    return count;
}

/* One in eight is borne, and one more; then one in sixteen is tried. */
static void test_wasted(void **state) {
    (void)state;
    struct ff__pairs pairs = start();
    for (uint32_t i = 0; i < 16; i++)
        bring(&pairs, i, false);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(brought_of(&pairs, 32), 32);
        ff__pairs_fault(&pairs, i);
        ff__pairs_fault(&pairs, i); /* counts once */
    }
    assert_int_equal(brought_of(&pairs, 32), 32);
    ff__pairs_fault(&pairs, 3);
    assert_int_equal(brought_of(&pairs, 32), 2);
    for (uint32_t i = 16; i < 24; i++)
        bring(&pairs, i, false);
    assert_int_equal(brought_of(&pairs, 32), 32);
}

/* Not wasted: what faults in a later launch; what came by a fault of its own; what was never
 * advised. */
static void test_used(void **state) {
    (void)state;
    struct ff__pairs pairs = start();
    for (uint32_t i = 0; i < 16; i++)
        bring(&pairs, i, i % 2 == 1);
    launch(&pairs);
    for (uint32_t i = 0; i < 32; i++)
        ff__pairs_fault(&pairs, i);
    assert_int_equal(pairs.brought, 8);
    assert_int_equal(pairs.wasted, 0);
}

/* What was long ago counts less. */
static void test_recent(void **state) {
    (void)state;
    struct ff__pairs pairs = start();
    for (uint32_t i = 0; i < 20; i++)
        bring(&pairs, i, false);
    for (uint32_t i = 0; i < 20; i++)
        ff__pairs_fault(&pairs, i);
    assert_int_equal(brought_of(&pairs, 32), 2);
    for (uint32_t i = 20; i < 20 + 44; i++)
        bring(&pairs, i, false);
    assert_int_equal(pairs.brought, 32);
    assert_int_equal(pairs.wasted, 10);
    assert_int_equal(brought_of(&pairs, 32), 2);
    for (uint32_t i = 64; i < 64 + 32; i++)
        bring(&pairs, i, false);
    assert_int_equal(brought_of(&pairs, 32), 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wasted),
        cmocka_unit_test(test_used),
        cmocka_unit_test(test_recent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
