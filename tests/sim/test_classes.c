/* Forest finds the same classes from far faults on the software device and from the access time
 * tracker in the simulator: one program with one thread on both, three kernels with an array each.
 * Intensity is left out: a fault brings a leaf at least, so that what is used of a leaf cannot be
 * seen without accesses. */
#include "base/random.h"
#include "runtime/fixture.h"

#include "backend/sim/sim.h"

#define BUDGET   (UINT64_C(6) << 20)
#define KERNELS  3u
#define PAGES    4096u /* of each array */
#define ACCESSES 7500u
#define INTERVAL 500u /* of accesses, between the tracker's rounds */

static const char *const names[KERNELS] = {"line", "scatter", "corner"};
static const char *const expected[KERNELS] = {"linear", "high coverage", "low coverage"};

/* In order; anywhere; anywhere in the first half. */
static uint32_t page_of(uint32_t kernel, uint32_t i) {
    struct ff__random random = ff__random_seeded(i);
    return kernel == 0 ? i : ff__random_below(&random, kernel == 1 ? PAGES : PAGES / 2);
}

static uint32_t length_of(uint32_t kernel) {
    return kernel == 0 ? PAGES : ACCESSES;
}

/* By kernel, the first words of what was found; "" at first. */
struct classes {
    char text[KERNELS][32];
};

static void note_class(struct classes *classes, const char *kernel, const char *text) {
    for (uint32_t i = 0; i < KERNELS; i++)
        if (strcmp(kernel, names[i]) == 0)
            snprintf(classes->text[i], sizeof classes->text[i], "%.*s", (int)strcspn(text, ",;"),
                     text);
}

/* ---- on the software device ---- */

static void run_kernel(struct ff_context *context, uint32_t kernel, void *array) {
    const void *const operands[] = {array};
    volatile unsigned char *bytes = array;
    ff_launch_begin(context, 0, 1 + kernel, names[kernel], operands, NULL, 1);
    for (uint32_t i = 0; i < length_of(kernel); i++)
        bytes[(size_t)page_of(kernel, i) * FF_PAGE_SIZE] = 1;
    ff_launch_end(context, 0, 1 + kernel);
}

static void play_soft(const char *system, struct classes *classes) {
    struct ff_config config = standard_config(BUDGET);
    struct ff_found found;
    void *arrays[KERNELS];
    config.system = system;
    config.explain = true;
    config.check = false;
    struct ff_context *context = open_or_skip(&config);
    for (uint32_t i = 0; i < KERNELS; i++)
        arrays[i] = alloc(context, (size_t)PAGES * FF_PAGE_SIZE);
    for (uint32_t i = 0; i < KERNELS; i++)
        run_kernel(context, i, arrays[i]);
    for (uint32_t i = 0; ff_finding_read(context, i, &found); i++) {
        assert_true(!found.has_range || found.size == (size_t)PAGES * FF_PAGE_SIZE);
        note_class(classes, found.kernel, found.text);
    }
    ff_close(context);
}

/* ---- in the simulator ---- */

static bool play_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                      uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    uint32_t which = (uint32_t)kernel->argument[0];
    (void)cta, (void)warp;
    if (index >= length_of(which))
        return false;
    *out = (struct ff__step){.instructions = 10, .pc = 8, .sectors = 1, .page_count = 1};
    out->page[0] = workload->arrays[which].first_page + page_of(which, index);
    return true;
}

static bool play_action(const struct ff__workload *workload, uint64_t index,
                        struct ff__action *out) {
    uint32_t which = (uint32_t)(index % KERNELS);
    (void)workload;
    *out = (struct ff__action){.kind = FF__ACTION_ALLOCATE, .array = which};
    if (index < KERNELS)
        return true;
    out->kind = FF__ACTION_LAUNCH;
    out->kernel = (struct ff__kernel){.name = names[which],
                                      .identity = 1 + which,
                                      .ctas = 1,
                                      .warps = 1,
                                      .argument = {which},
                                      .step = play_step};
    return index < (uint64_t)2 * KERNELS;
}

static void explain(void *self, const char *kernel, const char *array,
                    const struct ff_finding *finding) {
    (void)array;
    note_class(self, kernel, finding->text);
}

static void play_sim(const char *system, struct classes *classes) {
    static const struct ff__workload_type type = {
        .name = "classes", .summary = "a kernel of each class", .action = play_action};
    static struct ff__gpu gpu;
    struct ff__array arrays[KERNELS] = {{.bytes = 0}};
    for (uint32_t i = 0; i < KERNELS; i++)
        arrays[i].bytes = (uint64_t)PAGES * FF_PAGE_SIZE;
    struct ff__workload workload = {.type = &type, .arrays = arrays, .array_count = KERNELS};
    struct ff_error error = {""};
    struct ff__sim_result result;
    struct ff__sim_config config = {.gpu = &gpu,
                                    .memory = BUDGET,
                                    .devices = 1,
                                    .seed = 1,
                                    .explain = explain,
                                    .explain_self = classes};
    if (ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error) ||
        ff__system_parse(system, &config.system, &error))
        fail_msg("%s: %s", system, error.message);
    gpu.sample_interval = INTERVAL;
    if (ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s: %s", system, error.message);
}

/* ---- both ---- */

static void check_system(const char *system) {
    struct classes soft = {{""}}, sim = {{""}};
    play_soft(system, &soft);
    play_sim(system, &sim);
    for (uint32_t i = 0; i < KERNELS; i++) {
        if (strcmp(soft.text[i], sim.text[i]) != 0 || strcmp(soft.text[i], expected[i]) != 0)
            fail_msg("%s, kernel %s: software device '%s', simulator '%s', expected '%s'", system,
                     names[i], soft.text[i], sim.text[i], expected[i]);
    }
}

static void test_classes(void **state) {
    (void)state;
    check_system("forest");
    check_system("specforest");
    check_system("specforest-plus");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes)};
    return run_or_skip(tests);
}
