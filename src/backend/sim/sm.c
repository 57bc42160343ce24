/* SMs: which warp issues when, TLBs, and who waits for which page. */
#include "backend/sim/internal.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 8u

/* A TLB entry: page << 35 | generation << 1 | may be written without further ado */
#define TLB_GENERATION_BITS 34u
#define TLB_WRITABLE        UINT64_C(1)
#define TLB_EMPTY           UINT64_MAX

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
    device->pending = ff__lazy_map(blocks * sizeof *device->pending);
    device->waiters = ff__lazy_map(blocks * sizeof *device->waiters);
    device->waits =
        calloc((size_t)sim->gpu->sms * sim->warps_per_sm * WARP_WAITS, sizeof *device->waits);
    device->accesses = calloc(FF__ACCESSES_MAX, sizeof *device->accesses);
    int status =
        device->sms && device->pending && device->waiters && device->waits && device->accesses
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
    ff__lazy_unmap(device->pending, blocks * sizeof *device->pending);
    ff__lazy_unmap(device->waiters, blocks * sizeof *device->waiters);
}

/* ---- warps that are ready ---- */

static void push_ready(struct sm *sm, uint32_t slot, uint64_t ready) {
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
        push_ready(sm, slot, time);
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

/* ---- showing accesses ---- */

void ff__sms_show(struct sim *sim, struct device *device) {
    struct ff_advice items[FF__ACCESSES_MAX];
    struct ff_advice_list advice = {items, 0, FF__ACCESSES_MAX};
    if (device->access_count == 0)
        return;
    sim->engine.view.instructions = sim->result->instructions;
    ff__engine_access(&sim->engine, ff__sim_ns(sim->now), device->tier, device->accesses,
                      device->access_count, &advice);
    device->access_count = 0;
    for (uint32_t i = 0; i < advice.count; i++)
        ff__sim_advise(sim, &items[i], sim->now);
}

struct touch {
    uint64_t page;
    struct warp *warp;
    uint32_t pc;
    bool write, missed, remote;
};

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

/* ---- touching pages ---- */

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
static void count_demand(struct sim *sim, struct device *device, uint64_t page, bool there) {
    if (!touch_first(device, page))
        return;
    sim->result->demanded++;
    sim->result->demanded_hits += there;
}

/* A walk of the page table. False: a far fault. */
static bool walk(struct sim *sim, struct device *device, const struct sm *sm, uint64_t page,
                 bool write) {
    bool there = ff__sim_resident(sim, device->tier, page);
    sim->result->walks++;
    count_demand(sim, device, page, there);
    if (!there)
        return false;
    ff__sim_use(sim, page, write);
    tlb_fill(tlb_set(sim, sm, page), tlb_entry(sim, device, page) | (write ? TLB_WRITABLE : 0));
    return true;
}

void ff__sim_raise_fault(struct sim *sim, struct device *device, const struct fault *fault) {
    struct ff_mask *mask = &device->pending[ff__fault_block(fault)];
    uint64_t *pending = &mask->word[fault->word % FF_MASK_WORDS];
    uint64_t pages = fault->pages & ~*pending; /* others are merged with earlier ones */
    if (pages == 0)
        return;
    *pending |= pages;
    if (device->buffer_count == device->buffer_capacity) {
        uint32_t capacity = device->buffer_capacity ? 2 * device->buffer_capacity : 1024;
        struct fault *buffer = realloc(device->buffer, capacity * sizeof *buffer);
        if (!buffer) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        device->buffer = buffer;
        device->buffer_capacity = capacity;
    }
    uint32_t at = device->buffer_count++;
    for (; at > 0 && device->buffer[at - 1].time > fault->time; at--)
        device->buffer[at] = device->buffer[at - 1];
    device->buffer[at] = *fault;
    device->buffer[at].pages = pages;
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
    uint64_t *free_at = &device->link_free[LINK_IN];
    if (*free_at < start)
        *free_at = start;
    *free_at += ff__link_ns(&sim->gpu->in, sim->gpu->remote_bytes) * PS_PER_NS;
    sim->result->remote++;
    return *free_at + sim->gpu->remote_ns * PS_PER_NS;
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
        push_ready(sm, slot, warp->data > time ? warp->data : time);
    return true;
}

void ff__sms_wake(struct sim *sim, struct device *device, uint32_t block,
                  const struct ff_mask *pages, uint64_t time) {
    struct ff_mask answered = ff_mask_and(&device->pending[block], pages);
    if (!ff_mask_empty(&answered)) {
        device->pending[block] = ff_mask_minus(&device->pending[block], pages);
        ff__bulk_changed(sim, device, block);
    }
    if (device->bulk.waits)
        ff__bulk_wake(sim, device, time);
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
            ff__sim_raise_fault(sim, device, &fault);
            link = &wait->next;
        }
    }
}

/* ---- running ---- */

/* Touches the pages of a step; returns when those that are there have come. The others are waited
 * for. */
static uint64_t touch_pages(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
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
            ff__sim_raise_fault(sim, device, &fault);
            wait_for(sim, device, sm, slot, page, step->write);
        }
        sim->result->hits += !touch.missed;
        if (sim->recording && ff__recording_add(sim->recording, page))
            ff__sim_fail(sim, -ENOMEM, "the recording of the future");
        if (sim->shows_accesses)
            show_access(sim, device, sm, &touch);
        if (sim->config->observe)
            observe_access(sim, device, sm, &touch);
    }
    return done;
}

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
    if (!sim->gpu->ends_when_idle || ff__sim_links_idle(sim, device, sm->now)) {
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
            push_ready(sm, slot, time);
        }
    }
}

static void issue(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                  const struct ff__step *step) {
    struct warp *warp = &sm->warps[slot];
    warp->step++;
    warp->untold += step->instructions;
    sm->now += step->instructions * sim->ps_per_instruction;
    sim->result->instructions += step->instructions;
    sim->result->accesses += step->page_count;
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
    if (kernel->step(sim->workload, kernel, warp->cta, warp->warp, warp->step, &step))
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
        sim->result->stall_ns += ff__sim_ns(ready - device->stalled);
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
