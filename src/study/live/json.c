/* A comparison as JSON. */
#include "study/live/compare.h"

#include "study/outputs.h"

#include <math.h>

static struct ff__run_measures measures_of(const struct ff__outcome *outcome,
                                           const struct ff__result *result) {
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    struct ff__run_measures measures = ff__result_typical(result)->measures;
    measures.seconds = ff__result_median(result);
    if (ff__result_usable(ideal))
        measures.slowdown = measures.seconds / ff__result_median(ideal);
    return measures;
}

/* null: there is none. */
static json_t *paired_of(const struct ff__comparison *comparison, struct ff__paired paired) {
    if (paired.pairs == 0)
        return json_null();
    json_t *all = ff__must(json_object());
    ff__json_set(all, "to", ff__json_text(comparison->systems.items[0]));
    ff__json_set(all, "ratio", ff__json_number(paired.ratio));
    ff__json_set(all, "low", ff__json_number(paired.low));
    ff__json_set(all, "high", ff__json_number(paired.high));
    ff__json_set(all, "pairs", ff__json_count(paired.pairs));
    return all;
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
    const struct ff__run_subject subject = {
        .subject = comparison->programs.items[program].name,
        .system = ff__line_system(comparison, line),
        .device = comparison->description,
        .share = line < FF__LINE_SYSTEMS
                     ? NULL
                     : comparison->amount_texts.items[ff__line_amount(comparison, line)],
        .memory = ff__line_memory(comparison, program, line),
        .footprint = outcome->footprint,
    };
    struct ff__run_measures measures;
    if (!result->failed)
        measures = measures_of(outcome, result);
    json_t *run = ff__run_new(&subject, result->failed ? NULL : &measures, result->reason,
                              verified(comparison, program, result));
    ff__json_set(run, "runs", ff__json_count(result->count));
    if (result->failed)
        return run;
    ff__json_set(run, "min", ff__json_number(ff__result_min(result)));
    ff__json_set(run, "max", ff__json_number(ff__result_max(result)));
    if (line >= FF__LINE_SYSTEMS)
        ff__json_set(run, "paired",
                     paired_of(comparison, ff__compare_paired(comparison, program,
                                                              (line - FF__LINE_SYSTEMS) %
                                                                  comparison->systems.count,
                                                              ff__line_amount(comparison, line))));
    ff__json_set(run, "summary", json_incref(ff__result_typical(result)->all));
    return run;
}

static json_t *all_runs(const struct ff__comparison *comparison) {
    json_t *runs = ff__must(json_array());
    for (unsigned program = 0; program < comparison->programs.count; program++)
        for (unsigned line = 0; line < comparison->line_count; line++)
            json_array_append_new(runs, run_of(comparison, program, line));
    return runs;
}

static double above_bound(const struct ff__comparison *comparison, unsigned system,
                          unsigned amount) {
    struct ff__mean above = ff__compare_above_bound(comparison, system, amount);
    return ff__mean_value(&above);
}

static json_t *all_means(const struct ff__comparison *comparison) {
    json_t *means = ff__must(json_array());
    for (unsigned amount = 0; amount < comparison->amount_texts.count; amount++) {
        for (unsigned system = 0; system < comparison->systems.count; system++) {
            const struct ff__run_subject subject = {.system = comparison->systems.items[system],
                                                    .device = comparison->description,
                                                    .share =
                                                        comparison->amount_texts.items[amount]};
            struct ff__mean gain = ff__compare_speedup(comparison, system, amount, amount + 1);
            struct ff__mean loss = ff__compare_slowdown(comparison, system, amount, amount + 1);
            json_t *mean =
                ff__mean_new(&subject, ff__mean_value(&gain), ff__mean_value(&loss), loss.count);
            ff__json_set(
                mean, "paired",
                paired_of(comparison, ff__compare_paired_mean(comparison, system, amount)));
            if (comparison->bound)
                ff__json_set(mean, "above_bound",
                             ff__json_number(above_bound(comparison, system, amount)));
            json_array_append_new(means, mean);
        }
    }
    return means;
}

json_t *ff__compare_results(const struct ff__comparison *comparison) {
    json_t *all = ff__results_new("compare");
    ff__json_set(all, "opencl",
                 comparison->opencl[0] ? ff__json_text(comparison->opencl) : json_null());
    ff__json_set(all, "runs", all_runs(comparison));
    ff__json_set(all, "means", all_means(comparison));
    if (comparison->bound)
        ff__json_set(all, "bounds", ff__limits_results(comparison));
    return all;
}
