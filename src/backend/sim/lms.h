/* IBM's Large Model Support for PyTorch, as DeepUM's baseline: no unified memory. Tensors are swapped as
 * a whole, between kernels, by PyTorch's allocator: one that no kernel uses leaves before the device is
 * asked for more memory, and comes back before the next kernel that uses it. */
#ifndef FF_BACKEND_SIM_LMS_H
#define FF_BACKEND_SIM_LMS_H

#include "backend/sim/sim.h"

struct ff__lms_config {
    const struct ff__gpu *gpu;
    uint64_t memory; /* bytes of the device; 0: enough */
    bool empties;    /* LMS-mod: cached memory goes back to the device in every round */
};

/* Only for workloads that train a network: -ENOTSUP. -ENOSPC: tensors of one kernel found no room, which
 * the message says of which kernel. -ENOMEM. */
int ff__lms_run(const struct ff__lms_config *config, const struct ff__workload *workload,
                uint64_t rounds, struct ff__sim_result *result, struct ff_error *error);

#endif
