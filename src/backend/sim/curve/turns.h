/* Warps that take turns, one step each, where no time is modelled. */
#ifndef FF_BACKEND_SIM_CURVE_TURNS_H
#define FF_BACKEND_SIM_CURVE_TURNS_H

#include "workload/workload.h"

/* Runs a kernel: as many warps as there are slots take turns, in the order of their slots, and a
 * warp that has ended makes place for the next one. `take` gets each step of the warp in a slot;
 * false: stop. -ENOMEM. */
int ff__turns_take(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint64_t slots,
                   bool (*take)(void *self, uint32_t slot, const struct ff__step *step),
                   void *self);

#endif
