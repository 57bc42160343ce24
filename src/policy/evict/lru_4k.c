/* The page that was used longest ago (UVMSmart's LRU 4KB). */
#include "base/fetch.h"
#include "policy/evict/evictor.h"
#include "policy/evict/recency.h"
#include "policy/registry.h"

#define AHEAD_LINK  32u /* accesses: the page's link is fetched, */
#define AHEAD_PEERS 16u /* and those of its neighbours in the list, which moving it writes */

struct lru {
    struct ff__evictor evictor;
    uint32_t fetched;        /* of the accesses that were foreseen last */
    struct ff__recency list; /* of pages: block * FF_BLOCK_PAGES + page */
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct lru *lru = state;
    lru->list.links = env->block_state;
    lru->list.stride = sizeof(struct ff__link);
    lru->list.percent = (uint32_t)env->params[FF__PARAM_RESERVE];
    return ff__evictor_start(&lru->evictor, env, FF_BLOCK_PAGES);
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff__recency_touch(&((struct lru *)state)->list, id_of(block, page));
    }
}

FF__FETCHES fetch_link(const struct ff__recency *list, const struct ff_access *access) {
    __builtin_prefetch(ff__recency_link(list, id_of(access->block, access->page)), 1);
}

FF__FETCHES fetch_peers(const struct ff__recency *list, const struct ff_access *access) {
    const struct ff__link *link = ff__recency_link(list, id_of(access->block, access->page));
    uint32_t prev = link->prev & ~FF__RECENCY_RESERVED;
    if (link->next)
        __builtin_prefetch(ff__recency_link(list, link->next - 1), 1);
    if (prev)
        __builtin_prefetch(ff__recency_link(list, prev - 1), 1);
}

/* A page that is not in the list is not here: the access is a miss, or over a link. */
static void on_access(void *state, const struct ff_view *view, const struct ff_access *accesses,
                      uint32_t count) {
    struct lru *lru = state;
    struct ff__recency *list = &lru->list;
    uint32_t known = count + view->foreseen;
    for (uint32_t i = lru->fetched; i < known && i < AHEAD_LINK; i++)
        fetch_link(list, &accesses[i]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = id_of(accesses[i].block, accesses[i].page);
        if (i + AHEAD_LINK < known)
            fetch_link(list, &accesses[i + AHEAD_LINK]);
        if (i + AHEAD_PEERS < known)
            fetch_peers(list, &accesses[i + AHEAD_PEERS]);
        if (ff__recency_has(list, id))
            ff__recency_touch(list, id);
    }
    lru->fetched = view->foreseen < AHEAD_LINK ? view->foreseen : AHEAD_LINK;
}

static void on_leave(void *state, const struct ff_view *view, uint32_t block,
                     const struct ff_mask *pages) {
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff__recency_remove(&((struct lru *)state)->list, id_of(block, page));
    }
}

static void block_freed(void *state, uint32_t block) {
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        ff__recency_remove(&((struct lru *)state)->list, id_of(block, page));
}

/* Names [from, end) of the list; both are id + 1, 0 the list's end. */
static void name_run(const struct lru *lru, struct ff__naming *naming, uint32_t from,
                     uint32_t end) {
    for (uint32_t number = from; number != end && !ff__naming_done(naming);) {
        uint32_t block = (number - 1) / FF_BLOCK_PAGES, page = (number - 1) % FF_BLOCK_PAGES;
        bool own = !naming->view->by_page && block == naming->request->for_block;
        if (!own && ff_view_evictable(naming->view, lru->evictor.tier, block))
            ff__name_page(naming, block, page);
        number = ff__recency_link(&lru->list, number - 1)->next;
    }
}

/* Who is likely to be next: it has not been used for long, so that it is far from the processor. */
FF__FETCHES fetch_next(const struct lru *lru, const struct ff_view *view) {
    uint32_t number = lru->list.head ? ff__recency_link(&lru->list, lru->list.head - 1)->next : 0;
    if (!number)
        return;
    uint32_t next = ff__recency_link(&lru->list, number - 1)->next;
    __builtin_prefetch(&view->resident[lru->evictor.tier][(number - 1) / FF_BLOCK_PAGES], 1);
    __builtin_prefetch(&view->resident[FF_TIER_HOST][(number - 1) / FF_BLOCK_PAGES], 1);
    if (next)
        __builtin_prefetch(ff__recency_link(&lru->list, next - 1), 1);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    const struct lru *lru = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    name_run(lru, &naming, lru->list.edge, 0);
    if (naming.named == 0)
        name_run(lru, &naming, lru->list.head, lru->list.edge);
    fetch_next(lru, view);
}

const struct ff_evict_policy ff__evict_lru_4k = {
    .base =
        {
            .name = "lru-4k",
            .summary = "the page used longest ago (UVMSmart)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct lru),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct ff__link),
            .params = ff__evictor_params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_used = on_used,
    .on_access = on_access,
    .on_leave = on_leave,
    .stock = ff__evictor_stock,
    .pick = pick,
};
