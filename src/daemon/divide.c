#include "daemon/divide.h"

#include <string.h>

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* What programs get if none gets more than the level: those that are idle, or the others. */
static uint64_t sum_at(const struct ff__division *division, bool idle, uint32_t level) {
    uint64_t sum = 0;
    for (uint32_t p = 0; p < division->devices; p++)
        sum += division->is_idle[p] == idle ? smaller(division->wanted[p], level) : 0;
    return sum;
}

/* The highest level that so much is enough for. */
static uint32_t level_of(const struct ff__division *division, bool idle, uint64_t spare) {
    uint32_t low = 0, high = UINT32_MAX;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (sum_at(division, idle, middle) <= spare)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* What each is to get of all devices together. */
static void find_due(const struct ff__division *division, uint32_t due[FF__PROGRAMS]) {
    uint64_t spare = 0;
    for (uint32_t d = 0; d < division->devices; d++)
        spare += division->spare[d];
    for (unsigned idle = 0; idle < 2; idle++) {
        uint32_t level = level_of(division, idle, spare);
        for (uint32_t p = 0; p < division->devices; p++)
            if (division->is_idle[p] == idle)
                due[p] = smaller(division->wanted[p], level);
        spare -= sum_at(division, idle, level);
    }
}

void ff__divide(struct ff__division *division) {
    uint32_t left[FF__SHARE_DEVICES], due[FF__PROGRAMS];
    memcpy(left, division->spare, sizeof left);
    memset(division->share, 0, sizeof division->share);
    find_due(division, due);
    for (uint32_t pass = 0; pass < 2; pass++) /* first what each has already */
        for (uint32_t p = 0; p < division->devices; p++)
            for (uint32_t i = 0; i < division->devices; i++) {
                uint32_t d = (p + i) % division->devices; /* not all begin at the same device */
                uint32_t most = pass == 0 ? division->held[p][d] : UINT32_MAX;
                uint32_t more = d == p ? 0 : smaller(smaller(due[p], left[d]), most);
                division->share[p][d] += more;
                due[p] -= more;
                left[d] -= more;
            }
}
