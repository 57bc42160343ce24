/* What each thing costs in modelled time, exactly, on every preset: batches of faults, evictions,
 * pre-eviction, what the TLBs reach, links between devices. The constants behind every table cannot
 * change unnoticed. */
#include "golden/golden.h"

#include "sim/little.h"

#include <inttypes.h>

#define MIB (UINT64_C(1) << 20)
#define COLUMNS                                                                                    \
    "gpu case\ttime_ns kernel_ns fault_ns stall_ns link_in_ns link_out_ns link_peer_ns batches "   \
    "faults pages_in pages_out evictions dirty clean walks demanded hits"

static const struct costs {
    const char *name, *system;
    uint64_t memory;
    struct little little;
} costs[] = {
    {"1-fault", "demand", 0, {.pages = 1, .ctas = 1, .warps = 1}},
    /* at one time, of one block: a full batch, and two */
    {"256-faults", "demand", 0, {.pages = 256, .ctas = 8, .warps = 1, .wide = 32}},
    {"512-faults", "demand", 0, {.pages = 512, .ctas = 16, .warps = 1, .wide = 32}},
    /* of 16 blocks */
    {"16-blocks", "demand", 0, {.pages = 8192, .ctas = 1, .warps = 1, .wide = 16}},
    {"whole-block", "nvidia-1", 0, {.pages = 512, .ctas = 1, .warps = 1}},
    /* two evictions, of what was read and of what was written to */
    {"evictions-clean", "nvidia-1", 2 * MIB, {.pages = 1536, .ctas = 1, .warps = 1}},
    {"evictions-dirty",
     "nvidia-1",
     2 * MIB,
     {.pages = 1536, .ctas = 1, .warps = 1, .writes = true}},
    {"evictions-by-page",
     "demand",
     2 * MIB,
     {.pages = 1536, .ctas = 1, .warps = 1, .writes = true}},
    /* DeepUM's, and the same without making room ahead */
    {"pre-eviction",
     "deepum-plus",
     64 * MIB,
     {.pages = 24576, .launches = 4, .ctas = 8, .warps = 1}},
    {"no-pre-eviction",
     "deepum-plus:preevict=0",
     64 * MIB,
     {.pages = 24576, .launches = 4, .ctas = 8, .warps = 1}},
/* a loop over more than fits, with parts of DeepUM left out */
#define LOOP                                                                                       \
    { .pages = 24576, .launches = 8, .ctas = 8, .warps = 1 }
    {"loop-deepum", "deepum", 64 * MIB, LOOP},
    {"loop-deepum-plus", "deepum-plus", 64 * MIB, LOOP},
    {"loop-deepum-far", "deepum-far", 64 * MIB, LOOP},
    {"loop-pairs", "deepum-plus:prefetch=correlation", 64 * MIB, LOOP},
    {"loop-pages", "deepum-plus:whole=0", 64 * MIB, LOOP},
    {"loop-lrm", "deepum-plus:evict=lrm", 64 * MIB, LOOP},
    {"loop-random", "nvidia-random", 64 * MIB, LOOP},
    {"free-buffer",
     "demand:evict=lru-4k,buffer=50",
     2 * MIB,
     {.pages = 768, .launches = 2, .ctas = 1, .warps = 1}},
    /* twice over as many pages as the TLBs hold, and over an eighth more; a GTX 1080 Ti's hold 4096
     */
    {"4096-pages-twice", "nvidia-1", 0, {.pages = 4096, .passes = 2, .ctas = 1, .warps = 1}},
    {"4608-pages-twice", "nvidia-1", 0, {.pages = 4608, .passes = 2, .ctas = 1, .warps = 1}},
    {"32768-pages-twice", "nvidia-1", 0, {.pages = 32768, .passes = 2, .ctas = 1, .warps = 1}},
    {"36864-pages-twice", "nvidia-1", 0, {.pages = 36864, .passes = 2, .ctas = 1, .warps = 1}},
    /* at the same time, and one after the other */
    {"two-devices",
     "nvidia",
     0,
     {.pages = 4096, .launches = 2, .passes = 3, .ctas = 8, .warps = 4, .devices = 2}},
    {"devices-in-turn",
     "nvidia",
     0,
     {.pages = 4096, .launches = 4, .ctas = 8, .warps = 4, .devices = 2, .synchronizes = true}},
    {"remote", "zerocopy", 0, {.pages = 512, .ctas = 4, .warps = 2}},
};

static void add_costs(struct golden *golden, const char *gpu, const struct costs *cost) {
    struct little little = cost->little;
    char key[96];
    little.launches = little.launches ? little.launches : 1;
    little.host_writes = true;
    struct ff__sim_result r = little_run(&little, gpu, cost->system, cost->memory);
    snprintf(key, sizeof key, "%s %s", gpu, cost->name);
    golden_add(golden, key,
               "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 " %" PRIu64,
               r.time_ns, r.kernel_ns, r.fault_ns, r.stall_ns, r.link_in_ns, r.link_out_ns,
               r.link_peer_ns, r.batches, r.faults, r.pages_in, r.pages_out, r.stats.evictions,
               r.evicted_dirty, r.evicted_clean, r.walks, r.demanded, r.demanded_hits);
}

static void test_costs(void **state) {
    (void)state;
    static const char *const gpus[] = {"v100-16g", "v100-32g", "a100-40g", "h100-80g", "gtx1080ti"};
    struct golden golden = golden_open("costs", COLUMNS);
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
        for (size_t j = 0; j < sizeof costs / sizeof costs[0]; j++)
            add_costs(&golden, gpus[i], &costs[j]);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
