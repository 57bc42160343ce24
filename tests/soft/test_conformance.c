/* Every registered system and policy on the software device: those that see enough there keep the
 * program's data under pressure, the others are refused with what they would have to see. */
#include "policy/met.h"
#include "runtime/fixture.h"

#include "policy/registry.h"

#include <string.h>

#define MB    (UINT64_C(1) << 20)
#define PAGES 1300u

static const uint32_t shown =
    FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_OPERANDS | FF_SEES_SAMPLES;

static uint64_t word_of(size_t page, unsigned round) {
    return page * UINT64_C(0x9E3779B97F4A7C15) + round;
}

/* Three rounds, each over more than the device's memory, in and out of turn. */
static void check_data(struct ff_context *context, const char *system) {
    uint64_t *data = alloc(context, (size_t)PAGES * FF_PAGE_SIZE);
    const size_t words = FF_PAGE_SIZE / sizeof *data;
    for (unsigned round = 1; round <= 3; round++) {
        ff_launch_begin(context, 0, round, "round", NULL, NULL, 0);
        for (size_t i = 0; i < PAGES; i++) {
            size_t page = i * (round == 2 ? 37 : 1) % PAGES;
            if (data[page * words] != (round == 1 ? 0 : word_of(page, round - 1)))
                fail_msg("%s: page %zu is not what was written", system, page);
            data[page * words] = word_of(page, round);
        }
        ff_launch_end(context, 0, round);
    }
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    assert_within_budget(context);
    assert_true(stats.evictions > 0);
    assert_int_equal(ff_mem_free(context, data), 0);
}

static void check_refused(const struct ff_config *config, const struct ff_policy *policy) {
    struct ff_context *context = NULL;
    struct ff_error error;
    assert_int_equal(ff_open(config, &context, &error), -ENOTSUP);
    bool sees_accesses = policy->sees & FF_SEES_ACCESSES;
    if (!strstr(error.message, policy->name) ||
        (sees_accesses && !strstr(error.message, "accesses")))
        fail_msg("%s: %s", config->system, error.message);
}

static void check_system(const char *name) {
    struct ff__system system;
    struct ff_config config = standard_config(4 * MB);
    config.system = name;
    assert_int_equal(ff__system_parse(name, &system, NULL), 0);
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        if (system.policy[slot]->sees & ~shown) {
            check_refused(&config, system.policy[slot]);
            return;
        }
    }
    struct ff_context *context = open_or_skip(&config);
    check_data(context, name);
    ff_close(context);
    meet(&system);
}

static void test_systems(void **state) {
    (void)state;
    const struct ff__system_row *row;
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        check_system(row->name);
}

static void test_policies(void **state) {
    (void)state;
    const struct ff_policy *policy;
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        for (unsigned i = 0; (policy = ff__policy_at((enum ff__slot)slot, i)); i++) {
            char system[96];
            if (need_not_run(policy))
                continue;
            snprintf(system, sizeof system, "nvidia:%s=%s", ff__slot_name((enum ff__slot)slot),
                     policy->name);
            check_system(system);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_policies),
    };
    return run_or_skip(tests);
}
