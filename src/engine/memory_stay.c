/* Which blocks stay on a device for now: those that the kernel refuses to move, and those that have
 * only just come. */
#include "engine/memory.h"

#define MILLISECOND UINT64_C(1000000)

/* A block that could not leave is not tried again for so long; doubled each time, up to the second.
 * Ours. */
#define REFUSAL_FIRST MILLISECOND
#define REFUSAL_MAX   (100 * MILLISECOND)

/* Once blocks take each other's memory, an arrived block is protected for at most so long; doubled,
 * up to the second, while that goes on, and ended when it has not been seen for the third. Ours. */
#define PROTECT_FIRST MILLISECOND
#define PROTECT_MAX   (20 * MILLISECOND)
#define PROTECT_ENDS  (100 * MILLISECOND)

/* One block in so many is protected that long, the others for such a part of it. Ours. */
#define PROTECT_PARTS 64u

/* A block that faults again within this time was hardly used; so many of them show that blocks take
 * each other's memory. Ours. */
#define UNUSED_WITHIN (2 * MILLISECOND)
#define UNUSED_MANY   16u

/* Blocks that the kernel has pinned, or the program has locked, cannot leave. The kernel does not
 * say when that ends, so they are tried again, less and less often. */
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
 * before any thread has used its own: a page that was served faults again at once. Once that has
 * been seen many times, arriving blocks are protected for a while, and for longer as long as it
 * goes on. Only a few are protected for long: beside one of those, the others come one after the
 * other, and with them the other blocks that the same thread needs. */
void ff__memory_faulted(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages) {
    const struct ff__stay *stay = &engine->stay[block];
    uint64_t now = engine->view.now_ns;
    if (engine->unused_count > 0 && now > engine->unused_ns + PROTECT_ENDS)
        engine->unused_count = 0, engine->protect_ns = 0;
    bool has_left = ff_view_granule(&engine->view, tier, block) < FF_BLOCK_PAGES ||
                    !ff_view_holds(&engine->view, tier, block);
    bool again = stay->served_ns > 0 && has_left && ff_mask_test(pages, stay->page) &&
                 now < stay->served_ns + UNUSED_WITHIN + 4 * engine->protect_ns;
    if (!again)
        return;
    engine->unused_ns = now;
    if (++engine->unused_count % UNUSED_MANY != 0)
        return;
    engine->protect_ns = engine->protect_ns == 0 ? PROTECT_FIRST : 2 * engine->protect_ns;
    if (engine->protect_ns > PROTECT_MAX)
        engine->protect_ns = PROTECT_MAX;
}

static bool is_protected(const struct ff__engine *engine, uint32_t block) {
    const struct ff__stay *stay = &engine->stay[block];
    uint64_t protect_ns = stay->lasts ? engine->protect_ns : engine->protect_ns / PROTECT_PARTS;
    return engine->protect_ns > 0 && stay->served_ns + protect_ns > engine->view.now_ns;
}

void ff__memory_served(struct ff__engine *engine, uint32_t block, uint32_t page) {
    struct ff__stay *stay = &engine->stay[block];
    if (engine->protect_ns > 0 && !is_protected(engine, block))
        stay->lasts = ++engine->protected_count % PROTECT_PARTS == 0;
    stay->served_ns = engine->view.now_ns;
    stay->page = page;
}

uint64_t ff__memory_retry(const struct ff__engine *engine) {
    if (engine->protect_ns > 0)
        return engine->view.now_ns + engine->protect_ns / PROTECT_PARTS;
    return engine->refused_count > 0 ? engine->view.now_ns + REFUSAL_FIRST : 0;
}

bool ff__memory_may_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return ff_view_evictable(&engine->view, tier, block) && !ff__memory_is_refused(engine, block) &&
           !is_protected(engine, block);
}

bool ff__memory_can_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          const struct ff_mask *pages) {
    const struct ff_mask *resident = ff_view_resident(&engine->view, tier, block);
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    return ff__memory_may_leave(engine, tier, block) && !ff_mask_empty(&going);
}

bool ff__memory_is_victim(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          bool held_too) {
    return block < engine->space.block_limit && engine->space.blocks[block].page_count > 0 &&
           ff__memory_may_leave(engine, tier, block) &&
           (held_too || !ff__facts(&engine->space, block)->pinned);
}
