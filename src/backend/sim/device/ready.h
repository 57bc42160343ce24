/* Which warp of an SM issues next: a heap of those that can, by time. Inline, because every step of
 * a warp uses it. */
#ifndef FF_BACKEND_SIM_DEVICE_READY_H
#define FF_BACKEND_SIM_DEVICE_READY_H

#include "backend/sim/device/device.h"

#define SLOT_BITS 8u

static inline void ff__sm_ready(struct sm *sm, uint32_t slot, uint64_t ready) {
    sm->warps[slot].ready = ready;
    uint64_t key = ready << SLOT_BITS | slot;
    uint32_t at = sm->heap_count++;
    for (; at > 0 && key < sm->heap[(at - 1) / 2]; at = (at - 1) / 2)
        sm->heap[at] = sm->heap[(at - 1) / 2];
    sm->heap[at] = key;
}

/* As ff__sm_ready(), from outside of ff__sms_run(). */
static inline void ff__sm_wake(struct device *device, struct sm *sm, uint32_t slot,
                               uint64_t ready) {
    device->sms_changed = true;
    ff__sm_ready(sm, slot, ready);
}

/* Puts `key` in the place of the smallest. */
static inline void ff__sm_replace_first(struct sm *sm, uint64_t key) {
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < sm->heap_count; at = child) {
        if (child + 1 < sm->heap_count && sm->heap[child + 1] < sm->heap[child])
            child++;
        if (sm->heap[child] >= key)
            break;
        sm->heap[at] = sm->heap[child];
    }
    sm->heap[at] = key;
}

static inline void ff__sm_drop_first(struct sm *sm) {
    uint64_t last = sm->heap[--sm->heap_count];
    if (sm->heap_count > 0)
        ff__sm_replace_first(sm, last);
}

/* When a warp of the SM can go on; NEVER: all wait. */
static inline uint64_t ff__sm_ready_at(const struct sm *sm) {
    if (sm->heap_count == 0)
        return NEVER;
    uint64_t ready = sm->heap[0] >> SLOT_BITS;
    return ready < sm->now ? sm->now : ready;
}

#endif
