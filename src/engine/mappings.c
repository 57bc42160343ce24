/* Pages that are used from the host, where a backend has to map them for that: one by one, when
 * they are touched, and for FF__MAPPED_NS. A touch after that is a fault again, but none that a
 * policy decides about: the page is mapped once more. So the times that a page is mapped show how
 * often it is used, which nothing else does. */
#include "engine/internal.h"

#include "base/lazy.h"

#include <errno.h>

static size_t size_of(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof *engine->mappings;
}

int ff__mappings_init(struct ff__engine *engine) {
    engine->mapped_head = engine->mapped_tail = FF_NONE;
    if (!engine->backend->maps_remote)
        return 0;
    engine->mappings = ff__lazy_map(size_of(engine));
    return engine->mappings ? 0 : -ENOMEM;
}

void ff__mappings_fini(struct ff__engine *engine) {
    if (engine->mappings)
        ff__lazy_unmap(engine->mappings, size_of(engine));
}

/* ---- blocks with mapped pages, in the order in which their time ends ---- */

static void queue(struct ff__engine *engine, uint32_t block) {
    struct ff__mapping *mapping = &engine->mappings[block];
    if (mapping->queued)
        return;
    mapping->queued = true;
    mapping->end_ns = engine->view.now_ns + FF__MAPPED_NS;
    mapping->next = FF_NONE;
    if (engine->mapped_head == FF_NONE)
        engine->mapped_head = block;
    else
        engine->mappings[engine->mapped_tail].next = block;
    engine->mapped_tail = block;
}

static uint32_t take_first(struct ff__engine *engine) {
    uint32_t block = engine->mapped_head;
    engine->mapped_head = engine->mappings[block].next;
    engine->mappings[block].queued = false;
    return block;
}

uint64_t ff__engine_mapped_until(const struct ff__engine *engine) {
    return engine->mapped_head == FF_NONE ? UINT64_MAX
                                          : engine->mappings[engine->mapped_head].end_ns;
}

/* ---- mapping ---- */

struct ff_mask ff__mappable(const struct ff__engine *engine, uint32_t block,
                            const struct ff_mask *pages) {
    struct ff_mask present = ff__block_present(&engine->space, block);
    return ff_mask_minus(pages, &present);
}

void ff__mappings_begin(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages, struct ff__job *job) {
    job->has_in = true;
    job->in.block = block;
    job->in.from = (struct ff__place){FF_TIER_HOST, FF_NONE};
    job->in.to = (struct ff__place){tier, FF_NONE};
    job->in.pages = *pages;
    job->in.held = ff_mask_and(pages, ff_view_resident(&engine->view, FF_TIER_HOST, block));
    job->in.whole = false;
    job->in.mapped = true;
    ff__memory_mark(engine, block, pages, false, true);
}

void ff__mappings_arrived(struct ff__engine *engine, const struct ff__move *in) {
    uint32_t block = in->block;
    struct ff__mapping *mapping = &engine->mappings[block];
    struct ff_mask all = ff_mask_or(&in->pages, &in->left);
    ff__memory_mark(engine, block, &all, false, false);
    if (ff_mask_empty(&in->pages))
        return;
    mapping->pages = ff_mask_or(&mapping->pages, &in->pages);
    mapping->tier = (uint8_t)in->to.tier;
    ff__engine_host_holds(engine, block, &in->pages);
    engine->space.stats.pages_mapped += ff_mask_count(&in->pages);
    queue(engine, block);
}

/* ---- unmapping ---- */

bool ff__mappings_end(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                      struct ff__job *job) {
    struct ff_mask mapped = ff__mapped(engine, block);
    struct ff_mask going = pages ? ff_mask_and(&mapped, pages) : mapped;
    if (ff_mask_empty(&going))
        return false;
    struct ff__move *out = &job->out[job->out_count++];
    *out = (struct ff__move){.block = block,
                             .from = {engine->mappings[block].tier, FF_NONE},
                             .to = {FF_TIER_HOST, FF_NONE},
                             .pages = going,
                             .mapped = true};
    ff__memory_mark(engine, block, &going, true, true);
    return true;
}

void ff__mappings_left(struct ff__engine *engine, const struct ff__move *out) {
    struct ff__mapping *mapping = &engine->mappings[out->block];
    struct ff_mask gone = ff_mask_minus(&out->pages, &out->left);
    mapping->pages = ff_mask_minus(&mapping->pages, &gone);
    mapping->stays = !ff_mask_empty(&out->left);
    ff__memory_mark(engine, out->block, &out->pages, true, false);
    if (mapping->stays)
        queue(engine, out->block);
}

int ff__engine_unmap(struct ff__engine *engine, uint32_t block, struct ff__job *job) {
    struct ff_mask mapped = ff__mapped(engine, block);
    ff__job_clear(job);
    if (engine->mappings && !ff__engine_is_at_rest(engine, block))
        return FF__JOB_LATER;
    if (ff_mask_empty(&mapped))
        return FF__JOB_NONE;
    ff__mappings_end(engine, block, NULL, job);
    return FF__JOB_RUN;
}

int ff__engine_unmap_due(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job) {
    ff__engine_view(engine, now_ns);
    while (ff__engine_mapped_until(engine) <= now_ns) {
        uint32_t block = take_first(engine);
        struct ff_mask mapped = ff__mapped(engine, block);
        int status = ff_mask_empty(&mapped) ? FF__JOB_NONE : ff__engine_unmap(engine, block, job);
        if (status == FF__JOB_LATER)
            queue(engine, block);
        else if (status == FF__JOB_RUN)
            return status;
    }
    return FF__JOB_NONE;
}
