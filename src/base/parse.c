#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

/* Reads "<number><unit>" where the unit is one of the list (ends with a NULL name); no unit is
 * the factor 1. */
static int parse_with_unit(const char *text, const struct unit *units, double *out) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || errno || !isfinite(number) || number < 0)
        return -EINVAL;
    if (*end == '\0') {
        *out = number;
        return 0;
    }
    for (const struct unit *unit = units; unit->name; unit++) {
        if (strcasecmp(end, unit->name) == 0) {
            *out = number * unit->factor;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_whole(const char *text, const struct unit *units, uint64_t *out) {
    double value;
    if (parse_with_unit(text, units, &value) || value > 9.0e18)
        return -EINVAL;
    *out = (uint64_t)(value + 0.5);
    return 0;
}

int ff__parse_int(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (end == text || *end || errno)
        return -EINVAL;
    *out = value;
    return 0;
}

int ff__parse_size(const char *text, uint64_t *out) {
    static const struct unit units[] = {
        {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10},  {"KiB", 0x1p10}, {"M", 0x1p20},
        {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},   {"GB", 0x1p30},  {"GiB", 0x1p30},
        {"T", 0x1p40},  {"TB", 0x1p40},  {"TiB", 0x1p40}, {NULL, 0},
    };
    return parse_whole(text, units, out);
}

int ff__parse_ns(const char *text, uint64_t *out) {
    static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
    return parse_whole(text, units, out);
}

int ff__parse_rate(const char *text, double *out) {
    static const struct unit units[] = {{"B/s", 1},    {"KB/s", 1e3},  {"MB/s", 1e6},
                                        {"GB/s", 1e9}, {"TB/s", 1e12}, {NULL, 0}};
    double value;
    if (parse_with_unit(text, units, &value) || value <= 0)
        return -EINVAL;
    *out = value;
    return 0;
}

int ff__parse_bool(const char *text, int64_t *out) {
    static const char *const words[2][4] = {{"0", "off", "no", "false"},
                                            {"1", "on", "yes", "true"}};
    for (int value = 0; value < 2; value++) {
        for (int i = 0; i < 4; i++) {
            if (strcasecmp(text, words[value][i]) == 0) {
                *out = value;
                return 0;
            }
        }
    }
    return -EINVAL;
}
