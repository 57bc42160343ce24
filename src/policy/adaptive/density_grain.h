/* The decision of density.h: in what the blocks of a range come, by the evidence that density.c
 * collects of their use. */
#ifndef FF_POLICY_ADAPTIVE_DENSITY_GRAIN_H
#define FF_POLICY_ADAPTIVE_DENSITY_GRAIN_H

#include "policy/adaptive/density.h"

/* How many leaves, and how many pages, cost as much as a whole block on the tier. */
const struct ff__density_break_even *
ff__density_break_even_of(struct ff__density *density, const struct ff_view *view, uint32_t tier);

/* What a leaf costs, in pages. */
static inline uint32_t ff__density_leaf_cost(const struct ff__density_break_even *break_even) {
    return break_even->pages / break_even->leaves;
}

/* Pages are good for a launch: the next one may use its data from end to end. */
void ff__density_renew(const struct ff__density *density, struct ff__density_range *range);

/* Of a range that does not come in pages, a block comes back, often during this launch or for the
 * first time: whether it is a witness. */
bool ff__density_next_witness(struct ff__density *density, const struct ff_view *view,
                              uint32_t tier, struct ff__density_range *range, bool often);

/* The block was a witness, and leaves. */
void ff__density_end_witness(struct ff__density *density, const struct ff_view *view, uint32_t tier,
                             struct ff__density_range *range,
                             const struct ff__density_block *block);

/* There is new evidence of a range whose blocks come in pieces. */
void ff__density_judge(struct ff__density *density, struct ff__density_range *range,
                       const struct ff__density_break_even *break_even);

#endif
