/* What a launch is known to access (preload/working_set.h), which is brought in its turn of the
 * stream. */
#ifndef FF_CUDA_DRIVER_WORKING_SET_H
#define FF_CUDA_DRIVER_WORKING_SET_H

#include "cuda/driver/internal.h"

/* If the function's module brings it, tells the stream's queue what the next launch will access.
 * The lock is held. */
void ff__cuda_working_set_predict(CUfunction function, CUstream stream,
                                  const struct ff__ptx_launch *launch);

/* The launch has been put into the queue, or was refused. The lock is held. */
void ff__cuda_working_set_forget(CUstream stream);

#endif
