/* SMs: making them, and which CTAs they have. */
#include "backend/sim/device/ready.h"
#include "backend/sim/simulation.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

/* `tlb` is the device's to free. */
static int sm_init(const struct sim *sim, struct sm *sm, uint64_t *tlb) {
    uint32_t warps = sim->warps_per_sm;
    sm->warps = calloc(warps, sizeof *sm->warps);
    sm->heap = calloc(warps, sizeof *sm->heap);
    sm->free_slots = calloc(warps, sizeof *sm->free_slots);
    sm->cta_warps = calloc(sim->ctas_per_sm, sizeof *sm->cta_warps);
    sm->tlb = tlb;
    if (!sm->warps || !sm->heap || !sm->free_slots || !sm->cta_warps)
        return -ENOMEM;
    for (uint32_t slot = warps; slot > 0; slot--)
        sm->free_slots[sm->free_count++] = (uint16_t)(slot - 1);
    return 0;
}

static size_t waits_size(const struct sim *sim) {
    return (size_t)sim->gpu->sms * sim->warps_per_sm * WARP_WAITS * sizeof(struct wait);
}

static size_t tlb_entries(const struct sim *sim) {
    return (size_t)sim->tlb_sets * TLB_WAYS;
}

static size_t tlbs_size(const struct sim *sim) {
    return sim->gpu->sms * tlb_entries(sim) * sizeof(uint64_t);
}

int ff__sms_init(struct sim *sim, struct device *device) {
    size_t blocks = sim->space->block_limit;
    device->sms = calloc(sim->gpu->sms, sizeof *device->sms);
    device->buffer.pending = ff__lazy_map(blocks * sizeof *device->buffer.pending);
    device->waiters = ff__lazy_map(blocks * sizeof *device->waiters);
    device->waits = ff__lazy_map_dense(waits_size(sim));
    device->tlbs = ff__lazy_map_dense(tlbs_size(sim));
    device->accesses = calloc(FF__ACCESSES_MAX, sizeof *device->accesses);
    int status = device->sms && device->buffer.pending && device->waiters && device->waits &&
                         device->tlbs && device->accesses
                     ? 0
                     : -ENOMEM;
    for (uint32_t i = 0; i < sim->gpu->sms && !status; i++)
        status = sm_init(sim, &device->sms[i], device->tlbs + i * tlb_entries(sim));
    return status;
}

void ff__sms_fini(struct sim *sim, struct device *device) {
    size_t blocks = sim->space->block_limit;
    for (uint32_t i = 0; device->sms && i < sim->gpu->sms; i++) {
        free(device->sms[i].warps);
        free(device->sms[i].heap);
        free(device->sms[i].free_slots);
        free(device->sms[i].cta_warps);
    }
    free(device->sms);
    free(device->accesses);
    ff__lazy_unmap(device->waits, waits_size(sim));
    ff__lazy_unmap(device->tlbs, tlbs_size(sim));
    ff__lazy_unmap(device->buffer.pending, blocks * sizeof *device->buffer.pending);
    ff__lazy_unmap(device->waiters, blocks * sizeof *device->waiters);
}

/* ---- CTAs ---- */

static uint16_t free_cta_slot(const struct sim *sim, const struct sm *sm) {
    uint16_t slot = 0;
    while (slot < sim->ctas_per_sm && sm->cta_warps[slot] > 0)
        slot++;
    return slot;
}

static bool start_cta(struct sim *sim, struct device *device, struct sm *sm, uint64_t time) {
    uint32_t warps = device->current.kernel.warps;
    if (device->next_cta == device->current.kernel.ctas || sm->free_count < warps ||
        sm->ctas == sim->ctas_per_sm)
        return false;
    uint16_t cta_slot = free_cta_slot(sim, sm);
    sm->cta_warps[cta_slot] = warps;
    sm->ctas++;
    for (uint32_t i = 0; i < warps; i++) {
        uint32_t slot = sm->free_slots[--sm->free_count];
        sm->warps[slot] = (struct warp){.cta = device->next_cta, .warp = i, .cta_slot = cta_slot};
        ff__sm_wake(device, sm, slot, time);
    }
    device->next_cta++;
    return true;
}

/* CTAs go to the SMs in turn, as hardware hands them out. */
void ff__sms_start(struct sim *sim, struct device *device, uint64_t time) {
    for (uint32_t i = 0; i < sim->gpu->sms; i++)
        device->sms[i].now = time;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t i = 0; i < sim->gpu->sms; i++)
            any |= start_cta(sim, device, &device->sms[i], time);
    }
}

void ff__sm_end_warp(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot) {
    uint16_t cta_slot = sm->warps[slot].cta_slot;
    sm->free_slots[sm->free_count++] = (uint16_t)slot;
    if (--sm->cta_warps[cta_slot] > 0)
        return;
    sm->ctas--;
    device->ctas_left--;
    if (sm->now > device->last_end)
        device->last_end = sm->now;
    start_cta(sim, device, sm, sm->now);
}

void ff__sms_delay(struct sim *sim, struct device *device, uint64_t start, uint64_t end) {
    uint64_t lost = (uint64_t)((double)(end - start) * sim->gpu->mover_share);
    for (uint32_t i = 0; i < sim->gpu->sms && lost > 0; i++)
        if (device->sms[i].heap_count > 0)
            device->sms[i].now = (device->sms[i].now > start ? device->sms[i].now : start) + lost;
}

void ff__sms_release(struct sim *sim, struct device *device, uint64_t time) {
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        struct sm *sm = &device->sms[i];
        for (uint32_t slot = 0; slot < sim->warps_per_sm && sm->ended > 0; slot++) {
            if (!sm->warps[slot].ended)
                continue;
            sm->warps[slot].ended = false;
            sm->ended--;
            ff__sm_wake(device, sm, slot, time);
        }
    }
}
