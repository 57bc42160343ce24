/* Any page (UVMSmart's random 4KB). With a reserve, pages used longest ago are passed over, which is
 * what UVMSmart does with it: only then does the order matter. */
#include "policy/common/evictor.h"
#include "policy/common/recency.h"
#include "policy/common/row.h"
#include "policy/registry.h"

/* By page. */
struct record {
    struct ff__link link;
    struct ff__row_record row;
};

struct any {
    struct ff__evictor evictor;
    struct ff__recency list; /* only with a reserve */
    struct ff__row row;
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct any *any = state;
    struct record *records = env->block_state;
    any->row = (struct ff__row){.records = (void *)&records->row,
                                .stride = sizeof *records,
                                .random = ff__random_seeded(env->seed)};
    any->list.links = env->block_state;
    any->list.stride = sizeof(struct record);
    any->list.percent = (uint32_t)env->params[FF__PARAM_RESERVE];
    return ff__evictor_start(&any->evictor, env, FF_BLOCK_PAGES);
}

static void add(struct any *any, uint32_t id) {
    ff__row_add(&any->row, id);
    if (any->list.percent > 0)
        ff__recency_touch(&any->list, id);
}

static void take_out(struct any *any, uint32_t id) {
    bool listed = any->list.percent > 0 && ff__row_has(&any->row, id);
    ff__row_remove(&any->row, id);
    if (listed)
        ff__recency_remove(&any->list, id);
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        add(state, id_of(block, page));
    }
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access *accesses,
                      uint32_t count) {
    (void)view;
    struct any *any = state;
    for (uint32_t i = 0; i < count && any->list.percent > 0; i++) {
        uint32_t id = id_of(accesses[i].block, accesses[i].page);
        if (ff__row_has(&any->row, id))
            ff__recency_touch(&any->list, id);
    }
}

static void on_leave(void *state, const struct ff_view *view, uint32_t block,
                     const struct ff_mask *pages) {
    (void)view;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        take_out(state, id_of(block, page));
    }
}

static void block_freed(void *state, uint32_t block) {
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        take_out(state, id_of(block, page));
}

static bool is_named(const struct ff_advice_list *victims, uint32_t block, uint32_t page) {
    for (uint32_t i = 0; i < victims->count; i++)
        if (victims->items[i].block == block && ff_mask_test(&victims->items[i].pages, page))
            return true;
    return false;
}

struct question {
    const struct any *any;
    struct ff__naming naming;
};

static enum ff__row_answer can_go(const void *self, uint32_t id) {
    const struct question *question = self;
    const struct ff__naming *naming = &question->naming;
    uint32_t block = id / FF_BLOCK_PAGES;
    bool own = !naming->view->by_page && block == naming->request->for_block;
    if (own || !ff_view_evictable(naming->view, question->any->evictor.tier, block) ||
        is_named(naming->victims, block, id % FF_BLOCK_PAGES))
        return FF__ROW_NO;
    bool reserved = ff__recency_link(&question->any->list, id)->prev & FF__RECENCY_RESERVED;
    return reserved ? FF__ROW_IF_NOBODY_ELSE : FF__ROW_YES;
}

/* The draws are victims in turn, and each may be a piece of advice of its own; by block the first is
 * enough, as others would only be second choices. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct any *any = state;
    struct question question = {any, ff__naming_of(view, request, victims)};
    while (!ff__naming_done(&question.naming)) {
        uint32_t id = ff__row_draw(&any->row, can_go, &question);
        if (id == FF_NONE)
            return;
        ff__name_page(&question.naming, id / FF_BLOCK_PAGES, id % FF_BLOCK_PAGES);
        if (!view->by_page)
            return;
    }
}

const struct ff_evict_policy ff__evict_random_4k = {
    .base =
        {
            .name = "random-4k",
            .summary = "any page (UVMSmart)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct any),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct record),
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
