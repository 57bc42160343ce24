#include "base/parse.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Numbers with units go through the widest type there is, so that whole ones stay exact. */
_Static_assert(LDBL_MANT_DIG >= 64, "a long double must hold every 64-bit integer");

struct unit {
    const char *name;
    long double factor;
};

static bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

/* Whether a decimal number begins here. strtold(3) would also take white space, a plus sign,
 * hexadecimal digits and words such as inf, of which nobody means the value that comes out. */
static bool begins_number(const char *text) {
    const char *digits = text + (*text == '.');
    return is_digit(*digits) && text[1] != 'x' && text[1] != 'X';
}

/* strtold(3) with a decimal point, whatever locale the program has set. */
static long double read_number(const char *text, char **end) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant: cannot fail */
    errno = 0;
    long double number = strtold_l(text, end, plain);
    freelocale(plain);
    return number;
}

/* Reads "<number><unit>" where the unit is one of the list (ends with a NULL name); no unit is
 * the factor 1. */
static int parse_with_unit(const char *text, const struct unit *units, long double *out) {
    char *end;
    if (!begins_number(text))
        return -EINVAL;
    long double number = read_number(text, &end);
    if (errno || !isfinite(number))
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
    long double value;
    if (parse_with_unit(text, units, &value) || value > 9.0e18L || (value > 0 && value < 0.5L))
        return -EINVAL;
    *out = (uint64_t)(value + 0.5L);
    return 0;
}

int ff__parse_int(const char *text, int64_t *out) {
    char *end;
    if (!is_digit(text[*text == '-']))
        return -EINVAL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end || errno)
        return -EINVAL;
    *out = value;
    return 0;
}

int ff__parse_real(const char *text, double *out) {
    static const struct unit units[] = {{NULL, 0}};
    long double value;
    if (parse_with_unit(text, units, &value) || value > DBL_MAX)
        return -EINVAL;
    *out = (double)value;
    return 0;
}

int ff__parse_share(const char *text, double *out) {
    static const struct unit units[] = {{"%", 0.01L}, {NULL, 0}};
    long double value;
    if (!strchr(text, '%') || parse_with_unit(text, units, &value) || value < DBL_MIN ||
        value > DBL_MAX)
        return -EINVAL;
    *out = (double)value;
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
    long double value;
    if (parse_with_unit(text, units, &value) || value < DBL_MIN || value > DBL_MAX)
        return -EINVAL;
    *out = (double)value;
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
