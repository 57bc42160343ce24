#include "study/repro/experiments.h"

#include "report/complain.h"
#include "report/json.h"
#include "study/repro/hlsh.h"
#include "study/repro/link_use.h"
#include "study/repro/metrics.h"
#include "study/repro/paper.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES   32     /* papers count instructions of threads, the simulator those of warps */
#define UNKNOWN 60000u /* the number of a program whose code a predictor has never seen */

struct experiment {
    struct ff__paper paper;
    const json_t *what; /* the published one */
    json_t *subjects;
    json_t *tables;                     /* NULL: what they need is only planned */
    const struct ff__pretrained *model; /* NULL: no system needs one */
};

/* ---- the file ---- */

static const json_t *top(const struct experiment *work, const char *name) {
    return json_object_get(work->paper.plan->published, name);
}

/* What is wrong with the experiment, in one line. */
static int complain(const struct experiment *work, const char *what, const char *name) {
    return ff__complain(FF__EXIT_FAILURE, "%s: experiment '%s': %s '%s'", work->paper.plan->file,
                        ff__json_text_of(work->what, "part"), what, name);
}

/* The first of the objects that has the member says what it is. */
static const char *first_text(const json_t *one, const json_t *two, const json_t *three,
                              const char *name) {
    const char *text = ff__json_text_of(one, name);
    text = *text ? text : ff__json_text_of(two, name);
    return *text ? text : ff__json_text_of(three, name);
}

/* A number of the object, or of the file's defaults, or 0. */
static double number_of(const struct experiment *work, const json_t *object, const char *name) {
    double own = ff__json_number_of(object, name);
    double number = isnan(own) ? ff__json_number_of(top(work, "defaults"), name) : own;
    return isnan(number) ? 0 : number;
}

/* An array, or one of the file's lists by its name. */
static const json_t *list_of(const struct experiment *work, const json_t *value) {
    return json_is_string(value) ? json_object_get(top(work, "lists"), json_string_value(value))
                                 : value;
}

/* Of the set, or of several; the caller releases it. */
static json_t *subjects_of(const struct experiment *work) {
    const json_t *sets = json_object_get(work->what, "set"), *set;
    json_t *all = ff__must(json_array());
    size_t i;
    if (json_is_string(sets))
        json_array_extend(all, json_object_get(top(work, "sets"), json_string_value(sets)));
    json_array_foreach(sets, i, set)
        json_array_extend(all, json_object_get(top(work, "sets"), json_string_value(set)));
    return all;
}

static const char *name_of(const json_t *subject) {
    const char *name = ff__json_text_of(subject, "config");
    name = *name ? name : ff__json_text_of(subject, "program");
    return *name ? name : ff__json_text_of(subject, "workload");
}

/* The member of the subject that the experiment names first, or else next, for this purpose. */
static const json_t *chosen(const struct experiment *work, const json_t *subject,
                            const char *purpose) {
    const json_t *members = json_object_get(work->what, purpose), *member, *value = NULL;
    size_t i;
    json_array_foreach(members, i, member) if (!value) value =
        json_object_get(subject, json_string_value(member));
    return value;
}

/* ---- runs ---- */

static bool has_no_system(const char *spec) {
    return strcmp(spec, FF__LMS) == 0 || strcmp(spec, FF__LMS_MOD) == 0 ||
           strcmp(spec, FF__RESIDENT) == 0;
}

/* With the model that was pre-trained, whose file has another name each time, and the number of the
 * program among those that it knows. */
static char *with_model(const char *spec, const json_t *subject, const char *model) {
    double number = ff__json_number_of(subject, "pretrained_as");
    return ff__text("%s%cmodel=%s,program=%u", spec, strchr(spec, ':') ? ',' : ':', model,
                    isnan(number) ? UNKNOWN : (unsigned)number);
}

/* Of `iterations`, of which the paper gives the time, a few are simulated. */
static char *workload_of(const struct experiment *work, const json_t *subject, unsigned simulated) {
    const json_t *own = chosen(work, subject, "workload");
    const char *name = own ? json_string_value(own) : ff__json_text_of(subject, "workload");
    return simulated ? ff__text("%s%citerations=%u", name, strchr(name, ':') ? ',' : ':', simulated)
                     : ff__text("%s", name);
}

/* In whole blocks, at least one, if the device's is a share of what the workload needs. A workload
 * that does not exist has none, which the run then says. */
static uint64_t share_of(struct experiment *work, const char *device, const char *workload,
                         uint64_t memory) {
    double percent = ff__json_number_of(json_object_get(top(work, "devices"), device), "percent");
    uint64_t footprint;
    struct ff_error error;
    if (isnan(percent) || ff__paper_footprint(&work->paper, workload, &footprint, &error))
        return memory;
    uint64_t blocks = footprint * (uint64_t)percent / 100 / FF_BLOCK_SIZE;
    return (blocks ? blocks : 1) * FF_BLOCK_SIZE;
}

/* The run of a system, by its name in the file's `systems` or by its specification, which is
 * planned if it is new: on the subject's device, or else on that of what asks for it, a table or an
 * entry of `runs`, or else of the experiment. */
static int find_run(struct experiment *work, const json_t *subject, const char *name,
                    const json_t *asked, const struct ff__simulation_cell **out) {
    const json_t *system = json_object_get(top(work, "systems"), name);
    const char *own = ff__json_text_of(system, "system"), *spec = *own ? own : name;
    const char *device = first_text(subject, asked, work->what, "device");
    bool learned = work->model && json_is_true(json_object_get(system, "learned"));
    unsigned simulated = number_of(work, subject, "iterations") > 0
                             ? (unsigned)number_of(work, system, "simulated")
                             : 0;
    char *workload = workload_of(work, subject, simulated), sum[16] = "";
    if (learned)
        snprintf(sum, sizeof sum, "%08x", (unsigned)work->model->checksum);
    char *full = learned ? with_model(spec, subject, work->model->file) : ff__text("%s", spec);
    char *shown = learned ? with_model(spec, subject, sum) : NULL;
    struct ff__simulation simulation = {
        .subject = {workload, false, work->paper.plan->study.seed},
        .system = full,
        .known_as = shown,
        .devices = 1,
        .instructions = (uint64_t)json_number_value(chosen(work, subject, "instructions")) / LANES,
        .iterations = has_no_system(spec) ? simulated : 0,
    };
    int status = ff__paper_device(&work->paper, device, &simulation.gpu, &simulation.memory);
    simulation.memory = share_of(work, device, workload, simulation.memory);
    if (!status) {
        unsigned number = ff__simulations_add(&work->paper.runs, &simulation);
        *out = &work->paper.runs.items[number];
    }
    free(workload);
    free(full);
    free(shown);
    return status;
}

/* An entry is a system, or an object with a `device`, too. */
static int plan_entry(struct experiment *work, const json_t *subject, const json_t *entry) {
    const char *system = json_string_value(entry);
    const struct ff__simulation_cell *run = NULL;
    return find_run(work, subject, system ? system : ff__json_text_of(entry, "system"),
                    system ? NULL : entry, &run);
}

/* In the order in which they are run. */
static int plan_runs(struct experiment *work) {
    const json_t *entries = list_of(work, json_object_get(work->what, "runs")), *entry;
    const json_t *subject;
    bool by_system = json_is_true(json_object_get(work->what, "by_system"));
    size_t i, j;
    int status = 0;
    if (json_array_size(work->subjects) == 0)
        return complain(work, "there are no subjects in the set",
                        ff__json_text_of(work->what, "set"));
    if (by_system)
        json_array_foreach(entries, i, entry) json_array_foreach(work->subjects, j, subject)
            status = status ? status : plan_entry(work, subject, entry);
    else
        json_array_foreach(work->subjects, j, subject) json_array_foreach(entries, i, entry)
            status = status ? status : plan_entry(work, subject, entry);
    return status;
}

/* ---- values ---- */

/* What a table says of a system on a subject; in the first pass, in which nothing has run yet, it
 * only plans the runs. */
static int value_of(struct experiment *work, const json_t *table, const json_t *subject,
                    const char *system, double *out) {
    const struct ff__metric *metric = ff__metric_find(ff__json_text_of(table, "metric"));
    const char *baseline = ff__json_text_of(table, "baseline"),
               *alone = first_text(table, work->what, NULL, "alone");
    const struct ff__simulation_cell *run = NULL, *base = NULL, *resident = NULL;
    if (!metric)
        return complain(work, "there is no metric", ff__json_text_of(table, "metric"));
    bool needs_base = metric->traits & FF__METRIC_BASE,
         needs_alone = metric->traits & FF__METRIC_ALONE;
    if (((metric->traits & FF__METRIC_BASE) && !*baseline) || (needs_alone && !*alone))
        return complain(work, "it needs a \"baseline\", or \"alone\", for", metric->name);
    int status = find_run(work, subject, system, table, &run); /* which may move all others */
    if (!status && needs_base)
        status = find_run(work, subject, baseline, table, &base);
    if (!status && needs_alone)
        status = find_run(work, subject, alone, table, &resident);
    if (status || !work->tables)
        return status;
    const struct ff__measured measured = {
        .run = &run->found,
        .base = needs_base ? &base->found : NULL,
        .alone = needs_alone ? &resident->found : NULL,
        .gpu = run->what.gpu,
        .iterations = (unsigned)number_of(work, subject, "iterations"),
    };
    *out = ff__ratio_value(metric->of(&measured));
    return 0;
}

/* ---- tables ---- */

/* Of the subjects sorted by name and counted from 0, the odd or the even ones: a constant is chosen
 * on one half, and reported on the other. */
static bool is_in(const struct experiment *work, const json_t *subject, const char *half) {
    unsigned before = 0;
    size_t i;
    const json_t *other;
    json_array_foreach(work->subjects, i, other) before +=
        strcmp(name_of(other), name_of(subject)) < 0;
    return !*half || before % 2 == (strcmp(half, "odd") == 0);
}

/* A row a subject. */
static int fill_by_subject(struct experiment *work, const json_t *table, json_t *out) {
    const char *paper = ff__json_text_of(table, "paper"), *over = ff__json_text_of(table, "over");
    size_t i;
    const json_t *subject;
    int status = 0;
    json_array_foreach(work->subjects, i, subject) {
        double ours = (double)NAN, published = ff__json_number_of(subject, paper);
        if (status || !is_in(work, subject, ff__json_text_of(table, "half")))
            continue;
        if (json_object_get(table, "metric")) /* else it is published alone */
            status = value_of(work, table, subject, ff__json_text_of(table, "system"), &ours);
        ff__repro_row(out, name_of(subject),
                      *over ? published / ff__json_number_of(subject, over) : published, ours);
    }
    return status;
}

/* Over the subjects; of those alone that ran, if the table says so. */
static int mean_of(struct experiment *work, const json_t *table, const char *system, double *out) {
    bool arithmetic = strcmp(ff__json_text_of(table, "mean"), "arithmetic") == 0,
         skips = json_is_true(json_object_get(table, "skips_failed"));
    struct ff__mean mean = {0};
    double sum = 0;
    unsigned count = 0;
    size_t i;
    const json_t *subject;
    int status = 0;
    json_array_foreach(work->subjects, i, subject) {
        double value = (double)NAN;
        if (!status)
            status = value_of(work, table, subject, system, &value);
        if (skips && isnan(value))
            continue;
        ff__mean_add(&mean, value);
        sum += value;
        count++;
    }
    *out = arithmetic ? sum / count : ff__mean_value(&mean);
    return status;
}

static int add_mean(struct experiment *work, const json_t *table, const char *name,
                    const char *system, json_t *out) {
    double ours;
    int status = mean_of(work, table, system, &ours);
    ff__repro_row(out, name, ff__json_number_of(json_object_get(table, "papers"), name), ours);
    return status;
}

/* A row a system, by its name or, in an object, by another one. */
static int fill_by_system(struct experiment *work, const json_t *table, json_t *out) {
    const json_t *systems = list_of(work, json_object_get(table, "systems")), *system;
    const char *name;
    size_t i;
    int status = 0;
    json_array_foreach(systems, i, system) if (!status) status =
        add_mean(work, table, json_string_value(system), json_string_value(system), out);
    json_object_foreach((json_t *)systems, name, system) if (!status) status =
        add_mean(work, table, name, json_string_value(system), out);
    return status;
}

/* Of each system the use of the link over time: HLSH's Figure 11, with one subject. */
static int fill_link(struct experiment *work, const json_t *table, json_t *out) {
    size_t i;
    const json_t *system;
    const struct ff__simulation_cell *run = NULL;
    int status = 0;
    json_array_foreach(list_of(work, json_object_get(table, "systems")), i, system) {
        if (!status)
            status = find_run(work, json_array_get(work->subjects, 0), json_string_value(system),
                              table, &run);
        if (!status && work->tables)
            status = ff__link_use_rows(&run->what, json_string_value(system), out);
    }
    return status;
}

static int make_table(struct experiment *work, const json_t *table) {
    char *id =
        ff__text("%s%s", ff__json_text_of(work->what, "prefix"), ff__json_text_of(table, "id"));
    char *what =
        ff__text("%s%s", ff__json_text_of(table, "what"), ff__json_text_of(work->what, "suffix"));
    json_t *unused = ff__must(json_array());
    json_t *out = ff__repro_table(work->tables ? work->tables : unused, id, what);
    int status = strcmp(ff__json_text_of(table, "metric"), "link") == 0
                     ? fill_link(work, table, out)
                 : json_object_get(table, "systems") ? fill_by_system(work, table, out)
                                                     : fill_by_subject(work, table, out);
    json_decref(unused);
    free(id);
    free(what);
    return status;
}

/* A copy in which `$` is the name. */
static json_t *with_name(const json_t *table, const char *name) {
    json_t *copy = ff__must(json_deep_copy(table)), *value;
    const char *member;
    json_object_foreach(copy, member, value) {
        const char *text = json_string_value(value), *at = text ? strchr(text, '$') : NULL;
        if (!at)
            continue;
        char *full = ff__text("%.*s%s%s", (int)(at - text), text, name, at + 1);
        json_string_set(value, full);
        free(full);
    }
    return copy;
}

/* Tables of an experiment, those of `for` for each name of a list. */
static json_t *tables_of(const struct experiment *work) {
    const json_t *own = json_object_get(work->what, "tables"), *table, *name, *inner;
    json_t *all = ff__must(json_array());
    size_t i, j, k;
    if (json_is_string(own))
        own = json_object_get(top(work, "shared_tables"), json_string_value(own));
    json_array_foreach(own, i, table) {
        const json_t *names = list_of(work, json_object_get(table, "for"));
        if (!names)
            json_array_append(all, (json_t *)table);
        json_array_foreach(names, j, name)
            json_array_foreach(json_object_get(table, "tables"), k, inner)
                json_array_append_new(all, with_name(inner, json_string_value(name)));
    }
    return all;
}

/* ---- all of it ---- */

/* Tables are made twice: without a place to put them they say what has to be run. */
static int run_experiment(struct experiment *work, json_t *tables) {
    json_t *wanted = tables_of(work), *table;
    size_t i;
    work->subjects = subjects_of(work);
    int status = plan_runs(work);
    json_array_foreach(wanted, i, table) status = status ? status : make_table(work, table);
    if (!status)
        status = ff__simulations_run(&work->paper.plan->study, &work->paper.runs);
    work->tables = tables;
    json_array_foreach(wanted, i, table) status = status ? status : make_table(work, table);
    json_decref(wanted);
    json_decref(work->subjects);
    ff__paper_free(&work->paper);
    return status;
}

static int run_step(const struct ff__repro_plan *plan, const char *name, json_t *tables) {
    static const struct {
        const char *name;
        int (*run)(const struct ff__repro_plan *plan, json_t *tables);
    } steps[] = {
        {"largest_batches", ff__repro_deepum_batches},
        {"predictors", ff__repro_hlsh_predict},
        {"attention", ff__repro_hlsh_attention},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (strcmp(steps[i].name, name) == 0)
            return steps[i].run(plan, tables);
    return ff__complain(FF__EXIT_FAILURE, "%s: there is no step '%s'", plan->file, name);
}

static bool is_asked_for(const struct ff__repro_plan *plan, const json_t *experiment) {
    return !*plan->parts || ff__repro_has_word(plan->parts, ff__json_text_of(experiment, "part")) ||
           ff__repro_has_word(plan->parts, ff__json_text_of(experiment, "or_part"));
}

static int run_one(const struct ff__repro_plan *plan, const json_t *experiment,
                   struct ff__pretrained *model, json_t *tables) {
    const char *step = ff__json_text_of(experiment, "step");
    bool learned = json_is_true(json_object_get(experiment, "pretrained"));
    struct experiment work = {
        .paper.plan = plan, .what = experiment, .model = learned ? model : NULL};
    int status = learned ? ff__hlsh_pretrain(plan, model) : 0;
    if (status)
        return status;
    return *step ? run_step(plan, step, tables) : run_experiment(&work, tables);
}

int ff__experiments_run(const struct ff__repro_plan *given, json_t *tables) {
    struct ff__repro_plan plan = *given;
    struct ff__pretrained model = {0};
    const json_t *parts = json_object_get(plan.published, "parts"), *experiment;
    bool any = false;
    size_t i;
    int status = 0;
    if (!plan.parts)
        plan.parts = ff__json_text_of(parts, "default");
    json_array_foreach(json_object_get(plan.published, "experiments"), i, experiment) {
        if (status || !is_asked_for(&plan, experiment))
            continue;
        any = true;
        status = run_one(&plan, experiment, &model, tables);
    }
    ff__hlsh_pretrained_remove(&model);
    if (!any)
        return ff__complain(FF__EXIT_USAGE, "--parts: '%s' names no part; there are: %s",
                            plan.parts, ff__json_text_of(parts, "all"));
    return status;
}
