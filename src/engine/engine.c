#include "engine/memory.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and unmaking ---- */

static void set_view(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    engine->view = (struct ff_view){
        .tier_count = space->tier_count,
        .block_limit = space->block_limit,
        .blocks = space->blocks,
        .ranges = space->ranges,
        .facts = space->facts,
        .facts_size = space->facts_size,
        .coming_at = engine->whole->overlaps
                         ? space->page_facts_at + offsetof(struct ff__page_facts, coming)
                         : 0,
        .lending = engine->lending,
    };
    for (uint32_t tier = 0; tier < space->tier_count; tier++)
        engine->view.capacity[tier] = space->capacity[tier];
}

static size_t late_pages_size(const struct ff__engine *engine) {
    return (size_t)engine->space.block_limit * engine->space.tier_count *
           sizeof *engine->late_pages;
}

void ff__engine_configure(struct ff__engine_config *config, const struct ff__description *backend) {
    config->backend = backend;
    config->base = backend->base;
    config->address_space = backend->address_space;
    config->devices = backend->tier_count - 1;
    for (uint32_t tier = 1; tier < backend->tier_count; tier++) {
        const struct ff__tier_description *about = &backend->tier[tier];
        config->memory = about->memory > config->memory ? about->memory : config->memory;
        config->capacity[tier] = about->memory;
        config->guests_only |= (uint32_t)about->guests_only << tier;
    }
    config->spare = backend->tier[1].spare;
    config->granule = backend->tier[1].granule;
    config->whole_leaves = backend->whole_leaves;
    for (uint32_t tier = 1; tier < backend->tier_count && backend->peer_links; tier++)
        config->lend[tier] = backend->tier[tier].memory;
}

/* Policies weigh faults against transfers. Neither is free. */
static int check_costs(const struct ff__description *backend, struct ff_error *error) {
    if (backend->fault_ns == 0)
        return ff__fail(error, -EINVAL, "a far fault must cost more than 0 ns");
    for (uint32_t from = 0; from < backend->tier_count; from++)
        for (uint32_t to = 0; to < backend->tier_count; to++)
            if (from != to && backend->link[from][to].bytes_per_second == 0)
                return ff__fail(error, -EINVAL,
                                "the link from tier %u to tier %u must move more than 0 bytes per "
                                "second",
                                from, to);
    return 0;
}

int ff__engine_init(struct ff__engine *engine, const struct ff__engine_config *config,
                    struct ff_error *error) {
    memset(engine, 0, sizeof *engine);
    int status = ff__policies_check(config, error);
    if (!status)
        status = check_costs(config->backend, error);
    if (status)
        return status;
    engine->backend = config->backend;
    engine->whole = config->allocator ? config->allocator : &ff__chunk_allocator;
    engine->split = config->allocator ? config->allocator : &ff__leaf_allocator;
    engine->watched = config->backend->shows & FF_SEES_ACCESSES;
    engine->allocator_state = config->allocator_state;
    uint64_t units = config->memory / FF_PAGE_SIZE / engine->whole->unit;
    status = ff__space_init(&engine->space, config->base, config->address_space, config->devices,
                            units * engine->whole->unit, config->allocator ? 0 : units,
                            config->spare, engine->watched || engine->whole->overlaps);
    if (!status) {
        set_view(engine);
        status = ff__memory_open(engine, config);
    }
    if (status) {
        ff__space_fini(&engine->space);
        return ff__fail(error, status, "cannot set up %u devices of %llu bytes: %s",
                        config->devices, (unsigned long long)config->memory, strerror(-status));
    }
    if (config->whole_leaves > 0)
        engine->space.whole_leaves = config->whole_leaves;
    engine->system = config->system;
    engine->prefetch = (const void *)config->system.policy[FF__PREFETCH];
    engine->evict = (const void *)config->system.policy[FF__EVICT];
    engine->place = (const void *)config->system.policy[FF__PLACE];
    engine->discard = (const void *)config->system.policy[FF__DISCARD];
    engine->reserve = config->reserve;
    engine->check = config->check;
    engine->virtual_time = config->virtual_time;
    engine->late_head = FF_NONE;
    engine->view.copies_on_processors = config->backend->copies_on_processors;
    engine->view.parts_cost_more = config->backend->parts_cost_more;
    engine->late = ff__lazy_map(engine->space.block_limit * sizeof *engine->late);
    engine->late_pages = ff__lazy_map(late_pages_size(engine));
    engine->stay = ff__lazy_map(engine->space.block_limit * sizeof *engine->stay);
    status = ff__launch_ids_init(&engine->launches,
                                 config->launch_limit ? config->launch_limit : FF_LAUNCH_SLOTS);
    if (!status)
        status = ff__totals_init(engine, config);
    if (!status)
        status = ff__peers_init(engine, config->lend);
    if (!status)
        status = ff__latest_faults_init(engine);
    if (!status)
        status = ff__mappings_init(engine);
    status = engine->late && engine->late_pages && engine->stay && !status
                 ? ff__policies_make(engine, config, error)
                 : ff__fail(error, -ENOMEM, "no memory for the engine's tables");
    if (!status && ff__learning_init(engine))
        status = ff__fail(error, -ENOMEM, "no memory for the engine's events");
    if (status)
        ff__engine_fini(engine);
    return status;
}

void ff__engine_fini(struct ff__engine *engine) {
    ff__policies_unmake(engine);
    ff__lazy_unmap(engine->late, engine->space.block_limit * sizeof *engine->late);
    ff__lazy_unmap(engine->late_pages, late_pages_size(engine));
    ff__lazy_unmap(engine->stay, engine->space.block_limit * sizeof *engine->stay);
    ff__totals_fini(engine);
    ff__peers_fini(engine);
    ff__launch_ids_fini(&engine->launches);
    ff__learning_fini(engine);
    ff__latest_faults_fini(engine);
    ff__mappings_fini(engine);
    ff__space_fini(&engine->space);
}

int ff__engine_open(struct ff__engine **engine, const struct ff__engine_config *config,
                    struct ff_error *error) {
    *engine = calloc(1, sizeof **engine);
    if (!*engine)
        return ff__fail(error, -ENOMEM, "no memory for the engine");
    int status = ff__engine_init(*engine, config, error);
    if (!status)
        return 0;
    free(*engine);
    *engine = NULL;
    return status;
}

void ff__engine_close(struct ff__engine *engine) {
    if (engine)
        ff__engine_fini(engine);
    free(engine);
}

/* ---- what others may know ---- */

const struct ff__space *ff__engine_space(const struct ff__engine *engine) {
    return &engine->space;
}

const char *ff__engine_failure(const struct ff__engine *engine) {
    return engine->failure.message[0] ? engine->failure.message : NULL;
}

bool ff__engine_uses_remote(const struct ff__engine *engine) {
    return engine->uses_remote;
}

bool ff__engine_lends(const struct ff__engine *engine) {
    return engine->guests != NULL;
}

uint32_t ff__engine_latest_launch(const struct ff__engine *engine, uint32_t tier) {
    return ff__running_latest(&engine->running[tier]);
}

uint64_t ff__engine_launches_given(const struct ff__engine *engine) {
    return engine->launches.given;
}

uint64_t ff__engine_arena_used(const struct ff__engine *engine) {
    const struct ff_policy *policy = engine->system.policy[FF__PREFETCH];
    size_t size = policy->arena_size ? policy->arena_size(engine->system.params[FF__PREFETCH]) : 0;
    return ff__lazy_used(engine->arena[FF__PREFETCH][0], size);
}

bool ff__engine_has_large_host_pages(const struct ff__engine *engine) {
    const struct ff_host_hooks *host = engine->place->host;
    return host && host->uses_large_pages(engine->place_state);
}

bool ff__engine_sees_batches(const struct ff__engine *engine) {
    return engine->prefetch->on_batch;
}

/* ---- ranges, launches, events ---- */

static void count_allocated(struct ff__engine *engine) {
    engine->view.allocated = engine->space.stats.allocated / FF_PAGE_SIZE;
}

int ff__engine_range_add(struct ff__engine *engine, uint64_t page_count, uint32_t lead,
                         uint32_t home_tier, uint32_t *range) {
    int status = ff__range_add(&engine->space, page_count, lead, home_tier, range);
    if (status)
        return status;
    count_allocated(engine);
    ff__tell_range_added(engine, *range);
    return 0;
}

bool ff__engine_set_home(struct ff__engine *engine, uint32_t range, uint32_t tier) {
    bool changes = engine->space.ranges[range].home_tier != tier;
    ff__range_set_home(&engine->space, range, tier);
    return changes;
}

bool ff__engine_claim_block(struct ff__engine *engine, uint32_t block, struct ff_mask *pages) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    if (facts->busy)
        return false;
    struct ff_mask present = ff__block_present(&engine->space, block),
                   mapped = ff__mapped(engine, block);
    *pages = ff_mask_minus(pages, &present);
    *pages = ff_mask_minus(pages, &mapped);
    facts->busy = 1;
    return true;
}

void ff__engine_pin(struct ff__engine *engine, uint32_t block, bool pinned) {
    ff__facts(&engine->space, block)->pinned = pinned;
}

void ff__engine_close_block(struct ff__engine *engine, uint32_t block) {
    ff__facts(&engine->space, block)->busy = 1;
}

void ff__engine_host_holds(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask *host = &ff__facts(&engine->space, block)->tier[FF_TIER_HOST].resident;
    *host = ff_mask_or(host, pages);
}

void ff__engine_used(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                     bool written) {
    struct ff__page_facts *facts = ff__page_facts(&engine->space, block);
    struct ff_mask first = ff_mask_and(&facts->unused, pages);
    facts->unused = ff_mask_minus(&facts->unused, pages);
    engine->space.stats.prefetch_used += ff_mask_count(&first);
    if (written)
        facts->dirty = ff_mask_or(&facts->dirty, pages);
}

struct ff_mask ff__engine_take_dirty(struct ff__engine *engine, uint32_t block,
                                     const struct ff_mask *pages) {
    struct ff__page_facts *facts = ff__page_facts(&engine->space, block);
    struct ff_mask taken = ff_mask_and(&facts->dirty, pages);
    facts->dirty = ff_mask_minus(&facts->dirty, pages);
    return taken;
}

void ff__engine_count_service(struct ff__engine *engine, uint64_t ns) {
    engine->space.stats.fault_ns += ns;
}

void ff__engine_discard(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask present = ff__block_present(&engine->space, block),
                   mapped = ff__mapped(engine, block);
    struct ff_mask gone = ff_mask_minus(pages, &present);
    gone = ff_mask_minus(&gone, &mapped);
    struct ff_mask *host = &ff__facts(&engine->space, block)->tier[FF_TIER_HOST].resident;
    *host = ff_mask_minus(host, &gone);
}

void ff__engine_free_pages(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    ff__engine_discard(engine, block, pages);
    facts->evicted = ff_mask_minus(&facts->evicted, pages);
    facts->inactive = ff_mask_minus(&facts->inactive, pages);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        facts->tier[tier].remote = ff_mask_minus(&facts->tier[tier].remote, pages);
    ff__totals_forget_pages(engine, block, pages);
}

/* The evictor forgets the block's pages on the tier; they stay. */
static uint64_t forget_pages(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_mask *resident = &ff__facts(&engine->space, block)->tier[tier].resident;
    if (!ff_view_holds(&engine->view, tier, block))
        return 0;
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_PAGES, block, tier, resident});
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_RELEASED, block, tier, NULL});
    return ff_mask_count(resident);
}

uint64_t ff__engine_forget(struct ff__engine *engine, uint64_t now_ns, uint32_t tier) {
    const struct ff__space *space = &engine->space;
    uint64_t pages = 0;
    ff__engine_view(engine, now_ns);
    for (uint32_t range = 0; range < space->range_limit; range++)
        for (uint32_t i = 0; i < space->ranges[range].block_count; i++)
            pages += forget_pages(engine, space->ranges[range].first_block + i, tier);
    return pages;
}

void ff__engine_set_inactive(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                             bool inactive) {
    struct ff_mask *known = &ff__facts(&engine->space, block)->inactive;
    *known = inactive ? ff_mask_or(known, pages) : ff_mask_minus(known, pages);
    for (uint32_t tier = 1; tier < engine->space.tier_count && inactive; tier++) {
        const struct ff_mask *resident = &ff__facts(&engine->space, block)->tier[tier].resident;
        bool all_dead = !ff_mask_empty(resident) && ff_mask_within(resident, known);
        if (all_dead)
            ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_DEAD, block, tier, NULL});
    }
}

void ff__engine_range_remove(struct ff__engine *engine, uint32_t range) {
    const struct ff_range *r = &engine->space.ranges[range];
    ff__tell_range_freed(engine, range);
    if (engine->sampler.forget)
        engine->sampler.forget(engine->sampler.self, range);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        ff__running_forget_range(&engine->running[tier], range);
    ff__totals_forget_range(engine, range);
    ff__learning_forget_range(engine, range);
    for (uint32_t i = 0; i < r->block_count; i++) {
        ff__engine_forget_late(engine, r->first_block + i);
        ff__memory_forget_refusal(engine, r->first_block + i);
        ff__latest_faults_forget(engine, r->first_block + i);
        ff__tell_block_freed(engine, r->first_block + i);
    }
    ff__range_remove(&engine->space, range);
    count_allocated(engine);
    ff__memory_count(engine);
}

/* Those that had the ID's slot before it. */
static void forget_owners(struct ff__engine *engine, uint32_t id) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        ff__running_forget_slot(&engine->running[tier], ff_launch_slot(id));
}

int ff__engine_launch(struct ff__engine *engine, uint64_t now_ns, const struct ff__launch *launch,
                      struct ff_advice_list *advice) {
    uint32_t id = FF_NONE, tier = launch->tier;
    uint64_t given = engine->launches.given;
    bool begins = launch->begins;
    engine->space.stats.demanded += launch->demanded;
    if (!begins)
        id = ff__launch_ids_find(&engine->launches, launch->identity);
    else if (ff__launch_ids_launch(&engine->launches, launch->identity, &id))
        return -ENOMEM;
    if (id == FF_NONE)
        return 0;
    if (engine->launches.given > given)
        forget_owners(engine, id);
    if (begins) {
        ff__running_begin(&engine->running[tier], id, launch->operands, launch->operand_count,
                          launch->prediction);
        engine->kernel_of_launch[ff_launch_slot(id)] = (uint16_t)launch->kernel;
    } else {
        ff__running_end(&engine->running[tier], id, launch->prediction);
    }
    engine->space.stats.launches += begins;
    struct ff_event event = {.kind = begins ? FF_EVENT_LAUNCH : FF_EVENT_LAUNCH_END,
                             .tier = tier,
                             .block = FF_NONE,
                             .range = FF_NONE,
                             .launch = id,
                             .now_ns = now_ns};
    ff__engine_view(engine, now_ns);
    ff__tell_launch(engine,
                    &(struct ff_launch_event){id, tier, begins, launch->operands,
                                              launch->operand_count, launch->copies},
                    advice);
    ff__engine_tell(engine, &event);
    return 0;
}

void ff__engine_access(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice) {
    const struct ff_view *view = ff__engine_view(engine, now_ns);
    const struct ff_access_hooks *prefetch = engine->prefetch->base.accesses;
    const struct ff_access_hooks *evict = engine->evict->base.accesses;
    if (prefetch)
        prefetch->on_access(engine->prefetch_state, view, batch, advice);
    if (evict)
        evict->on_access(engine->evict_state[tier], view, batch, NULL);
}

void ff__engine_set_sampler(struct ff__engine *engine, const struct ff__sampler *sampler) {
    engine->sampler = *sampler;
    memcpy(engine->view.last_uses, sampler->last_uses, sizeof engine->view.last_uses);
}

void ff__engine_samples(struct ff__engine *engine, uint64_t now_ns,
                        const struct ff_sample_round *round, struct ff_advice_list *advice) {
    const struct ff_view *view = ff__engine_view(engine, now_ns);
    const struct ff_sample_hooks *prefetch = engine->prefetch->base.samples;
    const struct ff_sample_hooks *evict = engine->evict->base.samples;
    if (prefetch)
        prefetch->on_samples(engine->prefetch_state, view, round, advice);
    if (evict)
        evict->on_samples(engine->evict_state[round->tier], view, round, advice);
}

/* How many findings a policy has, if not number `most`. */
static uint32_t count_findings(const struct ff_policy *policy, const void *state, uint32_t most) {
    struct ff_finding finding;
    uint32_t least = 0;
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        if (policy->report(state, middle, &finding))
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

bool ff__engine_finding(const struct ff__engine *engine, uint32_t index,
                        struct ff_finding *finding) {
    const void *const states[FF__SLOTS] = {[FF__PREFETCH] = engine->prefetch_state,
                                           [FF__EVICT] = engine->evict_state[1],
                                           [FF__PLACE] = engine->place_state,
                                           [FF__DISCARD] = engine->discard_state};
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy = engine->system.policy[slot];
        if (!policy->report)
            continue;
        if (policy->report(states[slot], index, finding))
            return true;
        index -= count_findings(policy, states[slot], index);
    }
    return false;
}

void ff__engine_batch(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *groups,
                      uint32_t count, struct ff_advice_list *advice) {
    const struct ff__space *space = &engine->space;
    for (uint32_t i = 0; i < count; i++) {
        struct ff_fault_group *group = &groups[i];
        uint32_t range = space->blocks[group->block].range;
        if (group->tier == FF_NONE)
            group->tier = space->ranges[range].home_tier;
        group->launch = ff__running_with(&engine->running[group->tier], range);
    }
    engine->prefetch->on_batch(engine->prefetch_state, ff__engine_view(engine, now_ns), groups,
                               count, advice);
}

int ff__engine_check(const struct ff__engine *engine, struct ff_error *error) {
    uint64_t resident[FF_TIERS_MAX];
    int status = ff__space_check(&engine->space, resident, error);
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++) {
        uint64_t held = engine->whole->memory(engine, tier).held;
        if (resident[tier] > held)
            status = ff__fail(error, -EUCLEAN, "tier %u: %llu pages resident, %llu allocated", tier,
                              (unsigned long long)resident[tier], (unsigned long long)held);
    }
    return status;
}
