/* Whole blocks with a fault, and the blocks that are predicted to follow, as many as the prediction
 * is trusted: ours.
 *
 * The blocks that a range's faults ask for are a sequence, and so are those of a device; what
 * followed the same context before (learn/context.h) is predicted next. Predictions are chained:
 * each is the context of the next one, and the chain ends where the product of their measured
 * shares of right answers falls below `trust`, or `depth` blocks are on their way.
 *
 * A block that comes ahead of its fault has none, and nobody would see whether it was used. So one
 * block of every chain is brought without the leaf that is expected to be accessed first. Its fault
 * says that the chain is right so far, and the chain is made longer before it has been used up, as
 * Linux's readahead does by a marked page. A chain is wrong if a block outside of it faults first.
 */
#include "learn/context.h"
#include "policy/adaptive/sparse.h"
#include "policy/registry.h"

#include <string.h>

#define CHAIN 32u /* blocks of a chain, at most */
#define FOLDS 4u

static const uint8_t lengths[FOLDS] = {1, 2, 4, 8};

/* A sequence of blocks; all zero: none yet. */
struct block_stream {
    struct ff__recent steps; /* distances from block to block */
    uint32_t folds[FOLDS];
    uint32_t last;                /* block + 1 */
    uint32_t chain[CHAIN], count; /* predicted to follow, and not seen yet */
};

/* Of a block and a range; what is common begins with the common part. */
struct context_block {
    struct ff__sparse_block sparse;
    uint8_t ahead; /* the device that it was brought to ahead, and not seen on since; 0: none */
};

struct context_range {
    struct ff__sparse_range sparse;
    struct block_stream stream;
};

struct context {
    struct ff__sparse sparse;
    struct ff__context tables;
    struct context_block *records;
    struct context_range *ranges;
    struct block_stream by_tier[FF_TIERS_MAX];
    uint32_t ahead[FF_TIERS_MAX]; /* records of each device */
    uint32_t depth;
    uint64_t room;  /* percent */
    uint64_t trust; /* of FF__CONTEXT_CERTAIN */
};

enum stream_kind { OF_RANGE = 1, OF_DEVICE };

enum { OFTEN = FF__SPARSE_PARAMS, BITS, DEPTH, TRUST, ROOM, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    FF__SPARSE_ROWS,
    [OFTEN] = {"often", FF_PARAM_INT, 2, 0, 255,
               "a block may be used from the host when it has come back so often during a launch"},
    [BITS] = {"bits", FF_PARAM_INT, 12, 4, 16,
              "a table of contexts has 2^bits entries of 12 bytes"},
    [DEPTH] = {"depth", FF_PARAM_INT, 16, 0, CHAIN,
               "blocks to bring ahead of each sequence, at most"},
    /* A right prediction saves a fault and a transfer, a wrong one costs as much when the block
     * that left comes back, and a transfer of its own, which matters where the link is busy: it
     * pays from 50 to 64 percent on. */
    [TRUST] = {"trust", FF_PARAM_INT, 60, 1, 100,
               "percent: a chain of predictions ends where it is less likely right"},
    [ROOM] = {"room", FF_PARAM_INT, 5, 0, 100,
              "percent of a device's memory that is filled ahead, at most"},
};

static size_t arena_size(const int64_t *values) {
    return ff__context_size((uint32_t)values[BITS]);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct context *context = state;
    ff__context_start(&context->tables, env->arena, (uint32_t)env->params[BITS]);
    ff__sparse_start(&context->sparse, env, sizeof(struct context_block),
                     sizeof(struct context_range), (uint32_t)env->params[OFTEN]);
    context->ranges = env->range_state;
    context->records = env->block_state;
    context->depth = (uint32_t)env->params[DEPTH];
    context->room = (uint64_t)env->params[ROOM];
    context->trust = FF__CONTEXT_CERTAIN * (uint64_t)env->params[TRUST] / 100;
    return 0;
}

static void range_freed(void *state, uint32_t range) {
    struct context *context = state;
    struct block_stream *stream = &context->ranges[range].stream;
    ff__sparse_range_freed(&context->sparse, range);
    if (stream->last)
        *stream = (struct block_stream){0};
}

/* Ends the expectation of the block: it has been used, or is gone, or is not predicted any more. */
static void settle(struct context *context, uint32_t block) {
    struct context_block *record = &context->records[block];
    if (record->ahead == 0) /* what was never written costs no memory */
        return;
    context->ahead[record->ahead]--;
    record->ahead = 0;
}

static void block_freed(void *state, uint32_t block) {
    struct context *context = state;
    ff__sparse_block_freed(&context->sparse, block);
    settle(context, block);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct context *context = state;
    ff__sparse_leave(&context->sparse, view, leave);
    settle(context, leave->block);
}

/* ---- sequences ---- */

/* The context of a sequence at a block: the last steps, with and without the kernel and the block.
 */
static struct ff__context_keys keys_of(const uint32_t folds[FOLDS], enum stream_kind kind,
                                       uint32_t launch, uint32_t block) {
    const uint64_t any = ff__context_mix(1, kind), kernel = ff__context_mix(any, launch + 2u);
    const uint64_t here = ff__context_mix(any, block), both = ff__context_mix(kernel, block);
    const uint64_t hashes[FF__CONTEXT_TABLES] = {
        ff__context_mix(any, folds[1]),    ff__context_mix(any, folds[2]),
        ff__context_mix(kernel, folds[0]), ff__context_mix(kernel, folds[2]),
        ff__context_mix(kernel, folds[3]), both,
        ff__context_mix(here, folds[1]),   ff__context_mix(both, folds[1]),
    };
    struct ff__context_keys keys;
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++)
        keys.of[t] = ff__context_key(hashes[t]);
    return keys;
}

/* One more block of the sequence. */
static void step(struct context *context, struct block_stream *stream, enum stream_kind kind,
                 uint32_t launch, uint32_t block) {
    int32_t by = (int32_t)(block + 1 - stream->last);
    if (stream->last) {
        struct ff__context_keys keys = keys_of(stream->folds, kind, launch, stream->last - 1);
        ff__context_teach(&context->tables, &keys, by);
        ff__recent_add(&stream->steps, (uint32_t)by, stream->folds, lengths, FOLDS);
    }
    stream->last = block + 1;
    settle(context, block);
}

/* A block that faults: the chain up to it is right, or all of it wrong. False: nothing new. */
static bool see(struct context *context, struct block_stream *stream, enum stream_kind kind,
                uint32_t launch, uint32_t block) {
    uint32_t passed = 0;
    if (stream->last == block + 1)
        return false;
    while (passed < stream->count && stream->chain[passed] != block)
        passed++;
    if (passed == stream->count) {
        while (stream->count > 0)
            settle(context, stream->chain[--stream->count]);
        step(context, stream, kind, launch, block);
        return true;
    }
    for (uint32_t i = 0; i <= passed; i++)
        step(context, stream, kind, launch, stream->chain[i]);
    stream->count -= passed + 1;
    memmove(stream->chain, stream->chain + passed + 1, stream->count * sizeof stream->chain[0]);
    return true;
}

/* ---- chains ---- */

static bool can_bring(const struct context *context, const struct ff_view *view, uint32_t block,
                      uint32_t tier, uint32_t range) {
    if (block >= view->block_limit || view->blocks[block].page_count == 0)
        return false;
    uint32_t of = view->blocks[block].range;
    if (ff__sparse_is(&context->sparse, view, block))
        return false;
    return range == FF_NONE ? view->ranges[of].home_tier == tier : of == range;
}

/* Makes the chain longer, as far as it is trusted. */
static void predict(struct context *context, struct block_stream *stream, enum stream_kind kind,
                    const struct ff_view *view, const struct ff_fault_group *group) {
    const uint32_t range = kind == OF_RANGE ? view->blocks[group->block].range : FF_NONE;
    uint64_t chance = FF__CONTEXT_CERTAIN;
    uint32_t block = stream->last - 1, folds[FOLDS];
    struct ff__recent steps = stream->steps;
    memcpy(folds, stream->folds, sizeof folds);
    for (uint32_t i = 0; i < stream->count; i++) {
        ff__recent_add(&steps, stream->chain[i] - block, folds, lengths, FOLDS);
        block = stream->chain[i];
    }
    while (stream->count < context->depth) {
        const struct ff__context_keys keys = keys_of(folds, kind, group->launch, block);
        struct ff__context_guess guess;
        if (!ff__context_look(&context->tables, &keys, &guess))
            return;
        chance = chance * guess.right / FF__CONTEXT_CERTAIN;
        block += (uint32_t)guess.value;
        if (chance < context->trust || !can_bring(context, view, block, group->tier, range))
            return;
        ff__recent_add(&steps, (uint32_t)guess.value, folds, lengths, FOLDS);
        stream->chain[stream->count++] = block;
    }
}

/* Of a marked block the leaf stays behind that is at the same place as the fault. */
static void mark(struct ff_mask *pages, uint32_t page) {
    uint32_t leaf = page / FF_LEAF_PAGES * FF_LEAF_PAGES;
    ff_mask_unset_run(pages, leaf, leaf + FF_LEAF_PAGES);
}

static bool has_room(const struct context *context, const struct ff_view *view, uint32_t tier) {
    return context->ahead[tier] < view->capacity[tier] / FF_BLOCK_PAGES * context->room / 100;
}

/* A block without content costs its fault nothing but time, and may never be used. It is not worth
 * a place that another one will need, as some will if not all ranges fit together. */
static bool is_worth_it(const struct ff_view *view, uint32_t block, uint32_t tier) {
    for (uint32_t from = 0; from < view->tier_count; from++)
        if (!ff_mask_empty(ff_view_resident(view, from, block)))
            return true;
    return view->allocated <= view->capacity[tier];
}

/* False: the chain ends here. There is no room for more; or the block is there, so that the next
 * fault is on another one, and what was predicted to follow it would come much too early and evict
 * what is needed sooner. */
static bool bring_block(struct context *context, const struct ff_view *view, uint32_t block,
                        const struct ff_fault_group *group, struct ff_advice_list *advice) {
    struct context_block *record = &context->records[block];
    struct ff_mask there = ff_view_expected(view, group->tier, block);
    struct ff_advice bring = {.action = FF_BRING,
                              .block = block,
                              .tier = group->tier,
                              .launch = group->launch,
                              .pages = ff_view_pages(view, block)};
    bring.pages = ff_mask_minus(&bring.pages, &there);
    if (record->ahead)
        return true;
    if (ff_mask_empty(&bring.pages))
        return false;
    if (!is_worth_it(view, block, group->tier))
        return true;
    if (!has_room(context, view, group->tier) || !ff_advice_add(advice, &bring))
        return false;
    record->ahead = (uint8_t)group->tier;
    context->ahead[group->tier]++;
    return true;
}

/* Brings what is missing of the chain from its block number `first` on, and not on its way for the
 * other sequence. Marked is the first such block, if a part of the chain is still to be used before
 * it, else the one in the middle. */
static void bring(struct context *context, struct block_stream *stream, uint32_t first,
                  const struct ff_view *view, const struct ff_fault_group *group,
                  struct ff_advice_list *advice) {
    const uint32_t before = advice->count;
    uint32_t end = first;
    while (end < stream->count && bring_block(context, view, stream->chain[end], group, advice))
        end++;
    stream->count = end;
    if (advice->count > before)
        mark(&advice->items[first > 0 ? before : (before + advice->count) / 2].pages,
             ff_mask_next(&group->faulted, 0));
}

static void follow(struct context *context, struct block_stream *stream, enum stream_kind kind,
                   const struct ff_view *view, const struct ff_fault_group *group,
                   struct ff_advice_list *advice) {
    if (!see(context, stream, kind, group->launch, group->block))
        return;
    uint32_t known = stream->count;
    predict(context, stream, kind, view, group);
    bring(context, stream, known, view, group, advice);
}

static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct context *context = state;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_fault_group *group = &groups[i];
        uint32_t range = view->blocks[group->block].range;
        if (group->tier == FF_TIER_HOST || ff__sparse_is(&context->sparse, view, group->block))
            continue;
        follow(context, &context->ranges[range].stream, OF_RANGE, view, group, advice);
        follow(context, &context->by_tier[group->tier], OF_DEVICE, view, group, advice);
    }
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct context *context = state;
    if (!ff__sparse_fault(&context->sparse, view, group, advice))
        advice->prefetch = ff_view_pages(view, group->block);
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    ff__sparse_launch(&((struct context *)state)->sparse, event);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    ff__sparse_access(&((struct context *)state)->sparse, view, batch, advice);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    return ff__sparse_report(&((const struct context *)state)->sparse, index, finding);
}

static const struct ff_access_hooks accesses = {.on_access = on_access, .remote_only = true};

const struct ff_prefetch_policy ff__prefetch_context = {
    .base =
        {
            .name = "context",
            .summary = "whole blocks, and the ones that followed the same context before, as far "
                       "as that is trusted",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct context),
            .block_state_size = sizeof(struct context_block),
            .range_state_size = sizeof(struct context_range),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .on_launch = on_launch,
            .on_leave = on_leave,
            .report = report,
            .accesses = &accesses,
        },
    .on_batch = on_batch,
    .on_fault = on_fault,
};
