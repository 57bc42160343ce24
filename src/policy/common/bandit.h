/* A two-armed bandit: which of two ways to do something costs less, found by doing it both ways.
 * Ours.
 *
 * The way whose mean cost has been less is followed. The other one is tried now and then, because
 * what runs may change: half as often each time that it has lost. As in other bandits (Auer et al.,
 * Machine Learning, 2002) exploration becomes rare; it does not end, and what is older than a few
 * uses is forgotten, since costs change. Where costs come late, a use has cost nothing until then.
 */
#ifndef FF_POLICY_COMMON_BANDIT_H
#define FF_POLICY_COMMON_BANDIT_H

#include <farfault/policy.h>
#include <stdbool.h>
#include <stdint.h>

#define FF__BANDIT_MEMORY 16 /* uses of a way after which what is known of it has faded to 1/e */

struct ff__bandit {
    double cost[2], uses[2]; /* by way: of the latest uses; each counts less than the next one */
    uint32_t first, most;    /* uses of the way that is followed to one of the other */
    uint32_t interval;       /* the same, today */
    uint32_t since;          /* uses since the other one was tried */
    bool second;             /* is followed, not the first one */
};

/* `second`: follows the second way at first. `first`, `most`: uses of the way that is followed to
 * one of the other, when it begins to be followed, and when the other one has lost again and
 * again. */
void ff__bandit_start(struct ff__bandit *bandit, bool second, uint32_t first, uint32_t most);

/* Whether the second way is to be used the next time. */
bool ff__bandit_is_second(const struct ff__bandit *bandit);

/* A way has been used, whichever was asked for. Its cost may come later. */
void ff__bandit_used(struct ff__bandit *bandit, bool second);

/* What a use of that way has cost, in any unit that is the same for both ways. */
static inline void ff__bandit_cost(struct ff__bandit *bandit, bool second, double cost) {
    bandit->cost[second] += cost;
}

/* The cost of bringing an evicted block back to a tier of `capacity` pages after so many evictions,
 * as a part of bringing it back at once: half after as many as the tier has blocks, when whatever
 * had stayed in its place would have left, too. */
static inline double ff__bandit_late(uint32_t evictions, uint64_t capacity) {
    double blocks = (double)capacity / FF_BLOCK_PAGES;
    return blocks / (blocks + evictions);
}

#endif
