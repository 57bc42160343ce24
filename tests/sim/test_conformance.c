/* Every registered system and policy in the simulator, on devices that hand out memory by the block,
 * the leaf and the page, with every invariant checked after every event. */
#include "policy/met.h"
#include "sim/little.h"

#define MIB (UINT64_C(1) << 20)

static const struct little work = {.pages = 3000,
                                   .launches = 3,
                                   .ctas = 13,
                                   .warps = 3,
                                   .writes = true,
                                   .host_writes = true,
                                   .host_reads = true};

static void check_counts(const struct ff__sim_result *r, const char *system, uint64_t memory) {
    const struct ff_stats *stats = &r->stats;
    uint64_t came = stats->pages_in + stats->populated;
    uint64_t left = stats->pages_out + stats->pages_dropped;
    if (r->accesses != 3 * work.pages || r->demanded != r->accesses || r->hits > r->accesses)
        fail_msg("%s: %llu accesses", system, (unsigned long long)r->accesses);
    if (left > came || stats->resident != 0 || stats->resident_peak > memory)
        fail_msg("%s: %llu pages came, %llu left", system, (unsigned long long)came,
                 (unsigned long long)left); /* what is freed where it is has not left */
    if (came + r->remote < work.pages)
        fail_msg("%s: pages were used that never came", system);
}

/* Twice, for the same results. */
static void check_run(const char *system, const char *gpu, uint64_t granule, uint64_t memory) {
    struct little here = work;
    here.granule = granule;
    struct ff__sim_result a = little_run(&here, gpu, system, memory);
    check_counts(&a, system, memory);
    if (SANITIZED)
        return;
    struct ff__sim_result b = little_run(&here, gpu, system, memory);
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("%s: not the same twice", system);
}

/* With tight and with ample memory; what is interesting happens where it is tight. */
static void check_system(const char *system) {
    for (uint64_t memory = 8 * MIB; memory <= (SANITIZED ? 8 : 16) * MIB; memory += 8 * MIB) {
        check_run(system, "v100-16g", FF_BLOCK_SIZE, memory);
        check_run(system, "gtx1080ti", FF_PAGE_SIZE, memory);
    }
    check_run(system, "v100-16g", FF_LEAF_SIZE, 8 * MIB);
    struct ff__system parts;
    assert_int_equal(ff__system_parse(system, &parts, NULL), 0);
    meet(&parts);
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

/* Halves of systems that see different things, together. */
static void test_mixed(void **state) {
    (void)state;
    check_system("deepum:evict=forest");
    check_system("deepum-plus:evict=forest");
    check_system("specforest:evict=predicted");
    check_system("hlsh:evict=forest,slack=0ns");
}

/* What is learned in the background takes effect at a fixed instant: the same results, whatever the
 * machine is busy with. */
static void test_learning(void **state) {
    static const struct little rounds = {.pages = 3000, .launches = 8, .ctas = 13, .warps = 3};
    static const char system[] = "hlsh-tree:tune=1600000,distance=4,steps=3";
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    (void)state;
    for (unsigned i = 0; i < (SANITIZED ? 1 : 2); i++) {
        struct ff__sim_result a = little_run(&rounds, gpus[i], system, 8 * MIB);
        struct ff__sim_result b = little_run(&rounds, gpus[i], system, 8 * MIB);
        if (memcmp(&a, &b, sizeof a) != 0)
            fail_msg("%s on %s: not the same twice", system, gpus[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
