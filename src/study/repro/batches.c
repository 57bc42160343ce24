/* farfault repro batches: batches of faults as a patched driver has measured them, beside those of
 * the model. */
#include "trace/model/batches.h"
#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"
#include "study/repro/repro.h"
#include "study/sim/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_PER_MIB 256.0
#define KIB_PER_PAGE  4.0
#define TOLERANCE                                                                                  \
    0.25 /* MiB: what a batch brings, and is counted among those that bring so much; ours */

/* What a run's batches are like. */
struct batches_seen {
    struct ff__fault_batch *batches;
    size_t count, capacity;
    struct ff__batches reader;
    int status;
};

static void keep(void *self, const struct ff__fault_batch *batch) {
    struct batches_seen *seen = self;
    if (seen->count == seen->capacity) {
        seen->capacity = seen->capacity ? 2 * seen->capacity : 1024;
        seen->batches = ff__must(realloc(seen->batches, seen->capacity * sizeof *seen->batches));
    }
    seen->batches[seen->count++] = *batch;
}

static void observe(void *self, const struct ff_trace_event *event,
                    const struct ff_access *access) {
    struct batches_seen *seen = self;
    (void)access;
    if (!seen->status)
        seen->status = ff__batches_take(&seen->reader, event);
}

/* ---- figures ---- */

static double mib_of(const struct ff__fault_batch *batch) {
    return (double)batch->pages_in / PAGES_PER_MIB;
}

/* Mean microseconds of the batches that bring so much, and evict one block or nothing; NaN: there
 * are none. */
static double mean_us(const struct batches_seen *seen, double mib, bool evicting) {
    double ns = 0;
    size_t count = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct ff__fault_batch *batch = &seen->batches[i];
        bool evicts_one = batch->pages_out > 0 && batch->pages_out <= FF_BLOCK_PAGES;
        if (fabs(mib_of(batch) - mib) > TOLERANCE ||
            (evicting ? !evicts_one : batch->pages_out > 0))
            continue;
        ns += (double)batch->took_ns;
        count++;
    }
    return count ? ns / (double)count / 1e3 : (double)NAN;
}

static double figure(const struct batches_seen *seen, const char *metric, double mib) {
    double ns = 0, pages = 0, entries = 0, distinct = 0;
    for (size_t i = 0; i < seen->count; i++) {
        ns += (double)seen->batches[i].took_ns;
        pages += (double)seen->batches[i].pages_in;
        entries += (double)seen->batches[i].entries;
        distinct += (double)seen->batches[i].pages;
    }
    if (strcmp(metric, "us") == 0)
        return mean_us(seen, mib, false);
    if (strcmp(metric, "eviction_us") == 0)
        return mean_us(seen, mib, true) - mean_us(seen, mib, false);
    if (strcmp(metric, "us_per_kib") == 0)
        return ns / 1e3 / (pages * KIB_PER_PAGE);
    return 100 * (entries - distinct) / entries; /* "duplicates" */
}

/* ---- runs ---- */

static int simulate(const struct ff__gpu *gpu, const json_t *run, uint64_t seed,
                    struct batches_seen *seen) {
    struct ff__sim_config config = {
        .gpu = gpu, .devices = 1, .seed = seed, .observe = observe, .observer = seen};
    struct ff__sim_result result;
    struct ff__workload *workload;
    struct ff_error error = {""};
    const char *name = ff__json_text_of(run, "workload");
    int status = ff__system_parse(ff__json_text_of(run, "system"), &config.system, &error);
    if (!status)
        status = ff__workload_open(name, seed, &workload, &error);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "batches: %s", error.message);
    double share = ff__json_number_of(run, "memory");
    config.memory = (uint64_t)(share * (double)ff__workload_footprint(workload)) / FF_BLOCK_SIZE *
                    FF_BLOCK_SIZE;
    status = ff__batches_init(&seen->reader, keep, seen);
    if (!status)
        status = ff__sim_run(&config, workload, &result, &error);
    ff__batches_fini(&seen->reader);
    ff__workload_close(workload);
    if (status || seen->status)
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", name,
                            error.message[0] ? error.message : "out of memory");
    return 0;
}

static void make_table(json_t *tables, const json_t *published, const struct batches_seen *seen) {
    size_t i;
    json_t *row;
    json_t *table = ff__repro_table(tables, ff__json_text_of(published, "id"),
                                    ff__json_text_of(published, "what"));
    json_array_foreach(json_object_get(published, "rows"), i, row) ff__repro_row(
        table, ff__json_text_of(row, "name"), ff__json_number_of(row, "value"),
        figure(seen, ff__json_text_of(published, "metric"), ff__json_number_of(row, "mib")));
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    static struct ff__gpu gpu;
    const char *name;
    json_t *run, *table;
    size_t i;
    int status = ff__find_gpu(ff__json_text_of(plan->published, "gpu"), FF__EXIT_FAILURE, &gpu);
    json_object_foreach(json_object_get(plan->published, "runs"), name, run) {
        struct batches_seen seen = {.count = 0};
        if (!status)
            status = simulate(&gpu, run, plan->study.seed, &seen);
        json_array_foreach(json_object_get(plan->published, "tables"), i, table) {
            if (!status && strcmp(ff__json_text_of(table, "run"), name) == 0)
                make_table(tables, table, &seen);
        }
        free(seen.batches);
    }
    return status;
}

const struct ff__repro ff__repro_batches = {
    .name = "batches",
    .summary = "batches of a Titan V's driver, from figures of uvm-eval",
    .run = run,
};
