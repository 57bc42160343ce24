/* What comes for a fault in a range of which little is used: nothing, because it is used from the
 * host (remote_use.h), or 64 or 4 KiB (density.h). For prefetchers that bring whole blocks
 * otherwise. Ours. */
#ifndef FF_POLICY_ADAPTIVE_SPARSE_H
#define FF_POLICY_ADAPTIVE_SPARSE_H

#include "policy/adaptive/density.h"
#include "policy/adaptive/remote_use.h"

/* At the beginning of the prefetcher's state by block and range. */
struct ff__sparse_block {
    struct ff__density_block density;
    struct ff__remote_block remote;
};
struct ff__sparse_range {
    struct ff__density_range density;
    struct ff__remote_range remote;
};

struct ff__sparse {
    struct ff__density density;
    struct ff__remote_use remote_use;
    bool by_density, may_be_remote;
    uint32_t often; /* see ff__sparse_start() */
};

/* Its rows in a table of parameters, the first two. */
enum { FF__SPARSE_DENSITY, FF__SPARSE_REMOTE, FF__SPARSE_PARAMS };
#define FF__SPARSE_ROWS                                                                            \
    [FF__SPARSE_DENSITY] = {"density",                                                             \
                            FF_PARAM_BOOL,                                                         \
                            1,                                                                     \
                            0,                                                                     \
                            1,                                                                     \
                            "only 64 or 4 KiB of ranges of which little is used on the device"},   \
    [FF__SPARSE_REMOTE] = {                                                                        \
        "remote", FF_PARAM_BOOL, 1, 0, 1, "ranges are used from the host where that costs less"}

/* `block_size`, `range_size`: of the prefetcher's state, in bytes. `often`: how often a block has
 * to come back during a launch before its range may be tried from the host; 0: at its first fault,
 * where memory is too small for all. */
void ff__sparse_start(struct ff__sparse *sparse, const struct ff_policy_env *env, size_t block_size,
                      size_t range_size, uint32_t often);
/* A launch begins or ends. */
void ff__sparse_launch(struct ff__sparse *sparse, const struct ff_launch_event *event);
/* Before the faults of a group are served. True: `advice` says what comes; false: this has no say
 * in it. */
bool ff__sparse_fault(struct ff__sparse *sparse, const struct ff_view *view,
                      const struct ff_fault_group *group, struct ff_fault_advice *advice);
/* Whether it has a say in what comes of the block, so that no other policy should bring it. */
bool ff__sparse_is(const struct ff__sparse *sparse, const struct ff_view *view, uint32_t block);
/* Whether nothing is known of the block's range yet, but will be, so that each block should wait
 * for its own fault. */
bool ff__sparse_is_tried(const struct ff__sparse *sparse, const struct ff_view *view, uint32_t tier,
                         uint32_t block);
void ff__sparse_access(struct ff__sparse *sparse, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice);
void ff__sparse_leave(struct ff__sparse *sparse, const struct ff_view *view,
                      const struct ff_leave *leave);
void ff__sparse_range_freed(struct ff__sparse *sparse, uint32_t range);
void ff__sparse_block_freed(struct ff__sparse *sparse, uint32_t block);
/* For a policy's `report`. */
bool ff__sparse_report(const struct ff__sparse *sparse, uint32_t index, struct ff_finding *finding);

#endif
