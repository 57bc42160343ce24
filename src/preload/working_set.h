/* Before a launch begins, the parts of allocations that it is known to access are brought to the
 * device: what its extents call exact, and no allocation whole, which policies see by themselves.
 * So nothing is brought that is not used, unless it is evicted before. */
#ifndef FF_PRELOAD_WORKING_SET_H
#define FF_PRELOAD_WORKING_SET_H

#include "preload/preload.h"
#include "ptx/extent.h"

#define FF__BROUGHT_PIECES 16u

/* What is brought before one launch. */
struct ff__bringing {
    struct ff_context *context;
    uint32_t device, count;
    struct ff__brought_piece {
        uint64_t low, high; /* addresses: the first byte, and behind the last */
    } pieces[FF__BROUGHT_PIECES];
};

struct ff__working_set; /* what is known of a kernel and its latest launch */

/* Whether FARFAULT_EXTENTS (farfault run --extents) asks for it. */
bool ff__brings_working_sets(void);

/* Of a kernel whose calls are expanded (ptx/inline.h), and which lives as long. NULL: no memory. */
struct ff__working_set *ff__working_set_make(const struct ff__ptx_function *function);
void ff__working_set_free(struct ff__working_set *set);

/* What a launch accesses; counts it if all is known: each access lies in an interval that is in one
 * allocation. False: nothing is to be brought. A kernel
 * of which nothing is found several times in a row is not looked at any more. One caller at a time
 * for a set. */
bool ff__working_set_find(struct ff__working_set *set, struct ff_context *context, uint32_t device,
                          const struct ff__ptx_extent_launch *launch, struct ff__bringing *out);

/* Asks for it, and does not wait. */
void ff__bring(const struct ff__bringing *order);

#endif
