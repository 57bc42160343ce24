/* Memory of the devices: who holds it, and who leaves when somebody needs it.
 *
 * It is allocated in one of two ways. By the block, as in the NVIDIA driver: one touched page of a
 * full block takes 2 MiB, and evicting a victim empties its whole root. Or by the page, as in
 * UVMSmart's device: a move takes as many pages as it brings, and an eviction frees as many as the
 * policy names. */
#include "engine/internal.h"

#include <string.h>

#define VICTIMS_MAX   16u
#define MILLISECOND   UINT64_C(1000000)
#define REFUSAL_FIRST MILLISECOND         /* ours: how long who could not leave is let alone, */
#define REFUSAL_MAX   (100 * MILLISECOND) /* doubled each time up to this */
#define GRACE_FIRST   (MILLISECOND / 20)  /* ours: how long who has come may stay, once blocks */
#define GRACE_MAX     (20 * MILLISECOND)  /* take each other's memory; doubled likewise */
#define GRACE_LASTS   (100 * MILLISECOND)
#define UNUSED_WITHIN (2 * MILLISECOND) /* ours: who is back by then has hardly been used, */
#define UNUSED_MANY   16u               /* and so many of them are no chance */

void ff__memory_count(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    uint64_t bytes = 0, spare = 0;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        bytes += space->by_page ? ff__space_held(space, tier) * FF_PAGE_SIZE
                                : (uint64_t)space->frames[tier].leaves_used * FF_LEAF_SIZE;
        spare += (uint64_t)space->frames[tier].spare_used * FF_BLOCK_SIZE;
    }
    space->stats.resident = bytes;
    if (bytes > space->stats.resident_peak)
        space->stats.resident_peak = bytes;
    space->stats.overshoot = spare;
    if (spare > space->stats.overshoot_peak)
        space->stats.overshoot_peak = spare;
}

/* ---- who stays for now ---- */

/* Blocks that the kernel has pinned, or the program has locked, cannot leave; when that ends is not
 * told, so they are tried again, less and less often. */
static void refuse(struct ff__engine *engine, uint32_t block) {
    struct ff__stay *stay = &engine->stay[block];
    engine->refused_count += stay->delay_ns == 0;
    stay->delay_ns = stay->delay_ns == 0 ? REFUSAL_FIRST : 2 * stay->delay_ns;
    if (stay->delay_ns > REFUSAL_MAX)
        stay->delay_ns = REFUSAL_MAX;
    stay->refused_ns = engine->view.now_ns + stay->delay_ns;
}

void ff__memory_forget_refusal(struct ff__engine *engine, uint32_t block) {
    if (engine->refused_count == 0 || engine->stay[block].delay_ns == 0)
        return;
    engine->refused_count--;
    engine->stay[block].delay_ns = engine->stay[block].refused_ns = 0;
}

static bool is_refused(const struct ff__engine *engine, uint32_t block) {
    return engine->refused_count > 0 && engine->stay[block].refused_ns > engine->view.now_ns;
}

/* Threads that need more blocks at a time than there is room for would take them from each other
 * before anybody has used his own: a page that was served is faulted on again at once. So once that
 * is seen again and again, who has come may stay for a while, longer as long as it goes on. */
void ff__memory_faulted(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages) {
    const struct ff__stay *stay = &engine->stay[block];
    uint64_t now = engine->view.now_ns;
    if (engine->unused_count > 0 && now > engine->unused_ns + GRACE_LASTS)
        engine->unused_count = 0, engine->grace_ns = 0;
    bool again = stay->served_ns > 0 && !ff_view_holds(&engine->view, tier, block) &&
                 ff_mask_test(pages, stay->page) &&
                 now < stay->served_ns + UNUSED_WITHIN + 4 * engine->grace_ns;
    if (!again)
        return;
    engine->unused_ns = now;
    if (++engine->unused_count % UNUSED_MANY != 0)
        return;
    engine->grace_ns = engine->grace_ns == 0 ? GRACE_FIRST : 2 * engine->grace_ns;
    if (engine->grace_ns > GRACE_MAX)
        engine->grace_ns = GRACE_MAX;
}

void ff__memory_served(struct ff__engine *engine, uint32_t block, uint32_t page) {
    engine->stay[block].served_ns = engine->view.now_ns;
    engine->stay[block].page = page;
}

static bool has_grace(const struct ff__engine *engine, uint32_t block) {
    return engine->grace_ns > 0 &&
           engine->stay[block].served_ns + engine->grace_ns > engine->view.now_ns;
}

uint64_t ff__memory_retry(const struct ff__engine *engine) {
    if (engine->grace_ns > 0)
        return engine->view.now_ns + engine->grace_ns;
    return engine->refused_count > 0 ? engine->view.now_ns + REFUSAL_FIRST : 0;
}

static bool may_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return ff_view_evictable(&engine->view, tier, block) && !is_refused(engine, block) &&
           !has_grace(engine, block);
}

bool ff__memory_can_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          const struct ff_mask *pages) {
    const struct ff_mask *resident = ff_view_resident(&engine->view, tier, block);
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    return may_leave(engine, tier, block) && !ff_mask_empty(&going);
}

/* ---- who is kept, and who only passes ---- */

void ff__memory_keep(struct ff__engine *engine, uint32_t block, uint64_t until_ns) {
    engine->stay[block].keep_ns = until_ns;
    engine->keeps = true;
}

bool ff__memory_is_held(const struct ff__engine *engine, uint32_t block) {
    return ff__facts(&engine->space, block)->pinned ||
           (engine->keeps && engine->stay[block].keep_ns > engine->view.now_ns);
}

bool ff__memory_pass(struct ff__engine *engine, uint32_t tier, uint32_t block) {
    struct ff__passing *passing = &engine->passing[tier];
    for (uint32_t i = 0; i < passing->count; i++)
        if (passing->blocks[i] == block)
            return true;
    if (passing->count == FF__PASSING_MAX)
        return false;
    passing->blocks[passing->count++] = block;
    return true;
}

/* Takes the oldest one that can leave off the list, and those that hold nothing; FF_NONE: there is none. */
static uint32_t take_passing(struct ff__engine *engine, const struct ff_evict_request *request) {
    struct ff__passing *passing = &engine->passing[request->tier];
    uint32_t found = FF_NONE, kept = 0;
    for (uint32_t i = 0; i < passing->count; i++) {
        uint32_t block = passing->blocks[i];
        if (found == FF_NONE && block != request->for_block &&
            may_leave(engine, request->tier, block) && !ff__memory_is_held(engine, block))
            found = block;
        else if (ff_view_holds(&engine->view, request->tier, block) || block == request->for_block)
            passing->blocks[kept++] = block;
    }
    passing->count = kept;
    return found;
}

void ff__memory_forget_advice(struct ff__engine *engine, uint32_t block) {
    engine->stay[block].keep_ns = 0;
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++) {
        struct ff__passing *passing = &engine->passing[tier];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < passing->count; i++)
            if (passing->blocks[i] != block)
                passing->blocks[kept++] = passing->blocks[i];
        passing->count = kept;
    }
}

/* ---- leaving ---- */

static struct ff__move *find_out(struct ff__job *job, uint32_t block, uint32_t tier) {
    for (uint32_t i = 0; i < job->out_count; i++)
        if (job->out[i].block == block && job->out[i].from.tier == tier)
            return &job->out[i];
    if (job->out_count == FF__OUTS_MAX)
        return NULL;
    struct ff__move *out = &job->out[job->out_count++];
    *out =
        (struct ff__move){.block = block, .from = {tier, FF_NONE}, .to = {FF_TIER_HOST, FF_NONE}};
    return out;
}

/* The block holds nothing on the device any more. */
static void release(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    ff__set_frame(&engine->space, tier, block, FF_NONE);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_RELEASED, block, tier, NULL});
}

void ff__memory_release_if_empty(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_facts *facts = ff__facts(&engine->space, block);
    if (engine->space.by_page && facts->memory[tier] != 0 &&
        ff_mask_empty(&facts->tier[tier].resident) &&
        ff_mask_empty(&ff__page_facts(&engine->space, block)->coming))
        release(engine, block, tier);
}

bool ff__memory_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, const struct ff_mask *dead,
                      struct ff__job *job) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    struct ff_mask *resident = &facts->tier[tier].resident;
    struct ff__move *out = find_out(job, block, tier);
    if (!out)
        return false;
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    struct ff_mask staying = ff_mask_minus(resident, &going);
    out->from.frame = ff_facts_frame(facts, tier);
    out->pages = ff_mask_or(&out->pages, &going);
    out->held = ff_mask_and(&out->pages, &facts->tier[FF_TIER_HOST].resident);
    out->whole = ff_mask_empty(&staying);
    ff__memory_place(engine, block, tier);
    ff_mask_clear(&out->dead);
    if (engine->discard->dead)
        engine->discard->dead(engine->discard_state, &engine->view, block, &out->dead);
    /* a policy can cost time, never data: only what has been declared dead is */
    out->dead = ff_mask_and(&out->dead, &facts->inactive);
    if (dead)
        out->dead = ff_mask_or(&out->dead, dead);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_PAGES, block, tier, &going});
    if (engine->space.by_page) {
        struct ff_mask *leaving = &ff__page_facts(&engine->space, block)->leaving;
        *resident = staying;
        *leaving = ff_mask_or(leaving, &going);
        ff__memory_release_if_empty(engine, block, tier);
        return true;
    }
    facts->busy = 1;
    if (out->whole)
        release(engine, block, tier);
    return true;
}

/* Pages that did not leave: the block has its memory as before, and is used as anything that comes. */
static void stay(struct ff__engine *engine, const struct ff__job *job, const struct ff__move *out) {
    const struct ff_mask *stayed = &out->left;
    struct ff__space *space = &engine->space;
    uint32_t block = out->block, tier = out->from.tier;
    struct ff_facts *facts = ff__facts(space, block);
    if (space->by_page) {
        struct ff_mask *leaving = &ff__page_facts(space, block)->leaving;
        *leaving = ff_mask_minus(leaving, stayed);
        facts->tier[tier].resident = ff_mask_or(&facts->tier[tier].resident, stayed);
    } else if (out->whole && job->took_root && tier == job->in.to.tier) {
        ff__frames_give_back(&space->frames[tier], out->from.frame,
                             ff__engine_leaves(engine, block), block);
    }
    if (facts->memory[tier] == 0) {
        ff__set_frame(space, tier, block, out->from.frame);
        ff__tell_arrival(engine, &(struct ff_arrival){
                                     .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
    }
    ff__tell_arrival(engine,
                     &(struct ff_arrival){
                         .kind = FF_ARRIVAL_STAYED, .block = block, .tier = tier, .pages = stayed});
    refuse(engine, block);
}

void ff__memory_left(struct ff__engine *engine, const struct ff__job *job,
                     const struct ff__move *out) {
    struct ff__space *space = &engine->space;
    struct ff_facts *facts = ff__facts(space, out->block);
    bool all_left = ff_mask_empty(&out->left);
    if (!all_left)
        stay(engine, job, out);
    else
        ff__memory_forget_refusal(engine, out->block);
    if (space->by_page) {
        struct ff_mask *leaving = &ff__page_facts(space, out->block)->leaving;
        *leaving = ff_mask_minus(leaving, &out->pages);
        space->free_pages[out->from.tier] += ff_mask_count(&out->pages);
    } else {
        bool passed_on = job->took_root && out->from.tier == job->in.to.tier;
        if (out->whole && all_left && !passed_on)
            ff__frames_free(&space->frames[out->from.tier], out->from.frame,
                            ff__engine_leaves(engine, out->block));
        facts->busy = 0;
    }
}

/* By block: nothing has come. */
static void give_up_frame(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff__frames *frames = &engine->space.frames[in->to.tier];
    if (!in->whole)
        return; /* it was there before, and still is */
    release(engine, in->block, in->to.tier);
    if (job->took_root)
        ff__frames_free_owner(frames, in->to.frame / FF_ROOT_LEAVES, in->block);
    else
        ff__frames_free(frames, in->to.frame, ff__engine_leaves(engine, in->block));
}

void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job) {
    struct ff__space *space = &engine->space;
    const struct ff__move *in = &job->in;
    struct ff_facts *facts = ff__facts(space, in->block);
    if (space->by_page) {
        struct ff_mask *coming = &ff__page_facts(space, in->block)->coming;
        *coming = ff_mask_minus(coming, &in->pages);
        *coming = ff_mask_minus(coming, &in->left);
        space->free_pages[in->to.tier] -= job->owed;
        space->free_pages[in->to.tier] += ff_mask_count(&in->left);
        if (ff_mask_empty(&in->pages)) /* by parts everything else has come, or nothing has */
            ff__memory_release_if_empty(engine, in->block, in->to.tier);
        for (uint32_t tier = 1; tier < space->tier_count; tier++)
            if (tier != in->to.tier)
                ff__memory_release_if_empty(engine, in->block, tier);
        return;
    }
    facts->busy = 0;
    if (ff_mask_empty(&in->pages))
        give_up_frame(engine, job);
    else if (job->took_root)
        ff__frames_trim_root(&space->frames[in->to.tier], in->to.frame / FF_ROOT_LEAVES,
                             ff__engine_leaves(engine, in->block));
}

/* ---- by the block ---- */

static bool all_evictable(const struct ff__engine *engine, uint32_t tier, const uint32_t *owners,
                          uint32_t count, bool held_too) {
    for (uint32_t i = 0; i < count; i++)
        if (!may_leave(engine, tier, owners[i]) ||
            (ff__memory_is_held(engine, owners[i]) && !held_too))
            return false;
    return count > 0;
}

/* Whether every block in the root could leave now. */
static bool root_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t root,
                           bool held_too) {
    uint32_t owners[FF_ROOT_LEAVES];
    uint32_t count = ff_view_root_blocks(&engine->view, tier, root, owners);
    return all_evictable(engine, tier, owners, count, held_too);
}

/* When the policy names nobody who can go, a waiting fault takes the lowest root that can. */
static uint32_t any_root(const struct ff__engine *engine, uint32_t tier) {
    for (int held_too = 0; held_too < 2; held_too++)
        for (uint32_t root = 0; root < ff__frames_end(&engine->space.frames[tier]); root++)
            if (root_evictable(engine, tier, root, held_too))
                return root;
    return FF_NONE;
}

static bool is_victim(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return block < engine->space.block_limit && engine->space.blocks[block].page_count > 0 &&
           may_leave(engine, tier, block);
}

/* Whether nobody can leave, however long one waits for jobs to finish: every root has a block that could
 * not. A system call that has one half of its buffer pinned and waits for the other would wait for
 * ever. */
static bool none_can_leave(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    if (engine->refused_count == 0)
        return false;
    for (uint32_t root = 0; root < ff__frames_end(frames); root++) {
        uint32_t owners[FF_ROOT_LEAVES],
            count = ff_view_root_blocks(&engine->view, tier, root, owners);
        bool has_refused = false;
        for (uint32_t i = 0; i < count; i++)
            has_refused = has_refused || is_refused(engine, owners[i]);
        if (count > 0 && !has_refused)
            return false;
    }
    return true;
}

/* The first spare root whose blocks can all leave; FF_NONE: none. */
static uint32_t spare_to_empty(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    for (uint32_t root = frames->root_count; root < ff__frames_end(frames); root++)
        if (root_evictable(engine, tier, root, false))
            return root;
    return FF_NONE;
}

/* The blocks of the root that is to go: that of the first of the policy's victims who can go with all who
 * share its root. 0: nobody. */
static uint32_t choose_root(struct ff__engine *engine, const struct ff_evict_request *request,
                            uint32_t owners[FF_ROOT_LEAVES]) {
    struct ff_victim items[VICTIMS_MAX];
    struct ff_victim_list victims = {items, 0, VICTIMS_MAX};
    uint32_t tier = request->tier, passing = take_passing(engine, request);
    if (passing != FF_NONE) {
        uint32_t count = ff_view_root_mates(&engine->view, tier, passing, owners);
        if (all_evictable(engine, tier, owners, count, false))
            return count;
    }
    engine->evict->pick(engine->evict_state[tier], &engine->view, request, &victims);
    for (uint32_t i = 0; i < victims.count; i++) {
        uint32_t block = items[i].block;
        if (block == request->for_block || !is_victim(engine, tier, block))
            continue;
        uint32_t count = ff_view_root_mates(&engine->view, tier, block, owners);
        if (all_evictable(engine, tier, owners, count, false))
            return count;
    }
    uint32_t root = request->cause == FF_EVICT_FOR_FAULT ? any_root(engine, tier) : FF_NONE;
    return root == FF_NONE ? 0 : ff_view_root_blocks(&engine->view, tier, root, owners);
}

/* Sends everything in one root away. The driver, too, evicts whole roots: all blocks that share one.
 * Returns the root, or FF_NONE. */
static uint32_t evict_root(struct ff__engine *engine, const struct ff_evict_request *request,
                           struct ff__job *job) {
    uint32_t owners[FF_ROOT_LEAVES], count = choose_root(engine, request, owners);
    if (count == 0)
        return FF_NONE;
    uint32_t root = ff__frame(&engine->space, request->tier, owners[0]) / FF_ROOT_LEAVES;
    for (uint32_t i = 0; i < count; i++)
        ff__memory_leave(engine, owners[i], request->tier, NULL, NULL, job);
    return root;
}

static void empty_spare_root(struct ff__engine *engine, uint32_t tier, uint32_t root,
                             struct ff__job *job) {
    uint32_t owners[FF_ROOT_LEAVES];
    uint32_t count = ff_view_root_blocks(&engine->view, tier, root, owners);
    for (uint32_t i = 0; i < count; i++)
        ff__memory_leave(engine, owners[i], tier, NULL, NULL, job);
}

/* How many pages to keep free. */
static uint64_t stock_of(const struct ff__engine *engine, uint32_t tier) {
    return engine->evict->reserve ? engine->evict->reserve(engine->evict_state[tier], &engine->view)
                                  : (uint64_t)engine->stock * FF_BLOCK_PAGES;
}

/* How many pages the stock lacks that are not on their way out already. */
static uint64_t missing_of(const struct ff__engine *engine, uint32_t tier) {
    uint64_t stock = stock_of(engine, tier),
             there = ff_view_free_pages(&engine->view, tier) + engine->restocking[tier];
    return there < stock ? stock - there : 0;
}

/* Whether everything that the device uses finds room there at the same time. */
static bool all_fits(const struct ff__space *space, uint32_t tier) {
    return space->used[tier] <= space->capacity;
}

/* What the taker finds free. A prefetch leaves what the policy reserves for faults, unless nobody will
 * ever have to leave. */
static uint64_t free_for(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                         enum ff_evict_cause cause) {
    uint64_t there = ff_view_free_pages(&engine->view, tier);
    if (cause != FF_EVICT_FOR_PREFETCH || !engine->evict->withhold ||
        all_fits(&engine->space, tier))
        return there;
    uint64_t withheld = engine->evict->withhold(engine->evict_state[tier], &engine->view, block);
    return there > withheld ? there - withheld : 0;
}

static bool take_frame(struct ff__engine *engine, uint32_t block, uint32_t tier,
                       enum ff_evict_cause cause, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    struct ff__frames *frames = &space->frames[tier];
    if (ff_view_holds(&engine->view, tier, block))
        return true;
    uint32_t leaves = ff__engine_leaves(engine, block), frame = FF_NONE;
    if (leaves < FF_ROOT_LEAVES || free_for(engine, tier, block, cause) > 0)
        frame = ff__frames_alloc(frames, leaves, block);
    if (frame == FF_NONE) {
        struct ff_evict_request request = {cause, tier, block, space->blocks[block].page_count};
        uint32_t root = evict_root(engine, &request, job);
        if (root != FF_NONE)
            frame = ff__frames_take_root(frames, root, block);
        else if (cause == FF_EVICT_FOR_FAULT && none_can_leave(engine, tier))
            frame = ff__frames_alloc_spare(frames, leaves, block);
        if (frame == FF_NONE)
            return false;
        job->took_root = root != FF_NONE;
    }
    ff__set_frame(space, tier, block, frame);
    ff__tell_arrival(
        engine, &(struct ff_arrival){.kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
    return true;
}

/* ---- by the page ---- */

/* What of an advised victim can leave now. */
static struct ff_mask leavable(const struct ff__engine *engine, uint32_t tier,
                               const struct ff_victim *victim) {
    const struct ff_facts *facts = ff__facts(&engine->space, victim->block);
    if (!is_victim(engine, tier, victim->block) || ff__memory_is_held(engine, victim->block))
        return (struct ff_mask){{0}};
    const struct ff_mask *resident = &facts->tier[tier].resident;
    return ff_mask_empty(&victim->pages) ? *resident : ff_mask_and(&victim->pages, resident);
}

/* Evicts for `need` pages; returns how many will leave. */
static uint64_t evict_pages(struct ff__engine *engine, const struct ff_evict_request *request,
                            uint64_t need, struct ff__job *job) {
    uint32_t tier = request->tier;
    uint64_t found = 0, before;
    do {
        struct ff_victim items[VICTIMS_MAX];
        struct ff_victim_list victims = {items, 0, VICTIMS_MAX};
        struct ff_evict_request rest = *request;
        rest.pages = need - found;
        before = found;
        engine->evict->pick(engine->evict_state[tier], &engine->view, &rest, &victims);
        for (uint32_t i = 0; i < victims.count && found < need; i++) {
            struct ff_mask pages = leavable(engine, tier, &items[i]);
            if (ff_mask_empty(&pages))
                continue;
            if (!ff__memory_leave(engine, items[i].block, tier, &pages, NULL, job))
                return found;
            found += ff_mask_count(&pages);
        }
    } while (found < need && found > before);
    return found;
}

/* When the policy names nobody, a waiting fault takes the lowest block. */
static uint64_t evict_any(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    uint32_t pinned = FF_NONE, found = FF_NONE;
    for (uint32_t block = 0; block < engine->space.block_limit && found == FF_NONE; block++) {
        if (is_victim(engine, tier, block) && ff__memory_is_held(engine, block))
            pinned = block;
        else if (is_victim(engine, tier, block))
            found = block;
    }
    found = found == FF_NONE ? pinned : found;
    if (found == FF_NONE)
        return 0;
    uint64_t pages = ff_mask_count(&ff__facts(&engine->space, found)->tier[tier].resident);
    return ff__memory_leave(engine, found, tier, NULL, NULL, job) ? pages : 0;
}

/* Keeps `room` of the pages, the low ones of those that must come first. */
static void keep_some(struct ff_mask *wanted, const struct ff_mask *must, uint64_t room) {
    struct ff_mask kept = {{0}}, others = ff_mask_minus(wanted, must);
    struct ff_mask first = ff_mask_and(wanted, must);
    FF_MASK_FOR_EACH_PAGE(&first, page)
    if (room > 0) {
        ff_mask_set(&kept, page);
        room--;
    }
    FF_MASK_FOR_EACH_PAGE(&others, page)
    if (room > 0) {
        ff_mask_set(&kept, page);
        room--;
    }
    *wanted = kept;
}

static bool take_pages(struct ff__engine *engine, uint32_t block, uint32_t tier,
                       enum ff_evict_cause cause, const struct ff_mask *must,
                       struct ff_mask *wanted, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint64_t need = ff_mask_count(wanted), there = free_for(engine, tier, block, cause),
             leaving = 0;
    if (need > there) {
        struct ff_evict_request request = {cause, tier, block, need - there};
        leaving = evict_pages(engine, &request, need - there, job);
        if (there + leaving == 0 && cause == FF_EVICT_FOR_FAULT)
            leaving = evict_any(engine, tier, job);
        if (there + leaving < need) {
            keep_some(wanted, must, there + leaving);
            ff__engine_drop(engine, FF_DROP_NO_ROOM);
            need = there + leaving;
        }
    }
    if (need == 0)
        return false;
    uint64_t now = need < there ? need : there;
    space->free_pages[tier] -= now;
    job->owed = need - now;
    if (!ff_view_holds(&engine->view, tier, block)) {
        ff__set_frame(space, tier, block, 0);
        ff__tell_arrival(engine, &(struct ff_arrival){
                                     .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
    }
    return true;
}

/* ---- either ---- */

void ff__engine_press(struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (engine->space.frames[tier].spare_used > 0)
            engine->pressed[tier] = true;
}

void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier) {
    engine->pressed[tier] =
        missing_of(engine, tier) > 0 || engine->space.frames[tier].spare_used > 0;
    ff__memory_count(engine);
}

bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job) {
    bool taken = engine->space.by_page ? take_pages(engine, block, tier, cause, must, wanted, job)
                                       : take_frame(engine, block, tier, cause, job);
    if (taken)
        ff__memory_count_taken(engine, tier);
    return taken;
}

bool ff__memory_restock(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint32_t spare = spare_to_empty(engine, tier);
    if (spare != FF_NONE) {
        empty_spare_root(engine, tier, spare, job);
        return true;
    }
    uint64_t missing = all_fits(space, tier) ? 0 : missing_of(engine, tier);
    if (missing == 0) /* what fits as a whole needs no room for more */
        return false;
    struct ff_evict_request request = {FF_EVICT_AHEAD, tier, FF_NONE, missing};
    if (space->by_page)
        job->stocked = evict_pages(engine, &request, missing, job);
    else
        job->stocked = evict_root(engine, &request, job) == FF_NONE ? 0 : FF_BLOCK_PAGES;
    engine->restocking[tier] += job->stocked;
    return job->stocked > 0;
}
