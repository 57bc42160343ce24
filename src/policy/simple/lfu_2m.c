/* The block with the fewest accesses; of these one that was only read, and of these the one whose
 * last use is longest ago (UVMSmart's LFU 2MB).
 *
 * Counts outlive an eviction, as UVMSmart's do. They have 27 bits; when one is full, all are
 * halved: a block's are when it is looked at, as often as its `halvings` lag behind. */
#include "base/heap.h"
#include "policy/common/evictor.h"
#include "policy/registry.h"

#define COUNT_BITS 27
#define COUNT_FULL ((1u << COUNT_BITS) - 1)
#define AGE_BITS   (63 - COUNT_BITS) /* uses until the age starts again, which takes hours */

struct lfu_block {
    struct ff__heap_place place;
    uint64_t used; /* when, by `clock` */
    uint32_t count, halvings;
    uint32_t next; /* of the blocks that a pick has set aside */
    bool written;  /* since it came */
};

struct lfu {
    struct ff__evictor evictor;
    struct ff__heap heap; /* of blocks; the key is turned round, as the least has to be on top */
    struct lfu_block *records;
    uint64_t clock;
    uint32_t halvings;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct lfu *lfu = state;
    lfu->records = env->block_state;
    lfu->heap.places = (unsigned char *)&lfu->records->place;
    lfu->heap.stride = sizeof(struct lfu_block);
    return ff__evictor_start(&lfu->evictor, env, 1);
}

static void catch_up(const struct lfu *lfu, struct lfu_block *record) {
    uint32_t lag = lfu->halvings - record->halvings;
    record->count = lag < 32 ? record->count >> lag : 0;
    record->halvings = lfu->halvings;
}

static uint64_t key_of(const struct lfu *lfu, struct lfu_block *record) {
    catch_up(lfu, record);
    uint64_t use = (uint64_t)record->count << 1 | record->written;
    return ~(use << AGE_BITS | (record->used & ((UINT64_C(1) << AGE_BITS) - 1)));
}

/* Halved keys may be in another order: the heap is made anew. Adding the unit at a place writes to
 * no place behind it. */
static void halve(struct lfu *lfu) {
    uint32_t count = lfu->heap.count;
    lfu->halvings++;
    lfu->heap.count = 0;
    for (uint32_t place = 0; place < count; place++) {
        struct lfu_block *record = &lfu->records[ff__heap_at(&lfu->heap, place)->unit];
        record->place.where = 0;
        ff__heap_set(&lfu->heap, (uint32_t)(record - lfu->records), key_of(lfu, record));
    }
}

/* ---- uses ---- */

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct lfu *lfu = state;
    struct lfu_block *record = &lfu->records[arrival->block];
    (void)view;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    record->used = ++lfu->clock;
    if (!ff__heap_has(&lfu->heap, arrival->block))
        ff__heap_set(&lfu->heap, arrival->block, key_of(lfu, record));
}

/* The heap is left as it is: a key only gets less by a use, so that an old one is never too far
 * down, and the top is looked at again before anything is taken from it. */
static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    struct lfu *lfu = state;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct ff_access *access = &batch->items[i];
        struct lfu_block *record = &lfu->records[access->block];
        if (record->halvings != lfu->halvings)
            catch_up(lfu, record);
        record->used = ++lfu->clock;
        record->written |= (access->flags & FF_ACCESS_WRITE) != 0;
        if (++record->count == COUNT_FULL)
            halve(lfu);
    }
}

static void forget(struct lfu *lfu, uint32_t block) {
    ff__heap_remove(&lfu->heap, block);
    lfu->records[block].written = false;
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind == FF_LEAVE_RELEASED)
        forget(state, leave->block);
}

static void block_freed(void *state, uint32_t block) {
    forget(state, block);
    ((struct lfu *)state)->records[block].count = 0;
}

/* ---- victims ---- */

/* As in groups.c: a block with pages missing goes only if there is no other, a reserved one last.
 */
enum worth { WORTH_WHOLE, WORTH_PARTS, WORTH_RESERVED, WORTH_NOTHING };

static enum worth worth_of(const struct lfu *lfu, const struct ff__naming *naming, uint32_t block,
                           bool reserved) {
    const struct ff_view *view = naming->view;
    uint32_t tier = lfu->evictor.tier;
    struct ff_mask coming = ff_view_coming(view, block);
    if (block == naming->request->for_block || !ff_view_evictable(view, tier, block) ||
        !ff_mask_empty(&coming))
        return WORTH_NOTHING;
    if (reserved)
        return WORTH_RESERVED;
    return ff__is_in_part(naming, block) ? WORTH_PARTS : WORTH_WHOLE;
}

static uint32_t take_coldest(struct lfu *lfu) {
    for (;;) {
        uint32_t block = ff__heap_top(&lfu->heap);
        uint64_t key = key_of(lfu, &lfu->records[block]);
        if (key == ff__heap_key(&lfu->heap, block)) {
            ff__heap_remove(&lfu->heap, block);
            return block;
        }
        ff__heap_set(&lfu->heap, block, key);
    }
}

static void put_back(struct lfu *lfu, uint32_t aside) {
    for (; aside != FF_NONE; aside = lfu->records[aside].next)
        ff__heap_set(&lfu->heap, aside, key_of(lfu, &lfu->records[aside]));
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct lfu *lfu = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    uint64_t skip = (uint64_t)lfu->heap.count * lfu->evictor.reserve / 100;
    uint32_t aside = FF_NONE, second = FF_NONE;
    enum worth best = WORTH_NOTHING;
    while (lfu->heap.count > 0 && !ff__naming_done(&naming)) {
        uint32_t block = take_coldest(lfu);
        lfu->records[block].next = aside;
        aside = block;
        enum worth worth = worth_of(lfu, &naming, block, skip > 0);
        skip -= skip > 0;
        if (worth == WORTH_WHOLE)
            ff__name(&naming, block, ff_view_resident(view, lfu->evictor.tier, block));
        if (worth < best)
            second = block, best = worth;
    }
    if (naming.named == 0 && second != FF_NONE)
        ff__name(&naming, second, ff_view_resident(view, lfu->evictor.tier, second));
    put_back(lfu, aside);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

const struct ff_evict_policy ff__evict_lfu_2m = {
    .base =
        {
            .name = "lfu-2m",
            .summary = "the block with the fewest accesses (UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct lfu),
            .block_state_size = sizeof(struct lfu_block),
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
