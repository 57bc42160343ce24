/* Migration by access counters: what is counted, by which device, and what comes at the threshold.
 */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIERS     3u /* the host and two devices */
#define BLOCKS    16u
#define THRESHOLD 8u

static struct fake fake;
static struct instance policy;

static void open_policy(void) {
    fake_open(&fake, TIERS, BLOCKS);
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&fake, FF_TIER_HOST, block) = mask_of("0-511");
    instance_init(&policy, &ff__prefetch_counters.base);
    instance_set(&policy, "threshold", THRESHOLD);
    instance_set(&policy, "tree", 100);
    instance_open(&policy, &fake.view, FF_NONE);
}

static void close_policy(void) {
    instance_close(&policy);
    fake_close(&fake);
}

/* Remote accesses of a device to a page; the pages that are asked for then, as text. */
static const char *use(uint32_t block, uint32_t page, uint32_t tier, uint32_t count) {
    static char text[MASK_TEXT];
    struct ff_advice items[2];
    struct ff_advice_list list = {.items = items, .capacity = 2};
    const struct ff_access access = {
        .block = block, .page = (uint16_t)page, .tier = (uint8_t)tier, .flags = FF_ACCESS_REMOTE};
    const struct ff_access_batch batch = {.items = &access, .count = 1};
    while (count-- > 0)
        ff__prefetch_counters.base.accesses->on_access(policy.state, &fake.view, &batch, &list);
    assert_in_range(list.count, 0, 1);
    if (list.count == 0)
        return "";
    assert_int_equal(items[0].block, block);
    assert_int_equal(items[0].tier, tier);
    return mask_text(&items[0].pages, text);
}

/* A block's accesses bring the leaves that they were in, and are then counted from the start. */
static void test_threshold(void **state) {
    (void)state;
    open_policy();
    assert_string_equal(use(5, 0, 1, THRESHOLD - 1), "");
    assert_string_equal(use(5, 40, 1, 1), "0-15 32-47");
    assert_string_equal(use(5, 100, 1, THRESHOLD - 1), "");
    assert_string_equal(use(5, 100, 1, 1), "96-111");
    close_policy();
}

/* Each device and each block has a count of its own, and a block that is freed has none left. */
static void test_counts_are_apart(void **state) {
    (void)state;
    open_policy();
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t tier = 1; tier < TIERS; tier++)
            assert_string_equal(use(block, 16 * tier, tier, THRESHOLD - 1), "");
    ff__prefetch_counters.base.block_freed(policy.state, 3);
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t tier = 1; tier < TIERS; tier++)
            assert_string_equal(use(block, 16 * tier, tier, 1), block == 3  ? ""
                                                                : tier == 1 ? "16-31"
                                                                            : "32-47");
    close_policy();
}

/* What is kept by block has room for the devices there are, not for all there could be. */
static void test_record_size(void **state) {
    (void)state;
    open_policy();
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t tier = 1; tier < TIERS; tier++)
            use(block, 0, tier, 1);
    assert_in_range(instance_written(&policy, &fake.view), 1, BLOCKS * (TIERS - 1) * 8);
    close_policy();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_counts_are_apart),
        cmocka_unit_test(test_record_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
