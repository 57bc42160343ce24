/* What UVMSmart's three hardware prefetchers bring along with a fault (gpu-sim.cc; the options'
 * numbers are its own). */
#ifndef FF_POLICY_COMMON_NEIGHBOURS_H
#define FF_POLICY_COMMON_NEIGHBOURS_H

#include "base/random.h"

#include <farfault/policy.h>

enum ff__neighbour_kind {
    FF__NEIGHBOURS_NONE,
    FF__NEIGHBOURS_TREE,       /* whole leaves; any node of the tree more than half valid fills */
    FF__NEIGHBOURS_SEQUENTIAL, /* the whole leaf of each fault */
    FF__NEIGHBOURS_RANDOM,     /* a page of the tree drawn for each fault, unless it is there */
    FF__NEIGHBOURS
};

/* Without pages that are in `faulted` or `there` already. */
struct ff_mask ff__neighbours_of(enum ff__neighbour_kind kind, const struct ff_mask *faulted,
                                 const struct ff_mask *there, uint32_t page_count,
                                 struct ff__random *random);

/* For on_fault: those of the group's pages but the remote ones. */
void ff__neighbours_advise(enum ff__neighbour_kind kind, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff__random *random,
                           struct ff_fault_advice *advice);

#endif
