/* The simulator: notes what a program does, and runs it as a workload when it has ended. Pages have
 * no content here; instead every invariant is checked after every event, and a second run must give
 * the same results. */
#include "conformance/suite.h"

#include "backend/sim/sim.h"

#define MIB      (UINT64_C(1) << 20)
#define PAGES    3000u
#define LAUNCHES 8u
#define CTAS     13u
#define WARPS    3u

static struct {
    const struct device *device;
    struct ff__system system;
    char name[96];
    uint32_t launches;
    uint32_t count[LAUNCHES], pages[LAUNCHES][PAGES]; /* by launch, in order */
} program;

/* ---- the workload ---- */

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    uint64_t launch = kernel->argument[0];
    uint64_t at = (uint64_t)index * CTAS * WARPS + (uint64_t)cta * WARPS + warp;
    if (at >= program.count[launch])
        return false;
    out->instructions = 10;
    out->pc = 8;
    out->sectors = 4;
    out->write = out->goes_on = true;
    out->page_count = 1;
    out->page[0] = workload->arrays[0].first_page + program.pages[launch][at];
    return true;
}

/* The host writes all of the array, launches, reads all of it, and frees it. */
static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    static const enum ff__action_kind first[] = {FF__ACTION_ALLOCATE, FF__ACTION_HOST_WRITE},
                                      last[] = {FF__ACTION_HOST_READ, FF__ACTION_FREE};
    *out = (struct ff__action){.bytes = workload->arrays[0].bytes};
    if (index < 2) {
        out->kind = first[index];
    } else if (index < 2 + program.launches) {
        out->kind = FF__ACTION_LAUNCH;
        out->kernel = (struct ff__kernel){.name = "round",
                                          .identity = 7,
                                          .ctas = CTAS,
                                          .warps = WARPS,
                                          .argument = {index - 2},
                                          .step = step};
    } else if (index < 4 + program.launches) {
        out->kind = last[index - 2 - program.launches];
    } else {
        return false;
    }
    return true;
}

static const struct ff__workload_type type = {.name = "program", .action = action};

/* ---- the program ---- */

static int open_sim(const struct device *device, const char *system, struct ff_error *error) {
    program.device = device;
    program.launches = 0;
    snprintf(program.name, sizeof program.name, "%s on %s", system, device->gpu);
    return ff__system_parse(system, &program.system, error);
}

static void launch(bool begins) {
    assert_true(program.launches < LAUNCHES);
    if (begins)
        program.count[program.launches] = 0;
    else
        program.launches++;
}

static void write_page(uint32_t page, uint32_t word) {
    (void)word;
    program.pages[program.launches][program.count[program.launches]++] = page;
}

static struct ff__sim_result run(void) {
    static struct ff__gpu gpu;
    struct ff_error error = {""};
    struct ff__array array = {.name = "data", .bytes = (uint64_t)PAGES * FF_PAGE_SIZE};
    struct ff__workload workload = {
        .type = &type, .name = "program", .arrays = &array, .array_count = 1};
    struct ff__sim_config config = {.gpu = &gpu,
                                    .memory = program.device->memory,
                                    .devices = 1,
                                    .seed = 1,
                                    .check = true,
                                    .system = program.system};
    struct ff__sim_result result = {0};
    int status = ff__gpu_read_spec(program.device->gpu, GPU_FOLDER, &gpu, &error);
    gpu.granule = program.device->granule;
    if (status || ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s: %s", program.name, error.message);
    return result;
}

static void close_sim(struct outcome *outcome) {
    struct ff__sim_result result = run();
    uint64_t accesses = 0;
    for (uint32_t i = 0; i < program.launches; i++)
        accesses += program.count[i];
    if (result.accesses != accesses || result.demanded != accesses || result.hits > accesses)
        fail_msg("%s: %llu accesses", program.name, (unsigned long long)result.accesses);
    *outcome = (struct outcome){result.stats, result.remote};
    if (SANITIZED)
        return;
    struct ff__sim_result again = run();
    if (memcmp(&result, &again, sizeof result) != 0)
        fail_msg("%s: not the same twice", program.name);
}

/* With tight and with ample memory; what is interesting happens where it is tight. */
static const struct device devices[] = {
    {.memory = 8 * MIB, .granule = FF_BLOCK_SIZE, .gpu = "v100-16g"},
    {.memory = 8 * MIB, .granule = FF_LEAF_SIZE, .gpu = "v100-16g"},
    {.memory = 8 * MIB, .granule = FF_PAGE_SIZE, .gpu = "gtx1080ti"},
#if !SANITIZED
    {.memory = 16 * MIB, .granule = FF_BLOCK_SIZE, .gpu = "v100-16g"},
    {.memory = 16 * MIB, .granule = FF_PAGE_SIZE, .gpu = "gtx1080ti"},
#endif
    {0}};

const struct subject sim_subject = {
    .name = "sim",
    .shows = UINT32_MAX,
    .pages = PAGES,
    .devices = devices,
    .open = open_sim,
    .launch = launch,
    .write = write_page,
    .close = close_sim,
};
