/* A comparison as JSON. */
#include "cli/compare.h"

#include "report/machine.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(uint64_t value) {
    return json_integer((json_int_t)value);
}

/* Names, paths and reasons are bytes; JSON is UTF-8. */
static json_t *text(const char *value) {
    json_t *string = json_string(value);
    return string ? string : json_string("(not UTF-8)");
}

static void set(json_t *object, const char *name, json_t *value) {
    json_object_set_new(object, name, ff__must(value));
}

/* What only a good run has. */
static void set_measurements(json_t *run, const struct ff__outcome *outcome,
                             const struct ff__result *result) {
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    const struct ff__summary *typical = ff__result_typical(result);
    double seconds = ff__result_median(result);
    set(run, "seconds", number(seconds));
    set(run, "min", number(ff__result_min(result)));
    set(run, "max", number(ff__result_max(result)));
    set(run, "slowdown",
        number(ff__result_usable(ideal) ? seconds / ff__result_median(ideal) : (double)NAN));
    set(run, "faults", count(typical->faults));
    set(run, "bytes_in", count(typical->bytes_in));
    set(run, "bytes_out", count(typical->bytes_out));
    set(run, "hit_rate", number(typical->hit_rate));
    set(run, "summary", json_incref(typical->all));
}

static void set_nothing(json_t *run, const struct ff__result *result) {
    static const char *const names[] = {"seconds", "min",      "max",       "slowdown",
                                        "faults",  "bytes_in", "bytes_out", "hit_rate"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        set(run, names[i], json_null());
    set(run, "reason", text(result->reason));
}

static json_t *run_of(const struct ff__comparison *comparison, unsigned program, unsigned line) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *result = &outcome->lines[line];
    json_t *run = ff__must(json_object());
    set(run, "program", text(comparison->programs.items[program].name));
    set(run, "system", text(ff__line_system(comparison, line)));
    set(run, "memory", count(ff__line_memory(comparison, program, line)));
    set(run, "footprint", count(outcome->footprint));
    if (line >= FF__LINE_SYSTEMS)
        set(run, "share", text(comparison->amount_texts.items[ff__line_amount(comparison, line)]));
    set(run, "runs", count(result->count));
    if (result->failed)
        set_nothing(run, result);
    else
        set_measurements(run, outcome, result);
    set(run, "verified", json_boolean(!result->failed));
    return run;
}

static json_t *all_runs(const struct ff__comparison *comparison) {
    json_t *runs = ff__must(json_array());
    for (unsigned program = 0; program < comparison->programs.count; program++)
        for (unsigned line = 0; line < comparison->line_count; line++)
            json_array_append_new(runs, run_of(comparison, program, line));
    return runs;
}

static json_t *means(const struct ff__comparison *comparison, unsigned first, unsigned end) {
    json_t *object = ff__must(json_object());
    for (unsigned system = 0; system < comparison->systems.count; system++) {
        struct ff__mean mean = ff__compare_speedup(comparison, system, first, end);
        if (mean.count)
            set(object, comparison->systems.items[system], number(ff__mean_value(&mean)));
    }
    return object;
}

static json_t *means_by_memory(const struct ff__comparison *comparison) {
    json_t *object = ff__must(json_object());
    for (unsigned i = 0; i < comparison->amount_texts.count; i++)
        set(object, comparison->amount_texts.items[i], means(comparison, i, i + 1));
    return object;
}

static json_t *machine(const struct ff__comparison *comparison) {
    json_t *facts = ff__machine_facts();
    set(facts, "farfault", text(FARFAULT_VERSION));
    set(facts, "opencl", text(comparison->opencl));
    set(facts, "device", text(comparison->description));
    return facts;
}

int ff__compare_write(const struct ff__comparison *comparison, const char *path) {
    json_t *all = ff__must(json_object());
    set(all, "machine", machine(comparison));
    set(all, "runs", all_runs(comparison));
    set(all, "geomean", means(comparison, 0, comparison->amount_texts.count));
    set(all, "geomean_by_memory", means_by_memory(comparison));
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(9);
    errno = 0;
    int status;
    if (strcmp(path, "-") == 0)
        status = json_dumpf(all, stdout, flags) || putchar('\n') == EOF;
    else
        status = json_dump_file(all, path, flags);
    json_decref(all);
    return status ? errno ? -errno : -EIO : 0;
}
