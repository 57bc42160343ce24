/* An SM's TLB. */
#ifndef FF_BACKEND_SIM_DEVICE_TLB_H
#define FF_BACKEND_SIM_DEVICE_TLB_H

#include "backend/sim/simulation.h"

/* An entry: page << 35 | generation << 1 | may be written without further ado. Never 0, as launches
 * are counted from 1. */
#define TLB_GENERATION_BITS 34u
#define TLB_WRITABLE        UINT64_C(1)

/* Of this launch only, so that its first touch of a page is seen: both numbers only grow, and so
 * their sum tells apart what either does. */
static inline uint64_t ff__tlb_entry(const struct sim *sim, const struct device *device,
                                     uint64_t page) {
    uint64_t generation = (uint64_t)sim->generation[page / FF_BLOCK_PAGES] + device->current.number;
    return page << (TLB_GENERATION_BITS + 1) | generation << 1;
}

static inline uint64_t *ff__tlb_set(const struct sim *sim, const struct sm *sm, uint64_t page) {
    return &sm->tlb[(page & (sim->tlb_sets - 1)) * TLB_WAYS];
}

/* Moves the hit to the front. */
static inline bool ff__tlb_hit(uint64_t *set, uint64_t entry, bool write) {
    for (uint32_t way = 0; way < TLB_WAYS; way++) {
        if ((set[way] & ~TLB_WRITABLE) != entry)
            continue;
        uint64_t found = set[way];
        if (write && !(found & TLB_WRITABLE))
            return false;
        for (; way > 0; way--)
            set[way] = set[way - 1];
        set[0] = found;
        return true;
    }
    return false;
}

static inline void ff__tlb_fill(uint64_t *set, uint64_t entry) {
    uint32_t way = 0;
    while (way < TLB_WAYS - 1 && (set[way] & ~TLB_WRITABLE) != (entry & ~TLB_WRITABLE))
        way++;
    for (; way > 0; way--)
        set[way] = set[way - 1];
    set[0] = entry;
}

#endif
