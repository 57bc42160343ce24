/* ARIADNE's eviction (HPCA 2026): the block whose last fault is longest ago, where each uTLB that
 * shares it counts as 100 us. A block that comes back within 500 ms after it left belongs to the
 * working set, and is kept for 500 ms if anything else can leave. */
#include "policy/common/recency.h"
#include "policy/registry.h"

#include <errno.h>

struct entry {
    struct ff__recency_link link; /* on the list of its kind */
    bool kept, listed;
    uint64_t came_ns, left_ns;
};

struct ariadne_order {
    struct ff__recency others, kept; /* blocks by their last fault; they share their links */
    uint32_t tier;
    uint64_t sharer_ns, keep_ns;
};

enum { SHARER, KEEP, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [SHARER] = {"sharer_bonus", FF_PARAM_NS, 100000, 0, INT64_MAX / 32,
                "by how much a uTLB that shares a block puts its eviction off"},
    [KEEP] = {"keep_for", FF_PARAM_NS, 500000000, 0, INT64_MAX / 2,
              "how long a block is kept that came back this soon after it left"},
};

static struct entry *entry_of(const struct ariadne_order *order, uint32_t block) {
    return (struct entry *)(void *)ff__recency_link(&order->others, block);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct ariadne_order *order = state;
    struct ff__recency list = {.links = env->block_state, .stride = sizeof(struct entry)};
    if (env->block_limit > FF__RECENCY_UNITS)
        return -EINVAL;
    order->others = order->kept = list;
    order->tier = env->tier;
    order->sharer_ns = (uint64_t)env->params[SHARER];
    order->keep_ns = (uint64_t)env->params[KEEP];
    return 0;
}

/* ---- the lists ---- */

static struct ff__recency *list_of(struct ariadne_order *order, const struct entry *entry) {
    return entry->kept ? &order->kept : &order->others;
}

static void take_out(struct ariadne_order *order, uint32_t block) {
    struct entry *entry = entry_of(order, block);
    if (entry->listed)
        ff__recency_remove(list_of(order, entry), block);
    entry->listed = false;
}

static void put(struct ariadne_order *order, uint32_t block, bool kept) {
    struct entry *entry = entry_of(order, block);
    take_out(order, block);
    entry->kept = kept;
    entry->listed = true;
    ff__recency_touch(list_of(order, entry), block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct ariadne_order *order = state;
    struct entry *entry = entry_of(order, arrival->block);
    bool is_new = arrival->kind == FF_ARRIVAL_ALLOCATED;
    bool came_back = is_new ? entry->left_ns != 0 && view->now_ns - entry->left_ns <= order->keep_ns
                            : entry->kept;
    entry->came_ns = view->now_ns;
    put(order, arrival->block, came_back);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct ariadne_order *order = state;
    if (leave->kind != FF_LEAVE_RELEASED)
        return;
    take_out(order, leave->block);
    entry_of(order, leave->block)->left_ns = view->now_ns;
}

static void block_freed(void *state, uint32_t block) {
    struct ariadne_order *order = state;
    take_out(order, block);
    *entry_of(order, block) = (struct entry){.listed = false};
}

/* ---- victims ---- */

/* Those that have been kept long enough are as any other: as old as their last fault is. */
static void let_go(struct ariadne_order *order, uint64_t now_ns) {
    while (order->kept.head != 0) {
        uint32_t block = order->kept.head - 1;
        if (entry_of(order, block)->came_ns + order->keep_ns > now_ns)
            return;
        put(order, block, false);
    }
}

/* The one of the list with the lowest key; none is lower than the time of its last fault, by which
 * they are in order. */
static uint32_t lowest(const struct ariadne_order *order, const struct ff__recency *list,
                       const struct ff_view *view, const struct ff_evict_request *request) {
    uint32_t best = FF_NONE;
    uint64_t best_key = UINT64_MAX;
    for (uint32_t next = list->head; next != 0; next = ff__recency_link(list, next - 1)->next) {
        uint32_t block = next - 1;
        uint64_t came = entry_of(order, block)->came_ns;
        if (came >= best_key)
            break;
        uint64_t key = came + order->sharer_ns * ff_view_sharers(view, block);
        if (key >= best_key || block == request->for_block ||
            !ff_view_evictable(view, request->tier, block))
            continue;
        best = block;
        best_key = key;
    }
    return best;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct ariadne_order *order = state;
    let_go(order, view->now_ns);
    uint32_t block = lowest(order, &order->others, view, request);
    if (block == FF_NONE)
        block = lowest(order, &order->kept, view, request);
    if (block != FF_NONE)
        ff_victim_add(victims, block);
}

const struct ff_evict_policy ff__evict_ariadne = {
    .base =
        {
            .name = "ariadne",
            .summary = "the oldest last fault, later by 100 us for each uTLB that shares the block "
                       "(ARIADNE)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_SHARERS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct ariadne_order),
            .block_state_size = sizeof(struct entry),
            .params = params,
            .init = init,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .block_freed = block_freed,
        },
    .pick = pick,
};
