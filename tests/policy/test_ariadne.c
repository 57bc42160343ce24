/* ARIADNE: which blocks come whole, which are used from the host and until when, and who leaves. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS 8u
#define MS     UINT64_C(1000000)

static struct fake fake;
static struct ff_latest_faults latest[BLOCKS];
static struct instance prefetch, evict;

static void open_all(void) {
    fake_open(&fake, 2, BLOCKS);
    memset(latest, 0, sizeof latest);
    fake.view.latest_faults = latest;
    fake.view.now_ns = 1000 * MS;
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&fake, FF_TIER_HOST, block) = mask_of("0-511");
    instance_init(&prefetch, &ff__prefetch_ariadne.base);
    instance_init(&evict, &ff__evict_ariadne.base);
    instance_open(&prefetch, &fake.view, FF_NONE);
    instance_open(&evict, &fake.view, TIER);
}

static void close_all(void) {
    instance_close(&prefetch);
    instance_close(&evict);
    fake_close(&fake);
}

/* So many threads have met a fault each. */
static void share(uint32_t block, uint32_t threads) {
    latest[block].count = threads;
    for (uint32_t i = 0; i < threads; i++)
        latest[block].thread[i] = i + 1;
}

/* What comes, and what is used remotely. */
static const char *fault(uint32_t block, const char *pages) {
    static char text[2 * MASK_TEXT + 16], came[MASK_TEXT], remote[MASK_TEXT];
    struct ff_fault_group group = {.block = block, .tier = TIER, .faulted = mask_of(pages)};
    struct ff_fault_advice answer = {.throttle_until_ns = 0};
    ff__prefetch_ariadne.on_fault(prefetch.state, &fake.view, &group, &answer);
    mask_text(&answer.prefetch, came);
    mask_text(&answer.remote, remote);
    snprintf(text, sizeof text, "%s / %s", came, remote);
    return text;
}

/* Blocks whose remote use ends with the next batch. */
static const char *ended(void) {
    static char text[64];
    struct ff_advice items[BLOCKS];
    struct ff_advice_list list = {.items = items, .capacity = BLOCKS};
    struct ff_fault_group group = {.block = 0, .tier = TIER};
    ff__prefetch_ariadne.on_batch(prefetch.state, &fake.view, &group, 1, &list);
    text[0] = '\0';
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(items[i].action, FF_END_REMOTE);
        assert_int_equal(items[i].tier, TIER);
        assert_int_equal(ff_mask_count(&items[i].pages), FF_BLOCK_PAGES);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", items[i].block);
    }
    return text;
}

static void test_whole_blocks(void **state) {
    (void)state;
    open_all();
    fake.free_pages[TIER] = FF_BLOCK_PAGES; /* there is room */
    assert_string_equal(fault(0, "5"), "0-511 / ");
    fake.free_pages[TIER] = 0; /* there is none, and few share it */
    share(0, 3);
    assert_string_equal(fault(0, "5 40"), "0-15 32-47 / ");
    share(0, 4);
    assert_string_equal(fault(0, "5"), "0-511 / ");
    close_all();
}

/* A thread that faults again and again is one. */
static void test_sharers(void **state) {
    (void)state;
    open_all();
    share(1, FF_LATEST_FAULTS);
    assert_int_equal(ff_view_sharers(&fake.view, 1), FF_LATEST_FAULTS);
    for (uint32_t i = 0; i < FF_LATEST_FAULTS; i++)
        latest[1].thread[i] = 7 + i % 2;
    latest[1].count = 1000;
    assert_int_equal(ff_view_sharers(&fake.view, 1), 2);
    assert_int_equal(ff_view_sharers(&fake.view, 2), 0);
    close_all();
}

/* Blocks that came back are used from the host for 100 ms. */
static void test_remote(void **state) {
    (void)state;
    open_all();
    fake_facts(&fake, 2)->evicted = mask_of("0-511");
    fake_facts(&fake, 3)->evicted = mask_of("0-511");
    *fake_resident(&fake, FF_TIER_HOST, 3) = mask_of("0-99");
    assert_string_equal(fault(2, "5"), " / 0-511");
    fake.view.now_ns += 50 * MS;
    assert_string_equal(fault(3, "5"), " / 0-99");
    assert_string_equal(ended(), "");
    fake.view.now_ns += 50 * MS;
    assert_string_equal(ended(), "2 ");
    assert_string_equal(ended(), "");
    fake.view.now_ns += 50 * MS;
    assert_string_equal(ended(), "3 ");
    close_all();
}

/* ---- eviction ---- */

static void come(uint32_t block, uint64_t at_ms) {
    fake.view.now_ns = at_ms * MS;
    fake_set_frame(&fake, TIER, block, block);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = TIER, .faulted = true};
    ff__evict_ariadne.base.on_arrival(evict.state, &fake.view, &arrival);
}

static void leave(uint32_t block, uint64_t at_ms) {
    fake.view.now_ns = at_ms * MS;
    fake_set_frame(&fake, TIER, block, FF_NONE);
    const struct ff_leave gone = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    ff__evict_ariadne.base.on_leave(evict.state, &fake.view, &gone);
}

static uint32_t victim(uint64_t at_ms) {
    struct ff_victim items[2];
    struct ff_victim_list list = {items, 0, 2};
    const struct ff_evict_request request = {FF_EVICT_FOR_FAULT, TIER, FF_NONE, FF_BLOCK_PAGES,
                                             FF_BLOCK_PAGES};
    fake.view.now_ns = at_ms * MS;
    ff__evict_ariadne.pick(evict.state, &fake.view, &request, &list);
    return list.count ? items[0].block : FF_NONE;
}

/* By the last fault; 16 sharers are worth 1.6 ms. */
static void test_oldest_fault(void **state) {
    (void)state;
    open_all();
    assert_int_equal(victim(1), FF_NONE);
    come(0, 1);
    come(1, 2);
    come(2, 10);
    assert_int_equal(victim(11), 0);
    share(0, 16);
    assert_int_equal(victim(11), 1);
    share(1, 16);
    assert_int_equal(victim(11), 0);
    close_all();
}

/* What came back within 500 ms leaves after everything else, for 500 ms. */
static void test_working_set(void **state) {
    (void)state;
    open_all();
    come(0, 1);
    leave(0, 10);
    come(0, 509);
    come(1, 600);
    assert_int_equal(victim(700), 1);
    leave(1, 700);
    assert_int_equal(victim(700), 0);
    come(2, 1000);
    assert_int_equal(victim(1009), 0);
    leave(0, 1009);
    come(0, 1600); /* too late */
    come(3, 1700);
    leave(2, 1700);
    assert_int_equal(victim(1700), 0);
    close_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_blocks), cmocka_unit_test(test_sharers),
        cmocka_unit_test(test_remote),       cmocka_unit_test(test_oldest_fault),
        cmocka_unit_test(test_working_set),
    };
    return cmocka_run_group_tests_name("policy.ariadne", tests, NULL, NULL);
}
