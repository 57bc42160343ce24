/* What was gained and lost: by range, by kernel, and by page where allocations share a range.
 * Reports read it. */
#ifndef FF_ENGINE_TOTALS_H
#define FF_ENGINE_TOTALS_H

#include <farfault/mask.h>

struct ff__engine;
struct ff__engine_config;

/* In pages; time in ns. */
struct ff__totals {
    uint64_t faults, refaults;    /* pages that were faulted on; of these, evicted before */
    uint64_t prefetched;          /* pages that came unasked */
    uint64_t pages_in, pages_out; /* copied to a device, and back */
    uint64_t stall_ns;            /* from the begin of a fault's service to its end */
};

/* Fills in the view's costs, too. -ENOMEM; ff__totals_fini() may follow. */
int ff__totals_init(struct ff__engine *engine, const struct ff__engine_config *config);
void ff__totals_fini(struct ff__engine *engine);

/* To those of the block's range, and of the kernel of the execution ID (FF_NONE: of none). */
void ff__totals_add(struct ff__engine *engine, uint32_t block, uint32_t launch,
                    const struct ff__totals *more);

/* The range is freed: its number will be another's. */
void ff__totals_forget_range(struct ff__engine *engine, uint32_t range);

/* Counts what moves of the range by the page, too, for allocations that share it. -ENOMEM. */
int ff__engine_range_share(struct ff__engine *engine, uint32_t range);

/* Of these pages of a block, if its range is shared. */
void ff__totals_add_each(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                         const struct ff__totals *more);
void ff__totals_forget_pages(struct ff__engine *engine, uint32_t block,
                             const struct ff_mask *pages);

/* What was gained and lost by a range, by a kernel (the caller's number of its code), and by these
 * pages of a shared range's block. */
const struct ff__totals *ff__engine_range_totals(const struct ff__engine *engine, uint32_t range);
const struct ff__totals *ff__engine_kernel_totals(const struct ff__engine *engine, uint32_t kernel);
struct ff__totals ff__engine_page_totals(const struct ff__engine *engine, uint32_t block,
                                         const struct ff_mask *pages);

#endif
