/* Jobs, how they end: what has moved becomes true, and faults that came meanwhile are served. */
#include "engine/internal.h"

/* ---- late faults ---- */

/* The first tier from `tier` on with late faults in the block; tier_count: none has any. */
static uint32_t late_tier(const struct ff__engine *engine, uint32_t block, uint32_t tier) {
    uint32_t tiers = (uint32_t)engine->late[block].tiers >> tier;
    return tiers ? tier + (uint32_t)__builtin_ctz(tiers) : engine->space.tier_count;
}

/* The block's job has ended: faults that came meanwhile can be served. */
static void queue_late(struct ff__engine *engine, uint32_t block) {
    struct ff__late *late = &engine->late[block];
    if (late->tiers == 0 || late->queued)
        return;
    late->queued = true;
    late->tier = 0;
    late->next = FF_NONE;
    if (engine->late_head == FF_NONE)
        engine->late_head = block;
    else
        engine->late[engine->late_tail].next = block;
    engine->late_tail = block;
}

bool ff__engine_is_at_rest(const struct ff__engine *engine, uint32_t block) {
    const struct ff__page_facts *moving = ff__moving(engine, block);
    return !ff__facts(&engine->space, block)->busy &&
           (!moving || (ff_mask_empty(&moving->coming) && ff_mask_empty(&moving->leaving)));
}

bool ff__engine_take_late(struct ff__engine *engine, struct ff_fault_group *group) {
    uint32_t block = engine->late_head;
    if (block == FF_NONE)
        return false;
    struct ff__late *late = &engine->late[block];
    uint32_t tier = late_tier(engine, block, late->tier);
    const struct ff__late_pages *pages = ff__late_pages(engine, block, tier);
    *group = (struct ff_fault_group){.block = block,
                                     .tier = tier,
                                     .launch = FF_NONE,
                                     .faulted = pages->faulted,
                                     .written = pages->written};
    late->tiers = (uint16_t)(late->tiers & ~(1u << tier));
    late->tier = (uint8_t)(tier + 1); /* what is late once more waits for the next job's end */
    if (late_tier(engine, block, late->tier) == engine->space.tier_count) {
        engine->late_head = late->next;
        late->queued = false;
        if (ff__engine_is_at_rest(engine, block)) /* which may have come meanwhile */
            queue_late(engine, block);
    }
    return true;
}

void ff__engine_forget_late(struct ff__engine *engine, uint32_t block) {
    struct ff__late *late = &engine->late[block];
    late->tiers = 0;
    if (!late->queued)
        return;
    late->queued = false;
    uint32_t before = FF_NONE;
    for (uint32_t at = engine->late_head; at != FF_NONE; before = at, at = engine->late[at].next) {
        if (at != block)
            continue;
        if (before == FF_NONE)
            engine->late_head = late->next;
        else
            engine->late[before].next = late->next;
        if (engine->late_tail == block)
            engine->late_tail = before;
        return;
    }
}

/* ---- finishing ---- */

/* Prefetched pages that leave without having been used. */
static void count_useless(struct ff__engine *engine, uint32_t block,
                          const struct ff_mask *leaving) {
    struct ff_mask *unused = &ff__page_facts(&engine->space, block)->unused;
    struct ff_mask useless = ff_mask_and(unused, leaving);
    if (ff_mask_empty(&useless))
        return;
    engine->space.stats.prefetch_useless += ff_mask_count(&useless);
    *unused = ff_mask_minus(unused, leaving);
}

/* The pages are still there, and the host has the same. */
static void finish_write_back(struct ff__engine *engine, const struct ff__move *out) {
    struct ff_facts *facts = ff__facts(&engine->space, out->block);
    struct ff_mask *host = &facts->tier[FF_TIER_HOST].resident;
    uint32_t copied = ff_mask_count(&out->copied);
    *host = ff_mask_or(host, &out->copied);
    facts->busy = 0;
    if (out->guest)
        ff__peers_copying(engine, out, false);
    engine->space.stats.pages_out += copied;
    engine->space.stats.pages_written_back += copied;
    ff__totals_add(engine, out->block, FF_NONE, &(struct ff__totals){.pages_out = copied});
    ff__totals_add_each(engine, out->block, &out->copied, &(struct ff__totals){.pages_out = 1});
}

static void finish_out(struct ff__engine *engine, struct ff__job *job, uint32_t index) {
    struct ff__space *space = &engine->space;
    struct ff_stats *stats = &space->stats;
    struct ff__move *out = &job->out[index];
    const struct ff_mask *copied = &out->copied, *stayed = &out->left;
    uint32_t taken = ff_mask_count(&out->pages);
    if (out->mapped) {
        ff__mappings_left(engine, out);
        return;
    }
    if (out->keep) {
        finish_write_back(engine, out);
        return;
    }
    uint32_t block = out->block;
    struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask *host = &facts->tier[FF_TIER_HOST].resident;
    struct ff_mask *resident = &facts->tier[out->from.tier].resident;
    out->pages = ff_mask_minus(&out->pages, stayed);
    out->dead = ff_mask_minus(&out->dead, stayed);
    *resident = ff_mask_minus(resident, &out->pages);
    *host = ff_mask_or(host, copied);
    *host = ff_mask_minus(host, &out->dead);
    facts->evicted = ff_mask_or(&facts->evicted, &out->pages);
    if (engine->watched)
        count_useless(engine, block, &out->pages);
    ff__memory_left(engine, out);
    if (out->guest)
        ff__peers_left(engine, out);
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    struct ff_mask landed = ff_mask_minus(&live, copied);
    if (out->lends)
        ff__peers_landed(engine, out, &landed, taken);
    uint32_t pages = ff_mask_count(&live), pages_copied = ff_mask_count(copied);
    stats->evictions += pages > 0; /* a freed or discarded block is no eviction */
    stats->pages_out += pages_copied;
    if (out->to.tier == FF_TIER_HOST)
        stats->pages_dropped += pages - pages_copied;
    else
        stats->pages_fetched += out->lends ? 0 : pages;
    uint32_t range = engine->space.blocks[block].range;
    ff__totals_add(engine, block, ff__running_with(&engine->running[out->from.tier], range),
                   &(struct ff__totals){.pages_out = pages_copied});
    ff__totals_add_each(engine, block, copied, &(struct ff__totals){.pages_out = 1});
    struct ff_event event = {.kind = FF_EVENT_EVICTED,
                             .tier = out->from.tier,
                             .block = block,
                             .range = range,
                             .launch = FF_NONE,
                             .now_ns = engine->view.now_ns};
    ff__engine_tell(engine, &event);
}

/* What has not come is no part of the way in any more. */
static void leave_out_missed(struct ff__job *job) {
    job->in.pages = ff_mask_minus(&job->in.pages, &job->in.left);
    job->in.held = ff_mask_minus(&job->in.held, &job->in.left);
    job->faulted = ff_mask_minus(&job->faulted, &job->in.left);
}

/* The stall is that of the first page that faulted. */
static void count_arrivals_each(struct ff__engine *engine, const struct ff__job *job,
                                uint64_t stall_ns) {
    const struct ff__move *in = &job->in;
    struct ff_mask ahead = ff_mask_minus(&in->pages, &job->faulted), first = {{0}};
    if (!engine->page_totals[in->block])
        return;
    if (!ff_mask_empty(&job->faulted))
        ff_mask_set(&first, ff_mask_next(&job->faulted, 0));
    ff__totals_add_each(engine, in->block, &in->held, &(struct ff__totals){.pages_in = 1});
    ff__totals_add_each(engine, in->block, &ahead, &(struct ff__totals){.prefetched = 1});
    ff__totals_add_each(engine, in->block, &first, &(struct ff__totals){.stall_ns = stall_ns});
}

/* What is left of the job's way in is there. */
static void arrive(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    uint32_t block = in->block, tier = in->to.tier;
    struct ff_facts *facts = ff__facts(&engine->space, block);
    struct ff_stats *stats = &engine->space.stats;
    uint32_t pages = ff_mask_count(&in->pages), held = ff_mask_count(&in->held);
    struct ff_mask *resident = &facts->tier[tier].resident;
    *resident = ff_mask_or(resident, &in->pages);
    facts->evicted = ff_mask_minus(&facts->evicted, &in->pages);
    if (engine->watched) {
        struct ff_mask ahead = ff_mask_minus(&in->pages, &job->faulted);
        struct ff_mask *unused = &ff__page_facts(&engine->space, block)->unused;
        *unused = ff_mask_or(unused, &ahead);
    }
    stats->pages_in += held;
    stats->populated += pages - held;
    stats->prefetched += pages - ff_mask_count(&job->faulted);
    bool faulted = !ff_mask_empty(&job->faulted);
    struct ff__totals totals = {.prefetched = pages - ff_mask_count(&job->faulted),
                                .pages_in = held,
                                .stall_ns = faulted ? engine->view.now_ns - job->begun_ns : 0};
    ff__totals_add(engine, block, job->launch, &totals);
    count_arrivals_each(engine, job, totals.stall_ns);
    ff__tell_arrival(engine,
                     &(struct ff_arrival){FF_ARRIVAL_SERVED, block, tier, faulted, &in->pages});
}

static void finish_in(struct ff__engine *engine, const struct ff__job *job) {
    if (job->in.guest) {
        ff__peers_arrived(engine, &job->in);
        return;
    }
    if (job->in.mapped) {
        ff__mappings_arrived(engine, &job->in);
        return;
    }
    ff__memory_arrived(engine, job);
    if (!ff_mask_empty(&job->in.pages))
        arrive(engine, job);
}

void ff__engine_arrive(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job,
                       const struct ff_mask *pages) {
    struct ff__page_facts *moving = ff__moving(engine, job->in.block);
    const struct ff_mask all = job->in.pages, held = job->in.held, faulted = job->faulted;
    job->in.pages = ff_mask_and(&all, pages);
    job->in.held = ff_mask_and(&held, pages);
    job->faulted = ff_mask_and(&faulted, pages);
    ff__engine_view(engine, now_ns);
    if (moving)
        moving->coming = ff_mask_minus(&moving->coming, pages);
    arrive(engine, job); /* with these pages alone: a copy of the job would be large */
    job->in.pages = ff_mask_minus(&all, pages);
    job->in.held = ff_mask_minus(&held, pages);
    job->faulted = ff_mask_minus(&faulted, pages);
}

void ff__engine_finish(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job) {
    ff__engine_view(engine, now_ns);
    for (uint32_t i = 0; i < job->out_count; i++)
        finish_out(engine, job, i);
    if (job->preevicted > 0)
        engine->preevicting[job->out[0].from.tier] -= job->preevicted;
    if (job->has_in) {
        leave_out_missed(job);
        finish_in(engine, job);
        if (!engine->virtual_time && !job->in.mapped && !ff_mask_empty(&job->faulted))
            ff__memory_served(engine, job->in.block, ff_mask_next(&job->faulted, 0));
    }
    for (uint32_t i = 0; i < job->out_count; i++)
        queue_late(engine, job->out[i].block);
    if (job->has_in)
        queue_late(engine, job->in.block);
    ff__memory_count(engine);
    if (engine->check && !engine->failure.message[0])
        ff__engine_check(engine, &engine->failure);
}

void ff__engine_release_block(struct ff__engine *engine, uint32_t block,
                              const struct ff_mask *held) {
    ff__engine_host_holds(engine, block, held);
    ff__facts(&engine->space, block)->busy = 0;
    queue_late(engine, block);
}
