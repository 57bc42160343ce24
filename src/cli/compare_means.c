/* Geometric means over a comparison. */
#include "cli/compare.h"

#include <string.h>

static unsigned find_floor(const struct ff__comparison *comparison) {
    unsigned system = 0;
    while (system < comparison->systems.count &&
           strcmp(comparison->systems.items[system], FF__SYSTEM_FLOOR) != 0)
        system++;
    return system;
}

struct ff__mean ff__compare_speedup(const struct ff__comparison *comparison, unsigned system,
                                    unsigned first, unsigned end) {
    struct ff__mean mean = {0};
    unsigned floor = find_floor(comparison);
    if (floor == comparison->systems.count)
        return mean;
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *lines = comparison->outcomes[program].lines;
        for (unsigned amount = first; amount < end; amount++)
            ff__mean_add(&mean, &lines[ff__line_of(comparison, floor, amount)],
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
