/* Any page (UVMSmart's random 4KB). With a reserve, pages used longest ago are passed over, which
 * is what UVMSmart does with it: only then does the order matter. */
#include "policy/common/lot.h"
#include "policy/common/recency.h"
#include "policy/registry.h"

/* By page. */
struct random_page {
    struct ff__recency_link link;
    struct ff__lot_record lot;
};

struct random_4k {
    struct ff__evictor evictor;
    struct ff__recency list; /* only with a reserve */
    struct ff__lot lot;
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct random_4k *any = state;
    struct random_page *records = env->block_state;
    any->lot = (struct ff__lot){.records = (void *)&records->lot,
                                .stride = sizeof *records,
                                .unit_pages = 1,
                                .random = ff__random_seeded(env->seed)};
    any->list.links = env->block_state;
    any->list.stride = sizeof(struct random_page);
    any->list.percent = (uint32_t)env->params[FF__PARAM_RESERVE];
    return ff__evictor_start(&any->evictor, env, FF_BLOCK_PAGES);
}

static void add(struct random_4k *any, uint32_t id) {
    ff__lot_add(&any->lot, id);
    if (any->list.percent > 0)
        ff__recency_touch(&any->list, id);
}

static void take_out(struct random_4k *any, uint32_t id) {
    bool listed = any->list.percent > 0 && ff__lot_has(&any->lot, id);
    ff__lot_remove(&any->lot, id);
    if (listed)
        ff__recency_remove(&any->list, id);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    struct random_4k *any = state;
    for (uint32_t i = 0; i < batch->count && any->list.percent > 0; i++) {
        uint32_t id = id_of(batch->items[i].block, batch->items[i].page);
        if (ff__lot_has(&any->lot, id))
            ff__recency_touch(&any->list, id);
    }
}

static void block_freed(void *state, uint32_t block) {
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        take_out(state, id_of(block, page));
}

static enum ff__lot_answer may_go(const void *state, const struct ff_evict_request *request,
                                  uint32_t id) {
    (void)request;
    const struct random_4k *any = state;
    bool reserved = ff__recency_link(&any->list, id)->prev & FF__RECENCY_RESERVED;
    return reserved ? FF__LOT_IF_NOBODY_ELSE : FF__LOT_YES;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    ff__lot_pick(&((struct random_4k *)state)->lot, may_go, state, view, request, victims);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    (void)view;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    FF_MASK_FOR_EACH_PAGE(arrival->pages, page) {
        add(state, id_of(arrival->block, page));
    }
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind != FF_LEAVE_PAGES)
        return;
    FF_MASK_FOR_EACH_PAGE(leave->pages, page) {
        take_out(state, id_of(leave->block, page));
    }
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

const struct ff_evict_policy ff__evict_random_4k = {
    .base =
        {
            .name = "random-4k",
            .summary = "a random page (UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct random_4k),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct random_page),
            .params = ff__evictor_params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .accesses = &accesses,
        },
    .reserve = ff__evictor_reserve,
    .pick = pick,
};
