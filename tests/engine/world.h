/* A program, an engine and a fake backend in virtual time, one step at a time and in random order:
 * several jobs are under way at once, and everything that may happen meanwhile does. After every
 * step the engine is asked whether it is sound, and compared with what really is. */
#ifndef FF_TESTS_ENGINE_WORLD_H
#define FF_TESTS_ENGINE_WORLD_H

#include "base/cases.h"

#include "engine/launch.h"
#include "engine/rogues.h"
#include "fake/content.h"
#include "fake/costs.h"

#include "engine/internal.h"

#include <errno.h>

#define FLIGHTS     6u
#define RETRIES     256u
#define THREADS     40u
#define WINDOWS     40u
#define RANGES      10u
#define BLOCK_BYTES ((uint64_t)FF_BLOCK_SIZE)

/* A job that has begun. */
struct flight {
    struct ff__job job;
    uint32_t stage; /* moves done */
    bool advised;
};

/* Faults to be tried again. */
struct retry {
    struct ff_fault_group group;
    uint64_t due_ns;
};

struct world {
    struct ff__description description;
    struct ff__engine engine;
    struct fake fake;
    struct ff__random random;
    uint64_t now_ns, log;
    struct flight flights[FLIGHTS];
    uint32_t flight_count;
    struct retry retries[RETRIES];
    uint32_t retry_count;
    struct ff_mask waiting[WINDOWS]; /* pages that a thread waits for */
    bool claimed[WINDOWS];           /* by a flight */
    uint32_t ranges[RANGES], range_count;
    uint32_t outside; /* a block that is busy without a job, or FF_NONE */
    struct ff_mask outside_pages;
    struct ff__learning_step learning; /* events that have been learned from, but not published */
    uint64_t range_used[WINDOWS];      /* last uses, as policies see them */
    uint32_t page_used[WINDOWS * FF_BLOCK_PAGES];
    uint64_t faults, prefetched, refused, launches;
};

static inline uint32_t below(struct world *world, uint32_t bound) {
    return ff__random_below(&world->random, bound);
}

static inline struct ff__space *space_of(struct world *world) {
    return &world->engine.space;
}

/* What happened in any of the lives: a test that never met a case has not tested it. */
enum {
    SEEN_LATE = FF__JOB_DROPPED + 1, /* behind the job statuses of faults and advice */
    SEEN_PREEVICTED,
    SEEN_SHARED_CHUNK,
    SEEN_TRIMMED,
    SEEN_THROTTLED_PART,
    SEEN_DEAD,
    SEEN_TWO_DEVICES,
    SEEN_REMOVED,
    SEEN_ABOVE_CAPACITY,
    SEEN_SPLIT_IN,
    SEEN_SPLIT_PART_OUT,
    SEEN_SPLIT_TO_RUN,
    SEEN_RUN_TO_SPLIT,
    SEEN_PAGES_IN,
    SEEN_PAGES_PART_OUT,
    SEEN_PART_LATE,
    SEEN_MAPPED,
    SEEN_MAPPED_TO_MIGRATE,
    SEEN_UNMAPPED,
    SEEN_STILL_MAPPED,
    SEEN_MAX
};
static uint64_t seen[SEEN_MAX];

/* ---- the log of decisions ---- */

static inline void log_number(struct world *world, uint64_t number) {
    world->log = ff__hash_bytes(world->log, &number, sizeof number);
}

static inline void log_mask(struct world *world, const struct ff_mask *mask) {
    world->log = ff__hash_bytes(world->log, mask->word, sizeof mask->word);
}

static inline void log_move(struct world *world, const struct ff__move *move) {
    log_number(world, move->block | (uint64_t)ff__move_place(move)->tier << 32);
    log_number(world, ff__move_place(move)->frame | (uint64_t)move->whole << 32);
    log_mask(world, &move->pages);
    log_mask(world, &move->held);
}

static inline void log_job(struct world *world, int status, const struct ff__job *job) {
    log_number(world, (uint64_t)status);
    if (status >= 0)
        seen[status]++;
    if (status != FF__JOB_RUN)
        return;
    seen[SEEN_SHARED_CHUNK] += job->out_count > 1;
    seen[SEEN_TRIMMED] += job->took_chunk;
    seen[SEEN_THROTTLED_PART] += !ff_mask_empty(&job->throttled);
    bool is_split = job->has_in && ff__frame_is_split(job->in.to.frame);
    seen[SEEN_MAPPED] += job->has_in && job->in.mapped;
    seen[SEEN_PAGES_IN] += job->has_in && job->in.to.frame == FF__SPLIT_PAGES;
    seen[SEEN_SPLIT_IN] += is_split;
    for (uint32_t i = 0; i < job->out_count; i++) {
        if (job->out[i].mapped) {
            seen[job->has_in ? SEEN_MAPPED_TO_MIGRATE : SEEN_UNMAPPED]++;
            continue;
        }
        bool split_out = ff__frame_is_split(job->out[i].from.frame);
        seen[SEEN_PAGES_PART_OUT] +=
            job->out[i].from.frame == FF__SPLIT_PAGES && !job->out[i].whole;
        seen[SEEN_SPLIT_PART_OUT] += split_out && !job->out[i].whole;
        seen[SEEN_SPLIT_TO_RUN] += split_out && job->took_chunk;
        seen[SEEN_RUN_TO_SPLIT] += !split_out && is_split;
    }
    log_mask(world, &job->faulted);
    log_mask(world, &job->throttled);
    if (job->has_in)
        log_move(world, &job->in);
    for (uint32_t i = 0; i < job->out_count; i++) {
        log_move(world, &job->out[i]);
        log_mask(world, &job->out[i].dead);
        seen[SEEN_DEAD] += !ff_mask_empty(&job->out[i].dead);
    }
}

/* ---- the future ---- */

#define FUTURE_LENGTH 40000u

/* A recorded run of stretches of neighbouring pages. The lives below do something else, so that
 * policies must bear that their future is wrong. */
static inline const struct ff_future *world_future(void) {
    static uint64_t first[WINDOWS * FF_BLOCK_PAGES + 2], position[FUTURE_LENGTH],
        order[FUTURE_LENGTH];
    static const struct ff_future future = {WINDOWS * FF_BLOCK_PAGES, FUTURE_LENGTH, first,
                                            position, order};
    if (first[WINDOWS * FF_BLOCK_PAGES] > 0)
        return &future;
    struct ff__random random = ff__random_seeded(77);
    for (uint32_t i = 0, page = 0; i < FUTURE_LENGTH; i++) {
        bool jumps = ff__random_below(&random, 30) == 0;
        page = jumps ? ff__random_below(&random, WINDOWS * FF_BLOCK_PAGES) : page + 1;
        order[i] = page % (WINDOWS * FF_BLOCK_PAGES);
        first[order[i] + 2]++;
    }
    for (uint32_t page = 2; page < WINDOWS * FF_BLOCK_PAGES + 2; page++)
        first[page] += first[page - 1];
    for (uint32_t i = 0; i < FUTURE_LENGTH; i++)
        position[first[order[i] + 1]++] = i;
    return &future;
}

/* ---- opening and closing ---- */

struct world_shape {
    const char *system;
    uint32_t devices, chunks;
    uint64_t seed;
    uint32_t granule;
    bool maps; /* pages that are used from the host are mapped for that */
};

static inline bool world_sample(void *self, uint32_t tier, uint32_t range, uint32_t launch,
                                bool wanted) {
    struct world *world = self;
    log_number(world, tier ^ range ^ launch ^ wanted);
    return below(world, 8) > 0;
}

static inline void world_open(struct world *world, const struct world_shape *shape) {
    struct ff_error error = {""};
    memset(world, 0, sizeof *world);
    rogue_places = 0;
    world->description = (struct ff__description){
        .tier_count = shape->devices + 1,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS |
                 FF_SEES_FUTURE | FF_SEES_SAMPLES | FF_SEES_SHARERS | FF_SEES_REMOTE,
    };
    if (shape->maps)
        world->description.controls |= FF_CONTROLS_REMOTE;
    world->description.maps_remote = shape->maps;
    set_costs(&world->description);
    struct ff__engine_config config = {
        .backend = &world->description,
        .base = FAKE_BASE,
        .address_space = WINDOWS * BLOCK_BYTES,
        .devices = shape->devices,
        .memory = shape->chunks * BLOCK_BYTES,
        .granule = shape->granule,
        .reserve = 1,
        .seed = shape->seed,
        .check = true,
        .future = world_future(),
    };
    if (ff__system_parse(shape->system, &config.system, &error) ||
        ff__engine_init(&world->engine, &config, &error))
        fail_msg("%s: %s", shape->system, error.message);
    struct ff__sampler sampler = {.self = world, .sample = world_sample};
    for (uint32_t tier = 1; tier <= shape->devices; tier++)
        sampler.last_uses[tier] = (struct ff_last_uses){world->range_used, world->page_used};
    ff__engine_set_sampler(&world->engine, &sampler);
    fake_open(&world->fake, &world->engine.space, shape->seed);
    world->random = ff__random_seeded(shape->seed);
    world->now_ns = 1000;
    world->outside = FF_NONE;
}

static inline void world_close(struct world *world) {
    fake_close(&world->fake);
    ff__engine_fini(&world->engine);
}

/* ---- carrying out jobs ---- */

/* No two jobs have the same block. */
static inline void claim(struct world *world, uint32_t block, bool on) {
    if (block >= WINDOWS || world->claimed[block] == on)
        fake_blame(&world->fake, "block %u is in two jobs", block);
    else
        world->claimed[block] = on;
}

static inline void claim_job(struct world *world, const struct ff__job *job, bool on) {
    if (job->has_in)
        claim(world, job->in.block, on);
    for (uint32_t i = 0; i < job->out_count; i++)
        if (!job->has_in || !job->out[i].mapped)
            claim(world, job->out[i].block, on);
}

static inline void check_new_job(struct world *world, const struct ff__job *job) {
    if (!job->has_in && job->out_count == 0)
        fake_blame(&world->fake, "a job without work");
    if (job->out_count > FF_CHUNK_LEAVES + 1)
        fake_blame(&world->fake, "%u evictions in a job", job->out_count);
    for (uint32_t i = 0; i < job->out_count && job->has_in; i++)
        if (!job->out[i].mapped && job->out[i].from.tier != job->in.to.tier)
            fake_blame(&world->fake, "block %u is evicted from another device", job->out[i].block);
    struct ff_mask both = ff_mask_and(&job->faulted, &job->throttled);
    if (!ff_mask_within(&job->faulted, &job->in.pages) && job->has_in)
        fake_blame(&world->fake, "block %u: faulted pages are left out", job->in.block);
    if (!ff_mask_empty(&both))
        fake_blame(&world->fake, "block %u: pages are served and throttled", job->in.block);
}

static inline void try_later(struct world *world, const struct ff_fault_group *group,
                             const struct ff_mask *pages, uint64_t due_ns);

static inline void finish_flight(struct world *world, struct flight *flight) {
    struct ff__job *job = &flight->job;
    struct ff_mask unserved = ff_mask_and(&job->faulted, &job->in.left);
    struct ff_fault_group group = {
        .block = job->in.block, .tier = job->in.to.tier, .launch = FF_NONE};
    claim_job(world, job, false);
    ff__engine_finish(&world->engine, world->now_ns, job);
    if (job->has_in) {
        uint32_t pages = ff_mask_count(&job->in.pages);
        if (!job->in.mapped)
            world->prefetched += pages - ff_mask_count(&job->faulted);
        log_number(world, pages);
        if (!ff_mask_empty(&unserved))
            try_later(world, &group, &unserved, world->now_ns);
    }
    *flight = world->flights[--world->flight_count];
}

static inline struct ff_mask random_part(struct world *world) {
    uint32_t first = below(world, FF_BLOCK_PAGES);
    return ff_mask_of_run(first, first + below(world, FF_BLOCK_PAGES));
}

/* The migration to the device of a flight, which may end half-way. Nothing arrives unless all
 * victims have left. */
static inline void carry_in(struct world *world, struct flight *flight) {
    struct ff__job *job = &flight->job;
    struct ff_mask part = random_part(world);
    bool fails = below(world, 6) == 0;
    for (uint32_t i = 0; i < job->out_count; i++) {
        if (ff_mask_empty(&job->out[i].left))
            continue;
        job->in.left = job->in.pages;
        return;
    }
    fake_begin(&job->in);
    fake_move(&world->fake, &job->in, fails ? &part : NULL);
    struct ff_mask there = fake_on_devices(&world->fake, job->in.block);
    seen[SEEN_TWO_DEVICES] +=
        !ff_mask_equal(&there, &world->fake.blocks[job->in.block].on[job->in.to.tier]);
    struct ff_mask came = ff_mask_minus(&job->in.pages, &job->in.left);
    world->waiting[job->in.block] = ff_mask_minus(&world->waiting[job->in.block], &came);
}

/* One move, or the end. */
static inline void step_flight(struct world *world, struct flight *flight) {
    struct ff__job *job = &flight->job;
    struct ff_mask part = random_part(world);
    if (flight->stage < job->out_count) {
        bool fails = !job->out[flight->stage].freed && below(world, 6) == 0;
        fake_begin(&job->out[flight->stage]);
        fake_move(&world->fake, &job->out[flight->stage], fails ? &part : NULL);
        flight->stage++;
    } else if (flight->stage == job->out_count && job->has_in) {
        carry_in(world, flight);
        flight->stage++;
    } else {
        finish_flight(world, flight);
    }
}

static inline void step_any_flight(struct world *world) {
    if (world->flight_count > 0)
        step_flight(world, &world->flights[below(world, world->flight_count)]);
}

/* Where the next job goes; jobs under way make room if need be. */
static inline struct ff__job *next_job(struct world *world) {
    while (world->flight_count == FLIGHTS)
        step_any_flight(world);
    return &world->flights[world->flight_count].job;
}

static inline void start_flight(struct world *world, bool advised) {
    struct flight *flight = &world->flights[world->flight_count++];
    flight->stage = 0;
    flight->advised = advised;
    check_new_job(world, &flight->job);
    claim_job(world, &flight->job, true);
}

/* ---- faults ---- */

static inline void try_later(struct world *world, const struct ff_fault_group *group,
                             const struct ff_mask *pages, uint64_t due_ns) {
    if (world->retry_count == RETRIES) {
        fake_blame(&world->fake, "faults pile up");
        return;
    }
    struct retry *retry = &world->retries[world->retry_count++];
    retry->group = *group;
    retry->group.faulted = *pages;
    retry->due_ns = due_ns;
}

/* Demand is never dropped: each page of the group is served, remembered by the engine, or given
 * back to be tried again. */
static inline void check_served(struct world *world, const struct ff_fault_group *group,
                                const struct ff__job *job, const struct ff_mask *absent) {
    struct ff_mask cared = ff_mask_or(&job->faulted, &job->throttled);
    bool late = world->engine.late[group->block].tiers >> group->tier & 1;
    bool in_part = !ff_mask_equal(&cared, absent);
    seen[SEEN_PART_LATE] += in_part;
    if (!ff_mask_within(&cared, absent) || (in_part && !late))
        fake_blame(&world->fake, "block %u: faults are dropped", group->block);
    if (job->in.block != group->block || job->in.to.tier != group->tier)
        fake_blame(&world->fake, "block %u: the job serves another", group->block);
}

static inline void serve(struct world *world, struct ff_fault_group *group) {
    struct ff__job *job = next_job(world);
    struct ff_mask present = {{0}};
    if (!ff__facts(space_of(world), group->block)->busy) {
        struct ff_mask mapped = ff__mapped(&world->engine, group->block);
        present = ff__block_present(space_of(world), group->block);
        present = ff_mask_or(&present, &mapped);
    }
    struct ff_mask absent = ff_mask_minus(&group->faulted, &present);
    int status = ff__engine_fault(&world->engine, world->now_ns, group, job);
    log_job(world, status, job);
    switch (status) {
    case FF__JOB_RUN:
        check_served(world, group, job, &absent);
        if (!job->in.mapped)
            world->faults += ff_mask_count(&job->faulted);
        if (!ff_mask_empty(&job->throttled))
            try_later(world, group, &job->throttled, job->retry_ns);
        start_flight(world, false);
        return;
    case FF__JOB_WAIT:
        if (!ff_mask_equal(&job->throttled, &absent) || job->retry_ns <= world->now_ns)
            fake_blame(&world->fake, "block %u: waits for nothing", group->block);
        try_later(world, group, &absent, job->retry_ns);
        return;
    case FF__JOB_NO_ROOM:
        if (world->flight_count == 0 && world->outside == FF_NONE && job->retry_ns == 0)
            fake_blame(&world->fake, "block %u: no room, but nothing is under way", group->block);
        try_later(world, group, &absent, job->retry_ns > 0 ? job->retry_ns : world->now_ns);
        return;
    case FF__JOB_NONE:
        if (!ff_mask_empty(&absent))
            fake_blame(&world->fake, "block %u: absent pages are not served", group->block);
        world->waiting[group->block] =
            ff_mask_minus(&world->waiting[group->block], &group->faulted);
        return;
    case FF__JOB_LATER:
        if (!ff__facts(space_of(world), group->block)->busy)
            fake_blame(&world->fake, "block %u: later, but it is idle", group->block);
        return;
    default:
        fake_blame(&world->fake, "block %u: a fault ends with %d", group->block, status);
    }
}

static inline void step_retry(struct world *world) {
    if (world->retry_count == 0)
        return;
    uint32_t i = below(world, world->retry_count);
    if (world->retries[i].due_ns > world->now_ns)
        return;
    struct ff_fault_group group = world->retries[i].group;
    world->retries[i] = world->retries[--world->retry_count];
    serve(world, &group);
}

static inline bool step_late(struct world *world) {
    struct ff_fault_group group;
    if (!ff__engine_take_late(&world->engine, &group))
        return false;
    seen[SEEN_LATE]++;
    serve(world, &group);
    return true;
}

/* ---- what the program does ---- */

/* A block of a live range; FF_NONE if there is none. */
static inline uint32_t live_block(struct world *world) {
    if (world->range_count == 0)
        return FF_NONE;
    uint32_t id = world->ranges[below(world, world->range_count)];
    const struct ff_range *range = &space_of(world)->ranges[id];
    return range->first_block + below(world, range->block_count);
}

/* Some pages of the block: one, a few in a row, or all. */
static inline struct ff_mask some_pages(struct world *world, uint32_t block) {
    uint32_t count = space_of(world)->blocks[block].page_count, first = below(world, count);
    static const uint32_t lengths[] = {1, 1, 4, 16, 40, 512};
    uint32_t end = first + 1 + below(world, lengths[below(world, 6)]);
    if (below(world, 20) == 0)
        first = 0, end = count;
    return ff_mask_of_run(first, end < count ? end : count);
}

static inline void step_access(struct world *world) {
    uint32_t block = live_block(world);
    if (block == FF_NONE || world->retry_count > THREADS)
        return; /* every thread of the program waits */
    bool write = below(world, 2) != 0;
    struct ff_mask pages = some_pages(world, block);
    struct ff_fault_group group = {.block = block, .tier = FF_NONE, .launch = FF_NONE};
    FF_MASK_FOR_EACH_PAGE(&pages, page) {
        if (!fake_touch(&world->fake, block, page, write))
            ff_mask_set(&group.faulted, page);
    }
    if (ff_mask_empty(&group.faulted))
        return;
    world->waiting[block] = ff_mask_or(&world->waiting[block], &group.faulted);
    if (below(world, 8) == 0)
        group.faulted = pages; /* some faults are old news when they are read */
    if (write)
        group.written = group.faulted;
    if (below(world, 4) == 0)
        group.tier = 1 + below(world, space_of(world)->tier_count - 1);
    serve(world, &group);
}

static inline void prefetch(struct world *world, const struct ff_advice *advice) {
    struct ff__job *job = next_job(world);
    int status = ff__engine_advise(&world->engine, world->now_ns, advice, job);
    log_job(world, status, job);
    if (status == FF__JOB_DROPPED)
        world->refused++;
    else if (status == FF__JOB_RUN)
        start_flight(world, true);
    else if (status != FF__JOB_NONE)
        fake_blame(&world->fake, "advice ends with %d", status);
}

static inline void step_advice(struct world *world) {
    struct ff_advice advice = {.block = live_block(world), .launch = FF_NONE};
    uint32_t choice = below(world, 10);
    if (choice == 0)
        advice.block = below(world, 2) ? FF_NONE - below(world, 3) : below(world, WINDOWS + 5);
    advice.tier = choice == 1 ? below(world, FF_TIERS_MAX + 3)
                              : 1 + below(world, space_of(world)->tier_count - 1);
    if (choice != 2)
        advice.pages = random_part(world);
    static const uint32_t granules[] = {0, FF_LEAF_PAGES, FF_BLOCK_PAGES, 1};
    advice.granule = below(world, 2) ? 0 : granules[below(world, 4)];
    if (choice == 3)
        advice.action = FF_EVICT;
    prefetch(world, &advice);
}

static inline void step_evict(struct world *world) {
    uint32_t block = live_block(world);
    if (block == FF_NONE)
        return;
    uint32_t tier = 1 + below(world, space_of(world)->tier_count - 1);
    bool kills = below(world, 4) == 0;
    struct ff_mask dead = some_pages(world, block);
    struct ff__job *job = next_job(world);
    int status = ff__engine_evict(&world->engine, world->now_ns, block, tier, NULL,
                                  kills ? &dead : NULL, job);
    log_job(world, status, job);
    if (status == FF__JOB_RUN)
        start_flight(world, false);
    else if ((status == FF__JOB_LATER) != (ff__facts(space_of(world), block)->busy != 0))
        fake_blame(&world->fake, "block %u: eviction ends with %d", block, status);
}

static inline void step_discard(struct world *world) {
    uint32_t block = live_block(world);
    if (block == FF_NONE || ff__facts(space_of(world), block)->busy)
        return;
    struct ff_mask pages = some_pages(world, block), there = fake_on_devices(&world->fake, block);
    struct ff_mask gone = ff_mask_minus(&pages, &there), mapped = ff__mapped(&world->engine, block);
    gone = ff_mask_minus(&gone, &mapped);
    fake_discard(&world->fake, block, &gone);
    ff__engine_discard(&world->engine, block, &pages); /* leaves alone what is in use */
}

/* The end of mappings: of a block that is asked for, or of one whose time has come. */
static inline void step_unmap(struct world *world) {
    uint32_t block = live_block(world);
    struct ff__job *job = next_job(world);
    bool one = below(world, 3) == 0;
    if (block == FF_NONE || !world->engine.mappings)
        return;
    int status = one ? ff__engine_unmap(&world->engine, block, job)
                     : ff__engine_unmap_due(&world->engine, world->now_ns, job);
    log_job(world, status, job);
    if (status == FF__JOB_RUN)
        start_flight(world, false);
    else if (status == FF__JOB_NONE && !one &&
             ff__engine_mapped_until(&world->engine) <= world->now_ns)
        fake_blame(&world->fake, "a mapping stays beyond its time");
}

static inline void step_preevict(struct world *world) {
    uint32_t tier = 1 + below(world, space_of(world)->tier_count - 1);
    struct ff__job *job = next_job(world);
    int status = ff__engine_preevict(&world->engine, world->now_ns, tier, job);
    log_job(world, status, job);
    seen[SEEN_PREEVICTED] += status == FF__JOB_RUN;
    if (status == FF__JOB_RUN)
        start_flight(world, false);
    else if (status != FF__JOB_NONE)
        fake_blame(&world->fake, "pre-eviction ends with %d", status);
}

static inline void step_launch(struct world *world) {
    uint32_t tier = 1 + below(world, space_of(world)->tier_count - 1);
    bool begins = below(world, 2) != 0;
    if (tell_launch(&world->engine, world->now_ns, tier, below(world, 6), begins))
        fake_blame(&world->fake, "a launch fails");
    world->launches += begins;
}

/* A step of the correlator may end much later than it has begun. */
static inline void step_correlator(struct world *world) {
    struct ff__learning_step *step = &world->learning;
    if (step->count > 0) {
        ff__engine_publish(&world->engine, step);
        step->count = 0;
    } else if (ff__engine_take_events(&world->engine, step)) {
        ff__engine_learn(&world->engine, step);
    }
    log_number(world, step->count);
}

static inline void step_policy_threads(struct world *world) {
    struct ff_advice items[16];
    struct ff_advice_list list = {.items = items, .capacity = 1 + below(world, 16)};
    step_correlator(world);
    ff__engine_plan(&world->engine, world->now_ns, &list);
    for (uint32_t i = 0; i < list.count; i++)
        prefetch(world, &items[i]);
}

/* Accesses of one device, near each other; any of them may be said to be anything. */
static inline void step_show(struct world *world) {
    struct ff_access accesses[FF__ACCESSES_MAX];
    struct ff_advice items[16];
    struct ff_advice_list list = {.items = items, .capacity = 1 + below(world, 16)};
    uint32_t tier = 1 + below(world, space_of(world)->tier_count - 1);
    uint32_t count = 1 + below(world, FF__ACCESSES_MAX), block = live_block(world);
    if (block == FF_NONE)
        return;
    for (uint32_t i = 0; i < count; i++) {
        block = below(world, 8) ? block : live_block(world);
        accesses[i] = (struct ff_access){
            .block = block,
            .page = (uint16_t)below(world, space_of(world)->blocks[block].page_count),
            .tier = (uint8_t)tier,
            .flags = (uint8_t)below(world, 8),
        };
    }
    const struct ff_access_batch batch = {.items = accesses, .count = count};
    ff__engine_access(&world->engine, world->now_ns, tier, &batch, &list);
    for (uint32_t i = 0; i < list.count; i++)
        prefetch(world, &items[i]);
}

/* A round of samples of some range, under any launch, and new numbers of last uses; nothing of it
 * need be true. */
static inline void step_samples(struct world *world) {
    struct ff_sample samples[64];
    struct ff_advice items[16];
    struct ff_advice_list list = {.items = items, .capacity = 1 + below(world, 16)};
    if (world->range_count == 0)
        return;
    uint32_t range = world->ranges[below(world, world->range_count)];
    const struct ff_range *r = &space_of(world)->ranges[range];
    struct ff_sample_round round = {.range = range,
                                    .tier = 1 + below(world, space_of(world)->tier_count - 1),
                                    .items = samples,
                                    .count = below(world, 65)};
    uint32_t running = ff__running_latest(&world->engine.running[round.tier]);
    round.launch = below(world, 4) ? running : below(world, 6);
    for (uint32_t i = 0; i < round.count; i++) {
        uint32_t block = r->first_block + below(world, r->block_count);
        uint32_t page = below(world, space_of(world)->blocks[block].page_count);
        samples[i] =
            (struct ff_sample){.block = block, .page = (uint16_t)page, .page_count = 1, .rank = i};
        world->page_used[block * FF_BLOCK_PAGES + page] = below(world, UINT32_MAX);
    }
    world->range_used[range] = below(world, 2) ? world->now_ns : below(world, UINT32_MAX);
    ff__engine_samples(&world->engine, world->now_ns, &round, &list);
    for (uint32_t i = 0; i < list.count; i++)
        prefetch(world, &items[i]);
}

/* Writes absent pages of an idle block past the device, in two steps: as ff_mem_write() does. */
static inline void step_outside(struct world *world) {
    struct ff__space *space = space_of(world);
    uint32_t block = world->outside;
    if (block != FF_NONE) {
        world->outside = FF_NONE;
        fake_write_host(&world->fake, block, &world->outside_pages, 0, NULL);
        ff__engine_release_block(&world->engine, block, &world->outside_pages);
        return;
    }
    block = live_block(world);
    if (block == FF_NONE || ff__facts(space, block)->busy)
        return;
    struct ff_mask pages = some_pages(world, block), present = ff__block_present(space, block);
    struct ff_mask mapped = ff__mapped(&world->engine, block);
    world->outside_pages = ff_mask_minus(&pages, &present);
    world->outside_pages = ff_mask_minus(&world->outside_pages, &mapped);
    world->outside = block;
    ff__facts(space, block)->busy = 1;
}

/* ---- ranges ---- */

static inline void step_add_range(struct world *world) {
    if (world->range_count == RANGES)
        return;
    uint64_t pages = 1 + below(world, below(world, 3) ? 100 : 4000);
    uint32_t lead = below(world, 3) ? 0 : below(world, FF_BLOCK_PAGES), range = 0;
    uint32_t home = 1 + below(world, space_of(world)->tier_count - 1);
    int status = ff__engine_range_add(&world->engine, pages, lead, home, &range);
    log_number(world, status ? FF_NONE : range);
    if (status == 0)
        world->ranges[world->range_count++] = range;
    else if (status != -ENOMEM)
        fake_blame(&world->fake, "a range cannot be added: %d", status);
}

static inline bool range_is_idle(struct world *world, const struct ff_range *range) {
    for (uint32_t i = 0; i < range->block_count; i++)
        if (ff__facts(space_of(world), range->first_block + i)->busy)
            return false;
    return true;
}

/* Off every device, at once, and closed. */
static inline void clear_block(struct world *world, uint32_t block) {
    for (uint32_t tier = 1; tier < space_of(world)->tier_count; tier++) {
        struct ff__job *job = next_job(world);
        if (ff__engine_evict(&world->engine, world->now_ns, block, tier, NULL, NULL, job) !=
            FF__JOB_RUN)
            continue;
        job->out[0].freed = true;
        start_flight(world, false);
        while (world->claimed[block])
            step_flight(world, &world->flights[world->flight_count - 1]);
    }
    struct ff__job *job = next_job(world);
    if (ff__engine_unmap(&world->engine, block, job) == FF__JOB_RUN) {
        job->out[0].freed = true;
        start_flight(world, false);
        while (world->claimed[block])
            step_flight(world, &world->flights[world->flight_count - 1]);
    }
    ff__engine_close_block(&world->engine, block);
}

static inline void forget_threads(struct world *world, uint32_t block) {
    ff_mask_clear(&world->waiting[block]);
    for (uint32_t i = world->retry_count; i > 0; i--)
        if (world->retries[i - 1].group.block == block)
            world->retries[i - 1] = world->retries[--world->retry_count];
    fake_forget(&world->fake, block);
}

static inline void step_remove_range(struct world *world) {
    if (world->range_count == 0)
        return;
    while (world->flight_count == FLIGHTS)
        step_any_flight(world); /* so that the last flight is the one begun last */
    uint32_t at = below(world, world->range_count), id = world->ranges[at];
    struct ff_range range = space_of(world)->ranges[id];
    if (!range_is_idle(world, &range))
        return;
    for (uint32_t i = 0; i < range.block_count; i++)
        clear_block(world, range.first_block + i);
    for (uint32_t i = 0; i < range.block_count; i++) {
        struct ff_fault_group lost = {.block = range.first_block + i, .tier = FF_NONE};
        lost.faulted = some_pages(world, lost.block);
        if (below(world, 2)) /* too late: a thread that uses memory while it is freed */
            serve(world, &lost);
        forget_threads(world, range.first_block + i);
    }
    ff__engine_range_remove(&world->engine, id);
    seen[SEEN_REMOVED]++;
    world->ranges[at] = world->ranges[--world->range_count];
}

/* ---- capacity ---- */

/* Most of the time the devices have all their memory. */
static inline void step_capacity(struct world *world) {
    struct ff__space *space = space_of(world);
    uint32_t tier = 1 + below(world, space->tier_count - 1);
    uint64_t pages = below(world, 3) ? space->most : 1 + below(world, (uint32_t)space->most);
    int status = ff__engine_set_memory(&world->engine, tier, pages * FF_PAGE_SIZE);
    if (status != (pages < FF_BLOCK_PAGES ? -EINVAL : 0))
        fake_blame(&world->fake, "the capacity cannot be set: %d", status);
    seen[SEEN_ABOVE_CAPACITY] += ff__memory_of(&world->engine, tier).excess > 0;
}

/* ---- living ---- */

static inline void check_world(struct world *world) {
    struct ff__space *space = space_of(world);
    struct ff_error error = {""};
    if (ff__engine_check(&world->engine, &error))
        fake_blame(&world->fake, "%s", error.message);
    if (space->stats.resident > space->stats.capacity + space->stats.overshoot ||
        space->stats.resident_peak > space->most * FF_PAGE_SIZE * (space->tier_count - 1))
        fake_blame(&world->fake, "more is resident than there is memory");
    for (uint32_t block = 0; block < WINDOWS; block++) {
        struct ff_mask mapped = ff__mapped(&world->engine, block);
        if (space->blocks[block].page_count == 0 || ff__facts(space, block)->busy)
            continue;
        fake_compare(&world->fake, block);
        if (!ff_mask_equal(&mapped, &world->fake.blocks[block].mapped))
            fake_blame(&world->fake, "block %u: the engine is wrong about what is mapped", block);
        seen[SEEN_STILL_MAPPED] += world->engine.mappings && world->engine.mappings[block].stays;
    }
    if (world->fake.violation[0])
        fail_msg("%s (at %llu ns)", world->fake.violation, (unsigned long long)world->now_ns);
}

static inline void step_world(struct world *world) {
    typedef void (*step_fn)(struct world *);
    static const struct {
        uint32_t weight;
        step_fn step;
    } steps[] = {
        {300, step_access},  {420, step_any_flight},    {40, step_advice},
        {25, step_evict},    {10, step_discard},        {20, step_preevict},
        {15, step_launch},   {20, step_policy_threads}, {12, step_outside},
        {8, step_add_range}, {5, step_remove_range},    {60, step_retry},
        {20, step_show},     {6, step_capacity},        {20, step_samples},
        {20, step_unmap},
    };
    uint32_t choice = below(world, 1001), i = 0;
    while (choice >= steps[i].weight)
        choice -= steps[i++].weight;
    steps[i].step(world);
    world->now_ns += below(world, 20000);
    if (below(world, 3))
        step_late(world);
}

static inline uint64_t earliest_retry(const struct world *world) {
    uint64_t due = world->now_ns + 1000;
    for (uint32_t i = 0; i < world->retry_count; i++)
        if (i == 0 || world->retries[i].due_ns < due)
            due = world->retries[i].due_ns;
    return due;
}

/* Lets everything come to its end: then every fault has been answered. */
static inline void settle_world(struct world *world) {
    for (uint32_t i = 0; i < 200000; i++) {
        if (world->outside != FF_NONE)
            step_outside(world);
        if (!step_late(world) && world->flight_count == 0 && world->retry_count == 0)
            break;
        step_any_flight(world);
        step_retry(world);
        if (world->flight_count == 0 && earliest_retry(world) > world->now_ns)
            world->now_ns = earliest_retry(world);
    }
    if (world->flight_count > 0 || world->retry_count > 0)
        fake_blame(&world->fake, "it never comes to rest");
    for (uint32_t block = 0; block < WINDOWS; block++)
        if (!ff_mask_empty(&world->waiting[block]))
            fake_blame(&world->fake, "block %u: faults are not answered", block);
    check_world(world);
}

/* Both have counted the same. */
static inline void check_conservation(struct world *world) {
    const struct ff_stats *stats = &space_of(world)->stats;
    assert_int_equal(stats->pages_in, world->fake.in);
    assert_int_equal(stats->pages_mapped, world->fake.mapped);
    assert_int_equal(stats->populated, world->fake.populated);
    assert_int_equal(stats->pages_out, world->fake.out);
    assert_int_equal(stats->pages_dropped, world->fake.dropped);
    assert_int_equal(stats->evictions, world->fake.evictions);
    assert_int_equal(stats->faults, world->faults);
    assert_int_equal(stats->prefetched, world->prefetched);
    if (seen[SEEN_SPLIT_IN] == 0 && (strcmp(world->engine.place->base.name, "host") == 0 ||
                                     world->engine.place == &rogue_nowhere))
        assert_int_equal(stats->advice_dropped, world->refused + rogue_places);
    assert_true(stats->advice_dropped >= world->refused);
    assert_int_equal(stats->launches, world->launches);
    assert_true(stats->write_faults <= stats->faults && stats->refaults <= stats->faults);
    assert_true(stats->resident_peak >= stats->resident);
}

static inline void remove_everything(struct world *world) {
    for (uint32_t i = 0; i < 10000 && world->range_count > 0; i++) {
        step_remove_range(world);
        settle_world(world);
    }
    assert_int_equal(world->range_count, 0);
    for (uint32_t tier = 1; tier < space_of(world)->tier_count; tier++)
        assert_int_equal(space_of(world)->frames[tier].leaves_used, 0);
    assert_int_equal(space_of(world)->stats.resident, 0);
    assert_int_equal(space_of(world)->stats.allocated, 0);
}

/* A whole life; returns the hash of all decisions. */
static inline uint64_t live(const struct world_shape *shape, unsigned long steps) {
    static struct world world;
    world_open(&world, shape);
    for (int i = 0; i < 4; i++)
        step_add_range(&world);
    for (unsigned long i = 0; i < steps; i++) {
        step_world(&world);
        check_world(&world);
    }
    settle_world(&world);
    check_conservation(&world);
    remove_everything(&world);
    assert_string_equal(world.engine.failure.message, "");
    uint64_t log = world.log;
    world_close(&world);
    return log;
}

#endif
