/* A repro that is a file of data alone: it lists tables, what is run for each, and what the table
 * shows of the runs (docs/simulation.md, "A paper as a file"). Forest, ARIADNE, UVMSmart, and any
 * of a user's. Experiments (experiments.h) are another kind of file. */
#include "base/parse.h"
#include "report/complain.h"
#include "report/json.h"
#include "study/repro/experiments.h"
#include "study/repro/metrics.h"
#include "study/repro/paper.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct file_repro {
    struct ff__paper paper;
};

/* ---- the file ---- */

static const json_t *top(const struct file_repro *work, const char *name) {
    return json_object_get(work->paper.plan->published, name);
}

/* What is wrong with a table of the file, in one line. */
static int complain(const struct file_repro *work, const json_t *table, const char *what,
                    const char *name) {
    const char *id = ff__json_text_of(table, "id");
    return ff__complain(FF__EXIT_FAILURE, "%s: table '%s': %s%s%s%s", work->paper.plan->file, id,
                        what, name ? " '" : "", name ? name : "", name ? "'" : "");
}

/* A member of the table, or the one that tables have where they say nothing. */
static const json_t *member(const struct file_repro *work, const json_t *table, const char *name) {
    const json_t *own = json_object_get(table, name);
    return own ? own : json_object_get(top(work, "defaults"), name);
}

static const char *text_of(const struct file_repro *work, const json_t *table, const char *name) {
    const char *text = json_string_value(member(work, table, name));
    return text ? text : "";
}

static const json_t *subjects_of(const struct file_repro *work, const json_t *table) {
    return json_object_get(top(work, "sets"), text_of(work, table, "set"));
}

static bool is_asked_for(const struct file_repro *work, const json_t *table) {
    const char *parts = work->paper.plan->parts;
    return !parts || ff__repro_has_word(parts, ff__json_text_of(table, "part"));
}

static bool has_rows(const json_t *table) {
    return json_is_array(json_object_get(table, "rows"));
}

/* NULL: there is none of that name. */
static const struct ff__metric *metric_of(const struct file_repro *work, const json_t *table) {
    const char *name = text_of(work, table, "metric");
    const struct ff__metric *metric = ff__metric_find(*name ? name : "faster");
    return metric && !(metric->traits & FF__METRIC_ALONE) ? metric : NULL;
}

/* ---- what tables need ---- */

/* One of the two sides of a table's ratio. */
struct ratio_side {
    const char *system; /* or a list of them */
    double percent;     /* the footprint, of memory */
};

static struct ratio_side side_of(const struct file_repro *work, const json_t *table) {
    return (struct ratio_side){text_of(work, table, "system"),
                               json_number_value(member(work, table, "percent"))};
}

/* With as much memory, unless the table says otherwise. */
static struct ratio_side baseline_of(const struct file_repro *work, const json_t *table) {
    const json_t *own = member(work, table, "baseline_percent");
    return (struct ratio_side){text_of(work, table, "baseline"),
                               own ? json_number_value(own) : side_of(work, table).percent};
}

static bool is_share(double percent) {
    return percent >= 1 && percent <= 10000;
}

/* What the table lacks that its runs need. */
static int check_table(const struct file_repro *work, const json_t *table) {
    bool rows = has_rows(table);
    if (!*ff__json_text_of(table, "id"))
        return ff__complain(FF__EXIT_FAILURE, "%s: a table without an \"id\"",
                            work->paper.plan->file);
    if (!rows && (!*text_of(work, table, "system") || !*text_of(work, table, "baseline")))
        return complain(work, table, "it needs a \"system\" and a \"baseline\"", NULL);
    if (!*text_of(work, table, "gpu"))
        return complain(work, table, "it needs a \"gpu\"", NULL);
    if (rows)
        return 0;
    if (json_array_size(subjects_of(work, table)) == 0)
        return complain(work, table, "there are no programs in the set",
                        text_of(work, table, "set"));
    if (!is_share(side_of(work, table).percent) || !is_share(baseline_of(work, table).percent))
        return complain(work, table, "\"percent\" must be 1 to 10000: the footprint, of memory",
                        NULL);
    return metric_of(work, table)
               ? 0
               : complain(work, table, "there is no metric", text_of(work, table, "metric"));
}

/* ---- runs ---- */

/* Its run, which is planned if it is new. */
static const struct ff__simulated *add_run(struct file_repro *work,
                                           const struct ff__simulation *simulation) {
    return ff__simulations_at(&work->paper.runs,
                              ff__simulations_add(&work->paper.runs, simulation));
}

/* A system that has so little memory that its footprint is `percent` of it. */
static int find_run(struct file_repro *work, const json_t *table, const char *workload,
                    const char *spec, double percent, const struct ff__simulated **out) {
    struct ff__simulation simulation = {.subject = {workload, false, work->paper.plan->study.seed},
                                        .system = spec,
                                        .devices = 1,
                                        .extrapolates = true};
    struct ff__system system;
    struct ff_error error;
    uint64_t footprint, unused;
    if (ff__paper_footprint(&work->paper, workload, &footprint, &error))
        return complain(work, table, error.message, NULL);
    int status =
        ff__paper_device(&work->paper, text_of(work, table, "gpu"), &simulation.gpu, &unused);
    if (status)
        return status;
    if (ff__system_parse(spec, &system, &error))
        return complain(work, table, error.message, NULL);
    uint64_t memory = (uint64_t)((double)footprint * 100 / percent);
    simulation.memory = memory - memory % ff__gpu_least_memory(simulation.gpu);
    if (simulation.memory == 0) /* which would be enough for all */
        return complain(work, table, "the device can not have so little memory for", workload);
    *out = add_run(work, &simulation);
    return 0;
}

/* The run of a system, or the fastest one of a list of the file, whose label is then appended to
 * the row's name. NULL: none has ended well. */
static int pick_run(struct file_repro *work, const json_t *table, const char *workload,
                    struct ratio_side side, const char **label, const struct ff__simulated **out) {
    const json_t *list = json_object_get(top(work, "lists"), side.system), *item;
    const struct ff__simulated *run = NULL;
    size_t i;
    int status = 0;
    *out = NULL;
    if (!list) {
        status = find_run(work, table, workload, side.system, side.percent, &run);
        *out = !status && run->good ? run : NULL;
    }
    json_array_foreach(list, i, item) {
        if (!status)
            status = find_run(work, table, workload, ff__json_text_of(item, "system"), side.percent,
                              &run);
        if (status || !run->good || (*out && (*out)->result.time_ns <= run->result.time_ns))
            continue;
        *out = run;
        *label = ff__json_text_of(item, "label");
    }
    return status;
}

/* ---- tables of gains ---- */

static int ratio_of(struct file_repro *work, const json_t *table, const char *workload,
                    const char **label, struct ff__ratio *out) {
    struct ff__measured measured = {.iterations = 0};
    uint64_t unused;
    int status = pick_run(work, table, workload, baseline_of(work, table), label, &measured.base);
    if (!status)
        status = pick_run(work, table, workload, side_of(work, table), label, &measured.run);
    if (!status)
        status =
            ff__paper_device(&work->paper, text_of(work, table, "gpu"), &measured.gpu, &unused);
    *out = (struct ff__ratio){(double)NAN, 1};
    if (!status && measured.base && measured.run)
        *out = metric_of(work, table)->of(&measured);
    return status;
}

/* A row for each program, with the value that is published of it, if any; the last row is of all
 * together. */
static int fill_gains(struct file_repro *work, const json_t *table, json_t *out) {
    const json_t *subject;
    struct ff__ratio all = {0, 0}, ratio;
    struct ff__mean mean = {0};
    size_t i;
    int status = 0;
    json_array_foreach(subjects_of(work, table), i, subject) {
        const char *program = ff__json_text_of(subject, "program"), *label = NULL;
        if (!status)
            status = ratio_of(work, table, ff__json_text_of(subject, "workload"), &label, &ratio);
        if (status)
            break;
        char *name = ff__text(label ? "%s (%s)" : "%s", program, label);
        ff__repro_row(out, name, ff__json_number_of(json_object_get(table, "papers"), program),
                      ff__ratio_value(ratio));
        free(name);
        ff__mean_add(&mean, ff__ratio_value(ratio));
        all.part += ratio.part;
        all.whole += ratio.whole;
    }
    ff__repro_row(out, "all programs", ff__json_number_of(table, "paper"),
                  metric_of(work, table)->traits & FF__METRIC_SUMS ? ff__ratio_value(all)
                                                                   : ff__mean_value(&mean));
    return status;
}

static int make_gains(struct file_repro *work, const json_t *table, json_t *tables) {
    const char *sure = ff__json_text_of(table, "sure"), *note = ff__json_text_of(table, "note");
    char *what = ff__text("%s%s%s%s%s", ff__json_text_of(table, "what"), *note ? "; " : "", note,
                          *sure ? "; published value: " : "", sure);
    int status =
        fill_gains(work, table, ff__repro_table(tables, ff__json_text_of(table, "id"), what));
    free(what);
    return status;
}

/* ---- tables with a row for each published run ---- */

static int find_row(struct file_repro *work, const json_t *table, const json_t *row,
                    struct ff__measured *out) {
    const char *config = ff__json_text_of(row, "config"),
               *program = ff__json_text_of(row, "program");
    struct ff__simulation simulation = {
        .subject = {ff__json_text_of(top(work, "programs"), program), false,
                    work->paper.plan->study.seed},
        .system = ff__json_text_of(json_object_get(table, "systems"), config),
        .devices = 1};
    int status = ff__paper_device(&work->paper, text_of(work, table, "gpu"), &simulation.gpu,
                                  &simulation.memory);
    if (status)
        return status;
    if (!*simulation.subject.name || !*simulation.system ||
        ff__parse_size(ff__json_text_of(row, "memory"), &simulation.memory))
        return ff__complain(FF__EXIT_FAILURE, "%s: %s: unknown configuration '%s' of '%s'",
                            work->paper.plan->file, ff__json_text_of(table, "id"), config, program);
    simulation.memory -= simulation.memory % FF_PAGE_SIZE;
    *out = (struct ff__measured){.run = add_run(work, &simulation), .gpu = simulation.gpu};
    return 0;
}

static int fill_column(struct file_repro *work, const json_t *table, const json_t *column,
                       json_t *out) {
    const struct ff__metric *metric = ff__metric_find(ff__json_text_of(column, "metric"));
    struct ff__measured measured;
    size_t i;
    const json_t *row;
    int status = 0;
    if (!metric || (metric->traits & FF__METRIC_BASE))
        return ff__complain(FF__EXIT_FAILURE, "%s: columns: there is no metric '%s' of runs",
                            work->paper.plan->file, ff__json_text_of(column, "metric"));
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        if (!status)
            status = find_row(work, table, row, &measured);
        if (status)
            break;
        char *name =
            ff__text("%s %s", ff__json_text_of(row, "config"), ff__json_text_of(row, "program"));
        ff__repro_row(out, name, ff__json_number_of(row, ff__json_text_of(column, "member")),
                      ff__ratio_value(metric->of(&measured)));
        free(name);
    }
    return status;
}

/* One for each of the file's columns. */
static int make_columns(struct file_repro *work, const json_t *table, json_t *tables) {
    size_t i;
    const json_t *columns = top(work, "columns"), *column;
    int status = 0;
    if (json_array_size(columns) == 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: rows need \"columns\"", work->paper.plan->file);
    json_array_foreach(columns, i, column) {
        char *id = ff__text("%s.%s", ff__json_text_of(table, "id"), ff__json_text_of(column, "id"));
        char *what =
            ff__text("%s: %s", ff__json_text_of(table, "what"), ff__json_text_of(column, "what"));
        if (!status)
            status = fill_column(work, table, column, ff__repro_table(tables, id, what));
        free(id);
        free(what);
    }
    return status;
}

/* ---- all of it ---- */

static int make_tables(struct file_repro *work, json_t *tables) {
    size_t i;
    const json_t *table;
    int status = 0;
    json_array_foreach(top(work, "tables"), i, table) {
        if (status || !is_asked_for(work, table))
            continue;
        status = check_table(work, table);
        if (!status)
            status = (has_rows(table) ? make_columns : make_gains)(work, table, tables);
    }
    return status;
}

static int complain_no_part(const struct file_repro *work) {
    size_t i;
    const json_t *table;
    char *all = ff__text("%s", "");
    json_array_foreach(top(work, "tables"), i, table) {
        const char *part = ff__json_text_of(table, "part");
        if (ff__repro_has_word(all, part))
            continue;
        all = ff__text_add(all, "%s%s", *all ? "," : "", part);
    }
    const char *parts = work->paper.plan->parts;
    int status = ff__complain(FF__EXIT_USAGE, "--parts: '%s' names no part; there are: %s",
                              parts ? parts : "", all);
    free(all);
    return status;
}

/* Tables are made twice: at first, to nowhere, they say what has to be run. */
static int run_tables(struct file_repro *work, json_t *tables) {
    json_t *unused = ff__must(json_array());
    int status = make_tables(work, unused);
    json_decref(unused);
    if (!status && work->paper.runs.count == 0)
        status = complain_no_part(work);
    if (!status)
        status = ff__simulations_run(&work->paper.plan->study, &work->paper.runs);
    return status ? status : make_tables(work, tables);
}

int ff__repro_file(const struct ff__repro_plan *plan, json_t *tables) {
    struct file_repro work = {.paper.plan = plan};
    if (json_object_get(plan->published, "experiments"))
        return ff__experiments_run(plan, tables);
    if (json_array_size(top(&work, "tables")) == 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: there are no tables in it", plan->file);
    int status = run_tables(&work, tables);
    ff__paper_free(&work.paper);
    return status;
}
