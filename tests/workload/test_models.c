/* Every model: what holds for all of them, and the published benchmarks' numbers. */
#include "workload/walk.h"

#include "base/random.h"

#include <inttypes.h>

/* ---- what holds for all ---- */

typedef void (*check_fn)(const char *spec);

extern const struct ff__workload_type ff__workload_pagerank, ff__workload_wcc,
    ff__workload_bfs_levels, ff__workload_louvain;

static void for_each(check_fn check, const char *suffix) {
    const struct ff__workload_type *type;
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        char spec[128];
        if (strcmp(type->params[0].name, "size") != 0)
            continue; /* networks: test_dnn.c */
        if (type->open == ff__workload_pagerank.open || type->open == ff__workload_wcc.open ||
            type->open == ff__workload_bfs_levels.open || type->open == ff__workload_louvain.open)
            continue; /* kernels in bulk: test_analytics.c */
        snprintf(spec, sizeof spec, "%s%s", type->name, suffix);
        check(spec);
    }
}

static void check_action(const struct ff__workload *workload, const struct ff__action *action,
                         bool *allocated) {
    if (action->kind == FF__ACTION_LAUNCH) {
        assert_true(action->kernel.ctas > 0 && action->kernel.warps > 0 &&
                    action->kernel.warps <= 64);
        assert_non_null(action->kernel.name);
        return;
    }
    if (action->kind == FF__ACTION_SYNCHRONIZE)
        return;
    assert_true(action->array < workload->array_count);
    assert_true(action->offset + action->bytes <= workload->arrays[action->array].bytes);
    if (action->kind == FF__ACTION_ALLOCATE)
        assert_false(allocated[action->array]);
    else
        assert_true(allocated[action->array]);
    if (action->kind == FF__ACTION_ALLOCATE || action->kind == FF__ACTION_FREE)
        allocated[action->array] = action->kind == FF__ACTION_ALLOCATE;
    else
        assert_true(action->bytes > 0);
}

static void check_program(const struct ff__workload *workload) {
    struct ff__action action, again;
    bool allocated[32] = {false};
    uint64_t count = 0;
    assert_true(workload->array_count <= 32);
    while (workload->type->action(workload, count, &action)) {
        check_action(workload, &action, allocated);
        assert_true(workload->type->action(workload, count, &again));
        assert_memory_equal(&action, &again, sizeof action);
        count++;
    }
    assert_false(workload->type->action(workload, count + 7, &action));
    for (uint32_t i = 0; i < workload->array_count; i++)
        assert_false(allocated[i]);
}

static void check_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                       const struct ff__step *step) {
    assert_true(step->instructions > 0);
    assert_true(step->page_count <= FF__STEP_PAGES);
    assert_true(step->page_count ? step->sectors > 0 && step->sectors <= 1024 : !step->sectors);
    for (uint32_t i = 0; i < step->page_count; i++) {
        uint32_t array = array_of(workload, step->page[i]);
        if (kernel->known.uses && !(kernel->known.uses >> array & 1))
            fail_msg("%s: %s uses %s and does not say so", workload->name, kernel->name,
                     workload->arrays[array].name);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(step->page[i], step->page[k]);
    }
}

/* All steps of some warps spread over the launch, its first and its last among them. */
static void check_launch(const struct ff__workload *workload, const struct ff__kernel *kernel) {
    uint64_t warps = (uint64_t)kernel->ctas * kernel->warps, most = SANITIZED ? 10 : 40,
             some = warps < most ? warps : most;
    const struct ff__kernel_known *known = &kernel->known;
    assert_int_equal((known->strided | known->alike) & ~known->uses, 0);
    assert_int_equal(known->strided & known->alike, 0);
    if (known->uses >> workload->array_count)
        fail_msg("%s: %s has more arrays than there are", workload->name, kernel->name);
    for (uint64_t i = 0; i < some; i++) {
        uint64_t warp = some > 1 ? i * (warps - 1) / (some - 1) : 0;
        struct ff__step step;
        uint32_t cta = (uint32_t)(warp / kernel->warps), lane = (uint32_t)(warp % kernel->warps);
        for (uint32_t index = 0; index < 3000; index++) {
            if (!kernel->step(workload, kernel, cta, lane, index, &step)) {
                assert_false(kernel->step(workload, kernel, cta, lane, index + 1, &step));
                break;
            }
            check_step(workload, kernel, &step);
        }
    }
}

static void check_bounds(struct ff__workload *workload) {
    /* somewhere else than where opening placed them */
    for (uint32_t i = 0; i < workload->array_count; i++)
        workload->arrays[i].first_page = (i + 1) * (UINT64_C(1) << 34);
    uint64_t most = 12;
    struct ff__kernel kernel;
    for (uint64_t which = 0; which < most && find_launch(workload, which, &kernel); which++)
        check_launch(workload, &kernel);
}

static void check_size(const struct ff__workload *workload) {
    uint64_t footprint = ff__workload_footprint(workload);
    if (footprint > UINT64_C(64) << 20 || footprint < UINT64_C(60) << 20)
        fail_msg("%s has %llu bytes", workload->name, (unsigned long long)footprint);
}

static void check_defaults(const char *spec) {
    struct ff__workload *workload = open_workload(spec);
    check_program(workload);
    check_bounds(workload);
    ff__workload_close(workload);
}

static void check_sized(const char *spec) {
    struct ff__workload *workload = open_workload(spec);
    check_size(workload);
    check_program(workload);
    check_bounds(workload);
    ff__workload_close(workload);
}

static void test_defaults(void **state) {
    (void)state;
    for_each(check_defaults, "");
}

static void test_sized(void **state) {
    (void)state;
    for_each(check_sized, ":size=64M");
}

#define ASKED 200

static bool ask(const struct ff__workload *workload, const struct ff__kernel *kernel,
                uint64_t random, struct ff__step *out) {
    memset(out, 0, sizeof *out); /* entries behind page_count stay what they were */
    return kernel->step(workload, kernel, (uint32_t)(random % kernel->ctas),
                        (uint32_t)(random >> 32) % kernel->warps, (uint32_t)(random >> 40) % 12,
                        out);
}

static void check_purity(const char *spec) {
    static struct ff__step first[ASKED], second;
    struct ff__workload *workload = open_workload(spec), *other = open_workload(spec);
    struct ff__random random = ff__random_seeded(7);
    uint64_t draw[ASKED];
    bool there[ASKED];
    struct ff__kernel kernel;
    assert_true(find_launch(workload, 0, &kernel));
    for (int i = 0; i < ASKED; i++) {
        draw[i] = ff__random_next(&random);
        there[i] = ask(workload, &kernel, draw[i], &first[i]);
    }
    for (int i = ASKED; i-- > 0;) {
        assert_int_equal(ask(other, &kernel, draw[i], &second), there[i]);
        assert_memory_equal(&second, &first[i], sizeof second);
    }
    ff__workload_close(workload);
    ff__workload_close(other);
}

static void test_purity(void **state) {
    (void)state;
    for_each(check_purity, "");
}

/* A terabyte costs no memory where accesses follow from the position. */
static void test_terabyte(void **state) {
    static const char *const names[] = {"addvectors",  "2dconv", "3dconv",  "atax",    "backprop",
                                        "bicg",        "dwt2d",  "fdtd2d",  "hotspot", "mvt",
                                        "nw",          "ra",     "srad_v2", "stencil", "pathfinder",
                                        "streamtriad", "stream", "stride",  "random",  "zipf",
                                        "cyclic",      "phase"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s:size=1T", names[i]);
        struct ff__workload *workload = open_workload(spec);
        struct ff__kernel kernel;
        assert_true(find_launch(workload, 0, &kernel));
        check_launch(workload, &kernel);
        uint64_t footprint = ff__workload_footprint(workload);
        if (footprint > UINT64_C(1) << 40 || footprint < UINT64_C(1020) << 30)
            fail_msg("%s has %" PRIu64 " bytes", spec, footprint);
        ff__workload_close(workload);
    }
}

/* ---- the published benchmarks ---- */

#define ARRAYS_MAX 13

/* UVMSmart's allocations are whole 2 MiB and a rest of 64 KiB times a power of two. `touched` pages
 * are those of kernels; their sums are the published faults without prefetching where there is a
 * log: 6785, 2491, 4224, 3072. */
struct published {
    const char *name;
    unsigned launches;
    double megabytes; /* as the benchmarks' notes add them up */
    unsigned touched[ARRAYS_MAX];
};

static const struct published published[] = {
    {"2dconv", 1, 8, {1024, 1022}},
    {"atax", 2, 6.1875, {1407, 2, 2, 2}},
    /* the notes count hidden_delta, input_units, input_weights2 and input_prev_weights only */
    {"backprop", 2, 27, {128, 0, 0, 1, 0, 0, 2176, 2176, 0, 2176, 0, 0, 128}},
    {"bfs", 22, 9.75, {511, 64, 64, 64, 1532, 256}},
    {"fdtd2d", 15, 18.0625, {1, 1408, 1408, 1407}},
    {"hotspot", 4, 12, {1024, 1024, 1024}},
    {"nw", 127, 8.125, {1026, 1027}},
    {"pathfinder", 20, 38.5, {49, 49, 9717}},
    {"ra", 1, 12, {1024, 1024, 1024}},
    {"srad_v2", 8, 4, {1024}},
    {"sssp", 31, 28, {1024, 2048, 2048, 1024, 1024}},
    {"stencil", 10, 128, {16384, 16384}},
    {"streamtriad", 1, 12, {1024, 1024, 1024}},
    {"addvectors", 1, 8, {1024, 1024}},
};

static double rounded_megabytes(const struct ff__workload *workload) {
    const uint64_t large = 2 << 20;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < workload->array_count; i++) {
        uint64_t rest = workload->arrays[i].bytes % large, piece = rest ? 64 << 10 : 0;
        while (piece < rest)
            piece *= 2;
        sum += workload->arrays[i].bytes - rest + piece;
    }
    return (double)sum / (1 << 20);
}

static void touch_launch(const struct ff__workload *workload, const struct ff__kernel *kernel,
                         uint8_t **seen) {
    struct ff__step step;
    uint32_t array = 0;
    for (uint32_t cta = 0; cta < kernel->ctas; cta++) {
        for (uint32_t warp = 0; warp < kernel->warps; warp++) {
            for (uint32_t i = 0; kernel->step(workload, kernel, cta, warp, i, &step); i++) {
                for (uint32_t p = 0; p < step.page_count; p++) {
                    const struct ff__array *same = &workload->arrays[array];
                    if (step.page[p] - same->first_page >= pages_of(same))
                        array = array_of(workload, step.page[p]);
                    seen[array][step.page[p] - workload->arrays[array].first_page] = 1;
                }
            }
        }
    }
}

/* Launches that differ from one another; the same ones touch the same pages. */
static unsigned touch_all(const struct ff__workload *workload, uint8_t **seen) {
    static struct ff__kernel done[256];
    unsigned launches = 0, different = 0;
    struct ff__action action;
    for (uint64_t i = 0; workload->type->action(workload, i, &action); i++) {
        if (action.kind != FF__ACTION_LAUNCH)
            continue;
        launches++;
        unsigned k = 0;
        while (k < different && memcmp(&done[k], &action.kernel, sizeof action.kernel) != 0)
            k++;
        if (k < different)
            continue;
        assert_true(different < 256);
        done[different++] = action.kernel;
        touch_launch(workload, &action.kernel, seen);
    }
    return launches;
}

static void check_published(const struct published *row) {
    struct ff__workload *workload = open_workload(row->name);
    uint8_t *seen[ARRAYS_MAX];
    for (uint32_t i = 0; i < workload->array_count; i++)
        assert_non_null(seen[i] = calloc(pages_of(&workload->arrays[i]), 1));
    assert_int_equal(touch_all(workload, seen), row->launches);
    double megabytes = rounded_megabytes(workload);
    assert_true(megabytes >= row->megabytes && megabytes <= row->megabytes);
    for (uint32_t i = 0; i < workload->array_count; i++) {
        unsigned touched = 0;
        for (uint64_t p = 0; p < pages_of(&workload->arrays[i]); p++)
            touched += seen[i][p];
        if (touched != row->touched[i])
            fail_msg("%s touches %u pages of %s instead of %u", row->name, touched,
                     workload->arrays[i].name, row->touched[i]);
        free(seen[i]);
    }
    ff__workload_close(workload);
}

static void test_published(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i += SANITIZED ? 4 : 1)
        check_published(&published[i]);
}

/* Instructions of all threads of a launch against the logs, within 2 %. */
static void check_instructions(const char *name, uint64_t which, double logged) {
    struct ff__workload *workload = open_workload(name);
    struct ff__kernel kernel;
    struct ff__step step;
    uint64_t sum = 0;
    assert_true(find_launch(workload, which, &kernel));
    for (uint32_t cta = 0; cta < kernel.ctas; cta++)
        for (uint32_t warp = 0; warp < kernel.warps; warp++)
            for (uint32_t i = 0; kernel.step(workload, &kernel, cta, warp, i, &step); i++)
                sum += step.instructions;
    double threads = (double)sum * (strcmp(name, "sssp") == 0 ? 16 : 32);
    if (threads < logged * 0.98 || threads > logged * 1.02)
        fail_msg("%s, launch %" PRIu64 ": %.0f instructions instead of %.0f", name, which, threads,
                 logged);
    ff__workload_close(workload);
}

static void test_instructions(void **state) {
    (void)state;
    check_instructions("backprop", 0, 224892096);
    check_instructions("backprop", 1, 113232736);
    check_instructions("bfs", 0, 4970238);
    check_instructions("bfs", 1, 4446874);
    check_instructions("fdtd2d", 0, 49297200);
    check_instructions("fdtd2d", 1, 49266000);
    check_instructions("fdtd2d", 2, 52147200);
    check_instructions("hotspot", 0, 415466464);
    check_instructions("2dconv", 0, 50212980);
    check_instructions("streamtriad", 0, 28311552);
    check_instructions("sssp", 0, 27262977);
    check_instructions("sssp", 1, 20971571);
    check_instructions("sssp", 2, 23068682);
}

/* The levels of the published search, from the counts of stores in its log. */
static void test_bfs_levels(void **state) {
    static const double levels[] = {1, 7, 34, 170, 928, 5184, 26861, 102564, 117112, 8578, 5};
    struct ff__workload *workload = open_workload("bfs");
    (void)state;
    for (unsigned level = 0; level < 11; level++) {
        struct ff__kernel kernel;
        struct ff__step step;
        uint64_t marked = 0;
        assert_true(find_launch(workload, 2 * level, &kernel));
        for (uint32_t cta = 0; cta < kernel.ctas; cta++)
            for (uint32_t warp = 0; warp < kernel.warps; warp++)
                marked += kernel.step(workload, &kernel, cta, warp, 1, &step) && step.write;
        /* warps with work: at most as many as nodes, and every warp in the largest levels */
        assert_true((double)marked <= levels[level] * 1.15 + 1);
        assert_true(levels[level] > 3000 || (double)marked + 1 > levels[level] * 0.8);
    }
    ff__workload_close(workload);
}

static uint64_t identity_of(const struct ff__workload *workload, uint64_t which) {
    struct ff__kernel kernel = {0};
    assert_true(find_launch(workload, which, &kernel));
    return kernel.identity;
}

/* An execution ID tells launches apart by their arguments, and only by them: hotspot swaps two
 * arrays, bfs has the same arguments at every level. */
static void test_identities(void **state) {
    static const char *const names[] = {"hotspot", "bfs"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ff__workload *workload = open_workload(names[i]);
        assert_int_not_equal(identity_of(workload, 0), identity_of(workload, 1));
        assert_int_equal(identity_of(workload, 0), identity_of(workload, 2));
        ff__workload_close(workload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),   cmocka_unit_test(test_sized),
        cmocka_unit_test(test_purity),     cmocka_unit_test(test_terabyte),
        cmocka_unit_test(test_published),  cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_bfs_levels), cmocka_unit_test(test_identities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
