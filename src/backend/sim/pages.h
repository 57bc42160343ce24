/* A modelled device that gives out its memory by the page. */
#ifndef FF_BACKEND_SIM_PAGES_H
#define FF_BACKEND_SIM_PAGES_H

#include "engine/allocator.h"

/* Its state, zero at first. */
struct ff__page_counts {
    int64_t used[FF_TIERS_MAX]; /* pages that are allocated, without those that are forgotten; below
                                   0 while more of these leave */
    uint64_t forgotten[FF_TIERS_MAX]; /* that were there when all was forgotten last */
};

extern const struct ff__allocator ff__page_allocator;

/* Memory of the tier is free again although the pages in it stay, until something takes them off;
 * no eviction policy knows of them. What UVMSmart does in cudaDeviceSynchronize. */
void ff__pages_forget(struct ff__engine *engine, uint64_t now_ns, uint32_t tier);

#endif
