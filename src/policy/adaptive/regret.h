/* Two ways to choose victims share the evictions of a device by regret. Ours.
 *
 * As in LeCaR (Vietri et al., HotStorage 2018), a way gets a smaller share when a block that it
 * chose comes back, the more so the sooner the block comes back. As in EXP3 (Auer et al., 2002),
 * regret counts by how rarely its way is chosen; in LeCaR it does not, and the shares stay near a
 * half. */
#ifndef FF_POLICY_ADAPTIVE_REGRET_H
#define FF_POLICY_ADAPTIVE_REGRET_H

#include <stdbool.h>
#include <stdint.h>

#define FF__REGRET_STEP 0.30 /* where nothing speaks for one of the ways */

struct ff__regret {
    double second; /* share of evictions of the second way; the first has the rest */
    double owed;   /* evictions by the second way that are still to be made */
    double least;  /* share that each has at least */
    double step;   /* change of a weight by a regret of 1, at even shares; as a logarithm. Not 0 */
};

/* `percent`: of evictions that each way gets at least. `second`: the second way's share at first.
 * `step`: as in the struct. */
void ff__regret_start(struct ff__regret *regret, int64_t percent, double second, double step);

/* Whether the second way is to choose the next victim. */
bool ff__regret_is_second(const struct ff__regret *regret);

/* A victim has left. */
void ff__regret_evicted(struct ff__regret *regret, bool second);

/* A victim has come back after so many evictions from a device of `capacity` pages. */
void ff__regret_came_back(struct ff__regret *regret, bool second, uint32_t evictions,
                          uint64_t capacity);

#endif
