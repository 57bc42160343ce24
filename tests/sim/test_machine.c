/* Machines: their files, their links, and jobs that lend memory to each other on them. */
#include "sim/little.h"

#include "backend/sim/machine/links.h"

#include <errno.h>

#define MIB (UINT64_C(1) << 20)

static struct ff__machine machine;

static void read_machine(const char *name) {
    struct ff_error error = {""};
    if (ff__machine_read(name, GPU_FOLDER "/..", &machine, &error))
        fail_msg("%s", error.message);
}

static void test_files(void **state) {
    (void)state;
    struct ff_error error = {""};
    read_machine("all-to-all-8");
    assert_int_equal(machine.devices, 8);
    read_machine("p3.8xlarge");
    assert_int_equal(machine.devices, 4);
    assert_true(machine.peer[0][3] == 1 && machine.peer[3][0] == 1 && machine.peer[1][0] == 0.5);
    assert_true(machine.switch_of[0] == machine.switch_of[1] &&
                machine.switch_of[1] != machine.switch_of[2]);
    assert_int_equal(ff__machine_read("p3", GPU_FOLDER "/..", &machine, &error), -ENOENT);
    assert_string_equal(error.message, "there is no machine 'p3'; the nearest is p3.8xlarge; see "
                                       "farfault sim --help");
}

static uint64_t hold(struct links *links, uint32_t from, uint32_t to) {
    const struct link *link = ff__link_between(links, from, to);
    return ff__link_hold(links, link, ff__link_transfer_ns(link, MIB) * 1000, 0);
}

static void test_links(void **state) {
    (void)state;
    struct links links = {0};
    read_machine("p3.8xlarge");
    assert_int_equal(ff__links_init(&links, &machine.gpu, &machine, 4), 0);
    uint64_t in = ff__link_ns(&machine.gpu.in, MIB) * 1000,
             peer = ff__link_ns(&machine.gpu.peer, MIB) * 1000;
    /* devices behind one switch take turns */
    assert_int_equal(hold(&links, 0, 1), in);
    assert_int_equal(hold(&links, 0, 2), 2 * in);
    assert_int_equal(hold(&links, 0, 3), in);
    /* each pair has a link of its own in each direction; a single one has half the rate */
    assert_int_equal(hold(&links, 1, 4), peer);
    assert_int_equal(hold(&links, 4, 1), peer);
    assert_int_equal(hold(&links, 1, 2), 2 * peer);
    ff__links_fini(&links);
}

/* What joins a request takes what the request takes longer with it, as long as it has not passed.
 */
static void test_requests(void **state) {
    (void)state;
    const uint64_t leaf = 64 << 10, page = 4 << 10;
    struct links links = {0};
    read_machine("p3.8xlarge");
    assert_int_equal(ff__links_init(&links, &machine.gpu, &machine, 4), 0);
    const struct link *link = ff__link_between(&links, 0, 1);
    uint64_t both = ff__link_transfer_ns(link, leaf + page),
             first = ff__link_request_ns(&links, link, leaf, false, 0);
    assert_int_equal(first, ff__link_transfer_ns(link, leaf));
    ff__link_hold(&links, link, first * 1000, 0);
    uint64_t second = ff__link_request_ns(&links, link, page, true, first * 1000 - 1);
    assert_int_equal(first + second, both);
    ff__link_hold(&links, link, second * 1000, 0);
    uint64_t late = ff__link_request_ns(&links, link, page, true, both * 1000);
    assert_int_equal(late, ff__link_transfer_ns(link, page));
    assert_true(late > second);
    ff__links_fini(&links);
}

#define JOBS 2

/* A job that does not fit goes over its memory again and again, beside one that does. */
static const struct little works[JOBS] = {
    {.pages = 12288, .launches = 3, .passes = 2, .ctas = 8, .warps = 4, .host_writes = true},
    {.pages = 1024, .launches = 2, .passes = 1, .ctas = 4, .warps = 8, .writes = true},
};

static void run_jobs(const char *system, struct ff__sim_job jobs[JOBS],
                     struct ff__sim_result *all) {
    struct ff__array arrays[JOBS];
    struct ff__workload workloads[JOBS];
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &machine.gpu,
                                    .machine = &machine,
                                    .memory = 32 * MIB,
                                    .devices = 4,
                                    .lend = 32 * MIB,
                                    .seed = 1,
                                    .check = true};
    assert_int_equal(ff__system_parse(system, &config.system, &error), 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        workloads[i] = little_workload(&works[i], &arrays[i]);
        jobs[i] = (struct ff__sim_job){.workload = &workloads[i],
                                       .first_device = i,
                                       .devices = 1,
                                       .start_ns = i == 0 ? 100000 : 0,
                                       .repeats = i == 1};
    }
    if (ff__sim_run_jobs(&config, jobs, JOBS, all, &error))
        fail_msg("%s: %s", system, error.message);
}

static void test_harvesting(void **state) {
    (void)state;
    struct ff__sim_job host[JOBS], peers[JOBS];
    struct ff__sim_result all;
    read_machine("p3.8xlarge");
    run_jobs("preevict-host:reserve=2", host, &all);
    assert_int_equal(all.bytes_peer, 0);
    run_jobs("memharvester:reserve=2,keep=2", peers, &all);
    assert_true(peers[0].result.bytes_peer > 0 && all.stats.pages_lent > 0);
    assert_true(all.stats.pages_written_back > 0);
    assert_true(peers[0].result.bytes_in < host[0].result.bytes_in);
    assert_true(peers[0].result.time_ns < host[0].result.time_ns);
    assert_true(peers[1].result.repetitions > 0 && peers[1].result.repetitions_ps > 0);
}

/* The published order of techniques, and what single ones do. */
static void test_techniques(void **state) {
    (void)state;
    static const char *const systems[] = {
        "memharvester-h:keep=2",
        "memharvester-pe:reserve=2,keep=2",
        "memharvester-lp:reserve=2,keep=2",
        "memharvester-plf:reserve=2,keep=2",
        "memharvester-lpf:reserve=2,keep=2",
        "memharvester:reserve=2,keep=2,lender=1",
        "memharvester:reserve=2,keep=2,path=2",
    };
    struct ff__sim_job jobs[JOBS];
    struct ff__sim_result all;
    read_machine("p3.8xlarge");
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        run_jobs(systems[i], jobs, &all);
        assert_true(jobs[0].result.bytes_peer > 0);
    }
    run_jobs("memharvester:harvest=0,reserve=2,keep=2,parallel=0,path=1", jobs, &all);
    assert_int_equal(all.bytes_peer, 0);
    run_jobs("memharvester:reserve=2,keep=2,writeback=0", jobs, &all);
    assert_int_equal(all.stats.pages_written_back, 0);
}

/* A program that iterates over more than its device has, beside devices of which one lends all that
 * it has. */
static uint64_t iterate(const char *system) {
    const struct little work = {.pages = 48 * FF_BLOCK_PAGES,
                                .launches = 8,
                                .ctas = 8,
                                .warps = 1,
                                .writes = true,
                                .host_writes = true};
    struct ff__array array;
    struct ff__workload workload = little_workload(&work, &array);
    struct ff__sim_job job = {.workload = &workload, .devices = 1};
    struct ff__sim_result all;
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &machine.gpu,
                                    .machine = &machine,
                                    .memory = 64 * MIB,
                                    .devices = 4,
                                    .lend = 64 * MIB,
                                    .lenders = 1u << 3,
                                    .seed = 1,
                                    .check = true};
    assert_int_equal(ff__system_parse(system, &config.system, &error), 0);
    if (ff__sim_run_jobs(&config, &job, 1, &all, &error))
        fail_msg("%s: %s", system, error.message);
    print_message("%s: %.3f ms, %.0f MiB of the host, %.0f MiB of lenders\n", system,
                  (double)all.time_ns * 1e-6, (double)all.bytes_in / MIB,
                  (double)all.bytes_peer / MIB);
    return all.time_ns;
}

/* Neither predicted launches nor idle memory alone. */
static void test_prediction_and_harvesting(void **state) {
    (void)state;
    read_machine("p3.8xlarge");
    uint64_t both = iterate("deepum-far-peers");
    assert_true(both < iterate("deepum-far"));
    assert_true(both < iterate("memharvester"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),      cmocka_unit_test(test_links),
        cmocka_unit_test(test_requests),   cmocka_unit_test(test_harvesting),
        cmocka_unit_test(test_techniques), cmocka_unit_test(test_prediction_and_harvesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
