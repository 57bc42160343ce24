/* An engine without time and without a device: pages are touched one after the other, and every
 * fault is served to its end before the next touch. What is left is decisions. */
#ifndef FF_TESTS_SIM_TOUCH_H
#define FF_TESTS_SIM_TOUCH_H

#include "base/cases.h"

#include "backend/sim/pages.h"
#include "base/random.h"
#include "engine/internal.h"
#include "fake/costs.h"

struct toucher {
    struct ff__description backend;
    struct ff__engine engine;
    struct ff__page_counts counts;
    struct ff__job job; /* the last fault's */
    uint64_t now_ns, misses;
    /* of the range and its pages, in touches */
    uint64_t range_used;
    uint32_t *page_used;
};

struct toucher_shape {
    const char *system;
    uint64_t memory; /* pages */
    uint64_t pages;  /* of the one range there is */
    bool by_page;
    const struct ff_future *future; /* NULL: not known */
};

static inline void touch_open(struct toucher *toucher, const struct toucher_shape *shape) {
    struct ff_error error = {""};
    uint32_t range;
    uint64_t blocks = (shape->pages + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES;
    struct ff__engine_config config = {
        .backend = &toucher->backend,
        .address_space = blocks * FF_BLOCK_SIZE,
        .devices = 1,
        .memory = shape->memory * FF_PAGE_SIZE,
        .allocator = shape->by_page ? &ff__page_allocator : NULL,
        .allocator_state = &toucher->counts,
        .seed = 1,
        .virtual_time = true,
        .future = shape->future,
    };
    memset(toucher, 0, sizeof *toucher);
    toucher->backend = (struct ff__description){
        .tier_count = 2,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS |
                 FF_SEES_SAMPLES | FF_SEES_SHARERS | FF_SEES_REMOTE |
                 (shape->future ? FF_SEES_FUTURE : 0u),
    };
    set_costs(&toucher->backend);
    if (ff__system_parse(shape->system, &config.system, &error) ||
        ff__engine_init(&toucher->engine, &config, &error))
        fail_msg("%s: %s", shape->system, error.message);
    toucher->page_used = calloc(blocks * FF_BLOCK_PAGES, sizeof *toucher->page_used);
    assert_non_null(toucher->page_used);
    const struct ff__sampler sampler = {.last_uses[1] = {&toucher->range_used, toucher->page_used}};
    ff__engine_set_sampler(&toucher->engine, &sampler);
    assert_int_equal(ff__engine_range_add(&toucher->engine, shape->pages, 0, 1, &range), 0);
    assert_int_equal(range, 0);
}

static inline void touch_close(struct toucher *toucher) {
    struct ff_error error = {""};
    if (ff__engine_check(&toucher->engine, &error))
        fail_msg("%s", error.message);
    ff__engine_fini(&toucher->engine);
    free(toucher->page_used);
}

static inline bool touch_has(const struct toucher *toucher, uint64_t page) {
    return ff_mask_test(
        &ff__facts(&toucher->engine.space, (uint32_t)(page / FF_BLOCK_PAGES))->tier[1].resident,
        page % FF_BLOCK_PAGES);
}

static inline void touch_finish(struct toucher *toucher, struct ff__job *job) {
    for (uint32_t i = 0; i < job->out_count; i++)
        job->out[i].copied = ff_mask_minus(&job->out[i].pages, &job->out[i].dead);
    ff__engine_finish(&toucher->engine, ++toucher->now_ns, job);
}

static inline void touch_prefetch(struct toucher *toucher, const struct ff_advice_list *list) {
    static struct ff__job job;
    for (uint32_t i = 0; i < list->count; i++)
        if (ff__engine_advise(&toucher->engine, ++toucher->now_ns, &list->items[i], &job) ==
            FF__JOB_RUN)
            touch_finish(toucher, &job);
}

/* What the correlator and the prefetching thread do. */
static inline void touch_plan(struct toucher *toucher) {
    struct ff_advice items[64];
    struct ff_advice_list list = {.items = items, .capacity = 64};
    if (!toucher->engine.events.items)
        return;
    ff__engine_learn_all(&toucher->engine);
    ff__engine_plan(&toucher->engine, toucher->now_ns, &list);
    touch_prefetch(toucher, &list);
}

static inline void touch_show(struct toucher *toucher, uint64_t page, bool write) {
    struct ff_advice items[16];
    struct ff_advice_list list = {.items = items, .capacity = 16};
    uint32_t flags =
        (write ? FF_ACCESS_WRITE : 0u) | (touch_has(toucher, page) ? 0u : (uint32_t)FF_ACCESS_MISS);
    struct ff_access access = {.block = (uint32_t)(page / FF_BLOCK_PAGES),
                               .page = (uint16_t)(page % FF_BLOCK_PAGES),
                               .tier = 1,
                               .flags = (uint8_t)flags};
    const struct ff_access_batch batch = {.items = &access, .count = 1};
    ff__engine_access(&toucher->engine, ++toucher->now_ns, 1, &batch, &list);
    touch_prefetch(toucher, &list);
}

/* A fault until it is served, throttled or not; nothing else is under way that could hinder it. */
static inline void touch_fault(struct toucher *toucher, uint64_t page, bool write) {
    struct ff_fault_group group = {.block = (uint32_t)(page / FF_BLOCK_PAGES), .tier = 1};
    int status;
    ff_mask_set(&group.faulted, page % FF_BLOCK_PAGES);
    if (write)
        group.written = group.faulted;
    while ((status = ff__engine_fault(&toucher->engine, ++toucher->now_ns, &group,
                                      &toucher->job)) == FF__JOB_WAIT)
        toucher->now_ns = toucher->job.retry_ns;
    assert_int_equal(status, FF__JOB_RUN);
    touch_finish(toucher, &toucher->job);
    assert_true(touch_has(toucher, page));
}

/* Returns whether the page was missing. */
static inline bool touch(struct toucher *toucher, uint64_t page, bool write) {
    touch_show(toucher, page, write);
    bool missing = !touch_has(toucher, page);
    if (missing)
        touch_fault(toucher, page, write);
    toucher->misses += missing;
    toucher->range_used = toucher->now_ns;
    toucher->page_used[page] = (uint32_t)toucher->now_ns;
    touch_plan(toucher);
    return missing;
}

/* ---- random programs ---- */

/* Pages in an order that is far from uniform: stretches of neighbours, strides, repeated passes
 * and jumps. No page comes twice in a row, as in a recorded future. */
static inline void touch_draw(struct ff__random *random, uint64_t *order, uint32_t length,
                              uint32_t pages) {
    uint32_t page = ff__random_below(random, pages), step = 1, left = 0, round = pages;
    for (uint32_t i = 0; i < length; i++) {
        if (left-- == 0) {
            static const uint32_t steps[] = {1, 1, 1, 7, 16, 33};
            left = 1 + ff__random_below(random, ff__random_below(random, 2) ? 8 : 400);
            step = steps[ff__random_below(random, 6)];
            round = 2 + ff__random_below(random, pages - 1);
            page = ff__random_below(random, pages);
        }
        page = (page + step) % (page < round ? round : pages);
        if (i > 0 && order[i - 1] == page)
            page = (page + 1) % pages;
        order[i] = page;
    }
}

#endif
