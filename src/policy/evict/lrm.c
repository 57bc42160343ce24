/* Least recently migrated: the NVIDIA driver's eviction order (595.45.04, uvm_pmm_gpu.c).
 *
 * The driver keeps its 2 MiB root chunks on three lists and always evicts the head of the first
 * list that has one; whatever happens to a chunk moves it to a tail. "Happens" means service: an
 * access that hits is invisible, so this is not LRU of accesses.
 *
 * Two of the three lists are here. The driver's first one, UNUSED, holds chunks whose last resident
 * page left while the block kept the memory; no hook tells that, because the engine gives memory
 * back in that case. on_release then takes the block off its list, and the frame is free, which is
 * where the driver looks even before UNUSED. */
#include "policy/registry.h"

enum list { LIST_NONE, LIST_DISCARDED, LIST_USED, LISTS }; /* searched in this order */

/* Zero is "on no list". */
struct link {
    uint32_t next, prev;
    uint32_t list;
};

struct lrm {
    struct link *links; /* by block */
    uint32_t head[LISTS], tail[LISTS];
};

static void unlink_block(struct lrm *lrm, uint32_t block) {
    struct link *link = &lrm->links[block];
    if (link->list == LIST_NONE)
        return;
    if (link->prev == FF_NONE)
        lrm->head[link->list] = link->next;
    else
        lrm->links[link->prev].next = link->next;
    if (link->next == FF_NONE)
        lrm->tail[link->list] = link->prev;
    else
        lrm->links[link->next].prev = link->prev;
    link->list = LIST_NONE;
}

static void move_to_tail(struct lrm *lrm, uint32_t block, enum list list) {
    unlink_block(lrm, block);
    uint32_t last = lrm->tail[list];
    lrm->links[block] = (struct link){.next = FF_NONE, .prev = last, .list = list};
    lrm->tail[list] = block;
    if (last == FF_NONE)
        lrm->head[list] = block;
    else
        lrm->links[last].next = block;
}

static int init(void *state, const struct ff_policy_env *env) {
    struct lrm *lrm = state;
    lrm->links = env->block_state;
    for (int list = 0; list < LISTS; list++)
        lrm->head[list] = lrm->tail[list] = FF_NONE;
    return 0;
}

static void on_activate(void *state, const struct ff_view *view, uint32_t block) {
    (void)view;
    move_to_tail(state, block, LIST_USED);
}

/* Whether service and discard move the block. In the driver only a block of a whole 2 MiB owns its
 * root chunk; a shorter one shares roots by 64 KiB and 4 KiB chunks, and keeps the place that its
 * allocation gave it. */
static bool is_movable(const struct lrm *lrm, const struct ff_view *view, uint32_t block) {
    return lrm->links[block].list != LIST_NONE && view->blocks[block].page_count == FF_BLOCK_PAGES;
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    (void)pages;
    if (is_movable(state, view, block))
        move_to_tail(state, block, LIST_USED);
}

static void on_discarded(void *state, const struct ff_view *view, uint32_t block) {
    if (is_movable(state, view, block))
        move_to_tail(state, block, LIST_DISCARDED);
}

static void on_release(void *state, const struct ff_view *view, uint32_t block) {
    (void)view;
    unlink_block(state, block);
}

static void block_freed(void *state, uint32_t block) {
    unlink_block(state, block);
}

/* The cause does not matter: the driver has one order, whoever asks. Costs the victims and the busy
 * blocks passed over, not the blocks there are. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct lrm *lrm = state;
    struct ff_advice victim = {.tier = request->tier, .launch = FF_NONE};
    for (int list = LIST_DISCARDED; list < LISTS; list++) {
        for (uint32_t block = lrm->head[list];
             block != FF_NONE && victims->count < victims->capacity;
             block = lrm->links[block].next) {
            if (block == request->for_block || !ff_view_evictable(view, request->tier, block))
                continue;
            victim.block = block;
            ff_advice_add(victims, &victim);
        }
    }
}

const struct ff_evict_policy ff__evict_lrm = {
    .base =
        {
            .name = "lrm",
            .summary = "least recently migrated block first, discarded blocks before (NVIDIA)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct lrm),
            .block_state_size = sizeof(struct link),
            .init = init,
            .block_freed = block_freed,
        },
    .on_activate = on_activate,
    .on_used = on_used,
    .on_discarded = on_discarded,
    .on_release = on_release,
    .pick = pick,
};
