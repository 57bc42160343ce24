/* Blocks come, leave and are used from the host as residence.h chooses by a recorded run: at the
 * begin of each window those that are not to lie on the device any more leave, then the others
 * come, or are mapped where they are, so that there are hardly any faults.
 *
 * Where nothing can be chosen so, all is left to prefetching by the order of the recording
 * (future.c). */
#include "policy/bounds/belady.h"
#include "policy/bounds/future.h"
#include "policy/bounds/residence.h"
#include "policy/common/inner.h"
#include "policy/registry.h"

#define BLOCKS_MAX (1u << 18) /* no choice in a larger address space */
#define EVERY      2048u      /* uses until what the list of advice had no room for is advised */

struct residence {
    struct ff__inners future; /* one, which acts and is told what happens, unless `is_chosen` */
    const struct ff_future *recorded;
    struct ff__residence chosen;
    struct ff__residence_block *blocks; /* [BLOCKS_MAX]; of the arena */
    uint64_t at;         /* uses so far, and about where the run is in the recorded one */
    uint64_t advised_at; /* uses so far when they last led to advice */
    uint32_t window;     /* the last one that has been set up, plus one */
    uint32_t next_block; /* of this window, to be set up */
    bool may_choose, is_chosen;
};

enum { AHEAD, REMOTE, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [AHEAD] = FF__FUTURE_AHEAD_ROW,
    [REMOTE] = {"remote", FF_PARAM_BOOL, 1, 0, 1,
                "blocks are used from the host while that costs less"},
};

static size_t arena_size(const int64_t *values) {
    return values[REMOTE] ? BLOCKS_MAX * sizeof(struct ff__residence_block) : 0;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct residence *self = state;
    const struct ff__inner_param ahead[] = {{FF__FUTURE_AHEAD, env->params[AHEAD]}, {NULL, 0}};
    self->recorded = env->model ? env->model->future : NULL;
    self->blocks = env->arena;
    self->may_choose =
        env->params[REMOTE] && env->tier_count == 2 && env->block_limit <= BLOCKS_MAX;
    return ff__inners_start(&self->future, &ff__prefetch_future.base, ahead, env);
}

/* ---- windows ---- */

static uint32_t window_now(const struct residence *self) {
    return ff__residence_window(&self->chosen, self->at);
}

/* What is to be used from the host now. */
static bool is_remote(const struct residence *self, uint32_t block) {
    return !ff__residence_is_resident(&self->chosen, block, window_now(self));
}

static bool set_up_block(const struct residence *self, const struct ff_view *view, uint32_t block,
                         struct ff_advice_list *list) {
    uint32_t tier = self->chosen.tier;
    if (view->blocks[block].page_count == 0 || self->blocks[block].pages == 0)
        return true;
    if (!is_remote(self, block))
        return ff_advise_block(list, view, FF_BRING, block, tier);
    struct ff_advice advice = {.block = block, .tier = tier, .launch = FF_NONE};
    if (ff_view_holds(view, tier, block)) {
        advice.action = FF_EVICT;
        return !self->chosen.is_tight || ff_advice_add(list, &advice);
    }
    const struct ff_mask pages = ff_view_pages(view, block);
    advice.action = FF_USE_REMOTE;
    advice.pages = ff_mask_minus(&pages, &ff_view_facts(view, block)->tier[tier].remote);
    return ff_mask_empty(&advice.pages) || ff_advice_add(list, &advice);
}

/* Once a window: what leaves first, then the others. */
static void set_up(struct residence *self, const struct ff_view *view,
                   struct ff_advice_list *list) {
    uint32_t window = window_now(self), count = self->chosen.block_count;
    if (self->window != window + 1) {
        self->window = window + 1;
        self->next_block = 0;
    }
    for (; self->next_block < 2 * count; self->next_block++) {
        uint32_t block = self->next_block % count;
        bool leaves = is_remote(self, block);
        if (leaves == (self->next_block < count) && !set_up_block(self, view, block, list))
            return;
    }
}

/* ---- the run ---- */

/* The first launch tells which device there is to choose for. */
static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct residence *self = state;
    if (!event->begins)
        return;
    if (self->may_choose) {
        self->may_choose = false;
        self->is_chosen = ff__belady_unit(view) > 1 &&
                          ff__residence_make(&self->chosen, view, event->tier, self->recorded,
                                             self->blocks, view->block_limit);
    }
    if (self->is_chosen)
        set_up(self, view, advice);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct residence *self = state;
    if (!self->is_chosen) {
        ff__prefetch_future.on_fault(self->future.at[0].state, view, group, advice);
    } else if (group->tier != FF_TIER_HOST && is_remote(self, group->block)) {
        advice->remote = ff_view_pages(view, group->block);
    } else if (group->tier != FF_TIER_HOST) {
        advice->prefetch = ff_view_pages(view, group->block);
    }
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct residence *self = state;
    if (!self->is_chosen)
        ff__inners_on_arrival(state, view, arrival);
}

static void count_uses(struct residence *self, const struct ff_access_batch *batch) {
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t page = (uint64_t)batch->items[i].block * FF_BLOCK_PAGES + batch->items[i].page;
        self->at += page < self->recorded->page_count;
    }
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    struct residence *self = state;
    count_uses(self, batch);
    if (!self->is_chosen) {
        ff__prefetch_future.base.accesses->on_access(self->future.at[0].state, view, batch, advice);
        return;
    }
    bool is_due = self->at - self->advised_at >= EVERY;
    if (is_due)
        self->advised_at = self->at;
    if (is_due || self->window != window_now(self) + 1)
        set_up(self, view, advice);
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct residence *self = state;
    if (self->is_chosen)
        set_up(self, view, advice);
    else
        ff__prefetch_future.learning->plan(self->future.at[0].state, view, advice);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

static const struct ff_learn_hooks learning = {.plan = plan};

const struct ff_prefetch_policy ff__prefetch_residence = {
    .base =
        {
            .name = "residence",
            .summary = "blocks come, leave or are used from the host as costs least by a recorded "
                       "run; or future",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_ACCESSES | FF_SEES_FUTURE,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct residence),
            .params = params,
            .arena_size = arena_size,
            .init = init,
            .fini = ff__inners_fini,
            .on_launch = on_launch,
            .block_freed = ff__inners_block_freed,
            .on_arrival = on_arrival,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
    .learning = &learning,
};
