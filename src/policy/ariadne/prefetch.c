/* ARIADNE (HPCA 2026): a block that many SMs use migrates whole; one that few use, and that came
 * back after it had left, is used from the host for a while.
 *
 * The sharing degree of a block is the number of different uTLBs in its latest 16 faults. A block
 * is copied whole if that is more than 3, or if there is free memory for it. Else, if it left
 * before, it is mapped on the host for 100 ms; then the mapping is taken away, so that faults show
 * its sharing anew. The paper does not say in the parts that we have what comes of a block that few
 * use at its first fault, and how much is mapped: the leaves of 64 KiB that were faulted on, as in
 * the driver, and the whole block. Both are ours. */
#include "base/leaves.h"
#include "policy/registry.h"

struct visit {
    uint64_t until_ns; /* used remotely until then; 0: not */
    uint32_t next;     /* the block that is mapped next, and one; 0: none */
    uint32_t tier;
};

struct remote_visits {
    struct visit *visits; /* [block] */
    /* Blocks that are used remotely, by the time until which they are; and one, 0: none */
    uint32_t first, last;
    uint64_t remote_ns;
    uint32_t sharers;
};

enum { SHARERS, REMOTE, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [SHARERS] = {"sharers", FF_PARAM_INT, 3, 0, FF_LATEST_FAULTS,
                 "uTLBs in a block's latest faults, above which all of it migrates"},
    [REMOTE] = {"remote_for", FF_PARAM_NS, 100000000, 0, INT64_MAX,
                "how long a block that few use is used from the host"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct remote_visits *remote = state;
    remote->visits = env->block_state;
    remote->sharers = (uint32_t)env->params[SHARERS];
    remote->remote_ns = (uint64_t)env->params[REMOTE];
    return 0;
}

/* ---- blocks that are used remotely ---- */

static void map(struct remote_visits *remote, uint32_t block, uint32_t tier, uint64_t now_ns) {
    struct visit *visit = &remote->visits[block];
    if (visit->until_ns != 0)
        return;
    *visit = (struct visit){.until_ns = now_ns + remote->remote_ns, .tier = tier};
    if (remote->last != 0)
        remote->visits[remote->last - 1].next = block + 1;
    else
        remote->first = block + 1;
    remote->last = block + 1;
}

/* Takes the first one off the list. */
static uint32_t unmap_first(struct remote_visits *remote) {
    uint32_t block = remote->first - 1;
    remote->first = remote->visits[block].next;
    if (remote->first == 0)
        remote->last = 0;
    remote->visits[block].until_ns = 0;
    remote->visits[block].next = 0;
    return block;
}

/* Batches are when the driver has a reason to look. */
static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct remote_visits *remote = state;
    (void)groups, (void)count;
    while (remote->first != 0 && advice->count < advice->capacity &&
           remote->visits[remote->first - 1].until_ns <= view->now_ns) {
        uint32_t block = unmap_first(remote);
        ff_advise_block(advice, view, FF_END_REMOTE, block, remote->visits[block].tier);
    }
}

/* What is on the list of a block that is gone is passed over when its time has come. */
static void block_freed(void *state, uint32_t block) {
    struct remote_visits *remote = state;
    if (remote->visits[block].until_ns != 0)
        remote->visits[block].until_ns = 1;
}

/* ---- faults ---- */

static bool has_left(const struct ff_view *view, const struct ff_fault_group *group) {
    struct ff_mask again =
        ff_mask_and(&group->faulted, &ff_view_facts(view, group->block)->evicted);
    return !ff_mask_empty(&again);
}

static bool has_room(const struct ff_view *view, const struct ff_fault_group *group) {
    return ff_view_holds(view, group->tier, group->block) ||
           ff_view_free_pages(view, group->tier) >= view->blocks[group->block].page_count;
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct remote_visits *remote = state;
    struct ff_mask block = ff_view_pages(view, group->block);
    if (ff_view_sharers(view, group->block) > remote->sharers || has_room(view, group)) {
        advice->prefetch = block;
        return;
    }
    if (has_left(view, group) && remote->remote_ns > 0) {
        advice->remote = ff_mask_and(&block, ff_view_resident(view, FF_TIER_HOST, group->block));
        map(remote, group->block, group->tier, view->now_ns);
    } else {
        advice->prefetch = ff__leaf_pages(ff__leaves_of(&group->faulted), FF_BLOCK_PAGES);
    }
}

const struct ff_prefetch_policy ff__prefetch_ariadne = {
    .base =
        {
            .name = "ariadne",
            .summary = "whole blocks that many SMs use; others are used from the host (ARIADNE)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_SHARERS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct remote_visits),
            .block_state_size = sizeof(struct visit),
            .params = params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_batch = on_batch,
    .on_fault = on_fault,
};
