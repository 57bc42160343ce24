#include "base/nearest.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 64u

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* NVIDIA is near to nvidia. */
static bool is_same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to insert, remove, replace or swap with the next one (optimal string alignment). */
static unsigned distance(const char *a, const char *b) {
    size_t rows = strnlen(a, LONGEST), columns = strnlen(b, LONGEST);
    unsigned cost[LONGEST + 1][LONGEST + 1];
    for (unsigned i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (unsigned j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            unsigned replaced = cost[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]);
            cost[i][j] = smaller(replaced, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[rows][columns];
}

/* Half a name, or one and a half, as people type it: bert for bert-large, simulate for sim. */
static bool is_beginning(const char *part, const char *whole, size_t least) {
    size_t length = strlen(part);
    return length >= least && strncasecmp(part, whole, length) == 0;
}

/* By the alphabet, so that the answer does not depend on the order of the offers. */
static void put(struct ff__nearest *nearest, const char *name) {
    unsigned at = nearest->count;
    while (at > 0 && strcmp(nearest->best[at - 1], name) > 0)
        at--;
    if (at == FF__NEAREST_MAX)
        return;
    if (nearest->count < FF__NEAREST_MAX)
        nearest->count++;
    for (unsigned i = nearest->count - 1; i > at; i--)
        nearest->best[i] = nearest->best[i - 1];
    nearest->best[at] = name;
}

void ff__nearest_offer(struct ff__nearest *nearest, const char *name) {
    unsigned away = distance(nearest->word, name);
    if (away > 1 && (is_beginning(nearest->word, name, 2) || is_beginning(name, nearest->word, 3)))
        away = 1;
    if (nearest->count && away > nearest->distance)
        return;
    if (away < nearest->distance)
        nearest->count = 0;
    nearest->distance = away;
    put(nearest, name);
}

static bool is_close(const struct ff__nearest *nearest) {
    return nearest->count && nearest->distance <= 1 + strlen(nearest->word) / 3;
}

const char *ff__nearest_text(const struct ff__nearest *nearest, const char *prefix,
                             char out[FF__NEAREST_TEXT]) {
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; is_close(nearest) && i < nearest->count && used < FF__NEAREST_TEXT; i++) {
        const char *before = i == 0 ? nearest->count == 1 ? "the nearest is " : "the nearest are "
                             : i + 1 == nearest->count ? " and "
                                                       : ", ";
        used += (size_t)snprintf(out + used, FF__NEAREST_TEXT - used, "%s%s%s", before, prefix,
                                 nearest->best[i]);
    }
    return out;
}

int ff__nearest_fail(const struct ff__nearest *nearest, const char *kind, const char *command,
                     struct ff_error *error) {
    char text[FF__NEAREST_TEXT];
    ff__nearest_text(nearest, "", text);
    return ff__fail(error, -ENOENT, "there is no %s '%.48s'; %s%ssee %s", kind, nearest->word, text,
                    text[0] ? "; " : "", command);
}
