/* Touching pages: TLBs, page walks, and which warp waits for which page. */
#include "backend/sim/internal.h"

#include <errno.h>

/* A TLB entry: page << 35 | generation << 1 | may be written without further ado */
#define TLB_GENERATION_BITS 34u
#define TLB_WRITABLE        UINT64_C(1)

struct touch {
    uint64_t page;
    struct warp *warp;
    uint32_t pc;
    bool write, missed, remote;
};

/* ---- showing accesses ---- */

void ff__sms_show(struct sim *sim, struct device *device) {
    struct ff_advice items[FF__ACCESSES_MAX];
    struct ff_advice_list advice = {items, 0, FF__ACCESSES_MAX};
    if (device->access_count == 0)
        return;
    sim->engine.view.instructions = ff__sim_instructions(sim);
    ff__engine_access(&sim->engine, ff__sim_ns(sim->now), device->tier, device->accesses,
                      device->access_count, &advice);
    device->access_count = 0;
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], sim->now);
}

/* Warps are numbered as hardware does it: the same place in a CTA has the same number for as long as
 * the CTA's slot is used. The simulator's own slots are handed out one by one. */
static struct ff_access describe(const struct device *device, const struct sm *sm,
                                 const struct touch *touch) {
    const struct warp *warp = touch->warp;
    uint32_t flags = (touch->write ? FF_ACCESS_WRITE : 0u) | (touch->missed ? FF_ACCESS_MISS : 0u) |
                     (touch->remote ? FF_ACCESS_REMOTE : 0u);
    return (struct ff_access){
        .block = (uint32_t)(touch->page / FF_BLOCK_PAGES),
        .page = (uint16_t)(touch->page % FF_BLOCK_PAGES),
        .tier = (uint8_t)device->tier,
        .flags = (uint8_t)flags,
        .pc = touch->pc,
        .sm = (uint16_t)(sm - device->sms),
        .warp = (uint16_t)(warp->cta_slot * device->current.kernel.warps + warp->warp),
    };
}

static void show_access(struct sim *sim, struct device *device, const struct sm *sm,
                        const struct touch *touch) {
    device->accesses[device->access_count++] = describe(device, sm, touch);
    if (device->access_count == FF__ACCESSES_MAX)
        ff__sms_show(sim, device);
}

/* To whoever runs the simulation. Of several pages of one instruction, the first one has the
 * instructions. */
static void observe_access(struct sim *sim, const struct device *device, const struct sm *sm,
                           const struct touch *touch) {
    struct ff_access seen = describe(device, sm, touch);
    const struct ff__space *space = &sim->engine.space;
    uint32_t range = space->blocks[seen.block].range;
    struct ff_trace_event event = {
        .kind = FF_TRACE_ACCESS,
        .device = device->tier - 1,
        .range = range,
        .page = touch->page - (uint64_t)space->ranges[range].first_block * FF_BLOCK_PAGES,
        .cta = touch->warp->cta,
        .warp = touch->warp->warp,
        .pc = touch->pc,
        .instructions = touch->warp->untold,
        .write = touch->write,
    };
    touch->warp->untold = 0;
    ff__sim_observe_access(sim, &event, &seen);
}

/* ---- translation ---- */

/* Of this launch only, so that its first touch of a page is seen: both numbers only grow, and so their
 * sum tells apart what either does. */
static uint64_t tlb_entry(const struct sim *sim, const struct device *device, uint64_t page) {
    uint64_t generation = (uint64_t)sim->generation[page / FF_BLOCK_PAGES] + device->current.number;
    return page << (TLB_GENERATION_BITS + 1) | generation << 1;
}

static uint64_t *tlb_set(const struct sim *sim, const struct sm *sm, uint64_t page) {
    return &sm->tlb[(page % sim->tlb_sets) * TLB_WAYS];
}

/* Moves the hit to the front. */
static bool tlb_hit(uint64_t *set, uint64_t entry, bool write) {
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

static void tlb_fill(uint64_t *set, uint64_t entry) {
    uint32_t way = 0;
    while (way < TLB_WAYS - 1 && (set[way] & ~TLB_WRITABLE) != (entry & ~TLB_WRITABLE))
        way++;
    for (; way > 0; way--)
        set[way] = set[way - 1];
    set[0] = entry;
}

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
    tlb_fill(tlb_set(sim, sm, page), tlb_entry(sim, device, page) | (write ? TLB_WRITABLE : 0));
    return true;
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

/* A remote access takes its share of the link. */
static uint64_t use_remotely(struct sim *sim, struct device *device, uint64_t start) {
    const struct link *link = ff__link_between(&sim->links, FF_TIER_HOST, device->tier);
    uint64_t held_ns,
        free_at = ff__link_hold(&sim->links, link, sim->gpu->remote_bytes, start, &held_ns);
    device->counters->remote++;
    return free_at + sim->gpu->remote_ns * PS_PER_NS;
}

/* ---- waiting ---- */

static void wait_for(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                     uint64_t page, bool write) {
    struct warp *warp = &sm->warps[slot];
    uint32_t place = (uint32_t)__builtin_ctzll(~warp->missing);
    uint32_t warp_id = (uint32_t)(sm - device->sms) * sim->warps_per_sm + slot;
    uint32_t number = warp_id * WARP_WAITS + place;
    uint32_t *head = &device->waiters[page / FF_BLOCK_PAGES];
    device->waits[number] = (struct wait){page, *head, write};
    *head = number + 1;
    warp->missing |= UINT64_C(1) << place;
    warp->loads |= (uint64_t)!write << place;
}

/* The page is used by the warp that waited for it. False: it is not there any more. */
static bool end_wait(struct sim *sim, struct device *device, uint32_t number, uint64_t time) {
    const struct wait *wait = &device->waits[number];
    uint32_t warp_id = number / WARP_WAITS, slot = warp_id % sim->warps_per_sm;
    uint64_t others = ~(UINT64_C(1) << number % WARP_WAITS);
    struct sm *sm = &device->sms[warp_id / sim->warps_per_sm];
    struct warp *warp = &sm->warps[slot];
    uint64_t end = time + sim->gpu->memory_latency_ns * PS_PER_NS;
    bool needed = warp->needs & ~others;
    if (ff__sim_resident(sim, device->tier, wait->page)) {
        ff__sim_use(sim, wait->page, wait->write);
        tlb_fill(tlb_set(sim, sm, wait->page),
                 tlb_entry(sim, device, wait->page) | (wait->write ? TLB_WRITABLE : 0));
    } else if (ff__sim_remote(sim, device->tier, wait->page)) {
        end = use_remotely(sim, device, time);
    } else {
        return false;
    }
    if (!wait->write && end > warp->data)
        warp->data = end;
    warp->missing &= others;
    warp->loads &= others;
    warp->needs &= others;
    if (needed && !warp->needs)
        ff__sm_ready(sm, slot, warp->data > time ? warp->data : time);
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
            uint32_t sm = (*link - 1) / WARP_WAITS / sim->warps_per_sm;
            struct fault fault = fault_of(sim, sm, wait->page, wait->write, time);
            ff__faults_raise(sim, device, &fault);
            link = &wait->next;
        }
    }
}

/* ---- an instruction ---- */

/* Touches the pages of a step; returns when those that are there have come. The others are waited
 * for. */
uint64_t ff__sm_touch(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                      const struct ff__step *step) {
    uint64_t time = sm->now, done = time;
    for (uint32_t i = 0; i < step->page_count; i++) {
        uint64_t page = step->page[i];
        struct touch touch = {page, &sm->warps[slot], step->pc, step->write, false, false};
        if (!tlb_hit(tlb_set(sim, sm, page), tlb_entry(sim, device, page), step->write)) {
            done = time + sim->walk > done ? time + sim->walk : done;
            touch.missed = !walk(sim, device, sm, page, step->write);
        }
        touch.remote = touch.missed && ff__sim_remote(sim, device->tier, page);
        if (touch.remote) {
            uint64_t end = use_remotely(sim, device, time);
            done = end > done ? end : done;
        } else if (touch.missed) {
            struct fault fault =
                fault_of(sim, (uint32_t)(sm - device->sms), page, step->write, time);
            ff__faults_raise(sim, device, &fault);
            wait_for(sim, device, sm, slot, page, step->write);
        }
        device->counters->hits += !touch.missed;
        if (sim->recording && ff__recording_add(sim->recording, page))
            ff__sim_fail(sim, -ENOMEM, "the recording of the future");
        if (sim->shows_accesses)
            show_access(sim, device, sm, &touch);
        if (sim->config->observe)
            observe_access(sim, device, sm, &touch);
    }
    return done;
}
