#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define LONGEST 64u

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
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
            unsigned replaced = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = smaller(replaced, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[rows][columns];
}

void ff__nearest_offer(struct ff__nearest *nearest, const char *name) {
    unsigned away = distance(nearest->word, name);
    if (nearest->best && away >= nearest->distance)
        return;
    nearest->best = name;
    nearest->distance = away;
}

bool ff__nearest_is_close(const struct ff__nearest *nearest) {
    return nearest->best && nearest->distance <= 1 + strlen(nearest->word) / 3;
}
