/* Who met the latest far faults of each block, where a policy must see that. */
#include "engine/internal.h"

#include "base/lazy.h"

#include <errno.h>

static size_t size_of(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof *engine->latest_faults;
}

int ff__latest_faults_init(struct ff__engine *engine) {
    uint32_t seen = 0;
    for (int slot = 0; slot < FF__SLOTS; slot++)
        seen |= engine->system.policy[slot]->sees;
    if (!(seen & FF_SEES_SHARERS))
        return 0;
    engine->latest_faults = ff__lazy_map(size_of(engine));
    engine->view.latest_faults = engine->latest_faults;
    return engine->latest_faults ? 0 : -ENOMEM;
}

void ff__latest_faults_fini(struct ff__engine *engine) {
    if (engine->latest_faults)
        ff__lazy_unmap(engine->latest_faults, size_of(engine));
}

void ff__latest_faults_forget(struct ff__engine *engine, uint32_t block) {
    if (engine->latest_faults && engine->latest_faults[block].count > 0)
        engine->latest_faults[block].count = 0;
}

bool ff__engine_sees_sharers(const struct ff__engine *engine) {
    return engine->latest_faults != NULL;
}

void ff__engine_fault_met(struct ff__engine *engine, uint32_t block, uint32_t page,
                          uint32_t thread) {
    struct ff_latest_faults *latest = engine->latest_faults ? &engine->latest_faults[block] : NULL;
    if (!latest || thread == 0)
        return;
    uint32_t kept = latest->count < FF_LATEST_FAULTS ? latest->count : FF_LATEST_FAULTS;
    for (uint32_t i = 0; i < kept; i++)
        if (latest->thread[i] == thread && latest->page[i] == page)
            return;
    uint32_t at = latest->count++ % FF_LATEST_FAULTS;
    latest->thread[at] = thread;
    latest->page[at] = (uint16_t)page;
}
