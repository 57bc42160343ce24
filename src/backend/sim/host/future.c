#include "backend/sim/host/future.h"

#include "base/grow.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>

int ff__recording_add(struct recording *recording, uint64_t page) {
    if (recording->count == FF__RECORDING_MAX)
        return -EOVERFLOW;
    int status = ff__grow(&recording->order, recording->count, sizeof *recording->order);
    if (status)
        return status;
    recording->order[recording->count++] = page;
    return 0;
}

/* A counting sort of the positions by page. */
int ff__future_make(const struct recording *recording, uint64_t page_count, struct ff_future *out) {
    uint64_t *first = ff__lazy_map((page_count + 2) * sizeof *first);
    uint64_t *position = malloc((recording->count + 1) * sizeof *position);
    *out = (struct ff_future){page_count, recording->count, first, position, recording->order};
    if (!first || !position) {
        ff__future_free(out);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < recording->count; i++)
        first[recording->order[i] + 2]++;
    for (uint64_t page = 2; page < page_count + 2; page++)
        first[page] += first[page - 1];
    for (uint64_t i = 0; i < recording->count; i++)
        position[first[recording->order[i] + 1]++] = i;
    return 0;
}

void ff__future_free(struct ff_future *future) {
    ff__lazy_unmap((void *)(uintptr_t)future->first,
                   (future->page_count + 2) * sizeof *future->first);
    free((void *)(uintptr_t)future->position);
    *future = (struct ff_future){0};
}
