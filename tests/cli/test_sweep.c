/* Sweeps without a simulator: what is run, in which order it is told, and the means. The functions
 * below stand in for the simulator's and the workloads'; a workload's footprint is its name's
 * number of MiB. */
#include "base/error.h"
#include "study/jobs/pool.h"
#include "study/sim/sweep.h"
#include "trace/model/replay.h"

#include <errno.h>
#include <farfault/mask.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WEAK __attribute__((weak))

/* ---- stand-ins ---- */

static struct ff__workload *make_workload(const char *name) {
    struct ff__workload *workload = calloc(1, sizeof *workload);
    snprintf(workload->name, sizeof workload->name, "%s", name);
    return workload;
}

WEAK int ff__workload_open(const char *spec, uint64_t seed, struct ff__workload **out,
                           struct ff_error *error) {
    (void)seed;
    if (!atoi(spec))
        return ff__fail(error, -ENOENT, "there is no workload '%s'", spec);
    *out = make_workload(spec);
    return 0;
}

WEAK int ff__trace_workload(const char *path, struct ff__workload **out, struct ff_error *error) {
    return ff__workload_open(path, 0, out, error);
}

WEAK void ff__workload_close(struct ff__workload *workload) {
    free(workload);
}

WEAK uint64_t ff__workload_footprint(const struct ff__workload *workload) {
    return (uint64_t)atoi(workload->name) << 20;
}

/* Takes longer with less memory; a parameter of a system is 10 % more. */
WEAK int ff__sim_run(const struct ff__sim_config *config, struct ff__workload *workload,
                     struct ff__sim_result *result, struct ff_error *error) {
    uint64_t footprint = ff__workload_footprint(workload);
    *result = (struct ff__sim_result){.time_ns = 1000000};
    usleep((useconds_t)(footprint >> 20) * 200); /* so that jobs end out of order */
    if (config->memory && config->memory < 4 << 20)
        return ff__fail(error, -ENOMEM, "too little");
    if (config->memory && config->memory < footprint)
        result->time_ns = 1000000 * (footprint / config->memory);
    if (strcmp(config->system.name, "demand") == 0)
        result->time_ns *= 2;
    return 0;
}

WEAK int ff__sim_run_jobs(const struct ff__sim_config *config, struct ff__sim_job *jobs,
                          uint32_t count, struct ff__sim_result *all, struct ff_error *error) {
    (void)config, (void)jobs, (void)count, (void)all;
    return ff__fail(error, -ENOSYS, "nothing runs beside a workload here");
}

WEAK double ff__sim_hit_rate(const struct ff__sim_result *result) {
    return (double)result->hits;
}

WEAK double ff__sim_accuracy(const struct ff__sim_result *result) {
    return (double)result->hits;
}

WEAK double ff__sim_coverage(const struct ff__sim_result *result,
                             const struct ff__sim_result *without) {
    return (double)result->time_ns / (double)without->time_ns;
}

WEAK double ff__sim_ipc(const struct ff__sim_result *result, const struct ff__gpu *gpu) {
    return (double)result->instructions + gpu->sms;
}

WEAK int ff_trace_create_sized(const char *path, const struct ff_trace_info *info, size_t size,
                               struct ff_trace_writer **out) {
    (void)path, (void)info, (void)size, (void)out;
    return -EACCES;
}

WEAK int ff_trace_write_sized(struct ff_trace_writer *writer, const struct ff_trace_event *event,
                              size_t size) {
    (void)writer, (void)event, (void)size;
    return 0;
}

WEAK int ff_trace_finish(struct ff_trace_writer *writer) {
    (void)writer;
    return 0;
}

WEAK void ff_trace_abandon(struct ff_trace_writer *writer) {
    (void)writer;
}

/* cmocka compares floats only. */
static void check_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- pools ---- */

struct order {
    unsigned done[100], count, runs[100];
};

static void job(void *self, unsigned index) {
    usleep((useconds_t)(index * 7919 % 13) * 100);
    ((struct order *)self)->runs[index]++;
}

static void done(void *self, unsigned index) {
    struct order *order = self;
    order->done[order->count++] = index;
}

static char *name(const void *self, unsigned index) {
    (void)self;
    assert_true(index < 100);
    return ff__text("job %u", index);
}

static void test_pool(void **state) {
    (void)state;
    static const unsigned counts[] = {0, 1, 2, 100};
    for (unsigned threads = 1; threads <= 9; threads += 4) {
        for (unsigned i = 0; i < 4; i++) {
            struct order order = {.count = 0};
            const struct ff__job_pool pool = {.count = counts[i],
                                              .threads = threads,
                                              .job = job,
                                              .done = done,
                                              .name = name,
                                              .self = &order};
            assert_int_equal(ff__pool_run(&pool), 0);
            assert_int_equal(order.count, counts[i]);
            for (unsigned j = 0; j < counts[i]; j++) {
                assert_int_equal(order.done[j], j);
                assert_int_equal(order.runs[j], 1);
            }
        }
    }
    assert_in_range(ff__pool_threads(), 1, 4096);
}

/* ---- a sweep made by hand ---- */

static void add_budget(struct ff__sweep *sweep, const char *text) {
    struct ff__amount amount = {0};
    if (strcmp(text, "device") != 0)
        assert_int_equal(ff__amount_parse(text, &amount), 0);
    ff__matrix_add_budget(&sweep->matrix, ff__text("%s", text), &amount);
}

static void make_sweep(struct ff__sweep *sweep, unsigned jobs) {
    *sweep = (struct ff__sweep){.study = {.seed = 1, .jobs = jobs}, .devices = 1};
    sweep->matrix.subjects = ff__words_split("64,10,33");
    sweep->matrix.systems = ff__words_split("demand,nvidia");
    sweep->matrix.footprints = calloc(3, sizeof *sweep->matrix.footprints);
    for (unsigned i = 0; i < 3; i++)
        sweep->matrix.footprints[i] = (uint64_t)atoi(sweep->matrix.subjects.items[i]) << 20;
    sweep->matrix.devices = ff__words_split("v100-16g,gtx1080ti");
    sweep->gpus = calloc(2, sizeof *sweep->gpus);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ff__gpu_read(sweep->matrix.devices.items[i], GPUS, &sweep->gpus[i], NULL),
                         0);
    static const char *const budgets[] = {"50%", "12.3M", "device"};
    for (unsigned i = 0; i < 3; i++)
        add_budget(sweep, budgets[i]);
    ff__sweep_init(sweep);
}

static void test_places(void **state) {
    (void)state;
    struct ff__sweep sweep;
    make_sweep(&sweep, 1);
    for (unsigned cell = 0; cell < 42; cell++) {
        struct ff__matrix_place place = ff__matrix_place(&sweep.matrix, cell);
        assert_int_equal(ff__matrix_cell(&sweep.matrix, place.subject, place.device, place.line),
                         cell);
        if (place.line)
            assert_int_equal(ff__matrix_line(&sweep.matrix, place.system, place.budget),
                             place.line);
        else
            assert_int_equal(place.memory, 0);
    }
    /* blocks are rounded, pages are not */
    unsigned half = ff__matrix_line(&sweep.matrix, 1, 0),
             some = ff__matrix_line(&sweep.matrix, 1, 1),
             all = ff__matrix_line(&sweep.matrix, 1, 2);
    assert_int_equal(
        ff__matrix_place(&sweep.matrix, ff__matrix_cell(&sweep.matrix, 2, 0, half)).memory,
        16 << 20);
    assert_int_equal(
        ff__matrix_place(&sweep.matrix, ff__matrix_cell(&sweep.matrix, 2, 1, half)).memory,
        33u << 19);
    assert_int_equal(
        ff__matrix_place(&sweep.matrix, ff__matrix_cell(&sweep.matrix, 2, 0, some)).memory,
        12 << 20);
    assert_int_equal(
        ff__matrix_place(&sweep.matrix, ff__matrix_cell(&sweep.matrix, 2, 1, some)).memory,
        (uint64_t)(12.3 * 256) * 4096);
    assert_int_equal(
        ff__matrix_place(&sweep.matrix, ff__matrix_cell(&sweep.matrix, 2, 0, all)).memory,
        UINT64_C(16) << 30);
    ff__sweep_free(&sweep);
}

static char *run_sweep(unsigned jobs, int *status) {
    struct ff__sweep sweep;
    char name[] = "/tmp/farfault-sweep-XXXXXX", *text = NULL;
    close(mkstemp(name));
    make_sweep(&sweep, jobs);
    sweep.outputs.json = name;
    *status = ff__sweep_run(&sweep);
    ff__sweep_free(&sweep);
    size_t size = 0;
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    fclose(file);
    unlink(name);
    return text;
}

/* The same text whatever the number of threads. */
static void test_jobs(void **state) {
    (void)state;
    int status;
    char *one = run_sweep(1, &status), *many = run_sweep(7, &status);
    assert_int_equal(status, 0);
    assert_string_equal(one, many);
    free(one);
    free(many);
}

static void test_means(void **state) {
    (void)state;
    struct ff__sweep sweep;
    make_sweep(&sweep, 2);
    assert_int_equal(ff__sweep_run(&sweep), 0);
    struct ff__matrix_mean baseline = ff__matrix_mean(&sweep.matrix, 0, 0, 0);
    struct ff__matrix_mean mean = ff__matrix_mean(&sweep.matrix, 0, 1, 0);
    assert_int_equal(mean.count, 3);
    check_near(baseline.faster, 1, 1e-9);
    check_near(mean.faster, 2, 1e-9);
    check_near(mean.slowdown, cbrt(2 * 1 * 2), 1e-9); /* 10 of 20 MiB is 6 blocks of 2 */
    check_near(baseline.slowdown, 2 * mean.slowdown, 1e-9);
    unsigned cell = ff__matrix_cell(&sweep.matrix, 0, 0, ff__matrix_line(&sweep.matrix, 1, 0));
    check_near(ff__sweep_coverage(&sweep, cell), 0.5, 1e-9);
    assert_true(isnan(ff__sweep_coverage(&sweep, ff__matrix_cell(&sweep.matrix, 0, 0, 0))));
    ff__sweep_free(&sweep);
}

/* A run that fails has its reason, the others are not touched, and the exit status tells. */
static void test_failure(void **state) {
    (void)state;
    struct ff__sweep sweep;
    make_sweep(&sweep, 3);
    sweep.matrix.budgets[1].amount = (struct ff__amount){.bytes = 2 << 20};
    assert_int_equal(ff__sweep_run(&sweep), 1);
    unsigned bad = ff__matrix_cell(&sweep.matrix, 1, 1, ff__matrix_line(&sweep.matrix, 1, 1));
    assert_false(ff__sweep_at(&sweep, bad)->good);
    assert_string_equal(ff__sweep_at(&sweep, bad)->reason, "too little");
    assert_true(ff__sweep_at(&sweep, bad + 1)->good);
    assert_true(isnan(ff__matrix_slowdown(&sweep.matrix, bad)));
    assert_int_equal(ff__matrix_mean(&sweep.matrix, 1, 1, 1).count, 0);
    assert_true(isnan(ff__matrix_mean(&sweep.matrix, 1, 1, 1).slowdown));
    ff__sweep_free(&sweep);
}

/* The trace that cannot be written is what the run fails with; in-memory has none. */
static void test_trace(void **state) {
    (void)state;
    struct ff__sweep sweep;
    make_sweep(&sweep, 1);
    sweep.trace = "/nowhere/x";
    assert_int_equal(ff__sweep_run(&sweep), 1);
    assert_true(ff__sweep_at(&sweep, 0)->good);
    assert_non_null(strstr(ff__sweep_at(&sweep, 1)->reason, "/nowhere/x: "));
    ff__sweep_free(&sweep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),  cmocka_unit_test(test_places),  cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_means), cmocka_unit_test(test_failure), cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
