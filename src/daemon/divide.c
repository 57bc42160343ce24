#include "daemon/divide.h"

#include <string.h>

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* What programs get if none gets more than the level. */
static uint64_t sum_at(const struct ff__division *division, uint32_t level) {
    uint64_t sum = 0;
    for (uint32_t p = 0; p < division->devices; p++)
        sum += smaller(division->wanted[p], level);
    return sum;
}

/* The highest level that there is enough for. */
static uint32_t level_of(const struct ff__division *division) {
    uint64_t spare = 0;
    uint32_t low = 0, high = UINT32_MAX;
    for (uint32_t d = 0; d < division->devices; d++)
        spare += division->spare[d];
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (sum_at(division, middle) <= spare)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void ff__divide(struct ff__division *division) {
    uint32_t left[FF__SHARE_DEVICES], due[FF__PROGRAMS], level = level_of(division);
    memcpy(left, division->spare, sizeof left);
    memset(division->share, 0, sizeof division->share);
    for (uint32_t p = 0; p < division->devices; p++)
        due[p] = smaller(division->wanted[p], level);
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
