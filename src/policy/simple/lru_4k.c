/* The page that was used longest ago (UVMSmart's LRU 4KB). */
#include "policy/common/evictor.h"
#include "policy/common/recency.h"
#include "policy/registry.h"

struct lru {
    struct ff__evictor evictor;
    struct ff__recency list; /* of pages: block * FF_BLOCK_PAGES + page */
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct lru *lru = state;
    lru->list.links = env->block_state;
    lru->list.stride = sizeof(struct ff__recency_link);
    lru->list.percent = (uint32_t)env->params[FF__PARAM_RESERVE];
    return ff__evictor_start(&lru->evictor, env, FF_BLOCK_PAGES);
}

/* A page that is not in the list is not here: the access is a miss, or over a link. */
static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    struct lru *lru = state;
    for (uint32_t i = 0; i < batch->count; i++) {
        uint32_t id = id_of(batch->items[i].block, batch->items[i].page);
        if (ff__recency_has(&lru->list, id))
            ff__recency_touch(&lru->list, id);
    }
}

/* Names pages from this one of the list on, up to `end`. */
static void name_run(const struct lru *lru, struct ff__naming *naming, uint32_t number,
                     uint32_t end) {
    while (number != end && !ff__naming_done(naming)) {
        struct ff_page page = {(number - 1) / FF_BLOCK_PAGES, (number - 1) % FF_BLOCK_PAGES};
        struct ff_mask pages = ff_mask_of_page(page.page);
        if (ff__may_name(naming, page.block) &&
            ff_view_holds_page(naming->view, lru->evictor.tier, page))
            ff__name(naming, page.block, &pages);
        number = ff__recency_link(&lru->list, number - 1)->next;
    }
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    const struct lru *lru = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    name_run(lru, &naming, lru->list.edge, 0);
    if (naming.named == 0) /* nothing but what is reserved */
        name_run(lru, &naming, lru->list.head, lru->list.edge);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    (void)view;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    FF_MASK_FOR_EACH_PAGE(arrival->pages, page) {
        ff__recency_touch(&((struct lru *)state)->list, id_of(arrival->block, page));
    }
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind != FF_LEAVE_PAGES)
        return;
    FF_MASK_FOR_EACH_PAGE(leave->pages, page) {
        ff__recency_remove(&((struct lru *)state)->list, id_of(leave->block, page));
    }
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

const struct ff_evict_policy ff__evict_lru_4k = {
    .base =
        {
            .name = "lru-4k",
            .summary = "the least recently used page (UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct lru),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct ff__recency_link),
            .params = ff__evictor_params,
            .init = init, /* when a block is freed, its pages have left */
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .accesses = &accesses,
        },
    .reserve = ff__evictor_reserve,
    .pick = pick,
};
