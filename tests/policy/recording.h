/* A recorded run written by hand: so many uses of a block in this window of residence.h and that.
 */
#ifndef TESTS_POLICY_RECORDING_H
#define TESTS_POLICY_RECORDING_H

#include "policy/bounds/residence.h"

#include <assert.h>

#define RECORDED_BLOCKS 8u
#define WINDOW_USES     400u
#define RECORDED_USES   (FF__WINDOWS * WINDOW_USES - 1) /* the last window has one less */
#define RECORDED_PAGES  (RECORDED_BLOCKS * FF_BLOCK_PAGES)
#define IDLE_PAGE       RECORDED_PAGES /* of no block */

struct recording {
    struct ff_future future;
    uint64_t order[RECORDED_USES], first[RECORDED_PAGES + 1], position[RECORDED_USES];
    uint32_t used[FF__WINDOWS]; /* uses so far, by window */
};

/* What the rest of each window uses is no page. */
static inline void record_start(struct recording *recording) {
    *recording = (struct recording){.used = {0}};
    for (uint32_t i = 0; i < RECORDED_USES; i++)
        recording->order[i] = IDLE_PAGE;
}

/* Of the block's first `pages` pages, in turns. */
static inline void record_use(struct recording *recording, uint32_t window, uint32_t block,
                              uint32_t pages, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        uint32_t at = window * WINDOW_USES + recording->used[window]++;
        assert(recording->used[window] <= WINDOW_USES && at < RECORDED_USES);
        recording->order[at] = (uint64_t)block * FF_BLOCK_PAGES + i % pages;
    }
}

/* Both windows, and those between. */
static inline void record_uses(struct recording *recording, uint32_t first, uint32_t last,
                               uint32_t block, uint32_t pages, uint32_t times) {
    for (uint32_t window = first; window <= last; window++)
        record_use(recording, window, block, pages, times);
}

static inline const struct ff_future *record_end(struct recording *recording) {
    uint64_t *first = recording->first, end = 0;
    for (uint32_t i = 0; i < RECORDED_USES; i++)
        first[recording->order[i]]++;
    for (uint32_t page = 0; page <= RECORDED_PAGES; page++) {
        end += first[page];
        first[page] = end;
    }
    for (uint32_t i = RECORDED_USES; i-- > 0;) /* `first`, the end so far, becomes the begin */
        recording->position[--first[recording->order[i]]] = i;
    recording->future = (struct ff_future){.page_count = RECORDED_PAGES,
                                           .length = RECORDED_USES,
                                           .first = first,
                                           .position = recording->position,
                                           .order = recording->order};
    return &recording->future;
}

#endif
