/* memHarvester's way of fetching (HUVM, sections 4.1 and 4.3): whole blocks on a fault; a part of
 * each batch of faults by way of devices that lend memory, over their own links to the host
 * (parallel fault handling); the next blocks in the direction of the faults, from the host to a
 * lender or to the device itself, and from a lender to the device (multi-path prefetch); and copies
 * of guests to the host in the background, so that their memory can be reclaimed at once. */
#include "policy/memharvester/lenders.h"
#include "policy/registry.h"

#define LOOKS       16u        /* evicted blocks that are looked at when copies are advised; ours */
#define EVICTED_MAX (1u << 16) /* blocks that may have become guests; ours */
#define ACTIVE_NS   UINT64_C(100000000) /* a device that has evicted since is a harvester; ours */
#define AMOUNT_MAX  64u                 /* as in the released code */

enum path { PATH_OFF, PATH_LOCAL, PATH_LENDER, PATH_BOTH };

enum thread { FROM_HOST, FROM_LENDER, THREADS };

/* What a device prefetches after its last batch. */
struct prefetch_window {
    uint32_t remembered; /* block of a fault of the last batch; FF_NONE: there was none */
    uint32_t base;       /* the block that it looks ahead from */
    bool up, to_lender;
    bool copies;               /* no kernel runs, but a copy engine */
    uint64_t left;             /* blocks to come, as bits */
    uint32_t at_work[THREADS]; /* the block that each thread had last; FF_NONE */
    bool advised[THREADS];
    uint64_t evicted_ns; /* when the device last evicted, plus one */
};

struct prefetch {
    struct ff__lenders lenders;
    struct prefetch_window of[FF_TIERS_MAX];
    uint32_t amount, stride, path;
    bool parallel, writes_back;
    uint32_t *evicted; /* [EVICTED_MAX] a ring of blocks */
    uint32_t first, count;
};

enum { AMOUNT, STRIDE, PATH, PARALLEL, WRITE_BACK, LENDER, KEEP, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [AMOUNT] = {"amount", FF_PARAM_INT, 16, 0, AMOUNT_MAX,
                "blocks that are prefetched for a batch of faults"},
    [STRIDE] = {"stride", FF_PARAM_INT, 1, 1, 64,
                "how many blocks these are apart; the released code's are 2"},
    [PATH] = {"path", FF_PARAM_INT, PATH_BOTH, 0, 3,
              "where blocks of the host are prefetched to: 0: nothing is prefetched, 1: to the "
              "device, 2: to a lender, "
              "3: by the number of devices that harvest"},
    [PARALLEL] = {"parallel", FF_PARAM_BOOL, 1, 0, 1,
                  "lenders fetch a part of the blocks of a batch of faults"},
    [WRITE_BACK] = {"writeback", FF_PARAM_BOOL, 1, 0, 1,
                    "copy evicted blocks from lenders to the host in the background"},
    [LENDER] = FF__LENDER_PARAM_CHOICE,
    [KEEP] = FF__LENDER_PARAM_KEEP,
};

static size_t arena_size(const int64_t *values) {
    (void)values;
    return EVICTED_MAX * sizeof(uint32_t);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct prefetch *prefetch = state;
    prefetch->amount = (uint32_t)env->params[AMOUNT];
    prefetch->stride = (uint32_t)env->params[STRIDE];
    prefetch->path = (uint32_t)env->params[PATH];
    prefetch->parallel = env->params[PARALLEL];
    prefetch->writes_back = env->params[WRITE_BACK];
    prefetch->lenders.choice = (enum ff__lender_choice)env->params[LENDER];
    prefetch->lenders.keep = (uint64_t)env->params[KEEP] * FF_BLOCK_PAGES;
    prefetch->evicted = env->arena;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        prefetch->of[tier] =
            (struct prefetch_window){.remembered = FF_NONE, .at_work = {FF_NONE, FF_NONE}};
    return 0;
}

/* The released module sets the threshold of the driver's tree to 1 %: any fault brings its whole
 * block. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    advice->prefetch = ff_view_pages(view, group->block);
}

/* ---- where blocks are ---- */

/* The device that has pages of the block; FF_NONE: none. */
static uint32_t holder_of(const struct ff_view *view, uint32_t block) {
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        if (!ff_mask_empty(ff_view_resident(view, tier, block)))
            return tier;
    return FF_NONE;
}

static bool is_on_host_alone(const struct ff_view *view, uint32_t block) {
    return holder_of(view, block) == FF_NONE &&
           !ff_mask_empty(ff_view_resident(view, FF_TIER_HOST, block));
}

static bool is_of_device(const struct ff_view *view, uint32_t block, uint32_t tier) {
    return block < view->block_limit && view->blocks[block].page_count > 0 &&
           view->ranges[view->blocks[block].range].home_tier == tier;
}

/* ---- harvesters ---- */

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct prefetch *prefetch = state;
    if (leave->kind != FF_LEAVE_PAGES || ff_mask_empty(leave->pages))
        return;
    prefetch->of[leave->tier].evicted_ns = view->now_ns + 1;
    if (!prefetch->writes_back || prefetch->count == EVICTED_MAX)
        return;
    prefetch->evicted[(prefetch->first + prefetch->count++) % EVICTED_MAX] = leave->block;
}

static bool is_harvester(const struct prefetch *prefetch, const struct ff_view *view,
                         uint32_t tier) {
    uint64_t evicted = prefetch->of[tier].evicted_ns;
    return evicted > 0 && evicted + ACTIVE_NS > view->now_ns;
}

/* Blocks of the host go to lenders while no more devices harvest than others can lend. */
static bool goes_to_lender(const struct prefetch *prefetch, const struct ff_view *view,
                           uint32_t lender_count) {
    uint32_t harvesters = 0;
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        harvesters += is_harvester(prefetch, view, tier);
    return prefetch->path == PATH_LENDER ||
           (prefetch->path == PATH_BOTH && harvesters <= lender_count);
}

/* ---- a batch ---- */

static bool advise_lend(struct prefetch *prefetch, const struct ff_view *view, uint32_t block,
                        uint32_t user, struct ff_advice_list *advice) {
    uint32_t tiers[FF_TIERS_MAX];
    if (ff__lenders_list(&prefetch->lenders, view, user, tiers) == 0)
        return false;
    struct ff_advice lend = {.action = FF_LEND,
                             .block = block,
                             .tier = tiers[0],
                             .launch = FF_NONE,
                             .pages = ff_view_pages(view, block)};
    return ff_advice_add(advice, &lend);
}

/* The handlers of the lenders begin at the batch's end, that of the device at its head. All take
 * the same number of blocks, of those that have been evicted. */
static void share_batch(struct prefetch *prefetch, const struct ff_view *view,
                        const struct ff_fault_group *groups, uint32_t count, uint32_t lender_count,
                        struct ff_advice_list *advice) {
    uint32_t left = count * lender_count / (lender_count + 1);
    for (uint32_t i = count; i-- > 0 && left > 0; left--) {
        const struct ff_fault_group *group = &groups[i];
        const struct ff_facts *facts = ff_view_facts(view, group->block);
        if (!facts->busy && !ff_mask_empty(&facts->evicted) && is_on_host_alone(view, group->block))
            advise_lend(prefetch, view, group->block, group->tier, advice);
    }
}

/* Each of the two threads that prefetch, one for blocks of the host and one for blocks of lenders,
 * moves a block at a time. */
static bool is_at_work(const struct prefetch *prefetch, const struct ff_view *view, uint32_t tier,
                       uint32_t thread) {
    uint32_t block = prefetch->of[tier].at_work[thread];
    return block != FF_NONE && block < view->block_limit && ff_view_facts(view, block)->busy;
}

/* Advises one block, if its thread has nothing to do. False: it has. */
static bool advise_next(struct prefetch *prefetch, const struct ff_view *view, uint32_t tier,
                        uint32_t block, struct ff_advice_list *advice) {
    struct prefetch_window *window = &prefetch->of[tier];
    if (!is_of_device(view, block, tier) || ff_view_facts(view, block)->busy)
        return true;
    bool on_host = is_on_host_alone(view, block);
    uint32_t holder = holder_of(view, block), thread = on_host ? FROM_HOST : FROM_LENDER;
    if (holder == tier || (holder == FF_NONE && !on_host))
        return true;
    if (window->advised[thread] || is_at_work(prefetch, view, tier, thread))
        return false;
    window->at_work[thread] = block;
    window->advised[thread] = true;
    if (on_host && window->to_lender && advise_lend(prefetch, view, block, tier, advice))
        return true;
    if (prefetch->path != PATH_LENDER)
        ff_advise_block(advice, view, FF_BRING, block, tier);
    return true;
}

static uint32_t block_of(const struct prefetch *prefetch, const struct prefetch_window *window,
                         uint32_t number) {
    uint32_t distance = (number + 1) * prefetch->stride;
    if (window->up)
        return window->base + distance;
    return distance > window->base ? FF_NONE : window->base - distance;
}

/* What is left of the window, as far as the threads come. The blocks of the one do not wait for
 * those of the other. */
static void go_on(struct prefetch *prefetch, const struct ff_view *view, uint32_t tier,
                  struct ff_advice_list *advice) {
    struct prefetch_window *window = &prefetch->of[tier];
    window->advised[FROM_HOST] = window->advised[FROM_LENDER] = false;
    for (uint64_t left = window->left; left; left &= left - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(left);
        if (advise_next(prefetch, view, tier, block_of(prefetch, window, number), advice))
            window->left &= ~(UINT64_C(1) << number);
        if (window->advised[FROM_HOST] && window->advised[FROM_LENDER])
            return;
    }
}

/* Up if the batch begins above where the last one was, else down. What is left of the last batch's
 * blocks is dropped. */
static void look_ahead(struct prefetch *prefetch, const struct ff_view *view, uint32_t tier,
                       uint32_t first, uint32_t last, bool to_lender,
                       struct ff_advice_list *advice) {
    struct prefetch_window *window = &prefetch->of[tier];
    window->up = window->remembered == FF_NONE || window->remembered < first;
    window->remembered = window->base = window->up ? last : first;
    window->to_lender = to_lender;
    window->left = prefetch->amount == 0 ? 0 : UINT64_MAX >> (AMOUNT_MAX - prefetch->amount);
    go_on(prefetch, view, tier, advice);
}

/* Faults of a copy engine cannot be replayed, and come to another handler than a kernel's
 * (uvm_gpu_non_replayable_faults.c), which the released module does not change. */
static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view;
    (void)advice;
    ((struct prefetch *)state)->of[event->tier].copies = event->begins && event->copies;
}

/* The faults of a batch are of one device. */
static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct prefetch *prefetch = state;
    uint32_t tiers[FF_TIERS_MAX], tier = groups[0].tier;
    struct ff__lenders lenders = prefetch->lenders; /* a copy: no lender loses its turn */
    if (prefetch->of[tier].copies)
        return;
    uint32_t lender_count = ff__lenders_list(&lenders, view, tier, tiers);
    if (prefetch->parallel && lender_count > 0)
        share_batch(prefetch, view, groups, count, lender_count, advice);
    if (prefetch->path == PATH_OFF)
        return;
    bool to_lender = lender_count > 0 && goes_to_lender(prefetch, view, lender_count);
    look_ahead(prefetch, view, tier, groups[0].block, groups[count - 1].block, to_lender, advice);
}

/* ---- copies in the background ---- */

static uint32_t take_evicted(struct prefetch *prefetch) {
    uint32_t block = prefetch->evicted[prefetch->first];
    prefetch->first = (prefetch->first + 1) % EVICTED_MAX;
    prefetch->count--;
    return block;
}

/* How many blocks may be copied now: one thread of each program that harvests does it, a block at a
 * time. */
static uint32_t copies_to_begin(const struct prefetch *prefetch, const struct ff_view *view) {
    uint32_t copied = 0, harvesters = 0;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        copied +=
            (uint32_t)((view->lending[tier].writing_back + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES);
        harvesters += is_harvester(prefetch, view, tier);
    }
    return harvesters > copied ? harvesters - copied : copied == 0;
}

/* Advises a copy of the block, if it has become a guest. False: it is still on its way. */
static bool advise_copy(const struct ff_view *view, uint32_t block, struct ff_advice_list *advice) {
    if (block >= view->block_limit || view->blocks[block].page_count == 0)
        return true;
    if (ff_view_facts(view, block)->busy)
        return false;
    uint32_t tier = holder_of(view, block);
    if (tier == FF_NONE || is_of_device(view, block, tier))
        return true;
    struct ff_advice copy = {
        .action = FF_WRITE_BACK, .block = block, .tier = tier, .launch = FF_NONE};
    return ff_advice_add(advice, &copy);
}

/* Oldest first; what is still on its way is looked at again later. */
static void copy_guests(struct prefetch *prefetch, const struct ff_view *view,
                        struct ff_advice_list *advice) {
    uint32_t most = advice->count + copies_to_begin(prefetch, view);
    for (uint32_t left = prefetch->count < LOOKS ? prefetch->count : LOOKS;
         left > 0 && advice->count < most; left--) {
        uint32_t block = take_evicted(prefetch);
        if (!advise_copy(view, block, advice))
            prefetch->evicted[(prefetch->first + prefetch->count++) % EVICTED_MAX] = block;
    }
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct prefetch *prefetch = state;
    copy_guests(prefetch, view, advice);
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        go_on(prefetch, view, tier, advice);
}

static const struct ff_learn_hooks learning = {.plan = plan};

const struct ff_prefetch_policy ff__prefetch_memharvester = {
    .base =
        {
            .name = "memharvester",
            .summary = "whole blocks, and the next ones over several paths (memHarvester)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct prefetch),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .on_launch = on_launch,
            .on_leave = on_leave,
        },
    .on_batch = on_batch,
    .on_fault = on_fault,
    .learning = &learning,
};
