/* Jung, Kim and Lee, ASPLOS 2023: their runs on a modelled V100, in our words. Tables 4, 5 and 9
 * and Figure 10 are made here, the others in the files of the other parts. */
#include "study/repro/deepum.h"

#include "report/complain.h"
#include "study/repro/deepum_energy.h"
#include "study/repro/deepum_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table of the paper's shape, all rows there from the start: 2048 rows of 2 ways, each a block
 * and 4 successors. That a block takes four bytes, as with us, is ours; the paper does not say. */
#define FULL_TABLE (2048u * 2 * (1 + 4) * 4)

#define PLUS       "deepum-plus:" FF__DEEPUM_TABLES
#define PREFETCHES FF__DEEPUM ",evict=lrm,discard=declared"
#define PREEVICTS  FF__DEEPUM ",discard=declared"

/* What is run in each configuration: what most tables need first, for who ends it before all is
 * run. */
static const struct {
    const char *system;
    enum ff__deepum_card card;
} kinds[] = {
    {FF__DEEPUM_UM, FF__DEEPUM_CARD},       {FF__DEEPUM, FF__DEEPUM_CARD},
    {FF__DEEPUM_RESIDENT, FF__DEEPUM_CARD}, {PREFETCHES, FF__DEEPUM_CARD},
    {PREEVICTS, FF__DEEPUM_CARD},           {FF__DEEPUM_LMS, FF__DEEPUM_CARD},
    {FF__DEEPUM_LMS_MOD, FF__DEEPUM_CARD},  {PLUS, FF__DEEPUM_CARD},
    {FF__DEEPUM_UM, FF__DEEPUM_FLUSHES},    {FF__DEEPUM, FF__DEEPUM_FLUSHES},
    {FF__DEEPUM_UM, FF__DEEPUM_DUPLICATES}, {FF__DEEPUM, FF__DEEPUM_DUPLICATES},
};

/* A column of the configurations: what they are, and what ours says of a run. */
struct paper_column {
    const char *id, *what, *member;
    const char *system;
    double (*ours)(const struct ff__simulated *run);
};

struct paper {
    const struct ff__repro_plan *plan;
    const json_t *configs;
    struct ff__deepum_runs runs;
    json_t *tables;
};

/* ---- what runs say ---- */

/* Entries of the fault buffer, duplicates among them. */
static double faults_of(const struct ff__simulated *run) {
    const struct ff__sim_iteration *last = &run->result.last_iteration;
    return run->good ? (double)(last->faults + last->duplicates) : (double)NAN;
}

static double megabytes_of(const struct ff__simulated *run) {
    return run->good ? (double)run->result.table_bytes / 0x1p20 : (double)NAN;
}

/* What a full table for every execution ID that ever had a fault would take. */
static double full_megabytes_of(const struct ff__simulated *run) {
    return run->good ? (double)(run->result.kernels_faulted * FULL_TABLE) / 0x1p20 : (double)NAN;
}

static const struct ff__simulated *run_of(struct paper *paper, const json_t *config,
                                          const char *system, enum ff__deepum_card card) {
    return ff__deepum_run(&paper->runs, ff__repro_text(config, "workload"), system, card);
}

static double seconds_of(struct paper *paper, const json_t *config, const char *system,
                         enum ff__deepum_card card) {
    return ff__deepum_seconds(run_of(paper, config, system, card));
}

/* ---- tables ---- */

/* Of the configurations sorted by name and counted from 0, which ones: a cost of the host is chosen
 * on the even ones, and reported on the odd ones. */
enum half { ODD, EVEN, BOTH };

static bool is_in(struct paper *paper, const json_t *config, enum half half) {
    const char *name = ff__repro_text(config, "config");
    unsigned before = 0;
    size_t i;
    json_t *other;
    json_array_foreach(paper->configs, i, other) before +=
        strcmp(ff__repro_text(other, "config"), name) < 0;
    return half == BOTH || before % 2 == (half == ODD);
}

static void add_column(struct paper *paper, const struct paper_column *column,
                       enum ff__deepum_card card, enum half half) {
    json_t *table = ff__repro_table(paper->tables, column->id, column->what), *config;
    size_t i;
    json_array_foreach(paper->configs, i, config) if (is_in(paper, config, half)) ff__repro_row(
        table, ff__repro_text(config, "config"), ff__repro_number(config, column->member),
        column->ours(run_of(paper, config, column->system, card)));
}

/* A system against UM; `member`: its published seconds, NULL if there are none. */
static void add_speedup(struct paper *paper, const struct paper_column *column,
                        enum ff__deepum_card card, enum half half) {
    json_t *table = ff__repro_table(paper->tables, column->id, column->what), *config;
    size_t i;
    json_array_foreach(paper->configs, i, config) if (is_in(paper, config, half)) {
        double published = column->member ? ff__repro_number(config, column->member) : (double)NAN;
        ff__repro_row(table, ff__repro_text(config, "config"),
                      ff__repro_number(config, "um_s") / published,
                      seconds_of(paper, config, FF__DEEPUM_UM, card) /
                          seconds_of(paper, config, column->system, card));
    }
}

static void main_columns(struct paper *paper) {
    static const struct paper_column columns[] = {
        {"4", "correlation tables, MiB", "table_mb", FF__DEEPUM, megabytes_of},
        {"4.full", "full tables of the paper's shape for all kernels that had faults, MiB",
         "table_mb", FF__DEEPUM, full_megabytes_of},
        {"5.um", "faults of an iteration, UM", "um_faults", FF__DEEPUM_UM, faults_of},
        {"5.deepum", "faults of an iteration, DeepUM", "deepum_faults", FF__DEEPUM, faults_of},
        {"5.plus", "faults of an iteration, deepum-plus (ours)", "deepum_faults", PLUS, faults_of},
        {"9b.um", "UM, seconds of 100 iterations", "um_s", FF__DEEPUM_UM, ff__deepum_seconds},
        {"9b.lms", "LMS, seconds of 100 iterations", "lms_s", FF__DEEPUM_LMS, ff__deepum_seconds},
        {"9b.lms-mod", "LMS-mod, seconds of 100 iterations", "lms_mod_s", FF__DEEPUM_LMS_MOD,
         ff__deepum_seconds},
        {"9b.deepum", "DeepUM, seconds of 100 iterations", "deepum_s", FF__DEEPUM,
         ff__deepum_seconds},
        {"9b.plus", "deepum-plus (ours), seconds of 100 iterations", "deepum_s", PLUS,
         ff__deepum_seconds},
        {"9b.ideal", "fully resident, seconds of 100 iterations", "ideal_s", FF__DEEPUM_RESIDENT,
         ff__deepum_seconds},
    };
    static const struct paper_column speedups[] = {
        {"9a.deepum", "DeepUM, times as fast as UM", "deepum_s", FF__DEEPUM, NULL},
        {"9a.plus", "deepum-plus (ours), times as fast as UM", "deepum_s", PLUS, NULL},
        {"9a.lms", "LMS, times as fast as UM", "lms_s", FF__DEEPUM_LMS, NULL},
        {"9a.lms-mod", "LMS-mod, times as fast as UM", "lms_mod_s", FF__DEEPUM_LMS_MOD, NULL},
        {"9a.ideal", "fully resident, times as fast as UM", NULL, FF__DEEPUM_RESIDENT, NULL},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        add_column(paper, &columns[i], FF__DEEPUM_CARD, BOTH);
    for (size_t i = 0; i < sizeof speedups / sizeof speedups[0]; i++)
        add_speedup(paper, &speedups[i], FF__DEEPUM_CARD, BOTH);
}

/* With a cost that is chosen on the even half of the rows; the odd half comes first. */
static void chosen_columns(struct paper *paper, const char *name, const char *what,
                           enum ff__deepum_card card) {
    static const struct {
        const char *id, *what, *member, *system;
        double (*ours)(const struct ff__simulated *run); /* NULL: times as fast as UM */
    } columns[] = {
        {"9a.deepum", "DeepUM, times as fast as UM", "deepum_s", FF__DEEPUM, NULL},
        {"9b.um", "UM, seconds of 100 iterations", "um_s", FF__DEEPUM_UM, ff__deepum_seconds},
        {"9b.deepum", "DeepUM, seconds of 100 iterations", "deepum_s", FF__DEEPUM,
         ff__deepum_seconds},
        {"5.deepum", "faults of an iteration, DeepUM", "deepum_faults", FF__DEEPUM, faults_of},
    };
    for (enum half half = ODD; half <= EVEN; half++)
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            char *id = ff__text("%s.%s.%s", columns[i].id, name, half == ODD ? "odd" : "even");
            char *text = ff__text("%s, with %s; %s", columns[i].what, what,
                                  half == ODD ? "the rows that it is not chosen on"
                                              : "the rows that it is chosen on");
            const struct paper_column column = {id, text, columns[i].member, columns[i].system,
                                                columns[i].ours};
            (column.ours ? add_column : add_speedup)(paper, &column, card, half);
            free(id);
            free(text);
        }
}

/* Figure 10: the paper's three steps against UM, in each configuration, of which the text has no
 * values, and in the mean. */
static void ablation(struct paper *paper) {
    static const struct paper_column steps[] = {
        {"10.prefetching", "prefetching alone, times as fast as UM", NULL, PREFETCHES, NULL},
        {"10.preeviction", "with pre-eviction, times as fast as UM", NULL, PREEVICTS, NULL},
        {"10.invalidation", "with invalidation, times as fast as UM", NULL, FF__DEEPUM, NULL},
    };
    json_t *means = ff__repro_table(paper->tables, "10",
                                    "what each part does: times as fast as UM, mean of all "
                                    "configurations");
    json_t *step, *row;
    size_t i, j;
    json_array_foreach(json_object_get(paper->plan->published, "steps"), i, step) if (i < 3) {
        struct ff__mean mean = {0};
        add_speedup(paper, &steps[i], FF__DEEPUM_CARD, BOTH);
        const json_t *table = json_array_get(paper->tables, json_array_size(paper->tables) - 1);
        json_array_foreach(json_object_get(table, "rows"), j, row)
            ff__mean_add(&mean, ff__repro_number(row, "ours"));
        ff__repro_row(means, ff__repro_text(step, "config"), ff__repro_number(step, "faster"),
                      ff__mean_value(&mean));
    }
}

/* Figure 9(c): of the energy under UM. The text gives the means alone. */
static void energy(struct paper *paper) {
    static const struct {
        const char *id, *what, *system, *name;
    } columns[] = {
        {"9c.deepum", "DeepUM, of UM's energy", FF__DEEPUM, "deepum"},
        {"9c.lms", "LMS, of UM's energy", FF__DEEPUM_LMS, "lms"},
        {"9c.lms-mod", "LMS-mod, of UM's energy", FF__DEEPUM_LMS_MOD, "lms-mod"},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    double means[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        json_t *table = ff__repro_table(paper->tables, columns[i].id, columns[i].what), *config;
        struct ff__mean mean = {0};
        size_t j;
        json_array_foreach(paper->configs, j, config) {
            const struct ff__simulated *resident =
                run_of(paper, config, FF__DEEPUM_RESIDENT, FF__DEEPUM_CARD);
            double um =
                ff__deepum_joules(run_of(paper, config, FF__DEEPUM_UM, FF__DEEPUM_CARD), resident);
            double ours = ff__deepum_joules(
                run_of(paper, config, columns[i].system, FF__DEEPUM_CARD), resident);
            ff__repro_row(table, ff__repro_text(config, "config"), (double)NAN, ours / um);
            if (!isnan(ours))
                ff__mean_add(&mean, ours / um);
        }
        means[i] = ff__mean_value(&mean);
    }
    json_t *table = ff__repro_table(paper->tables, "9c", "of UM's energy, geometric means");
    for (size_t i = 0; i < COLUMNS; i++)
        ff__repro_row(
            table, columns[i].name,
            ff__repro_number(json_object_get(paper->plan->published, "energy"), columns[i].name),
            means[i]);
}

/* ---- all ---- */

static void plan_runs(struct paper *paper) {
    size_t i, j;
    json_t *config;
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        json_array_foreach(paper->configs, j, config) ff__deepum_runs_add(
            &paper->runs, ff__repro_text(config, "workload"), kinds[i].system, kinds[i].card);
}

static int run_paper(const struct ff__repro_plan *plan, json_t *tables) {
    struct paper paper = {
        .plan = plan, .configs = json_object_get(plan->published, "configs"), .tables = tables};
    int status = ff__deepum_runs_open(&paper.runs, plan);
    if (!status) {
        plan_runs(&paper);
        status = ff__deepum_runs_make(&paper.runs, plan);
    }
    if (!status) {
        main_columns(&paper);
        chosen_columns(&paper, "duplicate", "a cost of duplicates", FF__DEEPUM_DUPLICATES);
        chosen_columns(&paper, "flush", "a cost of dropped entries", FF__DEEPUM_FLUSHES);
        ablation(&paper);
        energy(&paper);
    }
    ff__deepum_runs_close(&paper.runs);
    return status;
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    static const struct {
        const char *name;
        int (*run)(const struct ff__repro_plan *plan, json_t *tables);
    } parts[] = {
        {"paper", run_paper},
        {"sweeps", ff__repro_deepum_sweeps},
        {"batches", ff__repro_deepum_batches},
        {"tensorflow", ff__repro_deepum_tensorflow},
        {"ablation", ff__repro_deepum_ablation},
    };
    const char *names = plan->parts ? plan->parts : "paper";
    bool any = false;
    int status = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !status; i++)
        if (ff__repro_has_word(names, parts[i].name)) {
            any = true;
            status = parts[i].run(plan, tables);
        }
    if (!any)
        return ff__complain(FF__EXIT_USAGE,
                            "--parts: '%s' names no part; there are: "
                            "paper,sweeps,batches,tensorflow,ablation",
                            names);
    return status;
}

const struct ff__repro ff__repro_deepum = {
    .name = "deepum",
    .summary = "Jung, Kim and Lee, ASPLOS 2023",
    .run = run,
};
