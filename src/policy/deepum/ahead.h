/* What DeepUM's evictors share (section 5.1): memory kept free ahead of need, and no prefetch that costs
 * what is needed sooner. How much is kept, and the rules for shared roots and for what is kept, are ours.
 *
 * What is expected is the forecast of the prefetch policy. Without one, no rule here has an effect but that
 * some memory is kept free. */
#ifndef FF_POLICY_DEEPUM_AHEAD_H
#define FF_POLICY_DEEPUM_AHEAD_H

#include <farfault/policy.h>

struct ff__ahead {
    uint32_t tier;
    bool on;
};

extern const struct ff_param ff__ahead_params[];

void ff__ahead_start(struct ff__ahead *ahead, const struct ff_policy_env *env);

/* The hook `reserve`: pages to keep free. */
uint64_t ff__ahead_reserve(const struct ff__ahead *ahead, const struct ff_view *view);

/* The hook `withhold`. All that is kept free is for faults: a prefetch that took it would have it replaced by
 * an eviction, and nobody would have compared the victim with what the prefetch brings. A prefetch that comes
 * in the place of a fault may take it: of what the running kernel is expected to use, and has to be copied. */
uint64_t ff__ahead_withhold(const struct ff__ahead *ahead, const struct ff_view *view,
                            uint32_t block);

/* Most blocks that a pick names; who wants more asks again. */
#define FF__AHEAD_NAMED 16u

/* Puts a block among those named, which are in the order of their turns, the last turn first; it comes behind
 * those of the same turn. Of more than `most` (at most FF__AHEAD_NAMED), the last one drops out. All else in
 * the list's items is there already. */
void ff__ahead_insert(uint32_t block, uint64_t turn, uint64_t turns[FF__AHEAD_NAMED], uint32_t most,
                      struct ff_victim_list *victims);

/* Ends a pick that has named at most FF__AHEAD_NAMED blocks. A victim leaves with the blocks that share its
 * root: those go first whose root is needed last as a whole. For a prefetch, victims whose root is needed no
 * later than what it brings are taken out. A block that has its root alone has been judged by the pick. */
void ff__ahead_judge_roots(const struct ff_view *view, const struct ff_evict_request *request,
                           struct ff_victim_list *victims);

#endif
