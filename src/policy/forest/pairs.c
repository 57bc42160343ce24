#include "policy/forest/pairs.h"

#define PER_WASTED 8u  /* blocks that are brought for each one that is wasted, at least */
#define TRIALS     16u /* while more are wasted, one in so many is brought */
#define RECENT     64u /* blocks that are counted before both counts are halved */

void ff__pairs_start(struct ff__pairs *pairs, struct ff__pair_block *blocks) {
    *pairs = (struct ff__pairs){.blocks = blocks, .launches = 1};
}

bool ff__pairs_next(struct ff__pairs *pairs) {
    bool pays =
        pairs->wasted * PER_WASTED <= pairs->brought + PER_WASTED; /* one alone says nothing */
    return pays || ++pairs->skipped % TRIALS == 0;
}

void ff__pairs_fault(struct ff__pairs *pairs, uint32_t block) {
    struct ff__pair_block *record = &pairs->blocks[block];
    if (record->launch == 0)
        return;
    pairs->wasted += record->launch == pairs->launches;
    record->launch = 0;
}

void ff__pairs_arrival(struct ff__pairs *pairs, const struct ff_arrival *arrival) {
    struct ff__pair_block *record = &pairs->blocks[arrival->block];
    if (arrival->kind != FF_ARRIVAL_ALLOCATED || !record->advised)
        return;
    record->advised = false;
    if (arrival->faulted)
        return;
    record->launch = pairs->launches;
    if (++pairs->brought >= RECENT) {
        pairs->brought /= 2;
        pairs->wasted /= 2;
    }
}
