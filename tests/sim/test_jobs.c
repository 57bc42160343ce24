/* Jobs beside each other on devices of their own: each counts what it counts alone, and the sum is
 * that of both. Links: which transfers wait for which. */
#include "sim/little.h"

#include "backend/sim/machine/links.h"

#include <errno.h>

#define MIB  (UINT64_C(1) << 20)
#define JOBS 2

static const struct little works[JOBS] = {
    {.pages = 4096, .launches = 3, .passes = 2, .ctas = 8, .warps = 4, .host_writes = true},
    {.pages = 2560, .launches = 2, .passes = 3, .ctas = 4, .warps = 8, .writes = true},
};

static const char *const gpus[] = {"v100-16g", "gtx1080ti"};

static struct ff__sim_config config_of(const struct ff__gpu *gpu, const char *system) {
    struct ff_error error = {""};
    struct ff__sim_config config = {
        .gpu = gpu, .memory = 8 * MIB, .devices = JOBS, .seed = 1, .check = true};
    assert_int_equal(ff__system_parse(system, &config.system, &error), 0);
    return config;
}

static void run_both(const struct ff__sim_config *config, struct ff__sim_result out[JOBS],
                     struct ff__sim_result *all) {
    struct ff__array arrays[JOBS];
    struct ff__workload workloads[JOBS];
    struct ff__sim_job jobs[JOBS];
    struct ff_error error = {""};
    for (uint32_t i = 0; i < JOBS; i++) {
        workloads[i] = little_workload(&works[i], &arrays[i]);
        jobs[i] = (struct ff__sim_job){.workload = &workloads[i], .first_device = i, .devices = 1};
    }
    assert_int_equal(ff__sim_run_jobs(config, jobs, JOBS, all, &error), 0);
    for (uint32_t i = 0; i < JOBS; i++)
        out[i] = jobs[i].result;
}

static void check_same(const struct ff__sim_result *beside, const struct ff__sim_result *alone) {
#define SAME(member) assert_int_equal(beside->member, alone->member)
    SAME(instructions);
    SAME(accesses);
    SAME(hits);
    SAME(faults);
    SAME(batches);
    SAME(demanded);
    SAME(demanded_hits);
    SAME(pages_in);
    SAME(pages_out);
    SAME(bytes_in);
    SAME(bytes_out);
    SAME(evicted_clean);
    SAME(evicted_dirty);
    SAME(thrashed);
    SAME(prefetched);
    SAME(prefetched_useless);
    SAME(link_in_ns);
    SAME(link_out_ns);
    SAME(kernel_ns);
    SAME(stall_ns);
    SAME(time_ps);
#undef SAME
}

static void test_alone(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    static const char *const systems[] = {"demand", "nvidia"};
    for (unsigned i = 0; i < 8; i++) {
        struct ff__sim_result beside[JOBS], all, sum = {0};
        assert_int_equal(ff__gpu_read(gpus[i / 2 % 2], GPU_FOLDER, &gpu, &error), 0);
        struct ff__sim_config config = config_of(&gpu, systems[i % 2]);
        config.untimed = i >= 4;
        run_both(&config, beside, &all);
        config.devices = 1;
        for (uint32_t job = 0; job < JOBS; job++) {
            struct ff__sim_result alone;
            assert_int_equal(little_try(&works[job], &config, systems[i % 2], &alone, &error), 0);
            check_same(&beside[job], &alone);
            sum.faults += alone.faults;
            sum.bytes_in += alone.bytes_in;
            sum.time_ps = alone.time_ps > sum.time_ps ? alone.time_ps : sum.time_ps;
        }
        assert_int_equal(all.faults, sum.faults);
        assert_int_equal(all.stats.faults, sum.faults);
        assert_int_equal(all.bytes_in, sum.bytes_in);
        assert_int_equal(all.time_ps, sum.time_ps);
    }
}

static void test_devices_of_jobs(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct ff__array arrays[JOBS];
    struct ff__sim_result all;
    static const struct {
        uint32_t first, devices;
    } wrong[][JOBS] = {{{0, 1}, {0, 1}}, {{0, 2}, {1, 1}}, {{1, 1}, {0, 1}},
                       {{0, 1}, {1, 2}}, {{0, 1}, {2, 1}}, {{0, 1}, {1, 0}}};
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error), 0);
    struct ff__sim_config config = config_of(&gpu, "nvidia");
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ff__workload workloads[JOBS] = {little_workload(&works[0], &arrays[0]),
                                               little_workload(&works[1], &arrays[1])};
        struct ff__sim_job jobs[JOBS];
        for (uint32_t job = 0; job < JOBS; job++)
            jobs[job] = (struct ff__sim_job){.workload = &workloads[job],
                                             .first_device = wrong[i][job].first,
                                             .devices = wrong[i][job].devices};
        assert_int_equal(ff__sim_run_jobs(&config, jobs, JOBS, &all, &error), -EINVAL);
        assert_non_null(strstr(error.message, "devices of its own"));
    }
}

/* ---- links ---- */

/* Ends of transfers of a MiB at time 0, in turn. */
static uint64_t hold(struct links *links, uint32_t from, uint32_t to) {
    const struct link *link = ff__link_between(links, from, to);
    return ff__link_hold(links, link, ff__link_transfer_ns(link, MIB) * 1000, 0);
}

static void test_links(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct links links = {0};
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error), 0);
    assert_int_equal(ff__links_init(&links, &gpu, NULL, 3), 0);
    uint64_t in = ff__link_ns(&gpu.in, MIB) * 1000, peer = ff__link_ns(&gpu.peer, MIB) * 1000;
    /* each device has a link of its own, and uses both directions at the same time */
    assert_int_equal(hold(&links, 0, 1), in);
    assert_int_equal(hold(&links, 0, 2), in);
    assert_int_equal(hold(&links, 0, 1), 2 * in);
    assert_int_equal(hold(&links, 1, 0), ff__link_ns(&gpu.out, MIB) * 1000);
    /* one port for all peers, in both directions */
    assert_int_equal(hold(&links, 1, 2), peer);
    assert_int_equal(hold(&links, 3, 1), 2 * peer);
    assert_int_equal(hold(&links, 2, 3), 3 * peer);
    assert_null(ff__link_between(&links, 2, 2)->model);
    /* a switch above two devices is a port that both links share */
    links.between[2].ports[links.between[2].port_count++] = links.between[1].ports[0];
    assert_int_equal(hold(&links, 0, 2), 3 * in);
    assert_int_equal(hold(&links, 0, 1), 4 * in);
    assert_int_equal(hold(&links, 0, 3), in);
    ff__links_fini(&links);
}

/* Accesses wait for each other, and take turns with the packets of transfers; transfers wait for
 * them. */
static void test_accesses(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct links links = {0};
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error), 0);
    assert_int_equal(ff__links_init(&links, &gpu, NULL, 2), 0);
    uint64_t in = ff__link_ns(&gpu.in, MIB) * 1000;
    links.takes_turns = true;
    assert_int_equal(hold(&links, 0, 1), in);
    assert_int_equal(ff__link_pass(&links, 0, 1, 100, 10), 210);
    assert_int_equal(ff__link_pass(&links, 0, 1, 50, 20), 310);
    assert_int_equal(hold(&links, 0, 1), 2 * in + 150);
    /* with half of the link until the copies have passed, alone from then on */
    uint64_t copied = 2 * in + 150, half = (copied - 310) / 2;
    assert_int_equal(ff__link_pass(&links, 0, 1, 3 * in, 310), 310 + 3 * in + half);
    links.takes_turns = false;
    /* what waits behind other accesses on a free link keeps it from transfers until it has passed
     */
    assert_int_equal(ff__link_pass(&links, 0, 2, 2 * in, 0), 2 * in);
    assert_int_equal(ff__link_pass(&links, 0, 2, in, in), 3 * in);
    assert_int_equal(hold(&links, 0, 2), 4 * in);
    assert_int_equal(ff__link_pass(&links, 0, 2, in, 3 * in), 4 * in);
    assert_int_equal(hold(&links, 1, 0), ff__link_ns(&gpu.out, MIB) * 1000);
    ff__links_fini(&links);
}

static const struct ff__sim_capacity at_once[] = {{0, 4 * MIB, 0}},
                                     wrong[] = {{0, 14 * MIB, 0}, {0, 4095, 0}, {0, 4 * MIB, 1}};

/* A device that has less memory from the beginning is one that has less; it cannot have more than
 * it was made with. */
static void test_capacity_from_the_beginning(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result less, lessened;
        assert_int_equal(ff__gpu_read(gpus[i], GPU_FOLDER, &gpu, &error), 0);
        struct ff__sim_config config = config_of(&gpu, "nvidia");
        config.devices = 1;
        config.memory = 4 * MIB;
        assert_int_equal(little_try(&works[1], &config, "nvidia", &less, &error), 0);
        config.memory = 12 * MIB;
        config.capacities = at_once;
        config.capacity_count = 1;
        assert_int_equal(little_try(&works[1], &config, "nvidia", &lessened, &error), 0);
        check_same(&lessened, &less);
        for (unsigned w = 0; w < 3; w++) {
            config.capacities = &wrong[w];
            assert_int_equal(little_try(&works[1], &config, "nvidia", &less, &error), -EINVAL);
        }
    }
}

/* A device that loses most of its memory for a while: it takes longer than with all of it, but not
 * as long as with that little, and what was too much has gone. */
static void test_capacity_changes(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct ff__sim_result whole, little, changing;
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error), 0);
    struct ff__sim_config config = config_of(&gpu, "nvidia");
    config.devices = 1;
    config.memory = 4 * MIB;
    assert_int_equal(little_try(&works[1], &config, "nvidia", &little, &error), 0);
    config.memory = 12 * MIB;
    assert_int_equal(little_try(&works[1], &config, "nvidia", &whole, &error), 0);
    const struct ff__sim_capacity changes[] = {{whole.time_ns / 10 * 9, 4 * MIB, 0},
                                               {whole.time_ns, 12 * MIB, 0}};
    config.capacities = changes;
    config.capacity_count = 2;
    assert_int_equal(little_try(&works[1], &config, "nvidia", &changing, &error), 0);
    assert_true(changing.time_ns > whole.time_ns && changing.time_ns < little.time_ns);
    assert_true(changing.stats.overshoot_peak > 0);
    assert_int_equal(changing.stats.overshoot, 0);
    assert_int_equal(changing.demanded, whole.demanded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_capacity_from_the_beginning),
        cmocka_unit_test(test_capacity_changes),
        cmocka_unit_test(test_devices_of_jobs),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_accesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
