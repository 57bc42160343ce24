#include "policy/common/bandit.h"

#define KEPT                                                                                       \
    (1 - 1.0 / FF__BANDIT_MEMORY) /* of what is known of a way, when it is used once more */

void ff__bandit_start(struct ff__bandit *bandit, bool second, uint32_t first, uint32_t most) {
    *bandit =
        (struct ff__bandit){.first = first, .most = most, .interval = first, .second = second};
}

static double mean(const struct ff__bandit *bandit, bool second) {
    return bandit->cost[second] / bandit->uses[second];
}

/* What the way that is followed costs less than the other one; 0: one has not been used yet. */
static double lead(const struct ff__bandit *bandit) {
    bool known = bandit->uses[0] > 0 && bandit->uses[1] > 0;
    return known ? mean(bandit, !bandit->second) - mean(bandit, bandit->second) : 0;
}

bool ff__bandit_is_second(const struct ff__bandit *bandit) {
    return bandit->second != (bandit->since >= bandit->interval);
}

static void follow_other(struct ff__bandit *bandit) {
    bandit->second = !bandit->second;
    bandit->interval = bandit->first;
    bandit->since = 0;
}

static void other_was_tried(struct ff__bandit *bandit, bool lost) {
    bandit->since = 0;
    if (lost)
        bandit->interval =
            bandit->interval < bandit->most / 2 ? 2 * bandit->interval : bandit->most;
}

void ff__bandit_used(struct ff__bandit *bandit, bool second) {
    bandit->cost[second] *= KEPT;
    bandit->uses[second] = bandit->uses[second] * KEPT + 1;
    double ahead = lead(bandit);
    if (ahead < 0)
        follow_other(bandit);
    else if (second == bandit->second)
        bandit->since++;
    else
        other_was_tried(bandit, ahead > 0);
}
