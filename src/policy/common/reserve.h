/* Pre-eviction: how much memory an evictor keeps free for faults, so that none waits for an
 * eviction (DeepUM, section 5.1). The size is ours. */
#ifndef FF_POLICY_COMMON_RESERVE_H
#define FF_POLICY_COMMON_RESERVE_H

#include <farfault/policy.h>

struct ff__reserve {
    uint32_t tier;
    bool on;
    double waited_for; /* share of the blocks that come, of late, that something waits for */
};

/* Its rows in a table of parameters, the first ones. */
enum { FF__RESERVE_ON, FF__RESERVE_PARAMS };
#define FF__RESERVE_ROWS                                                                           \
    [FF__RESERVE_ON] = {"preevict", FF_PARAM_BOOL,                                                 \
                        1,          0,                                                             \
                        1,          "pre-evict, to keep a reserve of free memory for faults"}

/* The table of an evictor that has no others. */
extern const struct ff_param ff__reserve_params[];

void ff__reserve_start(struct ff__reserve *reserve, const struct ff_policy_env *env);

/* On a small device a block of reserve is much. An evictor that calls this for each arrival keeps a
 * reserve there only while most of the blocks that come are waited for. Where blocks are used from
 * the host until they come, no fault waits, and the reserve would be one block more to be used from
 * there. Where the kernels' processors copy, a reserve saves them no work. */
void ff__reserve_arrival(struct ff__reserve *reserve, const struct ff_view *view,
                         const struct ff_arrival *arrival);

/* What the hook `reserve` returns: pages. */
uint64_t ff__reserve_pages(const struct ff__reserve *reserve, const struct ff_view *view);

#endif
