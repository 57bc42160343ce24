/* A binary heap. */
#include "backend/sim/machine/event.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const struct event *a, const struct event *b) {
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

int ff__events_push(struct events *events, struct event event) {
    if (events->count == events->capacity) {
        uint32_t capacity = events->capacity ? 2 * events->capacity : 256;
        struct event *heap = realloc(events->heap, capacity * sizeof *heap);
        if (!heap)
            return -ENOMEM;
        events->heap = heap;
        events->capacity = capacity;
    }
    event.order = events->order++;
    uint32_t at = events->count++;
    for (; at > 0 && before(&event, &events->heap[(at - 1) / 2]); at = (at - 1) / 2)
        events->heap[at] = events->heap[(at - 1) / 2];
    events->heap[at] = event;
    return 0;
}

bool ff__events_pop(struct events *events, struct event *out) {
    if (events->count == 0)
        return false;
    *out = events->heap[0];
    struct event last = events->heap[--events->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < events->count; at = child) {
        if (child + 1 < events->count && before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!before(&events->heap[child], &last))
            break;
        events->heap[at] = events->heap[child];
    }
    events->heap[at] = last;
    return true;
}
