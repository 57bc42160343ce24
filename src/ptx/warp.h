/* What the executor does for the threads of one warp that wait at an operation of the warp. Sets of
 * lanes are masks: bit l is lane l. `lanes` is a group of FF_PTX_WARP lanes. */
#ifndef FF_PTX_WARP_H
#define FF_PTX_WARP_H

#include "ptx/device/abi.h"
#include <stdbool.h>

/* The lanes that have this value in a row of FF_PTX_WARP words. */
uint32_t ff__ptx_lanes_equal(const uint32_t *row, uint32_t value);

/* Of the lanes `here`, which wait at `region`: a set that can go on together, or 0. All of it left
 * the same mask of lanes, and every other lane of this mask is in `exited`, which holds those that
 * have ended and those that the warp does not have. Operations without a mask want all lanes.
 * Call it again without the set for the next one.
 *
 * `stuck`: no other lane of the warp can advance before one of these does (a turn in which others
 * only came back to where they wait is no advance). Then ACTIVEMASK and the mask 0xffffffff, which
 * PTX before 6.0 had everywhere, take the lanes that are here. */
uint32_t ff__ptx_warp_ready(const struct ff_ptx_region *region, const struct ff_ptx_lanes *lanes,
                            uint32_t here, uint32_t exited, bool stuck);

/* Carries out what precedes `region`, one of WARP_SYNC to MMA in enum ff_ptx_wait, for the lanes
 * `members`, a result of ff__ptx_warp_ready(). Others' rows of `out` stay as they are. Matrices
 * without a whole warp end the launch: block->services->fail(). */
void ff__ptx_warp(const struct ff_ptx_region *region, struct ff_ptx_lanes *lanes, uint32_t members,
                  const struct ff_ptx_block *block);

#endif
