/* Which registers are the same in all threads of a row of a block, or grow by a fixed step from
 * one thread to the next. The translator computes those once for many threads, and a compiler sees
 * that neighbours access neighbouring addresses.
 *
 * A register is *uniform* if it has one value in all threads of a row that are at the same place at
 * the same time, and *affine* if its value in the i-th of them is base + i * step with uniform base
 * and step. One that is computed by one instruction from parameters and special registers alone can
 * be computed again in each region instead of being saved. */
#ifndef FF_PTX_SHAPE_H
#define FF_PTX_SHAPE_H

#include "ptx/diverge.h"
#include "ptx/flow.h"

enum ff__ptx_shape { FF__PTX_VARYING, FF__PTX_UNIFORM, FF__PTX_AFFINE };

struct ff__ptx_shapes {
    uint32_t *definition; /* by register: the only instruction that writes it, or FF__PTX_NONE */
    uint8_t *again;       /* by register: enum ff__ptx_shape, if it can be computed again */
    uint8_t *shape;       /* by register: enum ff__ptx_shape; AFFINE only where the step is known */
    int64_t *step;        /* by register */
    uint32_t *meetings;   /* by block: diverge.h */
};

/* 0 or -ENOMEM. */
int ff__ptx_find_shapes(const struct ff__ptx_flow *flow, struct ff__ptx_shapes *out);

/* Whether a block's branch may part threads of a row. */
bool ff__ptx_parts(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                   uint32_t block);

/* What an instruction's result is if its operands, of which it asks `shape`, are what they are.
 * VARYING for all that is no pure computation. */
typedef enum ff__ptx_shape ff__ptx_shape_fn(void *context, uint32_t reg);
enum ff__ptx_shape ff__ptx_result_shape(const struct ff__ptx_flow *flow,
                                        const struct ff__ptx_instruction *instruction,
                                        ff__ptx_shape_fn *shape, void *context);

#endif
