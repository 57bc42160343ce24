/* The NVIDIA driver's prefetch tree as a pure function: from what faulted and what is resident to
 * what comes along. Page 0 is the block's first page, wherever in its 2 MiB window that lies. */
#ifndef FF_POLICY_NVIDIA_TREE_MASK_H
#define FF_POLICY_NVIDIA_TREE_MASK_H

#include <farfault/policy.h>

/* Moves every page up by `pages` (0..63), as when a block gains leading pages. */
static inline struct ff_mask ff__mask_shift_up(const struct ff_mask *a, uint32_t pages) {
    struct ff_mask m = *a;
    if (pages == 0)
        return m;
    for (int i = FF_MASK_WORDS - 1; i >= 0; i--)
        m.word[i] = (a->word[i] << pages) | (i > 0 ? a->word[i - 1] >> (64 - pages) : 0);
    return m;
}

#define FF__TREE_THRESHOLD 51u /* percent: the default of the driver */

/* No mask may have a page at or past page_count; page_count + lead <= FF_BLOCK_PAGES. */
struct ff__tree_input {
    const struct ff_mask *faulted;
    const struct ff_mask *resident;  /* at the destination */
    const struct ff_mask *thrashing; /* NULL: none */
    uint32_t page_count, lead;
    uint32_t threshold; /* percent of a subtree that must be exceeded; 0..100 */
    bool quirk;         /* leave out pages at the start of a misaligned block, as the driver does */
};

/* The pages to bring along: never a faulted or thrashing one; resident ones may be among them. */
void ff__tree_mask(const struct ff__tree_input *in, struct ff_mask *out);

/* What the driver's tree brings along with faults of a device, by default: threshold 51 %. */
void ff__tree_prefetch(const struct ff_view *view, const struct ff_fault_group *group,
                       struct ff_fault_advice *advice);

#endif
