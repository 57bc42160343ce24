/* Jobs, how they begin: what a fault or pressure leads to. Advice: advice.c. */
#include "engine/internal.h"

#include <errno.h>

void ff__job_reset(struct ff__job *job) {
    job->asked = false;
    ff_mask_clear(&job->counted);
}

void ff__job_clear(struct ff__job *job) {
    job->launch = FF_NONE;
    job->begun_ns = 0;
    job->has_in = job->took_chunk = false;
    job->out_count = 0;
    job->retry_ns = job->owed = job->preevicted = 0;
    job->granule = 0;
    job->one_request = job->joins = false;
    job->in.status = 0;
    job->in.guest = false;
    ff_mask_clear(&job->in.left);
    ff_mask_clear(&job->faulted);
    ff_mask_clear(&job->throttled);
    ff_mask_clear(&job->there);
    ff_mask_clear(&job->remote);
    ff_mask_clear(&job->written);
    job->in.mapped = false;
}

static void remember_late(struct ff__engine *engine, const struct ff_fault_group *group,
                          const struct ff_mask *pages) {
    struct ff__late *late = &engine->late[group->block];
    struct ff__late_pages *known = ff__late_pages(engine, group->block, group->tier);
    struct ff_mask written = ff_mask_and(&group->written, pages);
    if (ff_mask_empty(pages))
        return;
    bool is_first = !(late->tiers >> group->tier & 1);
    late->tiers = (uint16_t)(late->tiers | 1u << group->tier);
    known->faulted = is_first ? *pages : ff_mask_or(&known->faulted, pages);
    known->written = is_first ? written : ff_mask_or(&known->written, &written);
}

/* ---- bringing in ---- */

/* Pages that a touch from the tier finds in place. */
struct ff_mask ff__job_reachable(const struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_facts *facts = ff__facts(&engine->space, block);
    if (engine->backend->separate)
        return facts->tier[tier].resident;
    struct ff_mask there = ff__block_present(&engine->space, block);
    for (uint32_t peer = 1; peer < engine->space.tier_count && engine->backend->guests_apart;
         peer++)
        if (ff__is_guest(engine, block, peer))
            there = ff_mask_minus(&there, &facts->tier[peer].resident);
    return there;
}

/* Pages that are on another device leave it first: for the host, or straight for the device that
 * wants them. */
static struct ff_mask fetch_from_peers(struct ff__engine *engine, uint32_t block, uint32_t tier,
                                       const struct ff_mask *pages, struct ff__job *job) {
    struct ff_mask fetched = {{0}};
    for (uint32_t peer = 1; peer < engine->space.tier_count; peer++) {
        if (peer == tier)
            continue;
        struct ff_mask there =
            ff_mask_and(pages, &ff__facts(&engine->space, block)->tier[peer].resident);
        if (!ff_mask_empty(&there)) {
            ff__memory_leave(engine, block, peer, &there, NULL, false, job);
            if (engine->backend->peer_links)
                job->out[job->out_count - 1].to.tier = tier;
            fetched = ff_mask_or(&fetched, &there);
        }
    }
    return fetched;
}

void ff__job_bring(struct ff__engine *engine, uint32_t block, uint32_t tier,
                   const struct ff_mask *pages, struct ff__job *job) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    ff__range_use(&engine->space, engine->space.blocks[block].range, tier);
    struct ff_mask fetched = fetch_from_peers(engine, block, tier, pages, job);
    struct ff_mask content = ff_mask_or(&facts->tier[FF_TIER_HOST].resident, &fetched);
    job->has_in = true;
    job->in.block = block;
    job->in.from = (struct ff__place){FF_TIER_HOST, FF_NONE};
    job->in.to = (struct ff__place){tier, ff__facts_frame(facts, tier)};
    job->in.pages = *pages;
    job->in.held = ff_mask_and(pages, &content);
    job->in.whole = ff_mask_empty(&facts->tier[tier].resident);
    job->in.mapped = false;
    if (engine->uses_remote)
        facts->tier[tier].remote = ff_mask_minus(&facts->tier[tier].remote, pages);
    ff__mappings_end(engine, block, pages, job);
    ff__memory_mark(engine, block, pages, false, true);
}

/* Takes out the pages that are inactive, under a policy that lets them go without a copy, those
 * that move already, which only single pages of a block do, and those that the kernel keeps mapped.
 */
void ff__job_leave_out(const struct ff__engine *engine, uint32_t block, struct ff_mask *wanted) {
    const struct ff__page_facts *moving = ff__moving(engine, block);
    if (engine->discard->dead)
        *wanted = ff_mask_minus(wanted, &ff__facts(&engine->space, block)->inactive);
    if (engine->mappings && engine->mappings[block].stays)
        *wanted = ff_mask_minus(wanted, &engine->mappings[block].pages);
    if (!moving)
        return;
    *wanted = ff_mask_minus(wanted, &moving->coming);
    *wanted = ff_mask_minus(wanted, &moving->leaving);
}

/* Asks the policy about absent pages, once: which others to bring, which to use from where they
 * are, which not to serve yet. */
static struct ff_mask ask_prefetch(struct ff__engine *engine, const struct ff_fault_group *absent,
                                   const struct ff_mask *present, struct ff__job *job) {
    struct ff_fault_advice *answer = &job->answer;
    if (!engine->prefetch->on_fault)
        return absent->faulted;
    if (!job->asked) {
        *answer = (struct ff_fault_advice){0};
        engine->prefetch->on_fault(engine->prefetch_state, &engine->view, absent, answer);
        job->asked = true;
        if (!ff__engine_has_granule(engine, answer->granule)) {
            ff__engine_drop(engine, FF_DROP_UNSUPPORTED);
            answer->granule = 0;
        }
    }
    job->granule = answer->granule;
    job->one_request = answer->one_request;
    struct ff_mask block = ff__block_pages(&engine->space, absent->block);
    struct ff_mask wanted = ff_mask_and(&answer->prefetch, &block);
    wanted = ff_mask_minus(&wanted, present);
    ff__job_leave_out(engine, absent->block, &wanted);
    wanted = ff_mask_or(&wanted, &absent->faulted);
    if (engine->backend->controls & FF_CONTROLS_REMOTE) {
        job->remote = ff_mask_and(&answer->remote, &block);
        job->remote = ff_mask_minus(&job->remote, present);
        if (engine->mappings)
            job->remote = ff__mappable(engine, absent->block, &job->remote);
    }
    if (answer->throttle_until_ns > engine->view.now_ns) {
        job->throttled = ff_mask_and(&answer->throttle, &absent->faulted);
        job->throttled = ff_mask_minus(&job->throttled, &job->remote);
        job->retry_ns = answer->throttle_until_ns;
    }
    wanted = ff_mask_minus(&wanted, &job->remote);
    return ff_mask_minus(&wanted, &job->throttled);
}

static void count_faults(struct ff__engine *engine, const struct ff_fault_group *absent,
                         struct ff__job *job) {
    struct ff_stats *stats = &engine->space.stats;
    const struct ff_facts *facts = ff__facts(&engine->space, absent->block);
    struct ff_mask faulted = ff_mask_minus(&job->faulted, &job->counted);
    if (ff_mask_empty(&faulted))
        return;
    job->counted = ff_mask_or(&job->counted, &faulted);
    struct ff_mask again = ff_mask_and(&faulted, &facts->evicted);
    stats->faults += ff_mask_count(&faulted);
    struct ff_mask written = ff_mask_and(&faulted, &absent->written);
    stats->write_faults += ff_mask_count(&written);
    stats->refaults += ff_mask_count(&again);
    stats->batches++;
    struct ff__totals totals = {.faults = ff_mask_count(&faulted),
                                .refaults = ff_mask_count(&again)};
    ff__totals_add(engine, absent->block, absent->launch, &totals);
    struct ff__prediction *prediction = ff__running_prediction(&engine->running[absent->tier]);
    if (prediction)
        ff__prediction_fault(prediction, ff__block_address(&engine->space, absent->block),
                             &faulted);
    ff__totals_add_each(engine, absent->block, &faulted, &(struct ff__totals){.faults = 1});
    ff__totals_add_each(engine, absent->block, &again, &(struct ff__totals){.refaults = 1});
    struct ff_event event = {.kind = FF_EVENT_FAULT,
                             .tier = absent->tier,
                             .block = absent->block,
                             .range = engine->space.blocks[absent->block].range,
                             .page = ff_mask_next(&absent->faulted, 0),
                             .launch = absent->launch,
                             .thread = absent->thread,
                             .now_ns = engine->view.now_ns};
    ff__engine_tell(engine, &event);
}

/* Takes the faults that are not to be served now out of the group: of a block at work, of pages
 * that are on their way. Those that come wake their threads when they have come; those that leave
 * are served afterwards. */
static bool put_off(struct ff__engine *engine, struct ff_fault_group *absent) {
    struct ff__space *space = &engine->space;
    const struct ff__page_facts *moving = ff__moving(engine, absent->block);
    if (ff__facts(space, absent->block)->busy) {
        remember_late(engine, absent, &absent->faulted);
        ff_mask_clear(&absent->faulted);
        return true;
    }
    if (!moving)
        return false;
    struct ff_mask coming = ff_mask_and(&absent->faulted, &moving->coming);
    struct ff_mask leaving = ff_mask_and(&absent->faulted, &moving->leaving);
    remember_late(engine, absent, &leaving);
    if (engine->backend->separate &&
        space->tier_count > 2) /* they may be on their way to another device */
        remember_late(engine, absent, &coming);
    absent->faulted = ff_mask_minus(&absent->faulted, &coming);
    absent->faulted = ff_mask_minus(&absent->faulted, &leaving);
    absent->written = ff_mask_and(&absent->written, &absent->faulted);
    return !ff_mask_empty(&coming) || !ff_mask_empty(&leaving);
}

/* The block lies in memory that its own device lent before it became that: it goes to the host
 * first, and the faults are served then. */
static int send_guest_away(struct ff__engine *engine, const struct ff_fault_group *absent,
                           struct ff__job *job) {
    remember_late(engine, absent, &absent->faulted);
    ff__memory_leave(engine, absent->block, absent->tier, NULL, NULL, false, job);
    return FF__JOB_RUN;
}

static int begin_in(struct ff__engine *engine, const struct ff_fault_group *absent,
                    struct ff_mask *wanted, struct ff__job *job) {
    uint32_t block = absent->block, tier = absent->tier;
    struct ff_mask asked = ff_mask_and(wanted, &absent->faulted);
    if (!engine->virtual_time)
        ff__memory_faulted(engine, block, tier, &absent->faulted);
    if (!ff__memory_take(engine, block, tier, FF_EVICT_FOR_FAULT, &asked, wanted, job)) {
        job->retry_ns = ff__memory_retry(engine);
        return FF__JOB_NO_ROOM;
    }
    engine->space.stats.batches_full += job->out_count > 0 && ff_mask_empty(&job->counted);
    ff__job_bring(engine, block, tier, wanted, job);
    job->faulted = ff_mask_and(wanted, &asked);
    job->begun_ns = engine->view.now_ns;
    job->launch = absent->launch;
    if (!ff_mask_within(&asked, wanted)) {
        struct ff_mask left_out = ff_mask_minus(&asked, wanted);
        remember_late(engine, absent, &left_out);
    }
    count_faults(engine, absent, job);
    return FF__JOB_RUN;
}

/* Maps these of the faulted pages. The others, but those that are throttled, are served afterwards.
 */
static int begin_mapping(struct ff__engine *engine, const struct ff_fault_group *absent,
                         const struct ff_mask *pages, struct ff__job *job) {
    struct ff_mask rest = ff_mask_minus(&absent->faulted, pages);
    rest = ff_mask_minus(&rest, &job->throttled);
    remember_late(engine, absent, &rest);
    ff__mappings_begin(engine, absent->block, absent->tier, pages, job);
    job->faulted = *pages;
    job->written = ff_mask_and(pages, &absent->written);
    job->begun_ns = engine->view.now_ns;
    job->launch = absent->launch;
    return FF__JOB_RUN;
}

/* Of the faulted pages those that are used from the host, and have to be mapped for that. */
static struct ff_mask remote_of(const struct ff__engine *engine,
                                const struct ff_fault_group *absent) {
    const struct ff_facts *facts = ff__facts(&engine->space, absent->block);
    struct ff_mask remote = {{0}};
    if (engine->mappings)
        remote = ff_mask_and(&absent->faulted, &facts->tier[absent->tier].remote);
    return ff_mask_empty(&remote) ? remote : ff__mappable(engine, absent->block, &remote);
}

/* Pages that a policy has left to be used from where they are it is not asked about again. */
static int serve(struct ff__engine *engine, const struct ff_fault_group *absent,
                 const struct ff_mask *present, struct ff__job *job) {
    struct ff_mask remote = remote_of(engine, absent);
    if (!ff_mask_empty(&remote))
        return begin_mapping(engine, absent, &remote, job);
    struct ff_mask wanted = ask_prefetch(engine, absent, present, job);
    if (!ff_mask_empty(&job->remote)) {
        struct ff_facts *facts = ff__facts(&engine->space, absent->block);
        struct ff_mask *all = &facts->tier[absent->tier].remote;
        *all = ff_mask_or(all, &job->remote);
        engine->uses_remote = true;
    }
    remote = remote_of(engine, absent);
    if (!ff_mask_empty(&wanted)) {
        int status = begin_in(engine, absent, &wanted, job);
        if (status == FF__JOB_RUN)
            remember_late(engine, absent, &remote);
        return status;
    }
    if (!ff_mask_empty(&remote))
        return begin_mapping(engine, absent, &remote, job);
    return ff_mask_empty(&job->throttled) ? FF__JOB_NONE : FF__JOB_WAIT;
}

int ff__engine_fault_again(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *group,
                           struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint32_t block = group->block;
    ff__job_clear(job);
    if (block >= space->block_limit || space->blocks[block].page_count == 0)
        return -EFAULT;
    if (group->tier == FF_NONE)
        group->tier = space->ranges[space->blocks[block].range].home_tier;
    group->launch = ff__running_with(&engine->running[group->tier], space->blocks[block].range);
    struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask valid = ff__block_pages(space, block);
    group->faulted = ff_mask_and(&group->faulted, &valid);
    group->written = ff_mask_and(&group->written, &group->faulted);
    struct ff_fault_group absent = *group;
    if (facts->busy && put_off(engine, &absent))
        return FF__JOB_LATER;
    struct ff_mask present = ff__job_reachable(engine, block, group->tier),
                   mapped = ff__mapped(engine, block);
    absent.faulted = ff_mask_minus(&group->faulted, &present);
    absent.faulted = ff_mask_minus(&absent.faulted, &mapped);
    job->there = ff_mask_minus(&group->faulted, &absent.faulted);
    absent.written = ff_mask_and(&group->written, &absent.faulted);
    bool later = put_off(engine, &absent);
    if (ff_mask_empty(&absent.faulted)) {
        space->stats.spurious += !later;
        return later ? FF__JOB_LATER : FF__JOB_NONE;
    }
    ff__engine_view(engine, now_ns);
    if (engine->backend->guests_apart && ff__is_guest(engine, block, group->tier))
        return send_guest_away(engine, &absent, job);
    /* a page that is used is not inactive */
    facts->inactive = ff_mask_minus(&facts->inactive, &absent.faulted);
    return serve(engine, &absent, &present, job);
}

int ff__engine_fault(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *group,
                     struct ff__job *job) {
    ff__job_reset(job);
    return ff__engine_fault_again(engine, now_ns, group, job);
}

int ff__engine_evict(struct ff__engine *engine, uint64_t now_ns, uint32_t block, uint32_t tier,
                     const struct ff_mask *pages, const struct ff_mask *dead, struct ff__job *job) {
    const struct ff_facts *facts = ff__facts(&engine->space, block);
    ff__job_clear(job);
    if (!ff__engine_is_at_rest(engine, block))
        return FF__JOB_LATER;
    if (facts->memory[tier] == 0)
        return FF__JOB_NONE;
    ff__engine_view(engine, now_ns);
    ff__memory_leave(engine, block, tier, pages, dead, false, job);
    return FF__JOB_RUN;
}

int ff__engine_preevict(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                        struct ff__job *job) {
    ff__job_clear(job);
    if (!engine->pressed[tier])
        return FF__JOB_NONE;
    ff__engine_view(engine, now_ns);
    if (ff__memory_preevict(engine, tier, job))
        return FF__JOB_RUN;
    engine->pressed[tier] = false;
    return FF__JOB_NONE;
}
