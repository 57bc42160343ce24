#include "policy/common/groups.h"

#include "policy/common/tree.h"

#define AHEAD 8u /* accesses: their groups are fetched */

int ff__groups_start(struct ff__groups *groups, const struct ff_policy_env *env, size_t stride) {
    groups->list.links = env->block_state;
    groups->list.stride = stride;
    return ff__evictor_start(&groups->evictor, env, 1);
}

static struct ff__group *group_of(const struct ff__groups *groups, uint32_t block) {
    return (struct ff__group *)ff__recency_link(&groups->list, block);
}

/* ---- uses ---- */

static void use(struct ff__groups *groups, uint32_t block, const struct ff_mask *pages) {
    struct ff__group *group = group_of(groups, block);
    uint32_t leaves = ff__leaves_of(pages);
    ff__recency_touch(&groups->list, block);
    for (uint32_t leaf = 0; leaf < FF__BLOCK_LEAVES; leaf++)
        if (leaves >> leaf & 1)
            group->used[leaf] = ++groups->clock;
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    struct ff__groups *groups = state;
    const struct ff_access *accesses = batch->items;
    const uint32_t count = batch->count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_access *access = &accesses[i];
        if (i + AHEAD < count) {
            struct ff__group *ahead = group_of(groups, accesses[i + AHEAD].block);
            __builtin_prefetch(&ahead->link, 1);
            __builtin_prefetch(&ahead->used[accesses[i + AHEAD].page / FF_LEAF_PAGES], 1);
        }
        if (access->flags & (FF_ACCESS_MISS | FF_ACCESS_REMOTE) ||
            !ff__recency_has(&groups->list, access->block))
            continue;
        ff__recency_touch(&groups->list, access->block);
        group_of(groups, access->block)->used[access->page / FF_LEAF_PAGES] = ++groups->clock;
    }
}

const struct ff_access_hooks ff__groups_accesses = {.on_access = on_access};

void ff__groups_on_arrival(void *state, const struct ff_view *view,
                           const struct ff_arrival *arrival) {
    (void)view;
    if (arrival->kind != FF_ARRIVAL_ALLOCATED)
        use(state, arrival->block, arrival->pages);
}

void ff__groups_on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind == FF_LEAVE_RELEASED)
        ff__recency_remove(&((struct ff__groups *)state)->list, leave->block);
}

void ff__groups_block_freed(void *state, uint32_t block) {
    ff__recency_remove(&((struct ff__groups *)state)->list, block);
}

/* ---- victims ---- */

/* UVMSmart evicts nothing that has an invalid page inside or a transfer under way: its logs have
 * only whole leaves leave, even where pages come one by one. Where no such unit is left it would
 * wait; here, parts of units go, and at last reserved ones. */
enum pass { PASS_WHOLE, PASS_PARTS, PASS_RESERVED, PASSES };

struct group_hunt {
    const struct ff__groups *groups;
    enum ff__victim victim;
    enum pass pass;
    uint64_t skip; /* units still to be passed over */
    struct ff__naming naming;
};

/* Whether enough is named. The reserve is a share of what is there at each eviction: with one, a
 * unit is named at a time, as in UVMSmart, and the engine asks again. */
static bool is_over(const struct group_hunt *hunt) {
    bool singly =
        hunt->naming.request->granule < FF_BLOCK_PAGES && hunt->groups->evictor.reserve > 0;
    return ff__naming_done(&hunt->naming) || (singly && hunt->naming.named > 0);
}

static const struct ff_mask *resident_of(const struct group_hunt *hunt, uint32_t block) {
    return ff_view_resident(hunt->naming.view, hunt->groups->evictor.tier, block);
}

static uint32_t oldest_of(const struct ff__group *group, uint32_t leaves) {
    uint32_t oldest = (uint32_t)__builtin_ctz(leaves);
    for (uint32_t leaf = oldest + 1; leaf < FF__BLOCK_LEAVES; leaf++)
        if (leaves >> leaf & 1 && group->used[leaf] < group->used[oldest])
            oldest = leaf;
    return oldest;
}

/* The leaves that hold something, without those to be passed over: the oldest ones. */
static uint32_t unreserved_of(struct group_hunt *hunt, uint32_t block) {
    uint32_t leaves = ff__leaves_of(resident_of(hunt, block));
    for (; hunt->skip > 0 && leaves; hunt->skip--)
        leaves &= ~(1u << oldest_of(group_of(hunt->groups, block), leaves));
    return leaves;
}

static uint32_t evictable_of(const struct group_hunt *hunt, uint32_t block, uint32_t leaves) {
    const struct ff_view *view = hunt->naming.view;
    struct ff_mask coming = ff_view_coming(view, block);
    leaves &= ~ff__leaves_of(&coming);
    if (hunt->pass != PASS_WHOLE)
        return leaves;
    struct ff_mask pages = ff_mask_of_run(0, view->blocks[block].page_count);
    struct ff_mask missing = ff_mask_minus(&pages, resident_of(hunt, block));
    return leaves & ~ff__leaves_of(&missing);
}

/* The leaves that the tree drains when one has gone, of those that may go. */
static uint32_t drained(struct ff__tree *tree, uint32_t gone, uint32_t leaves) {
    struct ff_mask first = ff__leaf_pages(gone, FF_BLOCK_PAGES), more;
    struct ff_mask evictable = ff__leaf_pages(leaves, FF_BLOCK_PAGES);
    tree->set[0] = ff_mask_minus(&tree->set[0], &first);
    ff__tree_drain(tree, &evictable, &more);
    return ff__leaves_of(&more);
}

static void name_leaves(struct group_hunt *hunt, uint32_t block, uint32_t leaves) {
    static const struct ff__tree_shape half = {FF_LEAF_PAGES, FF_BLOCK_PAGES, 50, false};
    const struct ff_view *view = hunt->naming.view;
    uint32_t page_count = view->blocks[block].page_count;
    struct ff_mask valid = ff_view_expected(view, hunt->groups->evictor.tier, block);
    struct ff__tree tree;
    ff__tree_start(&tree, &half, &valid, page_count);
    while (leaves && !is_over(hunt)) {
        uint32_t gone = 1u << oldest_of(group_of(hunt->groups, block), leaves);
        if (hunt->victim == FF__VICTIM_TREE)
            gone |= drained(&tree, gone, leaves & ~gone);
        struct ff_mask pages = ff__leaf_pages(gone, page_count);
        pages = ff_mask_and(&pages, resident_of(hunt, block));
        ff__name(&hunt->naming, block, &pages);
        leaves &= ~gone;
    }
}

static void try_leaves(struct group_hunt *hunt, uint32_t block) {
    uint32_t leaves = unreserved_of(hunt, block);
    bool own = block == hunt->naming.request->for_block;
    if ((own && hunt->pass == PASS_PARTS) || !ff__may_name(&hunt->naming, block))
        return;
    name_leaves(hunt, block, evictable_of(hunt, block, leaves));
}

/* Where no single pages leave, a block can only go as a whole, whatever it holds. */
static void try_block(struct group_hunt *hunt, uint32_t block) {
    const struct ff_view *view = hunt->naming.view;
    const struct ff_mask *resident = resident_of(hunt, block);
    bool own = block == hunt->naming.request->for_block;
    bool skipped = hunt->skip > 0;
    hunt->skip -= skipped;
    if (skipped || own || !ff_view_evictable(view, hunt->groups->evictor.tier, block))
        return;
    struct ff_mask coming = ff_view_coming(view, block);
    if (!ff_mask_empty(&coming))
        return;
    if (hunt->pass == PASS_WHOLE && ff__is_in_part(&hunt->naming, block))
        return;
    ff__name(&hunt->naming, block, resident);
}

static uint64_t leaf_count(const struct group_hunt *hunt) {
    const struct ff__recency *list = &hunt->groups->list;
    uint64_t leaves = 0;
    for (uint32_t number = list->head; number; number = ff__recency_link(list, number - 1)->next)
        leaves += (uint32_t)__builtin_popcount(ff__leaves_of(resident_of(hunt, number - 1)));
    return leaves;
}

static void try_all(struct group_hunt *hunt) {
    const struct ff__recency *list = &hunt->groups->list;
    bool blocks =
        hunt->victim == FF__VICTIM_BLOCK || hunt->naming.request->granule == FF_BLOCK_PAGES;
    uint32_t percent = hunt->pass == PASS_RESERVED ? 0 : hunt->groups->evictor.reserve;
    hunt->skip = percent == 0 ? 0 : (blocks ? list->count : leaf_count(hunt)) * percent / 100;
    for (uint32_t number = list->head; number && !is_over(hunt);
         number = ff__recency_link(list, number - 1)->next) {
        if (blocks)
            try_block(hunt, number - 1);
        else
            try_leaves(hunt, number - 1);
    }
}

void ff__groups_pick(struct ff__groups *groups, enum ff__victim victim, const struct ff_view *view,
                     const struct ff_evict_request *request, struct ff_victim_list *victims) {
    struct group_hunt hunt = {
        .groups = groups, .victim = victim, .naming = ff__naming_of(view, request, victims)};
    for (int pass = PASS_WHOLE; pass < PASSES && hunt.naming.named == 0; pass++) {
        hunt.pass = (enum pass)pass;
        try_all(&hunt);
    }
}
