/* Accesses, as policies and the observer of the simulation see them. */
#include "backend/sim/simulation.h"

void ff__sms_show(struct sim *sim, struct device *device) {
    struct ff_advice items[FF__ACCESSES_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = FF__ACCESSES_MAX};
    struct ff_access_batch batch = {.items = device->accesses,
                                    .count = device->access_count,
                                    .instructions = ff__sim_instructions(sim)};
    if (device->access_count == 0)
        return;
    ff__engine_access(sim->engine, ff__sim_ns(sim->now), device->tier, &batch, &advice);
    device->access_count = 0;
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], sim->now);
}

/* Warps are numbered as hardware does it: the same place in a CTA has the same number for as long
 * as the CTA's slot is used. The simulator's own slots are assigned one by one. */
static struct ff_access describe(const struct device *device, const struct sm *sm,
                                 const struct touch *touch) {
    const struct warp *warp = touch->warp;
    uint32_t flags = (touch->write ? FF_ACCESS_WRITE : 0u) | (touch->remote   ? FF_ACCESS_REMOTE
                                                              : touch->missed ? FF_ACCESS_MISS
                                                                              : 0u);
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

static void gather(struct sim *sim, struct device *device, const struct ff_access *access) {
    device->accesses[device->access_count++] = *access;
    if (device->access_count == FF__ACCESSES_MAX)
        ff__sms_show(sim, device);
}

void ff__access_show(struct sim *sim, struct device *device, const struct sm *sm,
                     const struct touch *touch) {
    struct ff_access access = describe(device, sm, touch);
    gather(sim, device, &access);
}

void ff__access_show_remote(struct sim *sim, struct device *device, uint64_t page, uint32_t count,
                            bool write) {
    struct ff_access access = {
        .block = (uint32_t)(page / FF_BLOCK_PAGES),
        .page = (uint16_t)(page % FF_BLOCK_PAGES),
        .tier = (uint8_t)device->tier,
        .flags = FF_ACCESS_REMOTE | (write ? FF_ACCESS_WRITE : 0),
        .more = count - 1,
    };
    gather(sim, device, &access);
}

/* Tells the observer. Of several pages of one instruction, the first one has the
 * instructions. */
void ff__access_observe(struct sim *sim, const struct device *device, const struct sm *sm,
                        const struct touch *touch) {
    struct ff_access seen = describe(device, sm, touch);
    const struct ff__space *space = sim->space;
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
