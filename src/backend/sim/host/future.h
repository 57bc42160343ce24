/* The future of a run: the pages that a run before it accessed. */
#ifndef FF_BACKEND_SIM_HOST_FUTURE_H
#define FF_BACKEND_SIM_HOST_FUTURE_H

#include <farfault/model.h>

/* The pages that were accessed, in order. */
struct recording {
    uint64_t *order;
    uint64_t count;
};

/* Ours: 2 GiB of order, and as much of index. */
#define FF__RECORDING_MAX (UINT64_C(1) << 28)

/* -ENOMEM; -EOVERFLOW: the run has more accesses. */
int ff__recording_add(struct recording *recording, uint64_t page);

/* Indexes a recording; the future borrows its order. -ENOMEM. */
int ff__future_make(const struct recording *recording, uint64_t page_count, struct ff_future *out);
void ff__future_free(struct ff_future *future);

#endif
