/* Before a launch begins, the parts of allocations that it is known to access are brought to the
 * device: what its extents call exact, and no allocation whole, which policies see by themselves.
 * So nothing is brought that is not used, unless it is evicted before. */
#ifndef FF_PRELOAD_WORKING_SET_H
#define FF_PRELOAD_WORKING_SET_H

#include "preload/trust.h"
#include "ptx/extent.h"
#include "runtime/predicted.h"

/* What is known of one launch. Its callbacks are set: what is exact is brought if the kernel is
 * trusted, and what came of it is counted. */
struct ff__bringing {
    struct ff__predicted predicted; /* the first member */
    struct ff_context *context;
    struct ff__trust *trust;
    struct ff__intervals order; /* what is to be brought */
    uint64_t absent;            /* pages of this that were not there when it began */
    uint32_t device;
    bool is_known, is_brought;
};

struct ff__working_set; /* what is known of a kernel and its latest launch */

/* Whether FARFAULT_EXTENTS (farfault run --extents) asks for it. */
bool ff__brings_working_sets(void);

/* Of a kernel whose calls are expanded (ptx/inline.h), and which lives as long. NULL: no memory. */
struct ff__working_set *ff__working_set_make(const struct ff__ptx_function *function);
void ff__working_set_free(struct ff__working_set *set);

/* What a launch accesses; counts it if all is known: each access lies in an interval that is in one
 * allocation. False: nothing is known. A kernel of which nothing is found several times in a row is
 * not looked at any more. One caller at a time for a set, which `out` does not need. */
bool ff__working_set_find(struct ff__working_set *set, struct ff_context *context, uint32_t device,
                          const struct ff__ptx_extent_launch *launch, struct ff__bringing *out);

/* What its `ends` does, for a caller that has more to do then. */
void ff__working_set_judge(struct ff__predicted *predicted);

#endif
