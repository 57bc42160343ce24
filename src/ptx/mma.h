/* Matrices of a whole warp: D = A * B + C, where A has 16 rows and B 8 columns.
 *
 * Sums of real numbers: products are exact, they are added to C in double precision in the order of
 * A's columns, and the sum is rounded to D's type once, to nearest even. PTX leaves order and
 * rounding open, so hardware differs in the last bits. NaN is the one that PTX calls canonical.
 * Operands of tf32 lose their 13 last bits. */
#ifndef FF_PTX_MMA_H
#define FF_PTX_MMA_H

#include "ptx/device/abi.h"

/* `shape` is that of the region; operands and results lie in `in` and `out` as enum ff_ptx_wait
 * says. */
void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes);
void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes);

#endif
