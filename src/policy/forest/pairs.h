/* Whether to bring the second block of a 4 MiB tree, for whole blocks. Ours.
 *
 * A fault in one block of a linear range brings the other one, too, and saves its fault. On a
 * device that is small for what runs (many ranges, many threads), the other one is evicted before
 * it is used, and both transfers were for nothing. That shows when it faults in the launch during
 * which it was brought: then more than every eighth are too many, as a fault costs about that part
 * of two transfers. */
#ifndef FF_POLICY_FOREST_PAIRS_H
#define FF_POLICY_FOREST_PAIRS_H

#include <farfault/policy.h>

/* By block, zero at first. */
struct ff__pair_block {
    uint32_t launch; /* number of the launch during which it was brought; 0: it was not */
    bool advised;
};

struct ff__pairs {
    struct ff__pair_block *blocks;
    uint32_t launches;        /* so far, and one: where there are none, that one does not end */
    uint32_t brought, wasted; /* halved now and then */
    uint32_t skipped;
};

void ff__pairs_start(struct ff__pairs *pairs, struct ff__pair_block *blocks);

/* Whether to bring the other block of the next pair. While too many are wasted, every
 * sixteenth is tried. */
bool ff__pairs_next(struct ff__pairs *pairs);

/* What happens: a launch begins or ends; the block is advised as the other one; a block of which
 * nothing is there faults; blocks arrive. */
static inline void ff__pairs_launch(struct ff__pairs *pairs, const struct ff_launch_event *event) {
    pairs->launches += event->begins;
}
static inline void ff__pairs_advised(struct ff__pairs *pairs, uint32_t block) {
    pairs->blocks[block].advised = true;
}
void ff__pairs_fault(struct ff__pairs *pairs, uint32_t block);
void ff__pairs_arrival(struct ff__pairs *pairs, const struct ff_arrival *arrival);

#endif
