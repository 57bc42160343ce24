/* Matrices of a whole warp. */
#ifndef FF_PTX_MMA_H
#define FF_PTX_MMA_H

#include "ptx/device/abi.h"

/* `shape` is that of the region; operands and results lie in `in` and `out` as enum ff_ptx_wait
 * says. */
void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes);
void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes);

#endif
