/* What translated kernels report of their accesses, handed to the context's recording.
 *
 * Lanes of a warp that come to an instruction in the same round of their block have executed it
 * together, however many calls report them: they may lie in several rows of the block, or have been
 * run one by one. */
#ifndef FF_PTX_RECORD_H
#define FF_PTX_RECORD_H

#include "ptx/block.h"

struct ff__ptx_recording;

/* Of the items of a launch that one worker runs on `device`. Freed with ff__ptx_record_end(). NULL:
 * no memory. */
struct ff__ptx_recording *ff__ptx_record_begin(struct ff_context *context, uint32_t device,
                                               const struct ff_ptx_code *code);
/* A report, from a block of that launch. */
void ff__ptx_record(struct ff__ptx_recording *recording, struct ff__ptx_running *running,
                    const struct ff_ptx_lanes *lanes, const struct ff_ptx_access *access);
/* A round of the block is over. */
void ff__ptx_record_round(struct ff__ptx_recording *recording, struct ff__ptx_running *running);
void ff__ptx_record_end(struct ff__ptx_recording *recording);

#endif
