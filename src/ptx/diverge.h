/* Where threads that a branch has parted meet again. The end of the kernel stands as the block
 * flow->block_count. */
#ifndef FF_PTX_DIVERGE_H
#define FF_PTX_DIVERGE_H

#include "ptx/flow.h"

/* By block: where all ways on from it meet, its immediate post-dominator; in hard cases the end.
 * NULL: no memory. It lies in the flow's arena. */
uint32_t *ff__ptx_meetings(const struct ff__ptx_flow *flow);

/* The set of the blocks between a block's branch and where its ways meet; `out` is empty at first.
 * False: no memory. */
bool ff__ptx_between(const struct ff__ptx_flow *flow, const uint32_t *meetings, uint32_t block,
                     uint64_t *out);

/* The set of registers that may differ between threads where ways of the block's branch meet: those
 * that are written on the ways and live there. NULL: no memory. */
uint64_t *ff__ptx_parted(const struct ff__ptx_flow *flow, const uint32_t *meetings, uint32_t block);

#endif
