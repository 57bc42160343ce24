/* Kernels in bulk: time by the roofline, every missing page comes, orders of nests, iterations,
 * notes. */
#include "base/cases.h"

#include "backend/sim/lms/lms.h"

#include <errno.h>

#define MIB (UINT64_C(1) << 20)

struct bulk {
    struct ff__operand operand;
    double flops, traffic;
    uint32_t launches;
    bool host_writes;
};

static bool bulk_action(const struct ff__workload *workload, uint64_t index,
                        struct ff__action *out) {
    const struct bulk *bulk = workload->data;
    *out = (struct ff__action){.bytes = workload->arrays[0].bytes};
    if (index == 0)
        out->kind = FF__ACTION_ALLOCATE;
    else if (index == 1)
        out->kind = bulk->host_writes ? FF__ACTION_HOST_WRITE : FF__ACTION_SYNCHRONIZE;
    else if (index < 2 + 2 * (uint64_t)bulk->launches && index % 2 == 1)
        out->kind = FF__ACTION_ITERATION;
    else if (index < 2 + 2 * (uint64_t)bulk->launches) {
        out->kind = FF__ACTION_LAUNCH;
        out->kernel = (struct ff__kernel){.name = "bulk",
                                          .identity = 7,
                                          .ctas = 1,
                                          .warps = 1,
                                          .operands = &bulk->operand,
                                          .operand_count = 1,
                                          .flops = bulk->flops,
                                          .traffic = bulk->traffic};
    } else if (index == 2 + 2 * (uint64_t)bulk->launches)
        out->kind = FF__ACTION_FREE;
    else
        return false;
    return true;
}

static const struct ff__workload_type bulk_type = {
    .name = "bulk", .summary = "kernels in bulk", .action = bulk_action};

static struct ff__gpu gpu;

static struct ff__sim_result run(const struct bulk *bulk, uint64_t bytes, const char *preset,
                                 const char *system, uint64_t memory) {
    struct ff__array array = {.name = "data", .bytes = bytes};
    struct ff__workload workload = {.type = &bulk_type,
                                    .name = "bulk",
                                    .arrays = &array,
                                    .array_count = 1,
                                    .data = (void *)(uintptr_t)bulk};
    struct ff_error error = {""};
    struct ff__sim_config config = {
        .gpu = &gpu, .memory = memory, .devices = 1, .seed = 1, .check = true};
    struct ff__sim_result result = {0};
    if (ff__gpu_read_spec(preset, GPU_FOLDER, &gpu, &error) ||
        ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s", error.message);
    return result;
}

static struct bulk stream_of(uint64_t bytes, uint32_t launches) {
    struct bulk bulk = {.operand = ff__operand_of(0, bytes),
                        .flops = 1e9,
                        .launches = launches,
                        .host_writes = true};
    bulk.operand.write = true;
    return bulk;
}

/* Once all is there, a kernel takes what the slower of arithmetic and memory takes. */
static void test_time(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 3);
    bulk.flops = 15.7e12 * 2e-3;
    bulk.traffic = 900e9 * 1e-3;
    struct ff__sim_result r = run(&bulk, 16 * MIB, "v100-32g", "nvidia", 0);
    assert_int_equal(r.iterations, 3);
    assert_in_range(r.last_iteration.time_ns, 2000000, 2020000);
    bulk.traffic = 900e9 * 3e-3;
    r = run(&bulk, 16 * MIB, "v100-32g", "nvidia", 0);
    assert_in_range(r.last_iteration.time_ns, 3000000, 3020000);
}

/* On demand, every page faults once, whatever the device. */
static void test_every_page(void **state) {
    (void)state;
    static const char *const gpus[] = {"gtx1080ti", "v100-32g"};
    struct bulk bulk = stream_of(16 * MIB, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result r = run(&bulk, 16 * MIB, gpus[i], "demand", 0);
        assert_int_equal(r.faults, 4096);
        assert_int_equal(r.pages_in, 4096);
        assert_int_equal(r.demanded, 4096);
        assert_int_equal(r.demanded_hits, 0);
    }
}

/* All of a matrix by panels, and a gather of one page in sixteen. */
static void test_nests(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 1);
    bulk.operand.run = 4096;
    bulk.operand.loop[0] = (struct ff__loop){4, 4 * MIB};
    bulk.operand.loop[1] = (struct ff__loop){4, 4096};
    bulk.operand.loop[2] = (struct ff__loop){256, 16384};
    struct ff__sim_result r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_int_equal(r.faults, 4096);
    assert_int_equal(r.demanded, 4096);
    assert_int_equal(r.demanded_hits, 0);
    bulk.operand.run = 512;
    bulk.operand.loop[0] = (struct ff__loop){256, 65536};
    bulk.operand.loop[1] = bulk.operand.loop[2] = (struct ff__loop){1, 0};
    r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_int_equal(r.faults, 256);
    assert_int_equal(r.demanded, 256);
    assert_int_equal(r.demanded_hits, 0);
    assert_int_equal(r.hits, 0);
}

/* Pages that come several times within a launch have been demanded, and missed, once. */
static void test_demand(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 2);
    bulk.operand.loop[0] = (struct ff__loop){3, 0};
    struct ff__sim_result r = run(&bulk, 16 * MIB, "v100-32g", "demand", 8 * MIB);
    assert_true(r.pages_in > 4 * 4096);
    assert_int_equal(r.demanded, 2 * 4096);
    assert_int_equal(r.demanded_hits, 0);
    assert_int_equal(r.accesses, 6 * 4096);
    r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_int_equal(r.demanded_hits, 4096);
    assert_int_equal(r.hits, 5 * 4096);
}

/* A step that lies in more blocks than there is memory for ends, as its pages are used one after
 * the other; each comes once, and what was written to goes back. */
static void test_wide_steps_end(void **state) {
    (void)state;
    static const char *const systems[] = {"demand", "nvidia",      "nvidia-1",  "nvidia-random",
                                          "deepum", "deepum-plus", "deepum-far"};
    struct bulk bulk = stream_of(128 * MIB, 2);
    bulk.operand.run = 512;
    bulk.operand.loop[2] = (struct ff__loop){64, 2 * MIB};
    for (unsigned i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        struct ff__sim_result r = run(&bulk, 128 * MIB, "v100-32g", systems[i], 4 * MIB);
        assert_true(r.faults <= 2 * 64);
        assert_in_range(r.stats.evictions, 64 - 2, 2 * 64);
        assert_true(r.evicted_dirty >= 64 - 2);
        assert_int_equal(r.demanded, 2 * 64);
    }
}

/* Larger than memory: every iteration migrates everything again. */
static void test_oversubscribed(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 4);
    struct ff__sim_result r = run(&bulk, 16 * MIB, "v100-32g", "demand", 8 * MIB);
    assert_int_equal(r.last_iteration.faults, 4096);
    assert_int_equal(r.last_iteration.pages_in, 4096);
    r = run(&bulk, 16 * MIB, "v100-32g", "deepum-plus", 8 * MIB);
    assert_true(r.last_iteration.faults < 4096 / 4);
}

/* Parts of a quarter of a page are those of four SMs; or all of it is read by eight at a time. */
static void test_duplicates(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 1);
    struct ff__sim_result r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_in_range(r.duplicates, 0, 4096 / 100); /* where parts do not begin with a page */
    bulk.operand.part = 1024;
    r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_int_equal(r.faults, 4096);
    assert_in_range(r.duplicates, 3 * 4096 * 9 / 10, 4 * 4096); /* a fifth begins before some */
    bulk.operand.part = 4096;
    bulk.operand.readers = 8;
    r = run(&bulk, 16 * MIB, "v100-32g", "demand", 0);
    assert_int_equal(r.faults, 4096);
    assert_in_range(r.duplicates, 7 * 4096 * 9 / 10, 15 * 4096); /* parts that share a page */
}

/* A batch is full, where as many CTAs miss pages, and each of its entries takes the driver's time;
 * one of a page that has an entry already takes more where the preset says so. */
static void test_batches(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 1);
    bulk.operand.part = 1024;
    static const char *const gpus[] = {"v100-32g", "v100-32g:duplicate_ns=2300"};
    for (int i = 0; i < 2; i++) {
        struct ff__sim_result r = run(&bulk, 16 * MIB, gpus[i], "demand", 0);
        uint64_t entries = r.faults + r.duplicates;
        assert_true(r.duplicates > 0 && (gpu.duplicate_ns > 0) == (i == 1));
        assert_in_range(r.batches, entries / 256, entries / 256 * 3 / 2);
        /* beside them: what batches take, and pages, and what each block of a batch takes, with its
         * copy */
        uint64_t driver = entries * gpu.entry_ns + r.duplicates * gpu.duplicate_ns +
                          r.batches * (gpu.batch_ns + gpu.replay_ns) + 4096 * gpu.page_ns +
                          r.link_in_ns;
        uint64_t block = gpu.block_ns + (uint64_t)gpu.in.latency_ns;
        assert_int_equal((r.fault_ns - driver) % block, 0);
        assert_in_range((r.fault_ns - driver) / block, r.batches, r.batches + 7); /* of 8 blocks */
    }
}

/* Before a replay the driver drops what came too late for the batch, at a cost where the preset
 * says so. A step is 157 pages, on each of which up to five SMs fault: of 785 entries the first
 * batch leaves 529 behind, the second 273, the third 17. */
static void test_flushes(void **state) {
    (void)state;
    struct bulk bulk = stream_of(16 * MIB, 1);
    bulk.operand.part = 1024;
    struct ff__sim_result free = run(&bulk, 16 * MIB, "v100-32g", "demand", 0),
                          paid = run(&bulk, 16 * MIB, "v100-32g:flush_ns=1000", "demand", 0);
    assert_int_equal(paid.batches, free.batches);
    assert_int_equal(paid.faults + paid.duplicates, free.faults + free.duplicates);
    assert_int_equal((paid.fault_ns - free.fault_ns) % 1000, 0);
    uint64_t entries = free.faults + free.duplicates;
    assert_in_range((paid.fault_ns - free.fault_ns) / 1000, entries * 19 / 20, entries * 11 / 10);
}

static bool extrapolates;

static struct ff__sim_result train(const char *spec, const char *system, uint64_t memory) {
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    struct ff__sim_config config = {
        .gpu = &gpu, .memory = memory, .devices = 1, .seed = 1, .extrapolates = extrapolates};
    struct ff__sim_result result = {0};
    if (ff__gpu_read("v100-32g", GPU_FOLDER, &gpu, &error) ||
        ff__workload_open(spec, 1, &workload, &error) ||
        ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, workload, &result, &error))
        fail_msg("%s", error.message);
    ff__workload_close(workload);
    return result;
}

/* A small network: the same twice; what is inactive is not copied; LMS swaps, and fails with too
 * little. */
static void test_training(void **state) {
    (void)state;
    const char *spec = "bert-base:batch=2,iterations=5";
    struct ff__sim_result um = train(spec, "nvidia", 2048 * MIB);
    struct ff__sim_result again = train(spec, "nvidia", 2048 * MIB);
    assert_memory_equal(&um, &again, sizeof um);
    struct ff__sim_result copies = train(spec, "deepum:discard=declared", 2048 * MIB);
    struct ff__sim_result drops = train(spec, "deepum", 2048 * MIB);
    assert_true(drops.last_iteration.pages_out < copies.last_iteration.pages_out);
    assert_true(drops.last_iteration.time_ns < um.last_iteration.time_ns);
    assert_true(drops.last_iteration.faults < um.last_iteration.faults / 2);
    struct ff__sim_result plus = train(spec, "deepum-plus", 2048 * MIB);
    assert_true(plus.last_iteration.faults < um.last_iteration.faults / 10);
}

/* Extrapolated iterations equal those that would have been run: exactly if iterations repeat, and
 * within a thousandth if tables keep changing. */
static void test_steady_state(void **state) {
    (void)state;
    static const char *const systems[] = {"nvidia", "deepum-plus"};
    for (int i = 0; i < 2; i++) {
        extrapolates = false;
        struct ff__sim_result all =
            train("bert-base:batch=2,iterations=24", systems[i], 2048 * MIB);
        extrapolates = true;
        struct ff__sim_result extrapolated =
            train("bert-base:batch=2,iterations=24", systems[i], 2048 * MIB);
        extrapolates = false;
        print_message("%s: %.3f ms, %.3f ms from %llu of %llu iterations\n", systems[i],
                      (double)all.time_ns * 1e-6, (double)extrapolated.time_ns * 1e-6,
                      (unsigned long long)extrapolated.iterations_run,
                      (unsigned long long)extrapolated.iterations);
        assert_int_equal(all.iterations_run, 24);
        assert_int_equal(extrapolated.iterations, 24);
        assert_true(extrapolated.iterations_run < 24);
        assert_in_range(extrapolated.time_ns, all.time_ns - all.time_ns / 1000,
                        all.time_ns + all.time_ns / 1000);
        if (i == 0)
            assert_int_equal(extrapolated.faults, all.faults);
    }
}

static void test_lms(void **state) {
    (void)state;
    struct ff__workload *workload;
    struct ff_error error = {""};
    struct ff__sim_result roomy, tight;
    assert_int_equal(ff__gpu_read("v100-32g", GPU_FOLDER, &gpu, &error), 0);
    assert_int_equal(ff__workload_open("bert-base:batch=2", 1, &workload, &error), 0);
    struct ff__lms_config config = {&gpu, 0, false};
    assert_int_equal(ff__lms_run(&config, workload, 3, &roomy, &error), 0);
    config.memory = 2048 * MIB;
    assert_int_equal(ff__lms_run(&config, workload, 3, &tight, &error), 0);
    assert_true(tight.bytes_in > 0);
    assert_true(tight.bytes_out >=
                tight.bytes_in); /* what came back is copied again when it goes */
    assert_true(tight.last_iteration.time_ns > roomy.last_iteration.time_ns);
    config.memory = 256 * MIB;
    assert_int_equal(ff__lms_run(&config, workload, 3, &tight, &error), -ENOSPC);
    ff__workload_close(workload);
    assert_int_equal(ff__workload_open("stream", 1, &workload, &error), 0);
    assert_int_equal(ff__lms_run(&config, workload, 3, &tight, &error), -ENOTSUP);
    ff__workload_close(workload);
}

/* Fully resident iterations, which leave nothing behind, are extrapolated to the picosecond. */
static void test_rests(void **state) {
    (void)state;
    const char *spec = "bert-base:batch=2,iterations=12";
    struct ff__sim_result all = train(spec, "nvidia-1", 16384 * MIB),
                          extrapolated = train(spec, "nvidia-1", 0);
    assert_int_equal(all.iterations_run, 12);
    assert_true(extrapolated.iterations_run < 6);
    assert_int_equal(extrapolated.iterations, 12);
    assert_int_equal(extrapolated.time_ps, all.time_ps);
    assert_int_equal(extrapolated.time_ns, all.time_ns);
    assert_int_equal(extrapolated.kernel_ns, all.kernel_ns);
    assert_int_equal(extrapolated.hits, all.hits);
    assert_int_equal(extrapolated.stats.faults, all.stats.faults);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),           cmocka_unit_test(test_every_page),
        cmocka_unit_test(test_nests),          cmocka_unit_test(test_demand),
        cmocka_unit_test(test_wide_steps_end), cmocka_unit_test(test_oversubscribed),
        cmocka_unit_test(test_training),       cmocka_unit_test(test_lms),
        cmocka_unit_test(test_rests),          cmocka_unit_test(test_steady_state),
        cmocka_unit_test(test_duplicates),     cmocka_unit_test(test_batches),
        cmocka_unit_test(test_flushes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
