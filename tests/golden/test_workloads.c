/* Bundled workloads under every system, at one small size: what a run counts, and what it takes in
 * modelled time. Whatever changes a model, a policy, the engine or a constant shows here. */
#include "golden/golden.h"

#include <inttypes.h>

#include "backend/sim/sim.h"

#define GPU "v100-32g"
#define COLUMNS                                                                                    \
    "workload system\ttime_ns faults batches pages_in pages_out dropped prefetched evictions "     \
    "refaults stall_ns demanded hits"

/* One system of each kind; in part, most workloads run under no others, and where predictions of a
 * network take seconds, not under that one. */
#define QUICK "demand,nvidia,deepum-far,context,forest,memharvester,auto,belady,oracle"
#define MAIN  QUICK ",hlsh"

/* By workload; all others have a size alone, and run under every system. Networks are as small as a
 * batch makes them. What takes seconds, or is much like another one, runs under the main systems
 * alone. */
static const struct {
    const char *name, *settings, *systems;
} sizes[] = {
    {"srad_v2", "size=6M,iterations=1", QUICK},
    {"bfs", "size=6M,kind=1,degree=2", "nvidia,memharvester,oracle"},
    {"2dconv", "size=12M", MAIN},
    {"3dconv", "size=12M", MAIN},
    {"backprop", "size=12M", MAIN},
    {"nw", "size=12M", QUICK},
    {"atax", "size=8M", MAIN},
    {"bicg", "size=8M", MAIN},
    {"mvt", "size=8M", MAIN},
    {"hotspot", "size=12M,steps=2", QUICK},
    {"vm", "size=12M", MAIN},
    {"sssp", "size=8M,rounds=5", QUICK},
    {"fdtd2d", "size=12M,steps=2", QUICK},
    {"stencil", "size=12M,steps=4", QUICK},
    {"gpt2-l", "batch=1,length=16,iterations=1", "demand,nvidia,deepum,memharvester,oracle"},
    {"bert-large", "batch=1,length=32,iterations=1", MAIN},
    {"bert-base", "batch=1,length=32,iterations=2", MAIN},
    {"dlrm", "batch=2048,iterations=1", "demand,nvidia,deepum,memharvester,oracle"},
    {"resnet152", "batch=1,length=32,iterations=2", MAIN},
    {"resnet200", "batch=1,length=32,iterations=2", MAIN},
    {"dcgan", "batch=16,iterations=4", NULL},
    {"mobilenet", "batch=16,iterations=4", MAIN},
    {"alexnet", "batch=1,length=64,iterations=1", NULL},
    {"cifarnet", "batch=32,length=32,iterations=1", NULL},
    {"squeezenet", "batch=1,length=224,iterations=1", NULL},
    {"resnet50-inference", "batch=1,length=64,iterations=1", NULL},
    {"bert-inference", "batch=1,length=32,iterations=1", NULL},
    {"whisper", "batch=1,length=1,iterations=1", NULL},
    {"mobilenet-v3", "batch=1,length=32,iterations=2", NULL},
    {"resnet50", "batch=1,length=32,iterations=2", NULL},
    {"resnet101", "batch=1,length=32,iterations=2", NULL},
    {"vgg16", "batch=1,length=32,iterations=2", NULL},
    {"gnmt16", "batch=1,length=8,iterations=1", "demand,nvidia,deepum,memharvester,oracle"},
    {"pagerank", "size=12M,iterations=3,chunk=1024", NULL},
    {"wcc", "size=12M,iterations=2,chunk=1024", NULL},
    {"bfs-levels", "size=12M,iterations=4,chunk=1024", NULL},
    {"louvain", "size=12M,iterations=2,chunk=1024", NULL},
};

static bool is_in(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
            return true;
    return false;
}

/* Also which systems it runs under; NULL: every one. */
static const char *spec_of(const char *name, char spec[128]) {
    const char *settings = "size=12M", *systems = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(sizes[i].name, name) == 0) {
            settings = sizes[i].settings;
            systems = sizes[i].systems;
        }
    snprintf(spec, 128, "%s:%s", name, settings);
    bool under_all = golden_is_whole() || is_in("ra,dcgan,pagerank", name);
    if (systems && strcmp(systems, QUICK) == 0 && golden_is_whole())
        return MAIN;
    return systems || under_all ? systems : MAIN;
}

/* Two thirds of what it uses, in whole blocks. */
static uint64_t memory_for(const struct ff__workload *workload) {
    uint64_t blocks = ff__workload_footprint(workload) * 2 / 3 / FF_BLOCK_SIZE;
    return (blocks ? blocks : 1) * FF_BLOCK_SIZE;
}

static void add_run(struct golden_systems *all, const struct ff__gpu *gpu,
                    struct ff__workload *workload, const char *system) {
    struct golden *golden = golden_of(all, system);
    char key[128];
    struct ff_error error = {""};
    struct ff__sim_config config = {
        .gpu = gpu, .memory = memory_for(workload), .devices = 1, .seed = 1};
    struct ff__sim_result r;
    int status = ff__system_parse(system, &config.system, &error);
    if (!status)
        status = ff__sim_run(&config, workload, &r, &error);
    snprintf(key, sizeof key, "%s %s", workload->type->name, system);
    if (status == -ENOTSUP)
        golden_add(golden, key, "cannot run");
    else if (status)
        fail_msg("%s: %s", key, error.message);
    else
        golden_add(golden, key,
                   "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                   " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                   r.time_ns, r.faults, r.batches, r.pages_in, r.pages_out, r.pages_dropped,
                   r.prefetched, r.stats.evictions, r.stats.refaults, r.stall_ns, r.demanded,
                   r.demanded_hits);
}

/* What differs from another system only where several devices are. */
static bool needs_devices(const char *system) {
    return strncmp(system, "memharvester-", 13) == 0 || strcmp(system, "deepum-far-peers") == 0;
}

static void add_workload(struct golden_systems *golden, const struct ff__gpu *gpu,
                         const char *name) {
    char spec[128];
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    const struct ff__system_row *row;
    const char *systems = spec_of(name, spec);
    if (ff__workload_open(spec, 1, &workload, &error))
        fail_msg("%s: %s", spec, error.message);
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        if (!needs_devices(row->name) && (!systems || is_in(systems, row->name)))
            add_run(golden, gpu, workload, row->name);
    ff__workload_close(workload);
}

static void test_workloads(void **state) {
    (void)state;
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct golden_systems golden = golden_systems_open("workloads", "workloads-ours", COLUMNS);
    golden.published.in_part = golden.ours.in_part = !golden_is_whole();
    const struct ff__workload_type *type;
    if (ff__gpu_read(GPU, GPU_FOLDER, &gpu, &error))
        fail_msg("%s", error.message);
    for (unsigned i = 0; (type = ff__workload_at(i)); i++)
        if (strcmp(type->name, "gpt2-xl") != 0) /* gpt2-l with wider layers, which take long */
            add_workload(&golden, &gpu, type->name);
    golden_close(&golden.published);
    golden_close(&golden.ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
