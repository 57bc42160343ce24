/* Prefetching by a learned predictor (Long, Gong, Zhou, Zhang, arXiv 2203.12672, sections 4 and 6).
 *
 * A far fault brings its 64 KiB leaf and one page that the predictor expects the same warp, by SM
 * and place in it, to access 30 accesses later. Every access is a token of its warp's window. Of
 * faults that are merged only the first is predicted for: it is one request.
 *
 * Where the paper says nothing:
 *   wait=0      a fault is served at once, and the predicted page asked for when it is known
 *   wait=1      leaf and page are one request, which the prediction delays
 *   touches=0   predictions are made at faults
 *   touches=1 at the first access to a page that a prefetch has brought, too Deltas are ours
 *   (learn/features.h); with delta=1 the paper's, from the last access, whatever its array.
 *   Fine-tuning takes place every `tune` instructions of threads (section 7.1), on what was
 *   accessed since the last time. */
#include "policy/hlsh/lookahead.h"
#include "policy/registry.h"

#include "base/error.h"

#include <errno.h>

#define WARPS   64u  /* of an SM, at most */
#define SMS     256u /* of all devices; more share their streams */
#define STREAMS (SMS * WARPS)
#define LANES   32u /* threads of a warp */

/* Of a block. */
struct learned_block {
    struct ff_mask asked; /* a prediction was made for the fault of the page's leaf */
    struct ff_mask ahead; /* it came without a fault, and has not been accessed */
    uint64_t ready_ns;    /* when the last of those predictions is known */
};

struct learned {
    struct ff__lookahead ahead;
    struct learned_block *records;
    uint64_t tune, next_tune; /* instructions of warps */
    uint16_t program;
    bool wait, touches;
};

enum {
    TUNE = FF__LOOKAHEAD_PARAMS,
    PROGRAM,
    WAIT,
    TOUCHES,
    DELTA,
    PARAMS,
};

static const struct ff_param params[PARAMS + 1] = {
    FF__LOOKAHEAD_ROWS,
    [TUNE] = {"tune", FF_PARAM_INT, 50000000, LANES, INT64_C(1) << 60,
              "thread instructions between fine-tuning steps"},
    [PROGRAM] = {"program", FF_PARAM_INT, 0, 0, UINT16_MAX,
                 "which of the model's programs runs, from 0: PCs differ by program"},
    [WAIT] = {"wait", FF_PARAM_BOOL, 0, 0, 1, "a fault waits for its prediction"},
    [TOUCHES] = {"touches", FF_PARAM_BOOL, 0, 0, 1,
                 "predict at the first access to a prefetched page, too, not only at faults"},
    [DELTA] =
        {"delta", FF_PARAM_INT, 0, 0, 1,
         "a page's distance: 0 from the stream's last page in the same array, 1 from its last "
         "access; 1 without a model"},
};

static size_t arena_size(const int64_t *values) {
    (void)values;
    return ff__lookahead_arena(STREAMS);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct learned *learned = state;
    const bool any_array = env->params[DELTA] != 0;
    if (any_array && env->text && env->text[env->params[FF__LOOKAHEAD_MODEL]])
        return ff__fail(
            env->error, -EINVAL,
            "delta=1 needs a predictor that learns from the run: models are of delta=0");
    learned->records = env->block_state;
    learned->tune = learned->next_tune = (uint64_t)env->params[TUNE] / LANES;
    learned->program = (uint16_t)env->params[PROGRAM];
    learned->wait = env->params[WAIT] != 0;
    learned->touches = env->params[TOUCHES] != 0;
    int status = ff__lookahead_start(&learned->ahead, env, STREAMS);
    learned->ahead.any_array = any_array;
    return status;
}

static void fini(void *state) {
    ff__lookahead_stop(&((struct learned *)state)->ahead);
}

static void block_freed(void *state, uint32_t block) {
    ((struct learned *)state)->records[block] = (struct learned_block){0};
}

/* ---- faults ---- */

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct learned *learned = state;
    const struct learned_block *record = &learned->records[group->block];
    ff__lookahead_fault(&learned->ahead, view, group, advice);
    if (!learned->wait || record->ready_ns <= view->now_ns)
        return;
    advice->throttle = ff_mask_and(&group->faulted, &record->asked);
    advice->throttle_until_ns = record->ready_ns;
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    (void)view;
    struct learned_block *record = &((struct learned *)state)->records[arrival->block];
    if (arrival->kind != FF_ARRIVAL_SERVED)
        return;
    record->asked = ff_mask_minus(&record->asked, arrival->pages);
    if (!arrival->faulted)
        record->ahead = ff_mask_or(&record->ahead, arrival->pages);
}

/* ---- accesses ---- */

/* Whether this access is one to predict at. */
static bool asks(struct learned *learned, const struct ff_access *access) {
    struct learned_block *record = &learned->records[access->block];
    bool missed = access->flags & FF_ACCESS_MISS, first = false;
    if (missed && !ff_mask_test(&record->asked, access->page)) {
        uint32_t leaf = access->page - access->page % FF_LEAF_PAGES;
        ff_mask_set_run(&record->asked, leaf, leaf + FF_LEAF_PAGES);
        first = true;
    } else if (!missed && ff_mask_test(&record->ahead, access->page)) {
        ff_mask_unset(&record->ahead, access->page);
        first = learned->touches;
    }
    return first;
}

static void follow(struct learned *learned, const struct ff_view *view,
                   const struct ff_access *access, struct ff_advice_list *list) {
    uint32_t sm = (access->sm + (access->tier - 1u) * (SMS / 2)) % SMS;
    uint32_t stream = sm * WARPS + access->warp % WARPS;
    const struct ff__access token = {
        .page = access->block * FF_BLOCK_PAGES + access->page,
        .pc = access->pc,
        .sm = access->sm,
        .warp = access->warp,
        .array = learned->ahead.any_array ? 0 : (uint16_t)view->blocks[access->block].range,
        .program = learned->program,
        .missed = access->flags & FF_ACCESS_MISS,
    };
    ff__lookahead_note(&learned->ahead, stream, &token);
    if (!asks(learned, access))
        return;
    struct ff_advice advice = {.tier = access->tier, .launch = FF_NONE};
    struct ff__guess guess = {0};
    bool found = ff__lookahead_predict(&learned->ahead, stream, view->now_ns, &guess);
    learned->records[access->block].ready_ns = guess.ready_ns;
    if (!found || !ff__lookahead_place(&learned->ahead, view, &guess, &advice))
        return;
    advice.joins = advice.joins && token.missed; /* else there is no request of a leaf to join */
    ff_advice_add(list, &advice);
}

static void tune(struct learned *learned, uint64_t now_ns, uint64_t instructions) {
    if (instructions >= learned->next_tune) {
        learned->next_tune = (instructions / learned->tune + 1) * learned->tune;
        ff__lookahead_tune(&learned->ahead, now_ns);
    }
    ff__lookahead_adopt(&learned->ahead, now_ns);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    struct learned *learned = state;
    tune(learned, view->now_ns, batch->instructions);
    for (uint32_t i = 0; i < batch->count; i++)
        follow(learned, view, &batch->items[i], advice);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

const struct ff_prefetch_policy ff__prefetch_learned = {
    .base =
        {
            .name = "learned",
            .summary =
                "the faulting 64 KiB leaf and one page that a learned predictor names (HLSH)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct learned),
            .block_state_size = sizeof(struct learned_block),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .fini = fini,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
};
