/* HUVM / memHarvester (Choi et al., USENIX ATC 2022): jobs beside each other on the devices of one
 * machine. How much faster each is than under another system. */
#include "backend/sim/sim.h"
#include "base/checksum.h"
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/repro.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX FF__MACHINE_DEVICES
#define STOCK    "nvidia"
/* The authors ran the released module, which prefetches blocks that are two apart. */
#define PREEVICT        "preevict-host:stride=2"
#define OURS            "memharvester:stride=2"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* One run of all jobs of a case. */
struct huvm_run {
    const json_t *the_case;
    char *system;
    double footprint; /* of the jobs that end, as a multiple of their own */
    unsigned share;   /* percent of its memory that a device lends */
    struct huvm_result {
        double seconds[JOBS_MAX];
        double host_bytes, peer_bytes; /* that came to the first job */
        double used[JOBS_MAX];         /* its footprint, as a multiple of a device's memory */
    } found;
    char reason[sizeof((struct ff_error *)0)->message]; /* why it failed; empty: it did not */
};

/* What the abstract compares with, "the prior approach"; it does not say which of the two that is.
 */
static const char *const bases[] = {STOCK, PREEVICT};

struct huvm_repro {
    struct ff__machine machine;
    uint64_t seed, memory; /* bytes of each device */
    uint32_t published;    /* checksum of the published file, which describes machine and jobs */
    struct huvm_run *runs;
    unsigned run_count;
    double most[COUNT_OF(bases)]; /* gain over each of all cases; NaN: none is asked for */
};

/* ---- a run ---- */

static bool repeats(const json_t *job) {
    return json_is_true(json_object_get(job, "repeats"));
}

static int open_job(const struct huvm_repro *work, const struct huvm_run *run,
                    const json_t *description, struct ff__sim_job *out, struct ff_error *error) {
    const char *spec = ff__json_text_of(description, "workload");
    int status = ff__workload_open(spec, work->seed, &out->workload, error);
    if (status || repeats(description) || run->footprint == 1)
        return status;
    uint64_t size = (uint64_t)((double)ff__workload_footprint(out->workload) * run->footprint);
    char *sized =
        ff__text("%s%csize=%llu", spec, strchr(spec, ':') ? ',' : ':', (unsigned long long)size);
    ff__workload_close(out->workload);
    out->workload = NULL;
    status = ff__workload_open(sized, work->seed, &out->workload, error);
    free(sized);
    return status;
}

static int open_jobs(const struct huvm_repro *work, const struct huvm_run *run,
                     struct ff__sim_job *jobs, uint32_t *count, struct ff_error *error) {
    const json_t *descriptions = json_object_get(run->the_case, "jobs");
    int status = 0;
    for (; *count < json_array_size(descriptions) && *count < JOBS_MAX && !status; ++*count) {
        const json_t *description = json_array_get(descriptions, *count);
        double start = ff__json_number_of(description, "start_s");
        jobs[*count] = (struct ff__sim_job){.first_device =
                                                (uint32_t)ff__json_number_of(description, "device"),
                                            .devices = 1,
                                            .repeats = repeats(description),
                                            .start_ns = isnan(start) ? 0 : (uint64_t)(start * 1e9)};
        status = open_job(work, run, description, &jobs[*count], error);
    }
    return status;
}

/* Of the whole job, or of one of its iterations or repetitions if it goes on for ever. */
static double seconds_of(const struct ff__sim_job *job) {
    const struct ff__sim_result *result = &job->result;
    if (!job->repeats)
        return (double)result->time_ns * 1e-9;
    return result->repetitions > 0
               ? (double)result->repetitions_ps * 1e-12 / (double)result->repetitions
               : (double)NAN;
}

static void run_job(void *self, unsigned index) {
    const struct huvm_repro *work = self;
    struct huvm_run *run = &((struct huvm_repro *)self)->runs[index];
    struct ff__sim_job jobs[JOBS_MAX] = {{0}};
    struct ff__sim_result all;
    struct ff_error error = {""};
    uint32_t count = 0;
    double lender = ff__json_number_of(run->the_case, "lender");
    struct ff__sim_config config = {.gpu = &work->machine.gpu,
                                    .machine = &work->machine,
                                    .memory = work->memory,
                                    .devices = work->machine.devices,
                                    .lend = work->memory / 100 * run->share,
                                    .lenders = isnan(lender) ? 0 : 1u << (uint32_t)lender,
                                    .seed = work->seed};
    int status = ff__system_parse(run->system, &config.system, &error);
    if (!status)
        status = open_jobs(work, run, jobs, &count, &error);
    if (!status)
        status = ff__sim_run_jobs(&config, jobs, count, &all, &error);
    for (uint32_t i = 0; i < count; i++)
        if (jobs[i].workload)
            run->found.used[i] =
                (double)ff__workload_footprint(jobs[i].workload) / (double)work->memory;
    for (uint32_t i = 0; i < JOBS_MAX; i++)
        run->found.seconds[i] = status || i >= count ? (double)NAN : seconds_of(&jobs[i]);
    run->found.host_bytes = (double)jobs[0].result.bytes_in;
    run->found.peer_bytes = (double)jobs[0].result.bytes_peer;
    for (uint32_t i = 0; i < count; i++)
        if (jobs[i].workload)
            ff__workload_close(jobs[i].workload);
    if (status)
        snprintf(run->reason, sizeof run->reason, "%s", error.message);
}

/* Names of cases and jobs stand for what the published file says of them. */
static bool key_of(const void *self, unsigned index, struct ff__store_key *out) {
    const struct huvm_repro *work = self;
    const struct huvm_run *run = &work->runs[index];
    *out = (struct ff__store_key){
        .subject = ff__json_text_of(run->the_case, "id"),
        .system = run->system,
        .device = work->machine.name,
        .memory = work->memory,
        .seed = work->seed,
        .options = ff__text("data=%g%% lent=%u%%", run->footprint * 100, run->share),
        .data = ff__crc32c(work->published, &work->machine, sizeof work->machine)};
    return true;
}

static struct ff__found found_by(const void *self, unsigned index) {
    const struct huvm_run *run = &((const struct huvm_repro *)self)->runs[index];
    return (struct ff__found){.failure = run->reason[0] ? run->reason : NULL,
                              .seconds = run->found.seconds[0],
                              .figure = run->found.seconds[0],
                              .unit = "s, the first job"};
}

static json_t *result_of(const void *self, unsigned index) {
    const struct huvm_run *run = &((const struct huvm_repro *)self)->runs[index];
    const struct huvm_result *found = &run->found;
    if (run->reason[0])
        return json_null();
    json_t *all = ff__must(json_object()), *jobs = ff__must(json_array());
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        json_t *job = ff__must(json_object());
        ff__json_set(job, "seconds", ff__json_number(found->seconds[i]));
        ff__json_set(job, "used", ff__json_number(found->used[i]));
        json_array_append_new(jobs, job);
    }
    ff__json_set(all, "jobs", jobs);
    ff__json_set(all, "bytes_in", ff__json_number(found->host_bytes));
    ff__json_set(all, "bytes_peer", ff__json_number(found->peer_bytes));
    return all;
}

static bool restore(void *self, unsigned index, const json_t *all) {
    struct huvm_result *found = &((struct huvm_repro *)self)->runs[index].found;
    const json_t *jobs = json_object_get(all, "jobs");
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        found->seconds[i] = ff__json_number_of(json_array_get(jobs, i), "seconds");
        found->used[i] = ff__json_number_of(json_array_get(jobs, i), "used");
    }
    found->host_bytes = ff__json_number_of(all, "bytes_in");
    found->peer_bytes = ff__json_number_of(all, "bytes_peer");
    return json_array_size(jobs) == JOBS_MAX;
}

/* ---- what is to be run, and shown ---- */

/* The number of the run, which is added if it is new. */
static unsigned run_of(struct huvm_repro *work, const json_t *the_case, const char *system,
                       double footprint, unsigned share) {
    for (unsigned i = 0; i < work->run_count; i++) {
        const struct huvm_run *run = &work->runs[i];
        if (run->the_case == the_case && strcmp(run->system, system) == 0 &&
            run->footprint == footprint && run->share == share)
            return i;
    }
    work->runs = ff__must(realloc(work->runs, (work->run_count + 1) * sizeof *work->runs));
    work->runs[work->run_count] = (struct huvm_run){.the_case = the_case,
                                                    .system = ff__text("%s", system),
                                                    .footprint = footprint,
                                                    .share = share};
    return work->run_count++;
}

/* ---- metrics ---- */

static double faster(const struct huvm_result *slow, const struct huvm_result *fast, unsigned job) {
    return slow->seconds[job] / fast->seconds[job];
}

static double seconds(const struct huvm_result *slow, const struct huvm_result *fast,
                      unsigned job) {
    (void)slow;
    return fast->seconds[job];
}

/* Percent of the bytes of the first job. */
static double from_host(const struct huvm_result *slow, const struct huvm_result *fast,
                        unsigned job) {
    (void)slow, (void)job;
    return 100 * fast->host_bytes / (fast->host_bytes + fast->peer_bytes);
}

static double used(const struct huvm_result *slow, const struct huvm_result *fast, unsigned job) {
    (void)slow;
    return fast->used[job];
}

static double harvested(const struct huvm_result *slow, const struct huvm_result *fast,
                        unsigned job) {
    return fmax(0, used(slow, fast, job) - 1);
}

static const struct huvm_metric {
    const char *name;
    double (*of)(const struct huvm_result *slow, const struct huvm_result *fast, unsigned job);
} metrics[] = {{"faster", faster},
               {"seconds", seconds},
               {"from_host", from_host},
               {"used", used},
               {"harvested", harvested}};

/* The first if the table says nothing. */
static const struct huvm_metric *metric_of(const json_t *table) {
    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (strcmp(metrics[i].name, ff__json_text_of(table, "metric")) == 0)
            return &metrics[i];
    return &metrics[0];
}

/* ---- tables ---- */

static double number_or(const json_t *object, const char *name, double other) {
    double number = ff__json_number_of(object, name);
    return isnan(number) ? other : number;
}

/* The run of one side of a row: the faster one, or what that is compared with, if it is. */
static unsigned side_of(struct huvm_repro *work, const json_t *the_case, const json_t *row,
                        bool fast) {
    const char *slow = ff__json_text_of(row, "slow");
    fast = fast || !*slow;
    return run_of(work, the_case, fast ? ff__json_text_of(row, "fast") : slow,
                  number_or(row, "footprint", 1),
                  (unsigned)number_or(row, fast ? "lent" : "slow_lent", 100));
}

/* Named for the job, or as the row says, or both. */
static char *name_of(const json_t *table, const json_t *job, const json_t *row) {
    const char *own = ff__json_text_of(row, "name");
    if (!json_is_true(json_object_get(table, "jobs")))
        return ff__text("%s", own);
    return ff__text("%s%s%s", ff__json_text_of(job, "name"), *own ? ", " : "", own);
}

static bool is_variant(const json_t *the_case) {
    return json_is_true(json_object_get(the_case, "variant"));
}

/* Whether a row is one of the gains of the abstract. */
static void note_gain(struct huvm_repro *work, const struct huvm_run *slow,
                      const struct huvm_run *fast, double gain) {
    for (unsigned i = 0; i < COUNT_OF(bases); i++)
        if (!is_variant(fast->the_case) && strcmp(slow->system, bases[i]) == 0 &&
            strcmp(fast->system, OURS) == 0 && fast->footprint == 1 && fast->share == 100)
            work->most[i] = fmax(work->most[i], gain);
}

static void make_row(struct huvm_repro *work, const json_t *the_case, const json_t *table,
                     unsigned job, const json_t *row, json_t *out) {
    const json_t *description = json_array_get(json_object_get(the_case, "jobs"), job);
    double paper = ff__json_number_of(description, ff__json_text_of(row, "paper"));
    const char *over = ff__json_text_of(row, "over");
    const struct huvm_metric *metric = metric_of(table);
    unsigned slow_run = side_of(work, the_case, row, false),
             fast_run = side_of(work, the_case, row, true);
    const struct huvm_run *slow = &work->runs[slow_run], *fast = &work->runs[fast_run];
    double ours = metric->of(&slow->found, &fast->found, job);
    char *name = name_of(table, description, row);
    ff__repro_row(out, name, *over ? paper / ff__json_number_of(description, over) : paper, ours);
    free(name);
    if (metric->of == faster)
        note_gain(work, slow, fast, ours);
}

/* Of all jobs, or of the first one. */
static void make_table(struct huvm_repro *work, const json_t *the_case, const json_t *table,
                       json_t *tables) {
    bool all = json_is_true(json_object_get(table, "jobs"));
    size_t count = json_array_size(json_object_get(the_case, "jobs")), i;
    const json_t *row;
    char *id =
        ff__text("%s%s", ff__json_text_of(the_case, "id"), ff__json_text_of(table, "suffix"));
    json_t *out = ff__repro_table(tables, id, ff__json_text_of(table, "what"));
    for (unsigned job = 0; job < (all ? count : 1); job++)
        json_array_foreach(json_object_get(table, "rows"), i, row)
            make_row(work, the_case, table, job, row, out);
    free(id);
}

static bool is_asked_for(const struct ff__repro_plan *plan, const char *part) {
    return !plan->parts || ff__repro_has_word(plan->parts, part);
}

/* A table without a part is in that of the case; of variants there are no others. */
static void make_case(struct huvm_repro *work, const struct ff__repro_plan *plan,
                      const char *of_case, const json_t *the_case, json_t *tables) {
    size_t i;
    const json_t *table;
    json_array_foreach(json_object_get(plan->published, of_case), i, table) {
        const char *part = ff__json_text_of(table, "part");
        if (is_asked_for(plan, *part ? part : ff__json_text_of(the_case, "part")) &&
            !(*part && is_variant(the_case)))
            make_table(work, the_case, table, tables);
    }
}

static void add_most(const struct huvm_repro *work, const struct ff__repro_plan *plan,
                     json_t *tables) {
    json_t *table = NULL;
    for (unsigned i = 0; i < COUNT_OF(bases); i++) {
        if (isnan(work->most[i]))
            continue;
        if (!table)
            table =
                ff__repro_table(tables, "abstract", "times faster than another system, at most");
        ff__repro_row(table, bases[i], ff__json_number_of(plan->published, "most"), work->most[i]);
    }
}

/* Called twice: at first, to nowhere, tables say what has to be run. */
static void make_tables(struct huvm_repro *work, const struct ff__repro_plan *plan,
                        json_t *tables) {
    size_t i;
    const json_t *the_case;
    for (i = 0; i < COUNT_OF(bases); i++)
        work->most[i] = (double)NAN;
    json_array_foreach(json_object_get(plan->published, "cases"), i, the_case)
        make_case(work, plan, "tables", the_case, tables);
    json_array_foreach(json_object_get(plan->published, "spare"), i, the_case)
        make_case(work, plan, "spare_tables", the_case, tables);
    add_most(work, plan, tables);
}

static void free_work(struct huvm_repro *work) {
    for (unsigned i = 0; i < work->run_count; i++)
        free(work->runs[i].system);
    free(work->runs);
}

static uint32_t checksum_of(const json_t *published) {
    char *text = ff__must(json_dumps(published, JSON_COMPACT));
    uint32_t sum = ff__crc32c(0, text, strlen(text));
    free(text);
    return sum;
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    struct huvm_repro work = {.seed = plan->study.seed};
    struct ff_error error;
    char folder[PATH_MAX];
    json_t *unused = ff__must(json_array());
    int status = ff__find_data("", folder);
    if (!status && ff__machine_read(ff__json_text_of(plan->published, "machine"), folder,
                                    &work.machine, &error))
        status = ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    double memory = ff__json_number_of(plan->published, "memory");
    work.memory = isnan(memory) ? work.machine.gpu.memory : (uint64_t)memory;
    make_tables(&work, plan, unused);
    json_decref(unused);
    if (!status && work.run_count == 0)
        status = ff__complain(FF__EXIT_USAGE,
                              "--parts: '%s' names no part; there are: cases,others,kernels,engine,"
                              "training,steps,amounts,footprints,spare",
                              plan->parts);
    work.published = checksum_of(plan->published);
    const struct ff__cells cells = {.count = work.run_count,
                                    .run = run_job,
                                    .key = key_of,
                                    .found = found_by,
                                    .result = result_of,
                                    .restore = restore,
                                    .self = &work};
    if (!status)
        status = ff__cells_run(&plan->study, &cells);
    if (!status)
        make_tables(&work, plan, tables);
    free_work(&work);
    return status;
}

const struct ff__repro ff__repro_huvm = {
    .name = "huvm",
    .summary = "Choi et al., USENIX ATC 2022, from the authors' own results",
    .run = run,
};
