/* Any page (UVMSmart's random 4KB). With a reserve, pages used longest ago are passed over, which is
 * what UVMSmart does with it: only then does the order matter. */
#include "policy/evict/evictor.h"
#include "policy/evict/recency.h"
#include "policy/registry.h"

#include "base/random.h"

#define DRAWS 64u /* for one page, before the next one in the row that can go is taken */

/* By page. The pages on the device stand in a row, so that one can be drawn; the row lies in the same
 * records: its place i in record i. */
struct record {
    struct ff__link link;
    uint32_t place; /* of this page in the row, plus one; 0: none */
    uint32_t row;   /* the page whose place this is */
};

struct any {
    struct ff__evictor evictor;
    struct ff__recency list; /* only with a reserve */
    struct record *records;
    struct ff__random random;
    uint32_t count;
};

static uint32_t id_of(uint32_t block, uint32_t page) {
    return block * FF_BLOCK_PAGES + page;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct any *any = state;
    any->records = env->block_state;
    any->list.links = env->block_state;
    any->list.stride = sizeof(struct record);
    any->list.percent = (uint32_t)env->params[FF__PARAM_RESERVE];
    any->random = ff__random_seeded(env->seed);
    return ff__evictor_start(&any->evictor, env, FF_BLOCK_PAGES);
}

static void add(struct any *any, uint32_t id) {
    struct record *records = any->records;
    if (records[id].place == 0) {
        records[any->count++].row = id;
        records[id].place = any->count;
    }
    if (any->list.percent > 0)
        ff__recency_touch(&any->list, id);
}

static void take_out(struct any *any, uint32_t id) {
    struct record *records = any->records;
    if (records[id].place == 0)
        return;
    uint32_t last = records[--any->count].row;
    records[records[id].place - 1].row = last;
    records[last].place = records[id].place;
    records[id].place = 0;
    if (any->list.percent > 0)
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
        if (any->records[id].place > 0)
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

static bool can_go(const struct any *any, const struct ff__naming *naming, uint32_t id) {
    uint32_t block = id / FF_BLOCK_PAGES;
    bool own = !naming->view->by_page && block == naming->request->for_block;
    return !own && ff_view_evictable(naming->view, any->evictor.tier, block) &&
           !is_named(naming->victims, block, id % FF_BLOCK_PAGES);
}

static bool is_reserved(const struct any *any, uint32_t id) {
    return any->records[id].link.prev & FF__RECENCY_RESERVED;
}

/* FF_NONE: nobody can go. Then `place` has gone once around the row. */
static uint32_t draw(struct any *any, const struct ff__naming *naming) {
    for (uint32_t i = 0; i < DRAWS; i++) {
        uint32_t id = any->records[ff__random_below(&any->random, any->count)].row;
        if (!is_reserved(any, id) && can_go(any, naming, id))
            return id;
    }
    uint32_t first = ff__random_below(&any->random, any->count), reserved = FF_NONE;
    for (uint32_t i = 0; i < any->count; i++) {
        uint32_t id = any->records[(first + i) % any->count].row;
        if (!can_go(any, naming, id))
            continue;
        if (!is_reserved(any, id))
            return id;
        reserved = id;
    }
    return reserved;
}

/* The draws are victims in turn, and each may be a piece of advice of its own; by block the first is
 * enough, as others would only be second choices. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct any *any = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    while (any->count > 0 && !ff__naming_done(&naming)) {
        uint32_t id = draw(any, &naming);
        if (id == FF_NONE)
            return;
        ff__name_page(&naming, id / FF_BLOCK_PAGES, id % FF_BLOCK_PAGES);
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
