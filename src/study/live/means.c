/* Geometric means over a comparison. */
#include "study/live/compare.h"

#include <math.h>
#include <string.h>

static unsigned find_baseline(const struct ff__comparison *comparison) {
    unsigned system = 0;
    while (system < comparison->systems.count &&
           strcmp(comparison->systems.items[system], FF__SYSTEM_BASELINE) != 0)
        system++;
    return system;
}

struct ff__mean ff__compare_speedup(const struct ff__comparison *comparison, unsigned system,
                                    unsigned first, unsigned end) {
    struct ff__mean mean = {0};
    unsigned baseline = find_baseline(comparison);
    if (baseline == comparison->systems.count)
        return mean;
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *lines = comparison->outcomes[program].lines;
        for (unsigned amount = first; amount < end; amount++)
            ff__mean_add_results(&mean, &lines[ff__line_of(comparison, baseline, amount)],
                                 &lines[ff__line_of(comparison, system, amount)]);
    }
    return mean;
}

struct ff__mean ff__compare_slowdown(const struct ff__comparison *comparison, unsigned system,
                                     unsigned first, unsigned end) {
    struct ff__mean mean = {0};
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *lines = comparison->outcomes[program].lines;
        for (unsigned amount = first; amount < end; amount++)
            ff__mean_add_results(&mean, &lines[ff__line_of(comparison, system, amount)],
                                 &lines[FF__LINE_IN_MEMORY]);
    }
    return mean;
}

/* ---- pairs ---- */

/* Adds the logarithm of the ratio in each turn; false: one of the two has not run well. */
static bool add_pairs(const struct ff__comparison *comparison, unsigned program, unsigned system,
                      unsigned amount, double *logs) {
    const struct ff__result *lines = comparison->outcomes[program].lines;
    const struct ff__result *one = &lines[ff__line_of(comparison, system, amount)],
                            *first = &lines[ff__line_of(comparison, 0, amount)];
    if (!ff__result_usable(one) || !ff__result_usable(first))
        return false;
    for (unsigned turn = 0; turn < comparison->runs; turn++)
        if (!(one->turns[turn] > 0 && first->turns[turn] > 0))
            return false;
    for (unsigned turn = 0; turn < comparison->runs; turn++)
        logs[turn] += log(one->turns[turn] / first->turns[turn]);
    return true;
}

static struct ff__paired pair_programs(const struct ff__comparison *comparison, unsigned first,
                                       unsigned end, unsigned system, unsigned amount) {
    double logs[FF__RUNS_MAX] = {0};
    unsigned count = 0;
    for (unsigned program = first; program < end && system > 0; program++)
        count += add_pairs(comparison, program, system, amount, logs);
    for (unsigned turn = 0; turn < comparison->runs && count > 0; turn++)
        logs[turn] /= count;
    return ff__paired_of(logs, count > 0 ? comparison->runs : 0);
}

struct ff__paired ff__compare_paired(const struct ff__comparison *comparison, unsigned program,
                                     unsigned system, unsigned amount) {
    return pair_programs(comparison, program, program + 1, system, amount);
}

struct ff__paired ff__compare_paired_mean(const struct ff__comparison *comparison, unsigned system,
                                          unsigned amount) {
    return pair_programs(comparison, 0, comparison->programs.count, system, amount);
}

/* ---- bounds and bytes ---- */

struct ff__mean ff__compare_above_bound(const struct ff__comparison *comparison, unsigned system,
                                        unsigned amount) {
    struct ff__mean mean = {0};
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__outcome *outcome = &comparison->outcomes[program];
        const struct ff__result *result = &outcome->lines[ff__line_of(comparison, system, amount)];
        const char *why;
        if (!outcome->limits.items || !ff__result_usable(result))
            continue;
        double seconds = ff__limit_seconds(outcome, &outcome->limits.items[amount].bound, &why);
        if (!isnan(seconds))
            ff__mean_add(&mean, ff__result_median(result) / seconds);
    }
    return mean;
}

uint64_t ff__compare_moved(const struct ff__comparison *comparison, unsigned system,
                           unsigned amount) {
    uint64_t bytes = 0;
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *result =
            &comparison->outcomes[program].lines[ff__line_of(comparison, system, amount)];
        if (!ff__result_usable(result))
            continue;
        const struct ff__run_measures *measures = &ff__result_typical(result)->measures;
        bytes += measures->bytes_in + measures->bytes_out;
    }
    return bytes;
}
