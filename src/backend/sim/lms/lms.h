/* IBM's Large Model Support for PyTorch (its patch for 1.5.0), as DeepUM's baseline: no unified
 * memory. PyTorch's allocator (backend/sim/lms/reclaim.h) takes the memory of whole tensors that no
 * operation uses, and copies them out; they come back when an operation takes them as arguments. It
 * knows of a tensor only when it has been an argument: what an operation has made and only the
 * backward pass will use, such as the mask of a dropout, stays where it is. */
#ifndef FF_BACKEND_SIM_LMS_LMS_H
#define FF_BACKEND_SIM_LMS_LMS_H

#include "backend/sim/sim.h"

struct ff__lms_config {
    const struct ff__gpu *gpu;
    uint64_t memory; /* bytes of the device, of which LMS takes 95 %; 0: enough */
    bool empties;    /* LMS-mod: cached memory goes back to the device after every iteration */
};

/* Only for workloads that train a network: -ENOTSUP. -ENOSPC: the tensors of one kernel do not fit;
 * the message names the kernel, and `iterations` of the result says in which iteration. -ENOMEM. */
int ff__lms_run(const struct ff__lms_config *config, const struct ff__workload *workload,
                uint64_t iterations, struct ff__sim_result *result, struct ff_error *error);

#endif
