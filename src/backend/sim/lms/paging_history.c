#include "backend/sim/lms/paging_history.h"

#include "base/grow.h"

#include <stdlib.h>

void ff__paging_history_fini(struct ff__paging_history *history) {
    ff__map_fini(&history->places);
    free(history->pagings);
}

static int add_paging(struct ff__paging_history *history, uint64_t name, uint32_t *place) {
    int status = ff__grow(&history->pagings, history->count, sizeof *history->pagings);
    if (status)
        return status;
    *place = history->count;
    history->pagings[history->count++] = (struct ff__paging){0};
    return ff__map_put(&history->places, name, *place);
}

int ff__paging_begin(struct ff__paging_history *history, uint64_t block_size, uint32_t listed,
                     uint32_t *place) {
    uint64_t name = (block_size << 24) + ((uint64_t)++history->storages << 12) + listed;
    if (!ff__map_get(&history->places, name, place)) {
        int status = add_paging(history, name, place);
        if (status)
            return status;
    }
    struct ff__paging *paging = &history->pagings[*place];
    *paging = (struct ff__paging){.last = paging->now, .last_count = paging->now_count};
    return 0;
}

bool ff__paging_expected(const struct ff__paging_history *history, uint32_t place) {
    const struct ff__paging *paging = &history->pagings[place];
    int left = paging->last_count - paging->now_count;
    if (left <= 0 || left > 32)
        return false;
    uint64_t last = paging->last;
    return (last >> (left - 1) & 1) && last >> left == paging->now;
}

void ff__paging_record(struct ff__paging_history *history, uint32_t place, bool taken) {
    struct ff__paging *paging = &history->pagings[place];
    paging->now = paging->now << 1 | taken;
    paging->now_count++;
}
