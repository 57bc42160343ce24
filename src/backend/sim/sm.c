/* SMs: which warp issues when. */
#include "backend/sim/internal.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 8u

/* ---- making ---- */

static int sm_init(const struct sim *sim, struct sm *sm) {
    uint32_t warps = sim->warps_per_sm;
    sm->warps = calloc(warps, sizeof *sm->warps);
    sm->heap = calloc(warps, sizeof *sm->heap);
    sm->free_slots = calloc(warps, sizeof *sm->free_slots);
    sm->cta_warps = calloc(sim->ctas_per_sm, sizeof *sm->cta_warps);
    size_t ways = (size_t)sim->tlb_sets * TLB_WAYS;
    sm->tlb = aligned_alloc(64, ways * sizeof *sm->tlb);
    if (!sm->warps || !sm->heap || !sm->free_slots || !sm->cta_warps || !sm->tlb)
        return -ENOMEM;
    for (uint32_t slot = warps; slot > 0; slot--)
        sm->free_slots[sm->free_count++] = (uint16_t)(slot - 1);
    memset(sm->tlb, 0xFF, ways * sizeof *sm->tlb);
    return 0;
}

int ff__sms_init(struct sim *sim, struct device *device) {
    size_t blocks = sim->engine.space.block_limit;
    device->sms = calloc(sim->gpu->sms, sizeof *device->sms);
    device->buffer.pending = ff__lazy_map(blocks * sizeof *device->buffer.pending);
    device->waiters = ff__lazy_map(blocks * sizeof *device->waiters);
    device->waits =
        calloc((size_t)sim->gpu->sms * sim->warps_per_sm * WARP_WAITS, sizeof *device->waits);
    device->accesses = calloc(FF__ACCESSES_MAX, sizeof *device->accesses);
    int status = device->sms && device->buffer.pending && device->waiters && device->waits &&
                         device->accesses
                     ? 0
                     : -ENOMEM;
    for (uint32_t i = 0; i < sim->gpu->sms && !status; i++)
        status = sm_init(sim, &device->sms[i]);
    return status;
}

void ff__sms_fini(struct sim *sim, struct device *device) {
    size_t blocks = sim->engine.space.block_limit;
    for (uint32_t i = 0; device->sms && i < sim->gpu->sms; i++) {
        free(device->sms[i].warps);
        free(device->sms[i].heap);
        free(device->sms[i].free_slots);
        free(device->sms[i].cta_warps);
        free(device->sms[i].tlb);
    }
    free(device->sms);
    free(device->accesses);
    free(device->waits);
    ff__lazy_unmap(device->buffer.pending, blocks * sizeof *device->buffer.pending);
    ff__lazy_unmap(device->waiters, blocks * sizeof *device->waiters);
}

/* ---- warps that are ready ---- */

void ff__sm_ready(struct sm *sm, uint32_t slot, uint64_t ready) {
    sm->warps[slot].ready = ready;
    uint64_t key = ready << SLOT_BITS | slot;
    uint32_t at = sm->heap_count++;
    for (; at > 0 && key < sm->heap[(at - 1) / 2]; at = (at - 1) / 2)
        sm->heap[at] = sm->heap[(at - 1) / 2];
    sm->heap[at] = key;
}

/* Puts `key` in the place of the smallest. */
static void replace_first(struct sm *sm, uint64_t key) {
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

static void drop_first(struct sm *sm) {
    uint64_t last = sm->heap[--sm->heap_count];
    if (sm->heap_count > 0)
        replace_first(sm, last);
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
        ff__sm_ready(sm, slot, time);
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

static void end_warp(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot) {
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

/* ---- running ---- */

/* Bandwidth: an SM gets its share of the memory's. */
static uint64_t memory_end(const struct sim *sim, struct sm *sm, uint64_t done, uint32_t sectors) {
    if (sm->memory_free < sm->now)
        sm->memory_free = sm->now;
    sm->memory_free += (uint64_t)((double)sectors * sim->ps_per_sector);
    uint64_t end = sm->memory_free > done ? sm->memory_free : done;
    return end + sim->gpu->memory_latency_ns * PS_PER_NS;
}

/* The first warp goes on when all waits that it needs have ended, and not before `time`. */
static void go_on(struct sm *sm, uint32_t slot, uint64_t needs, uint64_t time) {
    struct warp *warp = &sm->warps[slot];
    warp->needs = needs;
    warp->ready = time;
    if (needs)
        drop_first(sm);
    else
        replace_first(sm, time << SLOT_BITS | slot);
}

/* There are no more steps: the warp ends with the last of its loads and stores. */
static void try_end(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot) {
    struct warp *warp = &sm->warps[slot];
    if (warp->missing || warp->data > sm->now) {
        go_on(sm, slot, warp->missing, warp->data);
        return;
    }
    drop_first(sm);
    if (!sim->gpu->ends_when_idle || ff__driver_links_idle(sim, device, sm->now)) {
        end_warp(sim, device, sm, slot);
        return;
    }
    warp->ended = true;
    sm->ended++;
}

void ff__sms_release(struct sim *sim, struct device *device, uint64_t time) {
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        struct sm *sm = &device->sms[i];
        for (uint32_t slot = 0; slot < sim->warps_per_sm && sm->ended > 0; slot++) {
            if (!sm->warps[slot].ended)
                continue;
            sm->warps[slot].ended = false;
            sm->ended--;
            ff__sm_ready(sm, slot, time);
        }
    }
}

static void issue(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                  const struct ff__step *step) {
    struct warp *warp = &sm->warps[slot];
    warp->step++;
    warp->untold += step->instructions;
    sm->now += step->instructions * sim->ps_per_instruction;
    device->counters->instructions += step->instructions;
    device->counters->accesses += step->page_count;
    if (step->page_count == 0) {
        go_on(sm, slot, 0, sm->now);
        return;
    }
    uint64_t end = ff__sm_touch(sim, device, sm, slot, step);
    end = memory_end(sim, sm, end, step->sectors);
    if (!step->write && end > warp->data)
        warp->data = end;
    uint32_t waiting = (uint32_t)__builtin_popcountll(warp->missing);
    bool is_full = waiting > WARP_WAITS - FF__STEP_PAGES;
    uint64_t waits = is_full ? warp->missing : step->goes_on ? 0 : warp->loads;
    go_on(sm, slot, waits, step->goes_on ? sm->now : warp->data);
}

/* Lets the first ready warp make one step. */
static void run_step(struct sim *sim, struct device *device, struct sm *sm) {
    uint32_t slot = (uint32_t)(sm->heap[0] & ((1u << SLOT_BITS) - 1));
    const struct warp *warp = &sm->warps[slot];
    const struct ff__kernel *kernel = &device->current.kernel;
    struct ff__step step;
    if (sm->now < warp->ready)
        sm->now = warp->ready;
    if (kernel->step(device->job->workload, kernel, warp->cta, warp->warp, warp->step, &step))
        issue(sim, device, sm, slot, &step);
    else
        try_end(sim, device, sm, slot);
}

/* When a warp of the SM can go on; NEVER: all wait. */
static uint64_t ready_at(const struct sm *sm) {
    if (sm->heap_count == 0)
        return NEVER;
    uint64_t ready = sm->heap[0] >> SLOT_BITS;
    return ready < sm->now ? sm->now : ready;
}

/* A stall of the whole device ends with the first warp that can go on. */
static void end_stall(struct sim *sim, struct device *device) {
    uint64_t ready = NEVER;
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        uint64_t at = ready_at(&device->sms[i]);
        ready = at < ready ? at : ready;
    }
    if (ready == NEVER)
        return;
    if (ready > device->stalled)
        device->counters->stall_ns += ff__sim_ns(ready - device->stalled);
    device->stalled = NEVER;
}

/* When the SM that ran last stopped. */
static uint64_t stopped_at(const struct sim *sim, const struct device *device) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < sim->gpu->sms; i++)
        last = device->sms[i].now > last ? device->sms[i].now : last;
    return last;
}

uint64_t ff__sms_run(struct sim *sim, struct device *device, uint64_t until) {
    uint64_t next = NEVER;
    if (device->stalled != NEVER)
        end_stall(sim, device);
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        struct sm *sm = &device->sms[i];
        while (sm->heap_count > 0 && sm->now < until && sm->heap[0] >> SLOT_BITS < until)
            run_step(sim, device, sm);
        uint64_t ready = ready_at(sm);
        next = ready < next ? ready : next;
    }
    if (next == NEVER && device->ctas_left > 0 && device->stalled == NEVER)
        device->stalled = stopped_at(sim, device);
    return next;
}
