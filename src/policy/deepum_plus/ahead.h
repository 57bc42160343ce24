/* What the evictors of DeepUM's kind share: no prefetch evicts a block that is needed sooner than
 * what it brings (section 5.1). The rule for shared chunks is ours. Next uses come from the
 * forecast of the prefetch policy. */
#ifndef FF_POLICY_DEEPUM_PLUS_AHEAD_H
#define FF_POLICY_DEEPUM_PLUS_AHEAD_H

#include <farfault/policy.h>

/* The most blocks that one pick names. */
#define FF__AHEAD_NAMED 16u

/* Inserts a block into the named ones, which are sorted by next use, farthest first; it comes
 * behind those with the same next use. If there are more than `most` (at most FF__AHEAD_NAMED), the
 * last one is dropped. The other fields of the list's items must be set already. */
void ff__ahead_insert(uint32_t block, uint64_t use, uint64_t uses[FF__AHEAD_NAMED], uint32_t most,
                      struct ff_victim_list *victims);

/* Ends a pick that has named at most FF__AHEAD_NAMED blocks. A victim is evicted together with the
 * blocks that share its chunk. So victims are sorted by the first next use in their chunk, farthest
 * first. For a prefetch, victims whose chunk is needed no later than what it brings are removed.
 * The pick has judged blocks that share no chunk. */
void ff__ahead_judge_chunks(const struct ff_view *view, const struct ff_evict_request *request,
                            struct ff_victim_list *victims);

#endif
