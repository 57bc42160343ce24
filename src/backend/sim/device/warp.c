/* Warps: what they issue, the pages that they touch, and how far SMs get. */
#include "backend/sim/device/ready.h"
#include "backend/sim/device/tlb.h"
#include "backend/sim/device/tracker_use.h"

#include <errno.h>

/* ---- touching pages ---- */

/* Whether the device's launch touches the page for the first time. */
static bool touch_first(struct device *device, uint64_t page) {
    struct ff_mask *touched = ff__device_touched(device, (uint32_t)(page / FF_BLOCK_PAGES));
    bool first = !ff_mask_test(touched, page % FF_BLOCK_PAGES);
    ff_mask_set(touched, page % FF_BLOCK_PAGES);
    return first;
}

/* The first access of a launch to a page is what the launch demands. */
static void count_demand(struct device *device, uint64_t page, bool there) {
    if (!touch_first(device, page))
        return;
    device->counters->demanded++;
    device->counters->demanded_hits += there;
}

/* A walk of the page table. False: a far fault. */
static bool walk(struct sim *sim, struct device *device, const struct sm *sm, uint64_t page,
                 bool write) {
    bool there = ff__sim_resident(sim, device->tier, page);
    device->counters->walks++;
    count_demand(device, page, there);
    if (!there)
        return false;
    ff__sim_use(sim, page, write);
    ff__tlb_fill(ff__tlb_set(sim, sm, page),
                 ff__tlb_entry(sim, device, page) | (write ? TLB_WRITABLE : 0));
    return true;
}

/* Shows the access to the tracker, if it sees it; `walked`: the TLB has not answered. */
static void track(struct sim *sim, struct device *device, const struct touch *touch, bool walked,
                  uint64_t time) {
    if (sim->gpu->tracker_sees == FF__TRACKER_SEES_WALKS && !walked)
        return;
    if (!touch->missed || touch->remote)
        ff__tracker_use(sim, device, touch->page, 1, 1, time);
    else
        ff__tracker_use_range(sim, device, touch->page, time);
}

/* Touches the pages of a step; returns when those that are there have come. The others are waited
 * for. */
static uint64_t touch_pages(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                            const struct ff__step *step) {
    uint64_t time = sm->now, done = time;
    for (uint32_t i = 0; i < step->page_count; i++) {
        uint64_t page = step->page[i];
        struct touch touch = {page, &sm->warps[slot], step->pc, step->write, false, false};
        bool walks =
            !ff__tlb_hit(ff__tlb_set(sim, sm, page), ff__tlb_entry(sim, device, page), step->write);
        if (walks) {
            done = time + sim->walk > done ? time + sim->walk : done;
            touch.missed = !walk(sim, device, sm, page, step->write);
        }
        touch.remote = touch.missed && ff__sim_remote(sim, device->tier, page);
        if (touch.remote) {
            uint64_t end = ff__sm_use_remotely(sim, device, 1, time);
            done = end > done ? end : done;
        } else if (touch.missed) {
            ff__sm_wait(sim, device, sm, slot, page, step->write, time);
        }
        device->counters->hits += !touch.missed;
        if (device->tracker)
            track(sim, device, &touch, walks, time);
        if (sim->recording)
            ff__sim_record(sim, page);
        if (touch.remote ? sim->shows_accesses : sim->shows_local)
            ff__access_show(sim, device, sm, &touch);
        if (sim->config->observe)
            ff__access_observe(sim, device, sm, &touch);
    }
    return done;
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
        ff__sm_drop_first(sm);
    else
        ff__sm_replace_first(sm, time << SLOT_BITS | slot);
}

/* There are no more steps: the warp ends with the last of its loads and stores. */
static void try_end(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot) {
    struct warp *warp = &sm->warps[slot];
    if (warp->missing || warp->data > sm->now) {
        go_on(sm, slot, warp->missing, warp->data);
        return;
    }
    ff__sm_drop_first(sm);
    if (!sim->gpu->ends_when_idle || ff__driver_links_idle(sim, device, sm->now)) {
        ff__sm_end_warp(sim, device, sm, slot);
        return;
    }
    warp->ended = true;
    sm->ended++;
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
    uint64_t end = touch_pages(sim, device, sm, slot, step);
    end = memory_end(sim, sm, end, step->sectors);
    if (!step->write && end > warp->data)
        warp->data = end;
    uint32_t waiting = (uint32_t)__builtin_popcountll(warp->missing);
    bool is_full = waiting > WARP_WAITS - FF__STEP_PAGES;
    uint64_t waited = step->write ? warp->missing : warp->loads;
    uint64_t waits = is_full ? warp->missing : step->goes_on ? 0 : waited;
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

/* A stall of the whole device ends with the first warp that can go on. */
static void end_stall(struct sim *sim, struct device *device) {
    uint64_t ready = NEVER;
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        uint64_t at = ff__sm_ready_at(&device->sms[i]);
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
    if (!device->sms_changed && device->sms_next >= until)
        return device->sms_next; /* other devices' events end this one's windows, too */
    if (device->stalled != NEVER)
        end_stall(sim, device);
    for (uint32_t i = 0; i < sim->gpu->sms; i++) {
        struct sm *sm = &device->sms[i];
        while (sm->heap_count > 0 && sm->now < until && sm->heap[0] >> SLOT_BITS < until)
            run_step(sim, device, sm);
        uint64_t ready = ff__sm_ready_at(sm);
        next = ready < next ? ready : next;
    }
    if (next == NEVER && device->ctas_left > 0 && device->stalled == NEVER)
        device->stalled = stopped_at(sim, device);
    device->sms_next = next;
    device->sms_changed = false;
    return next;
}
