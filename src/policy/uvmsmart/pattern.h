/* What UVMSmart's smart runtime (DATE 2021) learns from the traffic of the link. For each kernel
 * and allocation, the leaves in the order of their transfers are LINEAR if sorted by address, else
 * RANDOM; and REUSE if one comes again, in this kernel or a later one. The patterns of an
 * allocation's kernels merge: linear with random is MIXED, with any reuse MIXED_REUSE, and that
 * stays.
 *
 * The runtime then only asks whether any allocation is anything but linear, and if not, whether any
 * is reused. Neither answer ever turns back, so that two bits are all there is to keep.
 *
 * Prefetching and eviction both need the answer, and policies share nothing. So each has a detector
 * of its own, and both are shown the same: kernels' starts, and arrivals, which on_used and
 * on_arrival report in the same order. (UVMSmart looks when a transfer is queued; the link serves
 * the queue in order.) With several devices, which UVMSmart does not have, an eviction policy sees
 * its own device only. */
#ifndef FF_POLICY_UVMSMART_PATTERN_H
#define FF_POLICY_UVMSMART_PATTERN_H

#include <farfault/policy.h>

/* In the block state; zero at first, and again when the block is freed. */
struct ff__pattern_block {
    uint32_t came; /* leaves that have come at some time */
    /* of the range, in its first block: */
    uint32_t kernel; /* number of the last one that moved something of it */
    uint32_t last;   /* leaf that came last in it, counted in the range */
};

struct ff__pattern {
    unsigned char *blocks; /* of block 0 */
    size_t stride;
    uint32_t kernel; /* number of the current one; 0 before the first */
    bool irregular;  /* some allocation is RANDOM or MIXED */
    bool repeated;   /* some leaf came again */
};

/* For on_launch. */
void ff__pattern_launch(struct ff__pattern *pattern, const struct ff_launch_event *event);

/* For on_used or on_arrival. */
void ff__pattern_arrival(struct ff__pattern *pattern, const struct ff_view *view, uint32_t block,
                         const struct ff_mask *pages);

/* For block_freed. */
void ff__pattern_forget(struct ff__pattern *pattern, uint32_t block);

#endif
