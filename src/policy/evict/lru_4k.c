/* The page that was used longest ago (UVMSmart's LRU 4KB). */
#include "base/fetch.h"
#include "policy/evict/evictor.h"
#include "policy/evict/use_log.h"
#include "policy/registry.h"

#include <errno.h>

#define AHEAD_USES 32u /* accesses: the page's record is fetched */

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

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    struct ff__use_log *log = &((struct lru *)state)->log;
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff__use_log_touch(log, id_of(block, page));
    }
}

FF__FETCHES fetch_record(const struct ff__use_log *log, const struct ff_access *access) {
    __builtin_prefetch(&log->last[id_of(access->block, access->page)], 1);
}

/* A page that is not in the order is not here: the access is a miss, or over a link. */
static inline void use(const struct ff__use_log *log, const struct ff_access *access,
                       uint32_t *end) {
    ff__use_log_touch_if_present(log, id_of(access->block, access->page), end);
}

static void use_all(struct ff__use_log *whole, const struct ff_access *accesses, uint32_t count,
                    uint32_t known) {
    const struct ff__use_log log =
        *whole; /* which nothing below writes to: it stays in registers */
    uint32_t end = log.end, i = 0;
    uint32_t fetching = known > AHEAD_USES ? known - AHEAD_USES : 0;
    for (fetching = fetching < count ? fetching : count; i < fetching; i++) {
        fetch_record(&log, &accesses[i + AHEAD_USES]);
        use(&log, &accesses[i], &end);
    }
    for (; i < count; i++)
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

static void on_access(void *state, const struct ff_view *view, const struct ff_access *accesses,
                      uint32_t count) {
    struct lru *lru = state;
    struct ff__use_log *log = &lru->log;
    uint32_t known = count + view->foreseen;
    for (uint32_t i = lru->fetched; i < known && i < AHEAD_USES; i++)
        fetch_record(log, &accesses[i]);
    lru->fetched = view->foreseen < AHEAD_USES ? view->foreseen : AHEAD_USES;
    if (log->percent > 0) {
        use_one_by_one(log, accesses, count);
        return;
    }
    ff__use_log_prepare(log, count);
    use_all(log, accesses, count, known);
}

static void on_leave(void *state, const struct ff_view *view, uint32_t block,
                     const struct ff_mask *pages) {
    struct ff__use_log *log = &((struct lru *)state)->log;
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff__use_log_remove(log, id_of(block, page));
    }
}

/* Names the pages whose last uses are from `from` on, before `end`. */
static void name_run(const struct lru *lru, struct ff__naming *naming, uint32_t from,
                     uint32_t end) {
    const struct ff__use_log *log = &lru->log;
    for (uint32_t use = from; use < end && !ff__naming_done(naming); use++) {
        uint32_t page = ff__use_log_page(log, use), block = page / FF_BLOCK_PAGES;
        bool own = !naming->view->by_page && block == naming->request->for_block;
        if (log->last[page] == use && !own &&
            ff_view_evictable(naming->view, lru->evictor.tier, block))
            ff__name_page(naming, block, page % FF_BLOCK_PAGES);
    }
}

/* Where the page is that will be the coldest when the first one has left. */
FF__FETCHES fetch_second(struct lru *lru, const struct ff_view *view) {
    struct ff__use_log *log = &lru->log;
    uint32_t second = ff__use_log_second(log);
    if (second == log->end)
        return;
    uint32_t block = ff__use_log_page(log, second) / FF_BLOCK_PAGES;
    __builtin_prefetch(&view->resident[lru->evictor.tier][block], 1);
    __builtin_prefetch(&view->resident[FF_TIER_HOST][block], 1);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct lru *lru = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    uint32_t first = ff__use_log_first(&lru->log), edge = lru->log.edge;
    uint32_t from = edge > first ? edge : first;
    name_run(lru, &naming, from, lru->log.end);
    if (naming.named == 0)
        name_run(lru, &naming, first, from);
    if (first < lru->log.end)
        fetch_second(lru, view);
}

const struct ff_evict_policy ff__evict_lru_4k = {
    .base =
        {
            .name = "lru-4k",
            .summary = "the page used longest ago (UVMSmart)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct lru),
            .block_state_size = FF__USE_LOG_BLOCK,
            .params = ff__evictor_params,
            .init = init, /* when a block is freed, its pages have left */
        },
    .on_used = on_used,
    .on_access = on_access,
    .on_leave = on_leave,
    .stock = ff__evictor_stock,
    .pick = pick,
};
