/* A comparison as JSON. */
#include "cli/compare.h"

#include "report/json.h"
#include "report/machine.h"

#include <math.h>

/* What only a good run has. */
static void set_measurements(json_t *run, const struct ff__outcome *outcome,
                             const struct ff__result *result) {
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    const struct ff__summary *typical = ff__result_typical(result);
    double seconds = ff__result_median(result);
    ff__json_set(run, "seconds", ff__json_number(seconds));
    ff__json_set(run, "min", ff__json_number(ff__result_min(result)));
    ff__json_set(run, "max", ff__json_number(ff__result_max(result)));
    ff__json_set(run, "slowdown",
                 ff__json_number(ff__result_usable(ideal) ? seconds / ff__result_median(ideal)
                                                          : (double)NAN));
    ff__json_set(run, "faults", ff__json_count(typical->faults));
    ff__json_set(run, "bytes_in", ff__json_count(typical->bytes_in));
    ff__json_set(run, "bytes_out", ff__json_count(typical->bytes_out));
    ff__json_set(run, "hit_rate", ff__json_number(typical->hit_rate));
    ff__json_set(run, "summary", json_incref(typical->all));
}

static void set_nothing(json_t *run, const struct ff__result *result) {
    static const char *const names[] = {"seconds", "min",      "max",       "slowdown",
                                        "faults",  "bytes_in", "bytes_out", "hit_rate"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        ff__json_set(run, names[i], json_null());
    ff__json_set(run, "reason", ff__json_text(result->reason));
}

/* null: its exit status is 0, and that is all that is known. */
static json_t *verified(const struct ff__comparison *comparison, unsigned program,
                        const struct ff__result *result) {
    bool looked = comparison->programs.items[program].bundled || comparison->same_output;
    return result->failed || looked ? json_boolean(!result->failed) : json_null();
}

static json_t *run_of(const struct ff__comparison *comparison, unsigned program, unsigned line) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *result = &outcome->lines[line];
    json_t *run = ff__must(json_object());
    ff__json_set(run, "program", ff__json_text(comparison->programs.items[program].name));
    ff__json_set(run, "system", ff__json_text(ff__line_system(comparison, line)));
    ff__json_set(run, "memory", ff__json_count(ff__line_memory(comparison, program, line)));
    ff__json_set(run, "footprint", ff__json_count(outcome->footprint));
    if (line >= FF__LINE_SYSTEMS)
        ff__json_set(
            run, "share",
            ff__json_text(comparison->amount_texts.items[ff__line_amount(comparison, line)]));
    ff__json_set(run, "runs", ff__json_count(result->count));
    if (result->failed)
        set_nothing(run, result);
    else
        set_measurements(run, outcome, result);
    ff__json_set(run, "good", json_boolean(!result->failed));
    ff__json_set(run, "verified", verified(comparison, program, result));
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
            ff__json_set(object, comparison->systems.items[system],
                         ff__json_number(ff__mean_value(&mean)));
    }
    return object;
}

static json_t *means_by_memory(const struct ff__comparison *comparison) {
    json_t *object = ff__must(json_object());
    for (unsigned i = 0; i < comparison->amount_texts.count; i++)
        ff__json_set(object, comparison->amount_texts.items[i], means(comparison, i, i + 1));
    return object;
}

static json_t *machine(const struct ff__comparison *comparison) {
    json_t *facts = ff__machine_facts();
    ff__json_set(facts, "farfault", ff__json_text(FARFAULT_VERSION));
    ff__json_set(facts, "opencl", ff__json_text(comparison->opencl));
    ff__json_set(facts, "device", ff__json_text(comparison->description));
    return facts;
}

int ff__compare_write(const struct ff__comparison *comparison, const char *path) {
    json_t *all = ff__must(json_object());
    ff__json_set(all, "machine", machine(comparison));
    ff__json_set(all, "runs", all_runs(comparison));
    ff__json_set(all, "geomean", means(comparison, 0, comparison->amount_texts.count));
    ff__json_set(all, "geomean_by_memory", means_by_memory(comparison));
    int status = ff__json_write(all, path);
    json_decref(all);
    return status;
}
