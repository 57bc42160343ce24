/* farfault sim --curve: misses by the size of memory, of every workload on every device. */
#include "backend/sim/curve/curve.h"
#include "base/lazy.h"
#include "report/complain.h"
#include "report/table.h"
#include "study/sim/sweep.h"
#include "trace/model/least.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A workload on a device. */
struct cell {
    bool good;
    char reason[sizeof((struct ff_error *)0)->message]; /* why not */
    struct ff__curve curve;
    bool has_future;
    uint64_t *fewest; /* [budget] misses of belady; NULL unless has_future */
};

struct curves {
    struct ff__sweep *sweep;
    struct cell *cells; /* [workload][device] */
};

static unsigned workload_of(const struct ff__sweep *sweep, unsigned index) {
    return index / sweep->matrix.devices.count;
}

static unsigned gpu_of(const struct ff__sweep *sweep, unsigned index) {
    return index % sweep->matrix.devices.count;
}

/* ---- counting ---- */

/* A size of memory, and the misses with it. */
struct point {
    uint64_t memory, misses;
    double ratio, fewest_ratio; /* NaN: not known */
};

static struct point point_of(const struct curves *curves, unsigned index, unsigned budget) {
    const struct ff__sweep *sweep = curves->sweep;
    const struct cell *cell = &curves->cells[index];
    uint64_t memory =
        ff__sweep_memory(sweep, workload_of(sweep, index), gpu_of(sweep, index), budget);
    double accesses = (double)cell->curve.accesses;
    if (!cell->good)
        return (struct point){memory, 0, (double)NAN, (double)NAN};
    uint64_t misses = ff__curve_misses(&cell->curve, memory / FF_PAGE_SIZE);
    return (struct point){memory, misses, (double)misses / accesses,
                          cell->has_future ? (double)cell->fewest[budget] / accesses : (double)NAN};
}

/* The fewest that any memory of these sizes has; what the next uses were kept for is then done. */
static int count_fewest(const struct curves *curves, unsigned index) {
    struct cell *cell = &curves->cells[index];
    struct ff__curve *curve = &cell->curve;
    int status = 0;
    cell->has_future = curve->next || curve->accesses == 0;
    cell->fewest = ff__must(calloc(curves->sweep->matrix.budget_count, sizeof *cell->fewest));
    for (unsigned i = 0; i < curves->sweep->matrix.budget_count && cell->has_future && !status;
         i++) {
        uint64_t frames = point_of(curves, index, i).memory / FF_PAGE_SIZE, hits;
        status = ff__least_most_hits(curve->next, curve->accesses, frames, &hits);
        cell->fewest[i] = curve->accesses - hits;
    }
    free(curve->next);
    curve->next = NULL;
    return status;
}

static struct ff__subject subject_of(const struct ff__sweep *sweep, unsigned index) {
    return (struct ff__subject){sweep->matrix.subjects.items[workload_of(sweep, index)],
                                sweep->traces, sweep->study.seed};
}

static void run_cell(void *self, unsigned index) {
    const struct curves *curves = self;
    const struct ff__sweep *sweep = curves->sweep;
    struct cell *cell = &curves->cells[index];
    const struct ff__subject subject = subject_of(sweep, index);
    struct ff__workload *workload;
    struct ff_error error = {""};
    int status = ff__subject_open(&subject, &workload, &error);
    if (!status) {
        status = ff__curve_count(workload, &sweep->gpus[gpu_of(sweep, index)], true, &cell->curve,
                                 &error);
        ff__workload_close(workload);
    }
    cell->good = status == 0;
    if (!status)
        status = count_fewest(curves, index);
    cell->good = status == 0;
    if (status)
        snprintf(cell->reason, sizeof cell->reason, "%s",
                 error.message[0] ? error.message : strerror(-status));
}

/* ---- as cells ---- */

/* With the sizes of memory, for which belady's misses are counted. */
static bool key_of(const void *self, unsigned index, struct ff__store_key *out) {
    const struct ff__sweep *sweep = ((const struct curves *)self)->sweep;
    const struct ff__simulation what = {.subject = subject_of(sweep, index),
                                        .gpu = &sweep->gpus[gpu_of(sweep, index)],
                                        .system = "curve",
                                        .devices = 1};
    ff__simulation_key(&what, out);
    char *options = ff__text_add((char *)out->options, "%smemory=", *out->options ? " " : "");
    for (unsigned i = 0; i < sweep->matrix.budget_count; i++)
        options = ff__text_add(options, "%s%s", i ? "," : "", sweep->matrix.budgets[i].text);
    out->options = options;
    return true;
}

static struct ff__found found_by(const void *self, unsigned index) {
    const struct cell *cell = &((const struct curves *)self)->cells[index];
    return (struct ff__found){
        .failure = cell->good ? NULL : cell->reason, .seconds = (double)NAN, .figure = (double)NAN};
}

/* Every size at which there are fewer misses than with a page less. */
static json_t *points_of(const struct ff__curve *curve) {
    json_t *points = ff__must(json_array());
    for (uint64_t pages = 0; pages <= curve->depth; pages++)
        if (pages == 0 || curve->misses[pages] < curve->misses[pages - 1]) {
            json_t *point = ff__must(json_array());
            json_array_append_new(point, ff__json_count(pages));
            json_array_append_new(point, ff__json_count(curve->misses[pages]));
            json_array_append_new(points, point);
        }
    return points;
}

static json_t *result_of(const void *self, unsigned index) {
    const struct curves *curves = self;
    const struct cell *cell = &curves->cells[index];
    json_t *all = ff__must(json_object()), *fewest = ff__must(json_array());
    if (!cell->good)
        return all;
    ff__json_set(all, "accesses", ff__json_count(cell->curve.accesses));
    ff__json_set(all, "pages", ff__json_count(cell->curve.pages));
    ff__json_set(all, "cold", ff__json_count(cell->curve.cold));
    ff__json_set(all, "depth", ff__json_count(cell->curve.depth));
    ff__json_set(all, "points", points_of(&cell->curve));
    for (unsigned i = 0; i < curves->sweep->matrix.budget_count && cell->has_future; i++)
        json_array_append_new(fewest, ff__json_count(cell->fewest[i]));
    ff__json_set(all, "fewest", fewest);
    return all;
}

static uint64_t count_at(const json_t *array, size_t index) {
    return (uint64_t)json_integer_value(json_array_get(array, index));
}

static void read_points(const json_t *points, struct ff__curve *curve) {
    size_t next = 0;
    curve->room = curve->depth + 1;
    curve->misses = ff__must(ff__lazy_map(curve->room * sizeof *curve->misses));
    for (uint64_t pages = 0; pages <= curve->depth; pages++) {
        const json_t *point = json_array_get(points, next);
        bool changes = point && count_at(point, 0) == pages;
        curve->misses[pages] = changes ? count_at(point, 1) : curve->misses[pages - !!pages];
        next += changes;
    }
}

static void free_cell(struct cell *cell) {
    ff__curve_free(&cell->curve);
    free(cell->fewest);
    *cell = (struct cell){.good = false};
}

static bool restore(void *self, unsigned index, const json_t *all) {
    const struct curves *curves = self;
    struct cell *cell = &curves->cells[index];
    const json_t *points = json_object_get(all, "points"), *fewest = json_object_get(all, "fewest");
    unsigned budgets = curves->sweep->matrix.budget_count;
    if (!json_is_array(points))
        return false;
    free_cell(cell);
    cell->good = true;
    cell->curve.accesses = ff__json_count_of(all, "accesses");
    cell->curve.pages = ff__json_count_of(all, "pages");
    cell->curve.cold = ff__json_count_of(all, "cold");
    cell->curve.depth = ff__json_count_of(all, "depth");
    read_points(points, &cell->curve);
    cell->has_future = json_array_size(fewest) == budgets;
    cell->fewest = ff__must(calloc(budgets, sizeof *cell->fewest));
    for (unsigned i = 0; i < budgets; i++)
        cell->fewest[i] = count_at(fewest, i);
    return true;
}

/* ---- for people ---- */

static void count_cells(struct ff__table *table, bool known, uint64_t misses, double ratio) {
    if (known)
        ff__table_cell(table, "%llu", (unsigned long long)misses);
    else
        ff__table_cell(table, "-");
    ff__table_value(table, 2, 100 * ratio, " %");
}

static void show_points(const struct curves *curves, unsigned index) {
    const struct cell *cell = &curves->cells[index];
    char size[FF__QUANTITY];
    struct ff__table table;
    ff__table_init(&table, "rrrrrr");
    ff__table_cells(&table, "memory", "", "LRU misses", "of accesses", "belady's", "of accesses",
                    NULL);
    for (unsigned i = 0; i < curves->sweep->matrix.budget_count; i++) {
        struct point point = point_of(curves, index, i);
        ff__table_cells(&table, ff__size_text(size, point.memory),
                        curves->sweep->matrix.budgets[i].text, NULL);
        count_cells(&table, true, point.misses, point.ratio);
        count_cells(&table, cell->has_future, cell->fewest[i], point.fewest_ratio);
    }
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
}

static void show_cell(void *self, unsigned index) {
    const struct curves *curves = self;
    const struct ff__sweep *sweep = curves->sweep;
    const struct cell *cell = &curves->cells[index];
    unsigned workload = workload_of(sweep, index);
    char size[FF__QUANTITY];
    if (!ff__outputs_leave_tables(&sweep->outputs))
        return;
    printf("%s, footprint %s, pages of 4 KiB on 1 x %s\n", sweep->matrix.subjects.items[workload],
           ff__size_text(size, sweep->matrix.footprints[workload]),
           sweep->gpus[gpu_of(sweep, index)].name);
    ff__sweep_show_limits(sweep, workload);
    if (!cell->good) {
        printf("  failed: %s\n\n", cell->reason);
        return;
    }
    printf("  %llu accesses to %llu pages, %llu cold misses\n",
           (unsigned long long)cell->curve.accesses, (unsigned long long)cell->curve.pages,
           (unsigned long long)cell->curve.cold);
    if (!cell->has_future)
        printf("  without belady: it looks ahead at %llu accesses at most\n",
               (unsigned long long)FF__CURVE_FUTURE);
    show_points(curves, index);
    putchar('\n');
    fflush(stdout);
}

/* ---- for programs ---- */

static json_t *run_of(const struct curves *curves, unsigned index, unsigned budget) {
    const struct ff__sweep *sweep = curves->sweep;
    const struct cell *cell = &curves->cells[index];
    struct point point = point_of(curves, index, budget);
    const struct ff__run_subject subject = {
        .subject = sweep->matrix.subjects.items[workload_of(sweep, index)],
        .device = sweep->gpus[gpu_of(sweep, index)].name,
        .share = sweep->matrix.budgets[budget].text,
        .memory = point.memory,
        .footprint = sweep->matrix.footprints[workload_of(sweep, index)],
    };
    const struct ff__run_measures measures = {.seconds = (double)NAN,
                                              .slowdown = (double)NAN,
                                              .faults = point.misses,
                                              .hit_rate = 1 - point.ratio};
    json_t *run = ff__run_new(&subject, cell->good ? &measures : NULL, cell->reason, json_null());
    ff__json_set(run, "bytes_in", json_null());
    ff__json_set(run, "bytes_out", json_null());
    if (!cell->good)
        return run;
    ff__json_set(run, "accesses", ff__json_count(cell->curve.accesses));
    ff__json_set(run, "pages", ff__json_count(cell->curve.pages));
    ff__json_set(run, "cold", ff__json_count(cell->curve.cold));
    ff__json_set(run, "miss_ratio", ff__json_number(point.ratio));
    ff__json_set(run, "belady",
                 cell->has_future ? ff__json_count(cell->fewest[budget]) : json_null());
    ff__json_set(run, "belady_miss_ratio", ff__json_number(point.fewest_ratio));
    return run;
}

static json_t *curve_of(const struct curves *curves, unsigned index) {
    const struct ff__sweep *sweep = curves->sweep;
    const struct cell *cell = &curves->cells[index];
    json_t *curve = ff__must(json_object());
    ff__json_set(curve, "subject",
                 ff__json_text(sweep->matrix.subjects.items[workload_of(sweep, index)]));
    ff__json_set(curve, "device", ff__json_text(sweep->gpus[gpu_of(sweep, index)].name));
    ff__json_set(curve, "points", cell->good ? points_of(&cell->curve) : json_array());
    return curve;
}

static int write_results(const struct curves *curves, unsigned count) {
    const struct ff__sweep *sweep = curves->sweep;
    if (!sweep->outputs.json && !sweep->outputs.csv)
        return 0;
    json_t *all = ff__results_new(sweep->traces ? "replay" : "sim");
    json_t *runs = ff__must(json_array()), *lines = ff__must(json_array());
    for (unsigned i = 0; i < count; i++)
        for (unsigned budget = 0; budget < sweep->matrix.budget_count; budget++)
            json_array_append_new(runs, run_of(curves, i, budget));
    for (unsigned i = 0; i < count && sweep->outputs.json; i++)
        json_array_append_new(lines, curve_of(curves, i));
    ff__json_set(all, "untimed", json_true());
    ff__json_set(all, "seed", ff__json_count(sweep->study.seed));
    ff__json_set(all, "devices", ff__json_count(1));
    ff__json_set(all, "runs", runs);
    ff__json_set(all, "means", json_array());
    ff__json_set(all, "curves", lines);
    int status = ff__outputs_write(&sweep->outputs, all);
    json_decref(all);
    return status;
}

/* ---- all of it ---- */

int ff__sweep_run_curves(struct ff__sweep *sweep) {
    unsigned count = sweep->matrix.subjects.count * sweep->matrix.devices.count;
    struct curves curves = {sweep, ff__must(calloc(count, sizeof *curves.cells))};
    const struct ff__cells cells = {.count = count,
                                    .run = run_cell,
                                    .key = key_of,
                                    .found = found_by,
                                    .result = result_of,
                                    .restore = restore,
                                    .done = show_cell,
                                    .self = &curves};
    int status = ff__cells_run(&sweep->study, &cells);
    if (!status && !sweep->study.parts)
        status = write_results(&curves, count);
    for (unsigned i = 0; i < count; i++) {
        if (!status && ff__study_has(&sweep->study, i) && !curves.cells[i].good)
            status = FF__EXIT_FAILURE;
        free_cell(&curves.cells[i]);
    }
    free(curves.cells);
    return status;
}
