/* What a sparse and a dense workload count on devices that allocate memory by the leaf, and as the
 * others by the chunk, under every system: only what the granule changes may differ between the
 * two. */
#include "golden/golden.h"

#include <inttypes.h>

#include "backend/sim/sim.h"

#define GPU "v100-32g"
#define COLUMNS                                                                                    \
    "workload granule system\ttime_ns faults pages_in pages_out dropped prefetched evictions "     \
    "refaults resident_peak"

static void add_run(struct golden_systems *all, struct ff__workload *workload, uint64_t granule,
                    const char *system) {
    struct golden *golden = golden_of(all, system);
    static struct ff__gpu gpu;
    char key[128];
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &gpu, .devices = 1, .seed = 1};
    struct ff__sim_result r;
    int status = ff__gpu_read(GPU, GPU_FOLDER, &gpu, &error);
    gpu.granule = granule;
    config.memory = ff__workload_footprint(workload) * 2 / 3 / FF_BLOCK_SIZE * FF_BLOCK_SIZE;
    if (!status)
        status = ff__system_parse(system, &config.system, &error);
    if (!status)
        status = ff__sim_run(&config, workload, &r, &error);
    snprintf(key, sizeof key, "%s %" PRIu64 "K %s", workload->type->name, granule >> 10, system);
    if (status)
        fail_msg("%s: %s", key, error.message);
    assert_true(r.stats.resident_peak <= config.memory);
    golden_add(golden, key,
               "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64,
               r.time_ns, r.faults, r.pages_in, r.pages_out, r.pages_dropped, r.prefetched,
               r.stats.evictions, r.stats.refaults, r.stats.resident_peak);
}

static void test_granules(void **state) {
    static const char *const workloads[] = {"bfs:size=6M", "ra:size=8M", "sssp:size=8M,rounds=5",
                                            "addvectors:size=12M"};
    static const char *const systems[] = {"demand", "nvidia",      "nvidia-random",
                                          "deepum", "deepum-plus", "demand:evict=lru-4k",
                                          "oracle"};
    struct golden_systems golden = golden_systems_open("granules", "granules-ours", COLUMNS);
    (void)state;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        struct ff__workload *workload = NULL;
        struct ff_error error = {""};
        if (ff__workload_open(workloads[i], 1, &workload, &error))
            fail_msg("%s: %s", workloads[i], error.message);
        for (size_t j = 0; j < sizeof systems / sizeof systems[0]; j++) {
            add_run(&golden, workload, FF_BLOCK_SIZE, systems[j]);
            add_run(&golden, workload, FF_LEAF_SIZE, systems[j]);
        }
        ff__workload_close(workload);
    }
    golden_close(&golden.published);
    golden_close(&golden.ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_granules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
