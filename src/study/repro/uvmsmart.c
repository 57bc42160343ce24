/* Ganguly et al., ISCA 2019: what each row of the logs ran, in our words. */
#include "base/parse.h"
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/repro.h"
#include "study/sim/simulations.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU "gtx1080ti"

/* ---- what their names mean ---- */

/* Their prefetcher changes when memory is first full. `after` is the one from then on: 0 none, 1
 * tree-half, 2 sequential, 3 random. Where it stays the same, the prefetcher itself will do. */
#define FIXED(prefetch, evict)   "demand:prefetch=" prefetch ",evict=" evict
#define UNTIL_FULL(after, evict) "demand:prefetch=uvmsmart,before=1,after=" after ",evict=" evict

static const struct {
    const char *table, *config;
    const char *system;
} systems[] = {
    {"prefetchers", "OnDemand", FIXED("none", "lru-2m")},
    {"prefetchers", "Random", FIXED("random", "lru-2m")},
    {"prefetchers", "SL", FIXED("sequential", "lru-2m")},
    {"prefetchers", "TBN", FIXED("tree-half", "lru-2m")},
    {"combinations", "LRU_OD", UNTIL_FULL("0", "lru-4k")},
    {"combinations", "Random_Random", UNTIL_FULL("3", "random-4k")},
    {"combinations", "SL_SL", UNTIL_FULL("2", "lru-64k")},
    {"combinations", "TBN_TBN", FIXED("tree-half", "tree-half")},
    {"evictors", "LRU", UNTIL_FULL("0", "lru-4k")},
    {"evictors", "Random", UNTIL_FULL("0", "random-4k")},
    {"evictors", "SL", UNTIL_FULL("0", "lru-64k")},
    {"evictors", "TBN", UNTIL_FULL("0", "tree-half")},
    {"tree-eviction", "2MB_110", FIXED("tree-half", "lru-2m")},
    {"tree-eviction", "TBN_110", FIXED("tree-half", "tree-half")},
    {"reserve", "TBN_110_Rsv10", FIXED("tree-half", "tree-half") ",reserve=10"},
    {"reserve", "TBN_110_Rsv20", FIXED("tree-half", "tree-half") ",reserve=20"},
    {"free-buffer", "110", UNTIL_FULL("0", "lru-4k")},
    {"free-buffer", "110_PreEvict90", UNTIL_FULL("0", "lru-4k") ",buffer=10"},
    {"free-buffer", "110_PreEvict95", UNTIL_FULL("0", "lru-4k") ",buffer=5"},
    {"programs", "125", FIXED("tree-half", "lru-2m")},
};

/* As their run scripts call them; these are also the models' default sizes. */
static const struct {
    const char *bench, *workload;
} workloads[] = {
    {"2DCONV", "2dconv"},
    {"ATAX", "atax"},
    {"StreamTriad", "streamtriad"},
    {"ra", "ra"},
    {"sssp", "sssp"},
    {"backprop", "backprop:inputs=131056"},
    {"bfs", "bfs"},
    {"fdtd", "fdtd2d:n=1200,steps=5"},
    {"hotspot", "hotspot:n=1024,pyramid=2,steps=8"},
};

/* Their total is the time of kernels plus 45 us a fault; the flat model keeps the two apart. */
static double total_us(const struct ff__sim_result *result) {
    return (double)(result->kernel_ns + result->fault_ns) / 1e3;
}

static double faults(const struct ff__sim_result *result) {
    return (double)result->faults;
}

static double thrashed(const struct ff__sim_result *result) {
    return (double)result->thrashed;
}

static double pages_in(const struct ff__sim_result *result) {
    return (double)result->pages_in;
}

static const struct {
    const char *member, *id, *what; /* of a published row; of our table */
    double (*ours)(const struct ff__sim_result *result);
} metrics[] = {
    {"time_us", "time", "time of kernels and faults, us", total_us},
    {"faults", "faults", "far faults", faults},
    {"thrashed", "thrashed", "4 KB pages that came back after an eviction", thrashed},
    {"pages_in", "pages-in", "4 KB pages to the device", pages_in},
};

#define METRIC_COUNT (sizeof metrics / sizeof metrics[0])

/* ---- runs ---- */

struct uvmsmart_repro {
    struct ff__gpu gpu;
    struct ff__simulations runs;
    unsigned *rows, count; /* the run of each published row */
};

static const char *system_of(const char *table, const char *config) {
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        if (strcmp(systems[i].table, table) == 0 && strcmp(systems[i].config, config) == 0)
            return systems[i].system;
    return NULL;
}

static const char *workload_of(const char *bench) {
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(workloads[i].bench, bench) == 0)
            return workloads[i].workload;
    return NULL;
}

static int plan_row(struct uvmsmart_repro *work, const struct ff__repro_plan *plan,
                    const json_t *table, const json_t *row) {
    uint64_t memory;
    const char *config = ff__repro_text(row, "config"), *bench = ff__repro_text(row, "bench");
    const char *system = system_of(ff__repro_text(table, "id"), config);
    const char *workload = workload_of(bench);
    if (!system || !workload || ff__parse_size(ff__repro_text(row, "memory"), &memory))
        return ff__complain(FF__EXIT_FAILURE,
                            "published/uvmsmart.json: %s: unknown configuration '%s' of '%s'",
                            ff__repro_text(table, "id"), config, bench);
    const struct ff__simulation simulation = {
        .subject = {workload, false, plan->study.seed},
        .gpu = &work->gpu,
        .system = system,
        .memory = memory - memory % FF_PAGE_SIZE,
        .devices = 1,
    };
    work->rows = ff__must(realloc(work->rows, (work->count + 1) * sizeof *work->rows));
    work->rows[work->count++] = ff__simulations_add(&work->runs, &simulation);
    return 0;
}

static int plan_rows(struct uvmsmart_repro *work, const struct ff__repro_plan *plan) {
    size_t i, j;
    json_t *table, *row;
    int status = 0;
    json_array_foreach(json_object_get(plan->published, "tables"), i, table)
        json_array_foreach(json_object_get(table, "rows"), j, row) if (!status) status =
            plan_row(work, plan, table, row);
    return status;
}

/* ---- tables ---- */

static void make_table(json_t *tables, const json_t *published, size_t metric,
                       const struct ff__simulations *runs, const unsigned *numbers) {
    char *id = ff__text("%s.%s", ff__repro_text(published, "id"), metrics[metric].id);
    char *what = ff__text("%s: %s", ff__repro_text(published, "what"), metrics[metric].what);
    json_t *table = ff__repro_table(tables, id, what), *row;
    size_t i;
    json_array_foreach(json_object_get(published, "rows"), i, row) {
        const struct ff__simulated *found = ff__simulations_at(runs, numbers[i]);
        char *name = ff__text("%s %s", ff__repro_text(row, "config"), ff__repro_text(row, "bench"));
        ff__repro_row(table, name, json_number_value(json_object_get(row, metrics[metric].member)),
                      found->good ? metrics[metric].ours(&found->result) : (double)NAN);
        free(name);
    }
    free(id);
    free(what);
}

static void make_tables(const struct uvmsmart_repro *work, const json_t *published,
                        json_t *tables) {
    size_t i;
    json_t *table;
    const unsigned *rows = work->rows;
    json_array_foreach(json_object_get(published, "tables"), i, table) {
        for (size_t metric = 0; metric < METRIC_COUNT; metric++)
            make_table(tables, table, metric, &work->runs, rows);
        rows += json_array_size(json_object_get(table, "rows"));
    }
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    struct uvmsmart_repro work = {0};
    int status = ff__find_gpu(GPU, FF__EXIT_FAILURE, &work.gpu);
    if (!status)
        status = plan_rows(&work, plan);
    if (!status)
        status = ff__simulations_run(&plan->study, &work.runs);
    if (!status)
        make_tables(&work, plan->published, tables);
    ff__simulations_free(&work.runs);
    free(work.rows);
    return status;
}

const struct ff__repro ff__repro_uvmsmart = {
    .name = "uvmsmart",
    .summary = "Ganguly et al., ISCA 2019, from its simulator's logs",
    .run = run,
};
