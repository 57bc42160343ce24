#include "engine/engine.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX  8192u
#define VICTIMS_MAX 16u

/* ---- making and unmaking ---- */

/* Allocates and initializes one policy instance; *state stays NULL, and nothing is owed to it, if
 * that fails. */
static int make_policy(struct ff__engine *engine, const struct ff__engine_config *config,
                       enum ff__slot slot, uint32_t tier, void **state, struct ff_error *error) {
    const struct ff_policy *policy = engine->system.policy[slot];
    uint32_t at = tier == FF_NONE ? 0 : tier;
    engine->block_state[slot][at] =
        ff__lazy_map(policy->block_state_size * engine->space.block_limit);
    void *born = calloc(1, policy->state_size ? policy->state_size : 1);
    if (!born || !engine->block_state[slot][at]) {
        free(born);
        return ff__fail(error, -ENOMEM, "no memory for the state of policy '%s'", policy->name);
    }
    struct ff_policy_env env = {
        .tier_count = engine->space.tier_count,
        .tier = tier,
        .block_limit = engine->space.block_limit,
        .block_state = engine->block_state[slot][at],
        .seed = config->seed,
        .params = engine->system.params[slot],
    };
    int status = policy->init ? policy->init(born, &env) : 0;
    if (status) {
        free(born);
        return ff__fail(error, status, "policy '%s' could not start: %s", policy->name,
                        strerror(-status));
    }
    *state = born;
    return 0;
}

static void unmake_policy(struct ff__engine *engine, enum ff__slot slot, uint32_t tier,
                          void **state) {
    const struct ff_policy *policy = engine->system.policy[slot];
    if (*state && policy->fini)
        policy->fini(*state);
    free(*state);
    *state = NULL;
    ff__lazy_unmap(engine->block_state[slot][tier],
                   policy->block_state_size * engine->space.block_limit);
}

static int make_policies(struct ff__engine *engine, const struct ff__engine_config *config,
                         struct ff_error *error) {
    int status = make_policy(engine, config, FF__PREFETCH, FF_NONE, &engine->prefetch_state, error);
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++)
        status = make_policy(engine, config, FF__EVICT, tier, &engine->evict_state[tier], error);
    if (!status)
        status = make_policy(engine, config, FF__PLACE, FF_NONE, &engine->place_state, error);
    if (!status)
        status = make_policy(engine, config, FF__DISCARD, FF_NONE, &engine->discard_state, error);
    return status;
}

static int check_visibility(const struct ff__engine_config *config, struct ff_error *error) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy = config->system.policy[slot];
        if (policy->needs & ~config->shows)
            return ff__fail(
                error, -ENOTSUP,
                "policy '%s' must see what this backend cannot show (needs 0x%x, there is 0x%x)",
                policy->name, policy->needs, config->shows);
    }
    return 0;
}

static void set_view(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    engine->view = (struct ff_view){
        .tier_count = space->tier_count,
        .block_limit = space->block_limit,
        .blocks = space->blocks,
        .ranges = space->ranges,
        .busy = space->busy,
    };
    for (uint32_t tier = 0; tier < space->tier_count; tier++) {
        engine->view.resident[tier] = space->resident[tier];
        engine->view.frame[tier] = space->frame[tier];
    }
}

int ff__engine_init(struct ff__engine *engine, const struct ff__engine_config *config,
                    struct ff_error *error) {
    memset(engine, 0, sizeof *engine);
    int status = check_visibility(config, error);
    if (status)
        return status;
    status = ff__space_init(&engine->space, config->base, config->address_space, config->devices,
                            config->memory);
    if (status)
        return ff__fail(error, status, "cannot set up %u devices of %llu bytes: %s",
                        config->devices, (unsigned long long)config->memory, strerror(-status));
    engine->system = config->system;
    engine->prefetch = (const void *)config->system.policy[FF__PREFETCH];
    engine->evict = (const void *)config->system.policy[FF__EVICT];
    engine->place = (const void *)config->system.policy[FF__PLACE];
    engine->discard = (const void *)config->system.policy[FF__DISCARD];
    engine->stock = config->stock;
    engine->check = config->check;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        engine->launch[tier] = FF_NONE;
    engine->late_head = FF_NONE;
    set_view(engine);
    engine->late = ff__lazy_map(engine->space.block_limit * sizeof *engine->late);
    status = engine->late ? make_policies(engine, config, error) : -ENOMEM;
    if (!status && (engine->prefetch->learn || engine->prefetch->plan))
        status = ff__queue_init(&engine->events, EVENTS_MAX, sizeof(struct ff_event));
    if (status)
        ff__engine_fini(engine);
    return status;
}

void ff__engine_fini(struct ff__engine *engine) {
    unmake_policy(engine, FF__PREFETCH, 0, &engine->prefetch_state);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        unmake_policy(engine, FF__EVICT, tier, &engine->evict_state[tier]);
    unmake_policy(engine, FF__PLACE, 0, &engine->place_state);
    unmake_policy(engine, FF__DISCARD, 0, &engine->discard_state);
    ff__lazy_unmap(engine->late, engine->space.block_limit * sizeof *engine->late);
    ff__map_fini(&engine->launches);
    ff__queue_fini(&engine->events);
    ff__space_fini(&engine->space);
}

/* ---- small helpers ---- */

static const struct ff_view *view_at(struct ff__engine *engine, uint64_t now_ns) {
    engine->view.now_ns = now_ns;
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        engine->view.free_roots[tier] = engine->space.frames[tier].free_count;
    return &engine->view;
}

static void tell(struct ff__engine *engine, const struct ff_event *event) {
    /* a full queue drops the event: learning may miss something, faults do not wait */
    if (engine->events.items)
        ff__queue_push(&engine->events, event);
}

static void count_resident(struct ff__engine *engine) {
    uint64_t leaves = 0;
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        leaves += engine->space.frames[tier].leaves_used;
    struct ff_stats *stats = &engine->space.stats;
    stats->resident = leaves * FF_LEAF_SIZE;
    if (stats->resident > stats->resident_peak)
        stats->resident_peak = stats->resident;
}

static uint32_t leaves_of(const struct ff__engine *engine, uint32_t block) {
    return ff__frames_leaves(engine->space.blocks[block].page_count);
}

static void clear_job(struct ff__job *job) {
    job->has_in = job->took_root = job->got_memory = false;
    job->out_count = 0;
    job->retry_ns = 0;
    ff_mask_clear(&job->faulted);
    ff_mask_clear(&job->throttled);
}

/* ---- eviction ---- */

/* Adds the block's way out to the job and takes it from the evict policy. */
static void add_out(struct ff__engine *engine, uint32_t block, uint32_t tier,
                    const struct ff_mask *dead, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    struct ff__move *out = &job->out[job->out_count++];
    out->block = block;
    out->tier = tier;
    out->frame = space->frame[tier][block];
    out->pages = space->resident[tier][block];
    out->held = ff_mask_and(&out->pages, &space->resident[FF_TIER_HOST][block]);
    out->whole = true;
    /* no backend has a peer tier yet: a place policy that names one is not followed */
    if (engine->place->place(engine->place_state, &engine->view, block, tier) != FF_TIER_HOST)
        space->stats.advice_dropped++;
    ff_mask_clear(&out->dead);
    if (engine->discard->dead)
        engine->discard->dead(engine->discard_state, &engine->view, block, &out->dead);
    if (dead)
        out->dead = ff_mask_or(&out->dead, dead);
    space->busy[block] = 1;
    space->frame[tier][block] = FF_NONE;
    if (engine->evict->on_release)
        engine->evict->on_release(engine->evict_state[tier], &engine->view, block);
}

/* Whether every block in the root could leave now; `owners` are they. */
static bool root_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t root,
                           uint32_t owners[FF__ROOT_LEAVES], uint32_t *count) {
    *count = ff__frames_owners(&engine->space.frames[tier], root, owners);
    for (uint32_t i = 0; i < *count; i++)
        if (!ff_view_evictable(&engine->view, tier, owners[i]))
            return false;
    return *count > 0;
}

/* When the policy names nobody who can go, a waiting fault takes the lowest root that can. */
static uint32_t any_root(const struct ff__engine *engine, uint32_t tier) {
    uint32_t owners[FF__ROOT_LEAVES], count;
    for (uint32_t root = 0; root < engine->space.frames[tier].root_count; root++)
        if (root_evictable(engine, tier, root, owners, &count))
            return root;
    return FF_NONE;
}

static uint32_t choose_root(struct ff__engine *engine, const struct ff_evict_request *request) {
    struct ff_advice items[VICTIMS_MAX];
    struct ff_advice_list victims = {items, 0, VICTIMS_MAX};
    uint32_t tier = request->tier, owners[FF__ROOT_LEAVES], count;
    engine->evict->pick(engine->evict_state[tier], &engine->view, request, &victims);
    for (uint32_t i = 0; i < victims.count; i++) {
        uint32_t block = items[i].block;
        if (block >= engine->space.block_limit || block == request->for_block ||
            engine->space.blocks[block].page_count == 0 ||
            !ff_view_evictable(&engine->view, tier, block))
            continue;
        uint32_t root = engine->space.frame[tier][block] / FF__ROOT_LEAVES;
        if (root_evictable(engine, tier, root, owners, &count))
            return root;
    }
    return request->cause == FF_EVICT_FOR_FAULT ? any_root(engine, tier) : FF_NONE;
}

/* Sends everything in one root away, for the policy's best victim. The driver, too, evicts whole
 * roots: all blocks that share one. Returns the root, or FF_NONE. */
static uint32_t evict_root(struct ff__engine *engine, const struct ff_evict_request *request,
                           struct ff__job *job) {
    uint32_t root = choose_root(engine, request);
    if (root == FF_NONE)
        return FF_NONE;
    uint32_t owners[FF__ROOT_LEAVES];
    uint32_t count = ff__frames_owners(&engine->space.frames[request->tier], root, owners);
    for (uint32_t i = 0; i < count; i++)
        add_out(engine, owners[i], request->tier, NULL, job);
    return root;
}

/* Sees to it that the block has memory on the device, by eviction if need be. */
static bool acquire_memory(struct ff__engine *engine, uint32_t block, uint32_t tier,
                           enum ff_evict_cause cause, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    struct ff__frames *frames = &space->frames[tier];
    if (space->frame[tier][block] != FF_NONE)
        return true;
    uint32_t frame = ff__frames_alloc(frames, leaves_of(engine, block), block);
    if (frame == FF_NONE) {
        struct ff_evict_request request = {cause, tier, block};
        uint32_t root = evict_root(engine, &request, job);
        if (root == FF_NONE)
            return false;
        frame = ff__frames_take_root(frames, root, block);
        job->took_root = true;
    }
    job->got_memory = true;
    engine->pressed[tier] = frames->free_count < engine->stock;
    space->frame[tier][block] = frame;
    count_resident(engine);
    if (engine->evict->on_activate)
        engine->evict->on_activate(engine->evict_state[tier], &engine->view, block);
    return true;
}

/* ---- bringing in ---- */

static void set_in(struct ff__engine *engine, uint32_t block, uint32_t tier,
                   const struct ff_mask *pages, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    job->has_in = true;
    job->in.block = block;
    job->in.tier = tier;
    job->in.frame = space->frame[tier][block];
    job->in.pages = *pages;
    job->in.held = ff_mask_and(pages, &space->resident[FF_TIER_HOST][block]);
    job->in.whole = ff_mask_empty(&space->resident[tier][block]);
    space->busy[block] = 1;
}

static void remember_late(struct ff__engine *engine, const struct ff_fault_group *group) {
    struct ff__late *late = &engine->late[group->block];
    late->faulted = ff_mask_or(&late->faulted, &group->faulted);
    late->written = ff_mask_or(&late->written, &group->written);
    late->tier = group->tier;
}

/* Asks the policy about absent pages: which others to bring, which not to serve yet. */
static struct ff_mask ask_prefetch(struct ff__engine *engine, const struct ff_fault_group *absent,
                                   const struct ff_mask *present, struct ff__job *job) {
    struct ff_fault_advice advice = {0};
    if (engine->prefetch->on_fault)
        engine->prefetch->on_fault(engine->prefetch_state, &engine->view, absent, &advice);
    struct ff_mask block = ff__block_pages(&engine->space, absent->block);
    struct ff_mask wanted = ff_mask_and(&advice.prefetch, &block);
    wanted = ff_mask_minus(&wanted, present);
    wanted = ff_mask_or(&wanted, &absent->faulted);
    /* remote mapping (advice.remote) is nothing the present backends can do: those pages migrate */
    if (advice.throttle_until_ns > engine->view.now_ns) {
        job->throttled = ff_mask_and(&advice.throttle, &absent->faulted);
        job->retry_ns = advice.throttle_until_ns;
    }
    return ff_mask_minus(&wanted, &job->throttled);
}

static void count_faults(struct ff__engine *engine, const struct ff_fault_group *absent,
                         const struct ff__job *job) {
    struct ff_stats *stats = &engine->space.stats;
    struct ff_mask again = ff_mask_and(&job->faulted, &engine->space.evicted[absent->block]);
    stats->faults += ff_mask_count(&job->faulted);
    struct ff_mask written = ff_mask_and(&job->faulted, &absent->written);
    stats->write_faults += ff_mask_count(&written);
    stats->refaults += ff_mask_count(&again);
    stats->batches++;
    struct ff_event event = {.kind = FF_EVENT_FAULT,
                             .tier = absent->tier,
                             .block = absent->block,
                             .page = ff_mask_next(&absent->faulted, 0),
                             .launch = absent->launch,
                             .now_ns = engine->view.now_ns};
    tell(engine, &event);
}

int ff__engine_fault(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *group,
                     struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint32_t block = group->block;
    clear_job(job);
    if (block >= space->block_limit || space->blocks[block].page_count == 0)
        return -EFAULT;
    if (group->tier == FF_NONE)
        group->tier = space->ranges[space->blocks[block].range].home_tier;
    group->launch = engine->launch[group->tier];
    struct ff_mask valid = ff__block_pages(space, block);
    group->faulted = ff_mask_and(&group->faulted, &valid);
    group->written = ff_mask_and(&group->written, &group->faulted);
    if (space->busy[block]) {
        remember_late(engine, group);
        return FF__JOB_LATER;
    }
    struct ff_mask present = ff__block_present(space, block);
    struct ff_fault_group absent = *group;
    absent.faulted = ff_mask_minus(&group->faulted, &present);
    absent.written = ff_mask_minus(&group->written, &present);
    if (ff_mask_empty(&absent.faulted)) {
        space->stats.spurious++;
        return FF__JOB_NONE;
    }
    view_at(engine, now_ns);
    struct ff_mask wanted = ask_prefetch(engine, &absent, &present, job);
    if (ff_mask_empty(&wanted))
        return FF__JOB_WAIT;
    if (!acquire_memory(engine, block, group->tier, FF_EVICT_FOR_FAULT, job))
        return FF__JOB_NO_ROOM;
    set_in(engine, block, group->tier, &wanted, job);
    job->faulted = ff_mask_and(&wanted, &absent.faulted);
    count_faults(engine, &absent, job);
    return FF__JOB_RUN;
}

int ff__engine_prefetch(struct ff__engine *engine, uint64_t now_ns, const struct ff_advice *advice,
                        struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint32_t block = advice->block;
    clear_job(job);
    if (block < space->block_limit && space->blocks[block].page_count > 0 && !space->busy[block] &&
        advice->tier > FF_TIER_HOST && advice->tier < space->tier_count) {
        struct ff_mask present = ff__block_present(space, block);
        struct ff_mask valid = ff__block_pages(space, block);
        struct ff_mask wanted = ff_mask_and(&advice->pages, &valid);
        wanted = ff_mask_minus(&wanted, &present);
        view_at(engine, now_ns);
        if (!ff_mask_empty(&wanted) &&
            acquire_memory(engine, block, advice->tier, FF_EVICT_FOR_PREFETCH, job)) {
            set_in(engine, block, advice->tier, &wanted, job);
            return FF__JOB_RUN;
        }
    }
    space->stats.advice_dropped++;
    return FF__JOB_DROPPED;
}

int ff__engine_evict(struct ff__engine *engine, uint64_t now_ns, uint32_t block, uint32_t tier,
                     const struct ff_mask *dead, struct ff__job *job) {
    clear_job(job);
    if (engine->space.busy[block])
        return FF__JOB_LATER;
    if (engine->space.frame[tier][block] == FF_NONE)
        return FF__JOB_NONE;
    view_at(engine, now_ns);
    add_out(engine, block, tier, dead, job);
    return FF__JOB_RUN;
}

int ff__engine_restock(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                       struct ff__job *job) {
    struct ff__space *space = &engine->space;
    clear_job(job);
    if (!engine->pressed[tier])
        return FF__JOB_NONE;
    view_at(engine, now_ns);
    /* what fits as a whole needs no room for more */
    bool all_fits =
        space->stats.allocated <= (uint64_t)space->frames[tier].root_count * FF_BLOCK_SIZE;
    struct ff_evict_request request = {FF_EVICT_AHEAD, tier, FF_NONE};
    if (all_fits || space->frames[tier].free_count >= engine->stock ||
        evict_root(engine, &request, job) == FF_NONE) {
        engine->pressed[tier] = false;
        return FF__JOB_NONE;
    }
    return FF__JOB_RUN;
}

/* ---- finishing ---- */

static void finish_out(struct ff__engine *engine, const struct ff__move *out,
                       const struct ff_mask *copied, bool root_taken) {
    struct ff__space *space = &engine->space;
    struct ff_stats *stats = &space->stats;
    uint32_t block = out->block;
    struct ff_mask *host = &space->resident[FF_TIER_HOST][block];
    ff_mask_clear(&space->resident[out->tier][block]);
    *host = ff_mask_or(host, copied);
    *host = ff_mask_minus(host, &out->dead);
    space->evicted[block] = ff_mask_or(&space->evicted[block], &out->pages);
    if (!root_taken)
        ff__frames_free(&space->frames[out->tier], out->frame, leaves_of(engine, block));
    space->busy[block] = 0;

    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    uint32_t pages = ff_mask_count(&live), pages_copied = ff_mask_count(copied);
    stats->evictions += pages > 0; /* a freed or discarded block is no eviction */
    stats->pages_out += pages_copied;
    stats->pages_dropped += pages - pages_copied;
    struct ff_event event = {.kind = FF_EVENT_EVICTED,
                             .tier = out->tier,
                             .block = block,
                             .launch = FF_NONE,
                             .now_ns = engine->view.now_ns};
    tell(engine, &event);
}

static void release_memory(struct ff__engine *engine, uint32_t block, uint32_t tier,
                           uint32_t leaves) {
    ff__frames_free(&engine->space.frames[tier], engine->space.frame[tier][block], leaves);
    engine->space.frame[tier][block] = FF_NONE;
    if (engine->evict->on_release)
        engine->evict->on_release(engine->evict_state[tier], &engine->view, block);
}

static void finish_in(struct ff__engine *engine, const struct ff__job *job, bool done) {
    struct ff__space *space = &engine->space;
    const struct ff__move *in = &job->in;
    uint32_t block = in->block, tier = in->tier, leaves = leaves_of(engine, block);
    space->busy[block] = 0;
    if (job->took_root)
        ff__frames_trim_root(&space->frames[tier], in->frame / FF__ROOT_LEAVES, leaves);
    if (!done) {
        if (job->got_memory)
            release_memory(engine, block, tier, leaves);
        return;
    }
    struct ff_stats *stats = &space->stats;
    uint32_t pages = ff_mask_count(&in->pages), held = ff_mask_count(&in->held);
    struct ff_mask *resident = &space->resident[tier][block];
    *resident = ff_mask_or(resident, &in->pages);
    space->evicted[block] = ff_mask_minus(&space->evicted[block], &in->pages);
    stats->pages_in += held;
    stats->populated += pages - held;
    stats->prefetched += pages - ff_mask_count(&job->faulted);
    if (engine->evict->on_used)
        engine->evict->on_used(engine->evict_state[tier], &engine->view, block);
    if (engine->prefetch->on_arrival)
        engine->prefetch->on_arrival(engine->prefetch_state, &engine->view, block, tier, &in->pages,
                                     !ff_mask_empty(&job->faulted));
}

/* The block's job has ended: faults that came meanwhile can be served. */
static void queue_late(struct ff__engine *engine, uint32_t block) {
    struct ff__late *late = &engine->late[block];
    if (ff_mask_empty(&late->faulted) || late->queued)
        return;
    late->queued = true;
    late->next = FF_NONE;
    if (engine->late_head == FF_NONE)
        engine->late_head = block;
    else
        engine->late[engine->late_tail].next = block;
    engine->late_tail = block;
}

void ff__engine_finish(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job, bool done) {
    view_at(engine, now_ns);
    for (uint32_t i = 0; i < job->out_count; i++)
        finish_out(engine, &job->out[i], &job->copied[i], job->took_root);
    if (job->has_in)
        finish_in(engine, job, done);
    for (uint32_t i = 0; i < job->out_count; i++)
        queue_late(engine, job->out[i].block);
    if (job->has_in)
        queue_late(engine, job->in.block);
    count_resident(engine);
    if (engine->check && !engine->failure.message[0])
        ff__engine_check(engine, &engine->failure);
}

bool ff__engine_take_late(struct ff__engine *engine, struct ff_fault_group *group) {
    uint32_t block = engine->late_head;
    if (block == FF_NONE)
        return false;
    struct ff__late *late = &engine->late[block];
    engine->late_head = late->next;
    late->queued = false;
    *group = (struct ff_fault_group){block, late->tier, FF_NONE, late->faulted, late->written};
    ff_mask_clear(&late->faulted);
    ff_mask_clear(&late->written);
    return true;
}

/* ---- ranges, launches, events ---- */

int ff__engine_range_add(struct ff__engine *engine, uint64_t page_count, uint32_t lead,
                         uint32_t home_tier, uint32_t *range) {
    return ff__range_add(&engine->space, page_count, lead, home_tier, range);
}

void ff__engine_close_block(struct ff__engine *engine, uint32_t block) {
    engine->space.busy[block] = 1;
}

void ff__engine_release_block(struct ff__engine *engine, uint32_t block,
                              const struct ff_mask *held) {
    struct ff_mask *host = &engine->space.resident[FF_TIER_HOST][block];
    *host = ff_mask_or(host, held);
    engine->space.busy[block] = 0;
    queue_late(engine, block);
}

void ff__engine_discard(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask present = ff__block_present(&engine->space, block);
    struct ff_mask gone = ff_mask_minus(pages, &present);
    struct ff_mask *host = &engine->space.resident[FF_TIER_HOST][block];
    *host = ff_mask_minus(host, &gone);
}

/* Drops the block's late faults, and the block from the queue of those. */
static void forget_late(struct ff__engine *engine, uint32_t block) {
    struct ff__late *late = &engine->late[block];
    ff_mask_clear(&late->faulted);
    ff_mask_clear(&late->written);
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

static void forget_block(struct ff__engine *engine, uint32_t block) {
    forget_late(engine, block);
    if (engine->prefetch->base.block_freed)
        engine->prefetch->base.block_freed(engine->prefetch_state, block);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (engine->evict->base.block_freed)
            engine->evict->base.block_freed(engine->evict_state[tier], block);
    if (engine->place->base.block_freed)
        engine->place->base.block_freed(engine->place_state, block);
    if (engine->discard->base.block_freed)
        engine->discard->base.block_freed(engine->discard_state, block);
}

void ff__engine_range_remove(struct ff__engine *engine, uint32_t range) {
    const struct ff_range *r = &engine->space.ranges[range];
    for (uint32_t i = 0; i < r->block_count; i++)
        forget_block(engine, r->first_block + i);
    ff__range_remove(&engine->space, range);
    count_resident(engine);
}

int ff__engine_launch(struct ff__engine *engine, uint64_t now_ns, uint32_t tier, uint64_t identity,
                      bool begins) {
    uint32_t id = FF_NONE;
    if (!ff__map_get(&engine->launches, identity, &id)) {
        if (ff__map_put(&engine->launches, identity, engine->launch_count) < 0)
            return -ENOMEM;
        id = engine->launch_count++;
    }
    engine->launch[tier] = begins ? id : FF_NONE;
    engine->space.stats.launches += begins;
    struct ff_event event = {.kind = begins ? FF_EVENT_LAUNCH : FF_EVENT_LAUNCH_END,
                             .tier = tier,
                             .block = FF_NONE,
                             .launch = id,
                             .now_ns = now_ns};
    view_at(engine, now_ns);
    if (engine->prefetch->on_launch)
        engine->prefetch->on_launch(engine->prefetch_state, &engine->view, &event);
    if (engine->evict->on_launch)
        engine->evict->on_launch(engine->evict_state[tier], &engine->view, &event);
    tell(engine, &event);
    return 0;
}

uint32_t ff__engine_learn(struct ff__engine *engine, uint64_t now_ns, struct ff_event *scratch,
                          uint32_t limit) {
    uint32_t count = 0;
    while (count < limit && ff__queue_pop(&engine->events, &scratch[count]))
        count++;
    if (count > 0 && engine->prefetch->learn)
        engine->prefetch->learn(engine->prefetch_state, view_at(engine, now_ns), scratch, count);
    return count;
}

void ff__engine_plan(struct ff__engine *engine, uint64_t now_ns, struct ff_advice_list *advice) {
    if (engine->prefetch->plan)
        engine->prefetch->plan(engine->prefetch_state, view_at(engine, now_ns), advice);
}

int ff__engine_check(const struct ff__engine *engine, struct ff_error *error) {
    return ff__space_check(&engine->space, error);
}
