/* The simulator counts what it must, and says the same twice. */
#include "sim/little.h"

#include <errno.h>

#define MIB (UINT64_C(1) << 20)

static const struct little stream = {
    .pages = 2048, .launches = 1, .ctas = 8, .warps = 4, .host_writes = true};

static void test_every_page_faults_once(void **state) {
    (void)state;
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result r = little_run(&stream, gpus[i], "demand", 0);
        assert_int_equal(r.faults, 2048);
        assert_int_equal(r.pages_in, 2048);
        assert_int_equal(r.accesses, 2048);
        assert_int_equal(r.hits, 0);
        assert_int_equal(r.stats.evictions, 0);
        assert_int_equal(r.demanded, 2048);
        assert_int_equal(r.demanded_hits, 0);
    }
}

static void test_time_of_single_pages(void **state) {
    (void)state;
    struct ff__sim_result r = little_run(&stream, "gtx1080ti", "demand", 0);
    /* 1.76 us a page */
    assert_in_range(r.kernel_ns, 2048 * 1700, 2048 * 1900);
    assert_int_equal(r.fault_ns, 2048 * UINT64_C(45000));
}

/* A leaf crosses the link as one request under the predictor, and as UVMSmart's pieces, which end
 * after the faulting page, without `request`. Nothing has been learned, and nothing is predicted.
 */
static void test_requests(void **state) {
    (void)state;
    static struct ff__gpu preset;
    struct ff_error error = {""};
    const uint64_t leaf = 64 << 10, page = 4 << 10;
    const struct little alone = {
        .pages = 2048, .launches = 1, .ctas = 1, .warps = 1, .host_writes = true};
    assert_int_equal(ff__gpu_read("gtx1080ti", GPU_FOLDER, &preset, &error), 0);
    assert_int_equal(little_run(&alone, "gtx1080ti", "hlsh:steps=0", 0).link_in_ns,
                     128 * ff__link_ns(&preset.in, leaf));
    assert_int_equal(little_run(&alone, "gtx1080ti", "hlsh:steps=0,request=0", 0).link_in_ns,
                     128 * (ff__link_ns(&preset.in, page) + ff__link_ns(&preset.in, leaf - page)));
}

/* The fault is seen outside its SM, batches are served, and what was loaded is there: none of it
 * overlaps. */
static void check_stall(const char *gpu, uint64_t pages) {
    static struct ff__gpu preset;
    struct ff_error error = {""};
    const struct little alone = {
        .pages = pages, .launches = 1, .ctas = 1, .warps = 1, .host_writes = true};
    assert_int_equal(ff__gpu_read(gpu, GPU_FOLDER, &preset, &error), 0);
    struct ff__sim_result r = little_run(&alone, gpu, "demand", 0);
    uint64_t stall = r.fault_ns + pages * (preset.delivery_ns + preset.memory_latency_ns);
    assert_int_equal(r.batches, pages);
    assert_in_range(r.stall_ns, stall - pages, stall); /* cut to nanoseconds */
}

/* A warp that waits for its page keeps the device idle from the instruction to the next one.
 * Whatever runs, no device waits for longer than its kernels take. */
static void test_stall(void **state) {
    (void)state;
    static const char *const gpus[] = {"v100-16g", "v100-32g", "a100-40g", "h100-80g"};
    for (unsigned i = 0; i < 4; i++) {
        check_stall(gpus[i], 1);
        check_stall(gpus[i], 512);
    }
    struct little busy = {.pages = 5000, .launches = 4, .ctas = 100, .warps = 8, .devices = 2};
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result r =
            little_run(&busy, i ? "gtx1080ti" : "v100-16g", "nvidia", 12 * MIB);
        assert_in_range(r.stall_ns, r.kernel_ns / 4, r.kernel_ns);
    }
}

/* The driver sleeps before each fault, or before none. */
static void test_waking(void **state) {
    (void)state;
    const struct little alone = {.pages = 8, .launches = 1, .ctas = 1, .warps = 1};
    uint64_t awake = little_run(&alone, "v100-16g", "demand", 0).kernel_ns;
    assert_int_equal(little_run(&alone, "v100-16g:wake_ns=40000", "demand", 0).kernel_ns,
                     awake + 8 * UINT64_C(40000));
    assert_int_equal(
        little_run(&alone, "v100-16g:wake_ns=40000,spin_ns=1000000", "demand", 0).kernel_ns, awake);
    /* what a second warp raises while it wakes up is in the same batch */
    const struct little two = {.pages = 2, .launches = 1, .ctas = 2, .warps = 1};
    assert_int_equal(little_run(&two, "v100-16g:wake_ns=40000", "demand", 0).batches, 1);
}

/* Eight blocks where there is room for four: one of the four is kept free, whatever the system. */
static void test_reserve(void **state) {
    (void)state;
    const struct little loop = {.pages = 4096, .launches = 1, .ctas = 1, .warps = 1};
    struct ff__sim_result none = little_run(&loop, "v100-16g", "nvidia-1", 8 * MIB),
                          kept = little_run(&loop, "v100-16g:reserve_share=2,reserve_most=1",
                                            "nvidia-1", 8 * MIB);
    assert_int_equal(none.stats.evictions, 4);
    assert_int_equal(kept.stats.evictions, 5);
    assert_true(kept.time_ns < none.time_ns); /* a fault finds room */
}

/* A thread that prefetches takes time from kernels that run meanwhile, where both share processors;
 * and one moves one block at a time. */
static void test_movers(void **state) {
    (void)state;
    const struct little loop = {.pages = 24576, .launches = 4, .ctas = 8, .warps = 1};
    uint64_t apart = little_run(&loop, "v100-16g", "deepum-plus", 64 * MIB).time_ns,
             together =
                 little_run(&loop, "v100-16g:mover_share=0.5", "deepum-plus", 64 * MIB).time_ns;
    assert_true(together > apart);
    const struct little once = {.pages = 12288, .launches = 1, .ctas = 8, .warps = 1};
    assert_int_equal(little_run(&once, "v100-16g:mover_share=1", "demand", 0).time_ns,
                     little_run(&once, "v100-16g", "demand", 0).time_ns);
    assert_int_not_equal(little_run(&loop, "v100-16g:movers=1", "deepum-plus", 40 * MIB).time_ns,
                         apart);
}

static void test_cyclic_misses_everything(void **state) {
    (void)state;
    struct little cyclic = stream;
    cyclic.launches = 3;
    cyclic.ctas = cyclic.warps = 1;
    struct ff__sim_result r = little_run(&cyclic, "gtx1080ti", "demand", 4 * MIB);
    assert_int_equal(r.faults, 3 * 2048);
    assert_int_equal(r.thrashed, 2 * 2048);
    r = little_run(&cyclic, "v100-16g", "demand", 4 * MIB);
    assert_int_equal(r.faults, 3 * 2048);
}

static void test_second_launch_hits(void **state) {
    (void)state;
    struct little twice = stream;
    twice.launches = 2;
    struct ff__sim_result r = little_run(&twice, "v100-16g", "nvidia-1", 0);
    assert_int_equal(r.demanded, 2 * 2048);
    assert_true(r.demanded_hits >= 2048);
    assert_int_equal(r.prefetched, r.pages_in - r.faults);
    assert_int_equal(r.prefetched_used, r.prefetched);
}

static void test_writes_come_back(void **state) {
    (void)state;
    struct little writes = stream;
    writes.writes = writes.host_reads = true;
    struct ff__sim_result r = little_run(&writes, "v100-16g", "demand", 0);
    assert_int_equal(r.bytes_out, 8 * MIB);
    assert_int_equal(r.evicted_dirty, 2048);
    assert_int_equal(r.stats.resident, 0);
}

static void test_same_twice(void **state) {
    (void)state;
    static const char *const systems[] = {"demand", "nvidia", "nvidia-1"};
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    struct little busy = {.pages = 5000, .launches = 3, .ctas = 100, .warps = 8, .writes = true};
    for (unsigned i = 0; i < 6; i++) {
        struct ff__sim_result a = little_run(&busy, gpus[i % 2], systems[i / 2], 12 * MIB);
        struct ff__sim_result b = little_run(&busy, gpus[i % 2], systems[i / 2], 12 * MIB);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.stats.resident_peak <= 12 * MIB);
        assert_true(a.stats.evictions > 0);
    }
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
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static const char *const systems[] = {"demand",   "nvidia", "nvidia-1", "uvmsmart",
                                      "counters", "belady", "oracle"};
#define SYSTEMS (sizeof systems / sizeof systems[0])

/* An instruction whose pages lie in 16 blocks ends although there is memory for one block, or even
 * one page: a page has been used when it has come, and may leave before the others come. */
static void test_wide_instructions_end(void **state) {
    (void)state;
    static const struct little wide = {
        .pages = 4096, .launches = 1, .ctas = 8, .warps = 4, .wide = 16};
    for (unsigned i = 0; i < SYSTEMS; i++) {
        for (uint64_t blocks = 1; blocks <= 3; blocks++) {
            struct ff__sim_result r = little_run(&wide, "v100-16g", systems[i], blocks * 2 * MIB);
            assert_int_equal(r.accesses, 4096);
            assert_true(r.stats.resident_peak <= blocks * 2 * MIB);
        }
    }
    static const struct little narrow = {
        .pages = 512, .launches = 1, .ctas = 8, .warps = 4, .wide = 32};
    for (unsigned i = 0; i < SYSTEMS; i++)
        for (uint64_t pages = 1; pages <= 64; pages *= 4)
            assert_int_equal(
                little_run(&narrow, "gtx1080ti", systems[i], pages * FF_PAGE_SIZE).accesses, 512);
}

static void test_too_little_memory(void **state) {
    (void)state;
    static struct ff__gpu preset;
    struct ff_error error = {""};
    struct ff__sim_result result;
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &preset, &error), 0);
    struct ff__sim_config config = {.gpu = &preset, .memory = MIB, .devices = 1};
    assert_int_equal(little_try(&stream, &config, "demand", &result, &error), -EINVAL);
    assert_string_equal(error.message,
                        "1048576 bytes of memory: the device allocates it in pieces of 2097152 "
                        "bytes");
}

/* ---- use from the host ---- */

/* One that reads pages again and again: they migrate once their leaf has been read so often, and
 * are used from there until then. */
static void test_delayed_migration(void **state) {
    (void)state;
    static const struct little leaf = {
        .pages = 16, .launches = 1, .passes = 20, .ctas = 1, .warps = 1, .host_writes = true};
    static const char *const systems_of[] = {"uvmsmart:smart=0,remote=2,ts=8",
                                             "uvmsmart:smart=0,remote=2,ts=100",
                                             "uvmsmart:smart=0,remote=2,ts=1000"};
    static const uint64_t migrated[] = {16, 16, 0};
    uint64_t remote = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct ff__sim_result r = little_run(&leaf, "gtx1080ti", systems_of[i], 0);
        assert_int_equal(r.accesses, 320);
        assert_int_equal(r.pages_in, migrated[i]);
        assert_true(r.remote > remote && r.remote <= 320);
        remote = r.remote;
    }
    assert_int_equal(remote, 320);
}

/* ---- several devices ---- */

/* Two devices in turn want all pages: between them they go over the faster links of their own. What
 * has room comes from the host once; in the end all is on the first device, or as much as it holds.
 */
static void test_devices(void **state) {
    (void)state;
    static const struct little shared = {
        .pages = 1024, .launches = 3, .ctas = 8, .warps = 4, .devices = 2, .host_writes = true};
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    for (unsigned i = 0; i < 2 * SYSTEMS; i++) {
        for (uint64_t memory = 0; memory <= 2 * MIB; memory += 2 * MIB) {
            struct ff__sim_result r = little_run(&shared, gpus[i % 2], systems[i / 2], memory);
            uint64_t in = r.bytes_in / FF_PAGE_SIZE, out = r.bytes_out / FF_PAGE_SIZE;
            assert_int_equal(r.accesses, 3 * 1024);
            assert_int_equal(r.demanded, 3 * 1024);
            assert_true(r.remote > 0 || r.bytes_peer >= 512 * FF_PAGE_SIZE);
            assert_int_equal(r.bytes_peer, (r.pages_in - in) * FF_PAGE_SIZE);
            assert_int_equal(in - out, memory ? 512 : 1024);
            if (memory == 0)
                assert_int_equal(in, 1024);
        }
    }
}

/* A launch demands a page once, however often it comes back, and whoever else touches it meanwhile.
 */
static void test_demand_of_devices(void **state) {
    (void)state;
    static const struct little shared = {.pages = 2048,
                                         .launches = 2,
                                         .passes = 3,
                                         .ctas = 8,
                                         .warps = 4,
                                         .devices = 2,
                                         .host_writes = true};
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    for (unsigned i = 0; i < 2; i++) {
        struct ff__sim_result r = little_run(&shared, gpus[i], "nvidia", 0);
        assert_true(r.pages_in > 3 * 2048); /* to and fro */
        assert_int_equal(r.demanded, 2 * 2048);
    }
}

static void test_links(void **state) {
    (void)state;
    static struct ff__gpu fast, slow;
    static const struct little twice = {.pages = 2048,
                                        .launches = 2,
                                        .ctas = 8,
                                        .warps = 4,
                                        .devices = 2,
                                        .host_writes = true,
                                        .synchronizes = true};
    struct ff_error error = {""};
    struct ff__sim_result a, b;
    assert_int_equal(ff__gpu_read("v100-16g", GPU_FOLDER, &fast, &error), 0);
    slow = fast;
    slow.peer.rate[0] /= 4;
    struct ff__sim_config config = {.gpu = &fast, .devices = 2, .check = true};
    assert_int_equal(little_try(&twice, &config, "nvidia", &a, &error), 0);
    config.gpu = &slow;
    assert_int_equal(little_try(&twice, &config, "nvidia", &b, &error), 0);
    /* first from the host, then from the first device; NVLink is faster than PCIe, the slow one not
     */
    assert_int_equal(a.bytes_in, 8 * MIB);
    assert_int_equal(a.bytes_peer, 8 * MIB);
    assert_int_equal(b.bytes_peer, 8 * MIB);
    assert_int_equal(a.bytes_out, 0);
    assert_true(2 * a.link_peer_ns < a.link_in_ns);
    assert_in_range(b.link_peer_ns, a.link_peer_ns * 39 / 10, a.link_peer_ns * 41 / 10);
    assert_true(a.time_ns < b.time_ns);
}

/* ---- UVMSmart's ways ---- */

/* Its synchronization brings dirty pages home, and only those; what stays is no burden any more. */
static void test_synchronize(void **state) {
    (void)state;
    struct little twice = {
        .pages = 2048, .launches = 2, .ctas = 8, .warps = 4, .synchronizes = true};
    struct ff__sim_result r = little_run(&twice, "gtx1080ti", "demand", 8 * MIB);
    assert_int_equal(r.faults, 2048);
    twice.writes = true;
    r = little_run(&twice, "gtx1080ti", "demand", 8 * MIB);
    assert_int_equal(r.faults, 2 * 2048);
    assert_int_equal(r.bytes_out, 2 * 8 * MIB);
    assert_int_equal(little_run(&twice, "v100-16g", "demand", 8 * MIB).faults, 2048);
}

/* An allocation has whole trees: 2 MiB, and 64 KiB x 2^k for the rest, which tree-half fills. */
static void test_whole_trees(void **state) {
    (void)state;
    struct little odd = {.pages = 512 + 65, .launches = 1, .ctas = 1, .warps = 1};
    struct ff__sim_result r = little_run(&odd, "gtx1080ti", "demand:prefetch=tree-half", 0);
    assert_int_equal(r.pages_in, 512 + 128);
    assert_int_equal(little_run(&odd, "gtx1080ti", "demand", 0).pages_in, 512 + 65);
}

/* A place is free only when nothing moves: CTAs come in waves, and so take longer. */
static void test_waves(void **state) {
    (void)state;
    static struct ff__gpu waves, stream_of;
    static const struct little many = {.pages = 4096, .launches = 1, .ctas = 4096, .warps = 1};
    struct ff_error error = {""};
    struct ff__sim_result a, b;
    assert_int_equal(ff__gpu_read("gtx1080ti", GPU_FOLDER, &waves, &error), 0);
    waves.ctas_per_sm = 4;
    stream_of = waves;
    stream_of.ends_when_idle = false;
    struct ff__sim_config config = {.gpu = &waves, .devices = 1};
    assert_int_equal(little_try(&many, &config, "demand", &a, &error), 0);
    config.gpu = &stream_of;
    assert_int_equal(little_try(&many, &config, "demand", &b, &error), 0);
    assert_int_equal(a.faults, b.faults);
    assert_true(a.kernel_ns > b.kernel_ns);
}

/* ---- what is told ---- */

struct told {
    uint64_t last_ns, events, accesses, instructions;
    bool went_back;
};

static void listen(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct told *told = self;
    assert_true((seen != NULL) == (event->kind == FF_TRACE_ACCESS));
    told->events++;
    told->went_back |= event->time_ns < told->last_ns;
    told->last_ns = event->time_ns;
    if (event->kind == FF_TRACE_ACCESS) {
        told->accesses++;
        told->instructions += event->instructions;
    }
}

/* Time never goes back, and every instruction up to a warp's last access is told, once. */
static void test_told(void **state) {
    (void)state;
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    static struct ff__gpu preset;
    const struct little all[] = {
        {.pages = 5000, .launches = 3, .ctas = 100, .warps = 8, .writes = true},
        {.pages = 8192, .launches = 2, .ctas = 8, .warps = 4, .wide = 16, .devices = 2},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct told told = {0};
        struct ff_error error = {""};
        struct ff__sim_result r;
        assert_int_equal(ff__gpu_read(gpus[i % 2], GPU_FOLDER, &preset, &error), 0);
        struct ff__sim_config config = {.gpu = &preset,
                                        .memory = 12 * MIB,
                                        .devices = 1 + i / 2,
                                        .observe = listen,
                                        .observer = &told};
        assert_int_equal(little_try(&all[i / 2], &config, "nvidia", &r, &error), 0);
        assert_false(told.went_back);
        assert_int_equal(told.accesses, r.accesses);
        assert_int_equal(told.instructions, r.instructions);
    }
}

/* A run that is cut in the middle of a launch has its part of the launch's time; one that is cut
 * behind its end is whole. */
static void test_cut(void **state) {
    static struct ff__gpu preset;
    const struct little twice = {.pages = 2048, .launches = 2, .ctas = 8, .warps = 4};
    struct ff_error error = {""};
    struct ff__sim_result whole = little_run(&twice, "gtx1080ti", "demand", 0), cut;
    struct ff__sim_config config = {.gpu = &preset, .devices = 1, .seed = 1, .check = true};
    (void)state;
    assert_int_equal(ff__gpu_read("gtx1080ti", GPU_FOLDER, &preset, &error), 0);
    config.instructions = whole.instructions + 1;
    assert_int_equal(little_try(&twice, &config, "demand", &cut, &error), 0);
    assert_memory_equal(&cut, &whole, sizeof cut);
    config.instructions = whole.instructions / 4;
    assert_int_equal(little_try(&twice, &config, "demand", &cut, &error), 0);
    assert_in_range(cut.instructions, whole.instructions / 4, whole.instructions / 3);
    assert_in_range(cut.faults, 512, 1100);
    assert_in_range(cut.kernel_ns, whole.kernel_ns / 5, whole.kernel_ns);
    assert_true(cut.time_ns < whole.time_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_page_faults_once),
        cmocka_unit_test(test_time_of_single_pages),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_waking),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_movers),
        cmocka_unit_test(test_cyclic_misses_everything),
        cmocka_unit_test(test_second_launch_hits),
        cmocka_unit_test(test_writes_come_back),
        cmocka_unit_test(test_same_twice),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_wide_instructions_end),
        cmocka_unit_test(test_too_little_memory),
        cmocka_unit_test(test_delayed_migration),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_demand_of_devices),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_synchronize),
        cmocka_unit_test(test_whole_trees),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
