/* What was gained and lost by range, page and kernel, for reports; and what moving costs, which
 * policies see. */
#include "engine/internal.h"

#include "base/lazy.h"

#include <errno.h>
#include <string.h>

static size_t links_size(const struct ff__engine *engine) {
    return (size_t)engine->space.tier_count * engine->space.tier_count * sizeof *engine->links;
}

static size_t ranges_size(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof *engine->range_totals;
}

static size_t pages_size(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof(struct ff__totals *);
}

static size_t kernels_size(void) {
    return FF__KERNELS_MAX * sizeof(struct ff__totals);
}

static size_t kernel_numbers_size(void) {
    return FF_LAUNCH_SLOTS * sizeof(uint16_t);
}

int ff__totals_init(struct ff__engine *engine, const struct ff__engine_config *config) {
    uint32_t tiers = engine->space.tier_count;
    engine->links = ff__lazy_map(links_size(engine));
    engine->range_totals = ff__lazy_map(ranges_size(engine));
    engine->page_totals = ff__lazy_map(pages_size(engine));
    engine->kernel_totals = ff__lazy_map(kernels_size());
    engine->kernel_of_launch = ff__lazy_map(kernel_numbers_size());
    if (!engine->links || !engine->range_totals || !engine->page_totals || !engine->kernel_totals ||
        !engine->kernel_of_launch)
        return -ENOMEM;
    for (uint32_t from = 0; from < tiers; from++)
        for (uint32_t to = 0; to < tiers; to++)
            engine->links[from * tiers + to] = config->backend->link[from][to];
    engine->view.fault_ns = config->backend->fault_ns;
    engine->view.links = engine->links;
    return 0;
}

/* Of a block. No malloc(): a thread that a signal has interrupted in there may wait for this one.
 */
static size_t page_totals_size(void) {
    return FF_BLOCK_PAGES * sizeof(struct ff__totals);
}

static void free_pages(struct ff__engine *engine, uint32_t range) {
    const struct ff_range *r = &engine->space.ranges[range];
    for (uint32_t i = 0; i < r->block_count; i++) {
        ff__lazy_unmap(engine->page_totals[r->first_block + i], page_totals_size());
        engine->page_totals[r->first_block + i] = NULL;
    }
}

void ff__totals_fini(struct ff__engine *engine) {
    for (uint32_t range = 0; engine->page_totals && range < engine->space.range_limit; range++)
        free_pages(engine, range);
    if (engine->page_totals)
        ff__lazy_unmap((void *)engine->page_totals, pages_size(engine));
    if (engine->links)
        ff__lazy_unmap(engine->links, links_size(engine));
    if (engine->range_totals)
        ff__lazy_unmap(engine->range_totals, ranges_size(engine));
    if (engine->kernel_totals)
        ff__lazy_unmap(engine->kernel_totals, kernels_size());
    if (engine->kernel_of_launch)
        ff__lazy_unmap(engine->kernel_of_launch, kernel_numbers_size());
}

static void add(struct ff__totals *to, const struct ff__totals *more) {
    to->faults += more->faults;
    to->refaults += more->refaults;
    to->prefetched += more->prefetched;
    to->pages_in += more->pages_in;
    to->pages_out += more->pages_out;
    to->stall_ns += more->stall_ns;
}

void ff__totals_add(struct ff__engine *engine, uint32_t block, uint32_t launch,
                    const struct ff__totals *more) {
    add(&engine->range_totals[engine->space.blocks[block].range], more);
    if (launch != FF_NONE)
        add(&engine->kernel_totals[engine->kernel_of_launch[ff_launch_slot(launch)]], more);
}

void ff__totals_forget_range(struct ff__engine *engine, uint32_t range) {
    memset(&engine->range_totals[range], 0, sizeof engine->range_totals[range]);
    free_pages(engine, range);
}

/* ---- by page ---- */

int ff__engine_range_share(struct ff__engine *engine, uint32_t range) {
    const struct ff_range *r = &engine->space.ranges[range];
    for (uint32_t i = 0; i < r->block_count; i++) {
        struct ff__totals *pages = ff__lazy_map(page_totals_size());
        if (!pages)
            return -ENOMEM; /* what there is by then goes with the range */
        engine->page_totals[r->first_block + i] = pages;
    }
    return 0;
}

void ff__totals_add_each(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                         const struct ff__totals *more) {
    struct ff__totals *totals = engine->page_totals[block];
    if (!totals)
        return;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        add(&totals[page], more);
    }
}

struct ff__totals ff__engine_page_totals(const struct ff__engine *engine, uint32_t block,
                                         const struct ff_mask *pages) {
    struct ff__totals sum = {0};
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        add(&sum, &engine->page_totals[block][page]);
    }
    return sum;
}

void ff__totals_forget_pages(struct ff__engine *engine, uint32_t block,
                             const struct ff_mask *pages) {
    struct ff__totals *totals = engine->page_totals[block];
    if (!totals)
        return;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        totals[page] = (struct ff__totals){0};
    }
}

const struct ff__totals *ff__engine_range_totals(const struct ff__engine *engine, uint32_t range) {
    return &engine->range_totals[range];
}

const struct ff__totals *ff__engine_kernel_totals(const struct ff__engine *engine,
                                                  uint32_t kernel) {
    return &engine->kernel_totals[kernel];
}

uint32_t ff__engine_kernel_of(const struct ff__engine *engine, uint32_t launch) {
    return engine->kernel_of_launch[ff_launch_slot(launch)];
}
