#include "daemon/divide.h"

#include <string.h>

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* What programs get if none gets more than the level. */
static uint64_t sum_at(const uint32_t *wanted, uint32_t count, uint32_t level) {
    uint64_t sum = 0;
    for (uint32_t p = 0; p < count; p++)
        sum += smaller(wanted[p], level);
    return sum;
}

uint32_t ff__divide_level(const uint32_t *wanted, uint32_t count, uint64_t slots) {
    uint32_t low = 0, high = UINT32_MAX;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (sum_at(wanted, count, middle) <= slots)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* What each is to get of all devices together: first those that are not idle. */
static void find_due(const struct ff__division *division, uint32_t due[FF__PROGRAMS]) {
    uint64_t spare = 0;
    for (uint32_t d = 0; d < division->devices; d++)
        spare += division->spare[d];
    for (unsigned idle = 0; idle < 2; idle++) {
        uint32_t wanted[FF__PROGRAMS];
        for (uint32_t p = 0; p < division->programs; p++)
            wanted[p] = division->is_idle[p] == idle ? division->wanted[p] : 0;
        uint32_t level = ff__divide_level(wanted, division->programs, spare);
        for (uint32_t p = 0; p < division->programs; p++)
            if (division->is_idle[p] == idle)
                due[p] = smaller(wanted[p], level);
        spare -= sum_at(wanted, division->programs, level);
    }
}

void ff__divide(struct ff__division *division) {
    uint32_t left[FF__SHARE_DEVICES], due[FF__PROGRAMS];
    memcpy(left, division->spare, sizeof left);
    memset(division->share, 0, sizeof division->share);
    find_due(division, due);
    for (uint32_t pass = 0; pass < 2; pass++) /* first what each has already */
        for (uint32_t p = 0; p < division->programs; p++)
            for (uint32_t i = 0; i < division->devices; i++) {
                /* not all begin at the same device */
                uint32_t d = (division->home[p] + i) % division->devices;
                uint32_t most = pass == 0 ? division->held[p][d] : UINT32_MAX;
                uint32_t more = i == 0 ? 0 : smaller(smaller(due[p], left[d]), most);
                division->share[p][d] += more;
                due[p] -= more;
                left[d] -= more;
            }
}
