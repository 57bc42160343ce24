/* Geometric means over a comparison. */
#include "cli/compare.h"

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
            ff__mean_add(&mean, &lines[ff__line_of(comparison, baseline, amount)],
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
            ff__mean_add(&mean, &lines[ff__line_of(comparison, system, amount)],
                         &lines[FF__LINE_IN_MEMORY]);
    }
    return mean;
}

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
            ff__mean_add_ratio(&mean, ff__result_median(result) / seconds);
    }
    return mean;
}

uint64_t ff__compare_moved(const struct ff__comparison *comparison, unsigned system,
                           unsigned amount) {
    uint64_t bytes = 0;
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *result =
            &comparison->outcomes[program].lines[ff__line_of(comparison, system, amount)];
        if (ff__result_usable(result))
            bytes += ff__result_typical(result)->bytes_in + ff__result_typical(result)->bytes_out;
    }
    return bytes;
}
