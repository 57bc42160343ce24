/* The learned predictor where only faults and launches are seen, as on the software device: ours.
 *
 * A token is a fault as it was served: its first page, and in place of the PC the running kernel's
 * execution ID. A stream is what one thread faults on (in the simulator: one SM, as the fault
 * packets of NVIDIA's devices name a uTLB). `learn` predicts, off the fault path; a fault brings
 * its leaf, whatever is predicted. What is learned comes from faults alone, and so from other
 * streams than those that farfault train makes models of: without a model it learns while running.
 */
#include "policy/hlsh/lookahead.h"
#include "policy/registry.h"

#define STREAMS 1792u /* threads told apart: as many as the paper's device has warps */
#define WAITING 256u  /* predictions that have not been planned yet */

struct waiting {
    struct ff__guess guess;
    uint32_t tier, launch;
};

struct learned_faults {
    struct ff__lookahead ahead; /* learning's, but for what does not change */
    uint64_t tune, faults, next_tune;
    /* Learning's: for each event of this call; tier 0: none */
    struct waiting made[FF_LEARN_EVENTS];
    struct waiting waiting[WAITING];
    uint32_t first, count;
};

enum { TUNE = FF__LOOKAHEAD_PARAMS, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    FF__LOOKAHEAD_ROWS,
    [TUNE] = {"tune", FF_PARAM_INT, 2048, 128, INT64_C(1) << 40,
              "faults between fine-tuning steps"},
};

static size_t arena_size(const int64_t *values) {
    (void)values;
    return ff__lookahead_arena(STREAMS);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct learned_faults *learned = state;
    learned->tune = learned->next_tune = (uint64_t)env->params[TUNE];
    return ff__lookahead_start(&learned->ahead, env, STREAMS);
}

static void fini(void *state) {
    ff__lookahead_stop(&((struct learned_faults *)state)->ahead);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    ff__lookahead_fault(&((struct learned_faults *)state)->ahead, view, group, advice);
}

/* The oldest one makes room. */
static void keep(struct learned_faults *learned, struct waiting waiting) {
    learned->waiting[(learned->first + learned->count) % WAITING] = waiting;
    if (learned->count < WAITING)
        learned->count++;
    else
        learned->first = (learned->first + 1) % WAITING;
}

static struct waiting follow(struct learned_faults *learned, const struct ff_event *event) {
    const struct ff__access token = {
        .page = event->block * FF_BLOCK_PAGES + event->page,
        .pc = event->launch,
        .launch = event->launch,
        .sm = (uint16_t)(event->thread >> 16),
        .warp = (uint16_t)event->thread,
        .array = (uint16_t)event->range,
        .missed = true,
    };
    struct waiting made = {.tier = event->tier, .launch = event->launch};
    ff__lookahead_note(&learned->ahead, event->thread, &token);
    learned->faults++;
    if (!ff__lookahead_predict(&learned->ahead, event->thread, event->now_ns, &made.guess))
        made.tier = 0;
    return made;
}

static void learn(void *state, const struct ff_event *events, uint32_t count) {
    struct learned_faults *learned = state;
    const uint64_t now_ns = events[count - 1].now_ns;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == FF_EVENT_FAULT)
            learned->made[i] = follow(learned, &events[i]);
    if (learned->faults >= learned->next_tune) {
        learned->next_tune = learned->faults + learned->tune;
        ff__lookahead_tune(&learned->ahead, now_ns);
    }
    ff__lookahead_adopt(&learned->ahead, now_ns);
}

static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct learned_faults *learned = state;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == FF_EVENT_FAULT && learned->made[i].tier != 0)
            keep(learned, learned->made[i]);
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct learned_faults *learned = state;
    while (learned->count > 0 && advice->count < advice->capacity) {
        const struct waiting *next = &learned->waiting[learned->first];
        struct ff_advice bring = {.tier = next->tier, .launch = next->launch};
        if (ff__lookahead_place(&learned->ahead, view, &next->guess, &bring))
            ff_advice_add(advice, &bring);
        learned->first = (learned->first + 1) % WAITING;
        learned->count--;
    }
}

static const struct ff_learn_hooks learning = {.learn = learn, .publish = publish, .plan = plan};

const struct ff_prefetch_policy ff__prefetch_learned_faults = {
    .base =
        {
            .name = "learned-faults",
            .summary = "as learned, predicting from the faults of one thread: where accesses are "
                       "not visible",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct learned_faults),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .fini = fini,
        },
    .on_fault = on_fault,
    .learning = &learning,
};
