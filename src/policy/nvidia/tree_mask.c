/* The tree of the NVIDIA driver (595.45.04, uvm_perf_prefetch.c), page for page.
 *
 * A fault first fills its 64 KiB group; then the widest subtree around it of which more than
 * `threshold` percent is resident or coming is brought in whole.
 *
 * Left out, because nothing here has it: preferred locations (with one, the driver prefetches the
 * whole of an untouched block, and nothing away from the location), range groups, HMM. */
#include "policy/nvidia/tree_mask.h"

#include "policy/common/tree.h"

/* The driver's tree stands over place i for page i - offset, so that a 64 KiB group of memory is an
 * aligned group of 16 places. A block without one whole such group is not shifted and is one group
 * by itself. */
struct places {
    uint32_t offset, count;
    bool one_group;
};

static struct places places_of(const struct ff__tree_input *in) {
    uint32_t prefix = (-in->lead) % FF_LEAF_PAGES; /* pages before the first whole group */
    bool one_group = prefix + FF_LEAF_PAGES > in->page_count;
    uint32_t offset = one_group ? 0 : (-prefix) % FF_LEAF_PAGES;
    return (struct places){offset, in->page_count + offset, one_group};
}

/* Fills the groups that a page faulted in and none thrashes in. */
static struct ff_mask grow_groups(const struct places *places, const struct ff_mask *faulted,
                                  const struct ff_mask *thrashing) {
    if (places->one_group)
        return ff_mask_of_run(0, ff_mask_empty(thrashing) ? places->count : 0);
    struct ff_mask grown = ff__tree_leaves_of(faulted, FF_LEAF_PAGES);
    struct ff_mask calm = ff__tree_leaves_of(thrashing, FF_LEAF_PAGES);
    return ff_mask_minus(&grown, &calm);
}

/* What is resident, or coming. */
static struct ff_mask set_of(const struct places *places, const struct ff__tree_input *in,
                             const struct ff_mask *faulted, const struct ff_mask *thrashing) {
    struct ff_mask set = ff__mask_shift_up(in->resident, places->offset);
    struct ff_mask grown = grow_groups(places, faulted, thrashing);
    struct ff_mask valid = ff_mask_of_run(places->offset, places->count);
    set = ff_mask_or(&set, faulted);
    set = ff_mask_or(&set, &grown);
    return ff_mask_and(&set, &valid);
}

/* Back to pages. The driver takes a subtree that starts left of the block to start at page `offset`
 * and not at page 0; that loses pages, and turns a short run inside out, which is then no run. */
static struct ff_run pages_of(const struct places *places, struct ff_run subtree, bool quirk) {
    uint32_t first = subtree.first - places->offset;
    if (subtree.first < places->offset)
        first = quirk ? places->offset : 0;
    return (struct ff_run){first, subtree.end - places->offset};
}

/* The driver climbs once for each faulted page. Here a page inside the subtree found for an earlier
 * one is skipped: its own widest subtree is the same. For it passes and contains the page; and any
 * wider one that contains the page contains all of it, so also the earlier page, whose widest it
 * would then have been. */
static void add_subtrees(const struct places *places, const struct ff_mask *set,
                         const struct ff_mask *scan, const struct ff__tree_input *in,
                         struct ff_mask *out) {
    const struct ff__tree_shape shape = {1, FF_BLOCK_PAGES, in->threshold, false};
    struct ff__tree tree;
    struct ff__tree_sums sums;
    ff__tree_start(&tree, &shape, set, places->count);
    ff__tree_sum(&tree, &sums);
    uint32_t place = ff_mask_next(scan, 0);
    while (place < FF_BLOCK_PAGES) {
        struct ff_run subtree = ff__tree_widest(&tree, &sums, place);
        struct ff_run pages = pages_of(places, subtree, in->quirk);
        ff_mask_set_run(out, pages.first, pages.end);
        place = ff_mask_next(scan, subtree.end);
    }
}

void ff__tree_mask(const struct ff__tree_input *in, struct ff_mask *out) {
    static const struct ff_mask none;
    const struct ff_mask *thrashing_pages = in->thrashing ? in->thrashing : &none;
    ff_mask_clear(out);
    if (in->threshold >= 100) /* nothing is more than all of it; not even a group is filled then */
        return;

    struct places places = places_of(in);
    struct ff_mask faulted = ff__mask_shift_up(in->faulted, places.offset);
    struct ff_mask thrashing = ff__mask_shift_up(thrashing_pages, places.offset);
    struct ff_mask scan = ff_mask_minus(&faulted, &thrashing);
    if (ff_mask_empty(&scan))
        return;
    struct ff_mask set = set_of(&places, in, &faulted, &thrashing);
    add_subtrees(&places, &set, &scan, in, out);
    *out = ff_mask_minus(out, in->faulted);
    *out = ff_mask_minus(out, thrashing_pages);
}

void ff__tree_prefetch(const struct ff_view *view, const struct ff_fault_group *group,
                       struct ff_fault_advice *advice) {
    const struct ff_block *block = &view->blocks[group->block];
    struct ff_mask resident = ff_view_expected(view, group->tier, group->block);
    struct ff__tree_input in = {
        .faulted = &group->faulted,
        .resident = &resident,
        .page_count = block->page_count,
        .lead = block->lead,
        .threshold = FF__TREE_THRESHOLD,
        .quirk = true,
    };
    ff__tree_mask(&in, &advice->prefetch);
}
