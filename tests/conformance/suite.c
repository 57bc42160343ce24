/* Every registered system and policy on one backend: those that see enough there run a program that
 * does not fit, and keep its data; the others are refused with what they would have to see. */
#include "conformance/suite.h"

#include "policy/registry.h"

#include <errno.h>

#define MET_MAX 256u
#define ROUNDS  3u

static const struct subject *subject;

/* ---- which policies have run as part of a system with a name ---- */

static const struct ff_policy *met[MET_MAX];
static unsigned met_count;

static bool is_met(const struct ff_policy *policy) {
    unsigned i = 0;
    while (i < met_count && met[i] != policy)
        i++;
    return i < met_count;
}

static void meet(const struct ff__system *system) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        if (is_met(system->policy[slot]))
            continue;
        assert_true(met_count < MET_MAX);
        met[met_count++] = system->policy[slot];
    }
}

/* ---- one system on one device ---- */

/* The one that is refused: the first that must see what is not shown. */
static const struct ff_policy *refused_of(const struct ff__system *system) {
    for (int slot = 0; slot < FF__SLOTS; slot++)
        if (system->policy[slot]->sees & ~subject->shows)
            return system->policy[slot];
    return NULL;
}

static void check_refusal(const char *system, const struct ff_policy *policy, int status,
                          const char *message) {
    bool sees_accesses = policy->sees & FF_SEES_ACCESSES;
    if (status != -ENOTSUP || !strstr(message, policy->name) ||
        (sees_accesses && !strstr(message, "accesses")))
        fail_msg("%s: %d: %s", system, status, message);
}

static uint32_t word_of(uint32_t page, uint32_t round) {
    return round == 0 ? 0 : page * UINT32_C(0x9E3779B1) + round;
}

/* Rounds over all pages, in and out of turn. */
static void run_program(const char *system) {
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        subject->launch(true);
        for (uint32_t i = 0; i < subject->pages; i++) {
            uint32_t page = i * (round == 2 ? 37 : 1) % subject->pages;
            if (subject->read && subject->read(page) != word_of(page, round - 1))
                fail_msg("%s: page %u is not what was written", system, page);
            subject->write(page, word_of(page, round));
        }
        subject->launch(false);
    }
}

static void check_counts(const char *system, const struct device *device,
                         const struct outcome *outcome) {
    const struct ff_stats *stats = &outcome->stats;
    uint64_t came = stats->pages_in + stats->populated;
    uint64_t left = stats->pages_out + stats->pages_dropped;
    bool fits = subject->pages * (uint64_t)FF_PAGE_SIZE <= device->memory;
    if (left > came || stats->resident != 0 || stats->resident_peak > device->memory)
        fail_msg("%s: %llu pages came, %llu left", system, (unsigned long long)came,
                 (unsigned long long)left); /* what is freed where it is has not left */
    if (came + outcome->remote < subject->pages)
        fail_msg("%s: pages were used that never came", system);
    if (!fits && outcome->remote == 0 && stats->evictions == 0)
        fail_msg("%s: nothing was evicted", system);
    if (stats->launches != ROUNDS)
        fail_msg("%s: %llu launches", system, (unsigned long long)stats->launches);
}

static void check_system(const char *name) {
    struct ff__system system;
    assert_int_equal(ff__system_parse(name, &system, NULL), 0);
    const struct ff_policy *refused = refused_of(&system);
    for (const struct device *device = subject->devices; device->memory > 0; device++) {
        struct ff_error error = {""};
        struct outcome outcome;
        int status = subject->open(device, name, &error);
        if (refused) {
            check_refusal(name, refused, status, error.message);
            continue;
        }
        if (status)
            fail_msg("%s: %s", name, error.message);
        run_program(name);
        subject->close(&outcome);
        check_counts(name, device, &outcome);
    }
    if (!refused)
        meet(&system);
}

/* ---- all of them ---- */

static void test_systems(void **state) {
    (void)state;
    const struct ff__system_row *row;
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        check_system(row->name);
}

/* In place of one of `nvidia`'s. Under sanitizers, where all is slow, those need not run that a
 * system has: how parts get on with each other is for the builds without. */
static void test_policies(void **state) {
    (void)state;
    const struct ff_policy *policy;
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        for (unsigned i = 0; (policy = ff__policy_at((enum ff__slot)slot, i)); i++) {
            char system[96];
            if (SANITIZED && is_met(policy))
                continue;
            snprintf(system, sizeof system, "nvidia:%s=%s", ff__slot_name((enum ff__slot)slot),
                     policy->name);
            check_system(system);
        }
    }
}

/* Halves of systems that see different things, together. */
static void test_mixed(void **state) {
    (void)state;
    check_system("deepum:evict=forest");
    check_system("deepum-plus:evict=forest");
    check_system("specforest:evict=predicted");
    check_system("hlsh:evict=forest,slack=0ns");
}

int main(int argc, char **argv) {
    static const struct subject *const subjects[] = {&fake_subject, &soft_subject, &sim_subject};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_mixed),
    };
    for (size_t i = 0; argc == 2 && i < sizeof subjects / sizeof subjects[0]; i++)
        if (strcmp(argv[1], subjects[i]->name) == 0)
            subject = subjects[i];
    if (!subject) {
        fprintf(stderr, "test_conformance fake|soft|sim\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
