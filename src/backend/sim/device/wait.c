/* Which warp waits for which page. */
#include "backend/sim/device/ready.h"
#include "backend/sim/device/tlb.h"
#include "backend/sim/device/tracker_use.h"

/* How many warps the SMs of a device can hold. */
static uint32_t warps_of_device(const struct sim *sim) {
    return sim->gpu->sms * sim->warps_per_sm;
}

/* A fault that is seen outside the SM after `time`. */
static struct fault fault_of(const struct sim *sim, uint32_t sm, uint64_t page, bool write,
                             uint64_t time) {
    return (struct fault){.time = time + sim->visible,
                          .pages = UINT64_C(1) << page % 64,
                          .word = page / 64,
                          .thread = (uint16_t)(sm + 1),
                          .sms = 1,
                          .write = write};
}

uint64_t ff__sm_use_remotely(struct sim *sim, struct device *device, uint32_t count,
                             uint64_t start) {
    uint64_t ps = (uint64_t)(sim->gpu->remote_link_ns * PS_PER_NS),
             passed_at = ff__link_pass(&sim->links, FF_TIER_HOST, device->tier, count * ps, start);
    device->counters->remote += count;
    return passed_at + sim->gpu->remote_ns * PS_PER_NS;
}

void ff__sm_wait(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                 uint64_t page, bool write, uint64_t time) {
    struct fault fault = fault_of(sim, (uint32_t)(sm - device->sms), page, write, time);
    ff__faults_raise(sim, device, &fault);
    struct warp *warp = &sm->warps[slot];
    uint32_t place = (uint32_t)__builtin_ctzll(~warp->missing);
    uint32_t warp_id = (uint32_t)(sm - device->sms) * sim->warps_per_sm + slot;
    uint32_t number = place * warps_of_device(sim) + warp_id;
    uint32_t *head = &device->waiters[page / FF_BLOCK_PAGES];
    device->waits[number] = (struct wait){page, *head, write};
    *head = number + 1;
    warp->missing |= UINT64_C(1) << place;
    warp->loads |= (uint64_t)!write << place;
}

/* The page is used by the warp that waited for it. False: it is not there any more. */
static bool end_wait(struct sim *sim, struct device *device, uint32_t number, uint64_t time) {
    const struct wait *wait = &device->waits[number];
    uint32_t warps = warps_of_device(sim), warp_id = number % warps;
    uint32_t slot = warp_id % sim->warps_per_sm;
    uint64_t others = ~(UINT64_C(1) << number / warps);
    struct sm *sm = &device->sms[warp_id / sim->warps_per_sm];
    struct warp *warp = &sm->warps[slot];
    uint64_t end = time + sim->gpu->memory_latency_ns * PS_PER_NS;
    bool needed = warp->needs & ~others;
    if (ff__sim_resident(sim, device->tier, wait->page)) {
        ff__sim_use(sim, wait->page, wait->write);
        ff__tlb_fill(ff__tlb_set(sim, sm, wait->page),
                     ff__tlb_entry(sim, device, wait->page) | (wait->write ? TLB_WRITABLE : 0));
    } else if (ff__sim_remote(sim, device->tier, wait->page)) {
        end = ff__sm_use_remotely(sim, device, 1, time);
    } else {
        return false;
    }
    if (device->tracker)
        ff__tracker_use(sim, device, wait->page, 1, 1, time);
    if (!wait->write && end > warp->data)
        warp->data = end;
    warp->missing &= others;
    warp->loads &= others;
    warp->needs &= others;
    if (needed && !warp->needs)
        ff__sm_wake(device, sm, slot, warp->data > time ? warp->data : time);
    return true;
}

void ff__sms_wake(struct sim *sim, struct device *device, uint32_t block,
                  const struct ff_mask *pages, uint64_t time) {
    struct ff_mask answered = ff_mask_and(&device->buffer.pending[block], pages);
    if (!ff_mask_empty(&answered)) {
        device->buffer.pending[block] = ff_mask_minus(&device->buffer.pending[block], pages);
        ff__bulk_changed(sim, device, block);
    }
    if (device->bulk.waits)
        ff__bulk_wake(device, time);
    for (uint32_t *link = &device->waiters[block]; *link != 0;) {
        struct wait *wait = &device->waits[*link - 1];
        uint32_t next = wait->next;
        if (!ff_mask_test(pages, wait->page % FF_BLOCK_PAGES)) {
            link = &wait->next;
        } else if (end_wait(sim, device, *link - 1, time)) {
            *link = next;
        } else {
            uint32_t sm = (*link - 1) % warps_of_device(sim) / sim->warps_per_sm;
            struct fault fault = fault_of(sim, sm, wait->page, wait->write, time);
            ff__faults_raise(sim, device, &fault);
            link = &wait->next;
        }
    }
}
