/* Which storages IBM's Large Model Support copies out ahead of need (LMSReclaimHistory,
 * predict_reclaim() and record_reclaim() of the patch for 1.5.0). A storage gets a name when it is
 * let go of for the first time, made of the size of its block and of how many storages there are
 * then: the one that takes its part in the next iteration gets the same. For each name there is one
 * bit for each time that a storage was on the list: whether its memory was taken. What is expected
 * is what was so last time, as long as that has been right from the storage's beginning. */
#ifndef FF_BACKEND_SIM_LMS_PAGING_HISTORY_H
#define FF_BACKEND_SIM_LMS_PAGING_HISTORY_H

#include "base/map.h"

struct ff__paging {
    uint32_t now, last; /* bits, the latest is the lowest */
    uint16_t now_count, last_count;
};

struct ff__paging_history {
    struct ff__map places; /* of names */
    struct ff__paging *pagings;
    uint32_t count;
    uint32_t storages; /* that have a name and live */
};

void ff__paging_history_fini(struct ff__paging_history *history);

/* The place of a storage's name, at its first time on the list, of which it is the `listed`th.
 * -ENOMEM. */
int ff__paging_begin(struct ff__paging_history *history, uint64_t block_size, uint32_t listed,
                     uint32_t *place);

bool ff__paging_expected(const struct ff__paging_history *history, uint32_t place);
void ff__paging_record(struct ff__paging_history *history, uint32_t place, bool taken);

#endif
