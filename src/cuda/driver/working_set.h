/* Before a launch begins, the parts of allocations that it is known to access are brought to the
 * device: what its extents call exact, and no allocation whole, which policies see by themselves.
 * So nothing is brought that is not used, unless it is evicted before. */
#ifndef FF_CUDA_DRIVER_WORKING_SET_H
#define FF_CUDA_DRIVER_WORKING_SET_H

#include "cuda/driver/internal.h"

/* Whether FARFAULT_EXTENTS (farfault run --extents) asks for it. */
bool ff__cuda_brings_working_sets(void);

/* If its module brings them, puts an order into the stream's queue, behind which the launch
 * follows. A kernel of which nothing is found several times in a row is not looked at any more. The
 * lock is held. */
void ff__cuda_working_set_bring(CUfunction function, CUstream stream,
                                const struct ff__ptx_launch *launch);
void ff__cuda_working_set_free(struct ff__cuda_working_set *set);

#endif
