/* The page that was used longest ago (UVMSmart's LRU 4KB). */
#include "base/fetch.h"
#include "policy/common/evictor.h"
#include "policy/common/use_log.h"
#include "policy/page_hooks.h"
#include "policy/registry.h"

#include <errno.h>

struct lru {
    struct ff__evictor evictor;
    uint32_t fetched;       /* of the accesses that were foreseen last */
    struct ff__use_log log; /* of pages: block * FF_BLOCK_PAGES + page */
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct lru *lru = state;
    if (env->block_limit > FF__USE_LOG_PAGES / FF_BLOCK_PAGES)
        return -EINVAL;
    ff__use_log_start(&lru->log, env->block_state, env->block_limit,
                      (uint32_t)env->params[FF__PARAM_RESERVE]);
    return ff__evictor_start(&lru->evictor, env, FF_BLOCK_PAGES);
}

static void on_page_used(void *state, uint32_t block, uint32_t page) {
    ff__use_log_touch(&((struct lru *)state)->log, id_of(block, page));
}

FF__FETCHES fetch_record(const struct ff__use_log *log, const struct ff_access *access) {
    __builtin_prefetch(&log->last[id_of(access->block, access->page)], 1);
}

/* A page that is not in the order is not here: the access is a miss, or over a link. */
static inline void use(const struct ff__use_log *log, const struct ff_access *access,
                       uint32_t *end) {
    ff__use_log_touch_if_present(log, id_of(access->block, access->page), end);
}

static void use_all(struct ff__use_log *whole, const struct ff_access *accesses, uint32_t count) {
    const struct ff__use_log log =
        *whole; /* which nothing below writes to: it stays in registers */
    uint32_t end = log.end;
    for (uint32_t i = 0; i < count; i++)
        use(&log, &accesses[i], &end);
    whole->end = end;
}

static void use_one_by_one(struct ff__use_log *log, const struct ff_access *accesses,
                           uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = id_of(accesses[i].block, accesses[i].page);
        if (ff__use_log_has(log, id))
            ff__use_log_touch(log, id);
    }
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    const struct ff_access *accesses = batch->items;
    const uint32_t count = batch->count;
    struct lru *lru = state;
    struct ff__use_log *log = &lru->log;
    uint32_t known = count + batch->foreseen;
    for (uint32_t i = lru->fetched; i < known; i++)
        fetch_record(log, &accesses[i]);
    lru->fetched = batch->foreseen;
    if (log->percent > 0) {
        use_one_by_one(log, accesses, count);
        return;
    }
    ff__use_log_prepare(log, count);
    use_all(log, accesses, count);
}

static void on_page_leave(void *state, uint32_t block, uint32_t page) {
    ff__use_log_remove(&((struct lru *)state)->log, id_of(block, page));
}

static inline struct ff_page page_of(uint32_t id) {
    return (struct ff_page){id / FF_BLOCK_PAGES, id % FF_BLOCK_PAGES};
}

/* Whether this use is the last one of a page that can go. */
static inline bool names(const struct lru *lru, const struct ff_view *view, uint32_t use) {
    struct ff_page page = page_of(ff__use_log_page(&lru->log, use));
    return ff__use_log_counts(&lru->log, use) &&
           ff_view_page_evictable(view, lru->evictor.tier, page);
}

/* Names the pages whose last uses are from `from` on, before `end`. */
static void name_run(const struct lru *lru, struct ff__naming *naming, uint32_t from,
                     uint32_t end) {
    for (uint32_t use = from; use < end && !ff__naming_done(naming); use++) {
        struct ff_page page = page_of(ff__use_log_page(&lru->log, use));
        bool own = !naming->view->by_page && page.block == naming->request->for_block;
        if (!own && names(lru, naming->view, use))
            ff__name_page(naming, page.block, page.page);
    }
}

static uint32_t unreserved(const struct ff__use_log *log) {
    return log->edge > log->first ? log->edge : log->first;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct lru *lru = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    uint32_t first = ff__use_log_first(&lru->log), from = unreserved(&lru->log);
    name_run(lru, &naming, from, lru->log.end);
    if (naming.named == 0)
        name_run(lru, &naming, first, from);
}

/* The first use of [from, end) that names a page; otherwise `end`. */
static inline uint32_t first_named(const struct lru *lru, const struct ff_view *view, uint32_t from,
                                   uint32_t end) {
    while (from < end && !names(lru, view, from))
        from++;
    return from;
}

static bool pick_page(void *state, const struct ff_view *view, struct ff_page *victim,
                      struct ff_page *next) {
    struct lru *lru = state;
    struct ff__use_log *log = &lru->log;
    uint32_t first = ff__use_log_first(log), from = unreserved(log);
    uint32_t use = first_named(lru, view, from, log->end);
    if (use == log->end && from > first) /* nothing but what is reserved */
        use = first_named(lru, view, first, log->end);
    if (use == log->end)
        return false;
    *victim = page_of(ff__use_log_page(log, use));
    uint32_t second = ff__use_log_second(log);
    *next =
        second == log->end ? (struct ff_page){FF_NONE, 0} : page_of(ff__use_log_page(log, second));
    return true;
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    (void)view;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    FF_MASK_FOR_EACH_PAGE(arrival->pages, page) {
        on_page_used(state, arrival->block, page);
    }
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind != FF_LEAVE_PAGES)
        return;
    FF_MASK_FOR_EACH_PAGE(leave->pages, page) {
        on_page_leave(state, leave->block, page);
    }
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

static const struct ff__page_hooks pages = {
    .on_page_used = on_page_used,
    .on_page_leave = on_page_leave,
    .pick_page = pick_page,
};

const struct ff_evict_policy ff__evict_lru_4k = {
    .base =
        {
            .name = "lru-4k",
            .summary = "the least recently used page (UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct lru),
            .block_state_size = FF__USE_LOG_BLOCK,
            .params = ff__evictor_params,
            .init = init, /* when a block is freed, its pages have left */
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .accesses = &accesses,
        },
    .reserve = ff__evictor_reserve,
    .pick = pick,
    .pages = &pages,
};
