#include "policy/adaptive/regret.h"

#include <farfault/mask.h>
#include <math.h>

#define STEP_MAX 1.0  /* change of a weight by one block, as a logarithm */
#define HALF     0.25 /* evictions by which regret halves, as a share of the device's blocks */

void ff__regret_start(struct ff__regret *regret, int64_t percent, double second, double step) {
    double least = (double)percent / 100;
    *regret = (struct ff__regret){
        .second = fmin(fmax(second, least), 1 - least), .least = least, .step = step};
}

bool ff__regret_is_second(const struct ff__regret *regret) {
    return regret->owed + regret->second >= 1;
}

void ff__regret_evicted(struct ff__regret *regret, bool second) {
    regret->owed += regret->second - second;
    regret->owed = fmin(fmax(regret->owed, -1), 1); /* one way may have had no victim for long */
}

void ff__regret_came_back(struct ff__regret *regret, bool second, uint32_t evictions,
                          uint64_t capacity) {
    double amount = exp2(-(double)evictions / (HALF * (double)capacity / FF_BLOCK_PAGES));
    double share = second ? regret->second : 1 - regret->second, other = 1 - share;
    share *= exp(-fmin(STEP_MAX, regret->step * amount / (2 * share)));
    share = fmin(fmax(share / (share + other), regret->least), 1 - regret->least);
    regret->second = second ? share : 1 - share;
}
