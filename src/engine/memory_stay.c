/* Which blocks stay on a device for now, and which leave first: refusals of the kernel, blocks that have only just
 * come, and what advice says. */
#include "engine/memory.h"

#define MILLISECOND   UINT64_C(1000000)
#define REFUSAL_FIRST MILLISECOND /* ours: how long a block that could not leave is let alone, */
#define REFUSAL_MAX   (100 * MILLISECOND) /* doubled each time up to this */
#define GRACE_FIRST   MILLISECOND /* ours: how long an arrived block is protected at most, once */
#define GRACE_MAX     (20 * MILLISECOND) /* blocks take each other's memory; doubled likewise */
#define GRACE_ENDS    (100 * MILLISECOND)
#define GRACE_PARTS                                                                                \
    64u /* ours: one block in so many is protected that long, others such a part of it */
#define UNUSED_WITHIN (2 * MILLISECOND) /* ours: a block that is back by then was hardly used, */
#define UNUSED_MANY   16u               /* and so many of them are no chance */

/* ---- blocks that stay for now ---- */

/* Blocks that the kernel has pinned, or the program has locked, cannot leave; when that ends is not
 * told, so they are tried again, less and less often. */
void ff__memory_refuse(struct ff__engine *engine, uint32_t block) {
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

bool ff__memory_is_refused(const struct ff__engine *engine, uint32_t block) {
    return engine->refused_count > 0 && engine->stay[block].refused_ns > engine->view.now_ns;
}

/* Threads that need more blocks at a time than there is room for would take them from each other
 * before any thread has used its own: a page that was served is faulted on again at once. So once that
 * is seen again and again, arriving blocks are protected for a while, and for longer as long as it goes on.
 * Few of them for long: beside one of those, the others come in turn, and among them what the same thread needs with it. */
void ff__memory_faulted(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages) {
    const struct ff__stay *stay = &engine->stay[block];
    uint64_t now = engine->view.now_ns;
    if (engine->unused_count > 0 && now > engine->unused_ns + GRACE_ENDS)
        engine->unused_count = 0, engine->grace_ns = 0;
    bool has_left = ff_view_granule(&engine->view, tier, block) < FF_BLOCK_PAGES ||
                    !ff_view_holds(&engine->view, tier, block);
    bool again = stay->served_ns > 0 && has_left && ff_mask_test(pages, stay->page) &&
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

static bool has_grace(const struct ff__engine *engine, uint32_t block) {
    const struct ff__stay *stay = &engine->stay[block];
    uint64_t grace_ns = stay->lasts ? engine->grace_ns : engine->grace_ns / GRACE_PARTS;
    return engine->grace_ns > 0 && stay->served_ns + grace_ns > engine->view.now_ns;
}

void ff__memory_served(struct ff__engine *engine, uint32_t block, uint32_t page) {
    struct ff__stay *stay = &engine->stay[block];
    if (engine->grace_ns > 0 && !has_grace(engine, block))
        stay->lasts = ++engine->graces % GRACE_PARTS == 0;
    stay->served_ns = engine->view.now_ns;
    stay->page = page;
}

uint64_t ff__memory_retry(const struct ff__engine *engine) {
    if (engine->grace_ns > 0)
        return engine->view.now_ns + engine->grace_ns / GRACE_PARTS;
    return engine->refused_count > 0 ? engine->view.now_ns + REFUSAL_FIRST : 0;
}

bool ff__memory_may_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return ff_view_evictable(&engine->view, tier, block) && !ff__memory_is_refused(engine, block) &&
           !has_grace(engine, block);
}

bool ff__memory_can_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          const struct ff_mask *pages) {
    const struct ff_mask *resident = ff_view_resident(&engine->view, tier, block);
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    return ff__memory_may_leave(engine, tier, block) && !ff_mask_empty(&going);
}

/* ---- blocks that are kept, and that only pass ---- */

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

/* A guest; or takes the oldest one that can leave off the list, and those that hold nothing. FF_NONE: there is none. */
uint32_t ff__memory_take_passing(struct ff__engine *engine,
                                 const struct ff_evict_request *request) {
    struct ff__passing *passing = &engine->passing[request->tier];
    uint32_t found = ff__peers_guest(engine, request), kept = 0;
    if (found != FF_NONE)
        return found;
    for (uint32_t i = 0; i < passing->count; i++) {
        uint32_t block = passing->blocks[i];
        if (found == FF_NONE && block != request->for_block &&
            ff__memory_may_leave(engine, request->tier, block) &&
            !ff__memory_is_held(engine, block))
            found = block;
        else if (ff_view_holds(&engine->view, request->tier, block) || block == request->for_block)
            passing->blocks[kept++] = block;
    }
    passing->count = kept;
    return found;
}

void ff__memory_forget_advice(struct ff__engine *engine, uint32_t block) {
    if (engine->keeps) /* what was never written stays unallocated */
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

bool ff__memory_is_victim(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return block < engine->space.block_limit && engine->space.blocks[block].page_count > 0 &&
           ff__memory_may_leave(engine, tier, block);
}
