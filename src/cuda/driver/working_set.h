/* Bringing what a launch is known to access (preload/working_set.h) in its turn of the stream. */
#ifndef FF_CUDA_DRIVER_WORKING_SET_H
#define FF_CUDA_DRIVER_WORKING_SET_H

#include "cuda/driver/internal.h"

/* If the function's module brings it, puts an order into the stream's queue, behind which the
 * launch follows. The lock is held. */
void ff__cuda_working_set_bring(CUfunction function, CUstream stream,
                                const struct ff__ptx_launch *launch);

#endif
