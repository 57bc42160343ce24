/* farfault/policy.h - how to write a policy.
 *
 * A policy is a const table of hooks and a block of state. It advises; the engine decides and moves
 * pages. A wrong policy can cost time, never data: advice that does not fit is dropped and counted,
 * and a page that is needed always comes. There are four kinds:
 *
 *   prefetch   what to bring in, with a fault or ahead of it
 *   evict      which block leaves a full device
 *   place      to which tier it goes
 *   discard    which pages are dead and need no copy
 *
 * The core is eight hooks: on_launch, on_arrival and on_leave for every kind, and on_batch,
 * on_fault, pick, place, dead for one kind each. Everything else is an extension: a table of its
 * own that a policy has or has not (extensions.h; what only a modelled device has: model.h).
 *
 * Rules for every hook:
 *   - it gets a read-only view of where every page is (view.h), valid during the call;
 *   - it does not allocate, lock, log, start a thread, read a clock or keep a pointer from the
 *     view; the time is view->now_ns, and struct ff_background runs what takes long;
 *   - the engine calls at most one hook of an engine at a time, so that state needs no locks.
 *     `learn` alone runs beside the others, on a part of the state that they leave alone
 *     (extensions.h);
 *   - a NULL hook means what its comment says.
 *
 * The hooks are a superset of what the NVIDIA driver offers its policies (prefetch before and while
 * walking the tree, chunk activated, chunk used, eviction prepared: gpu_ext, arXiv 2512.12615), so
 * a policy can move into a driver.
 *
 * docs/policies.md shows how to write, test and measure one in ten minutes; examples/policy/ has a
 * complete one of each kind; `farfault run --policy FILE.so` loads one. */
#ifndef FARFAULT_POLICY_H
#define FARFAULT_POLICY_H

#include <farfault/extensions.h>
#include <farfault/view.h>
#include <string.h>

struct ff_error;
struct ff_access_hooks;
struct ff_host_hooks;
struct ff_model;

#define FF_POLICY_API 17u /* must match exactly until 1.0 */

/* What a policy must see, and what a backend can show. */
enum ff_visibility {
    FF_SEES_FAULTS = 1u << 0,
    FF_SEES_LAUNCHES = 1u << 1,
    FF_SEES_ACCESSES = 1u << 2,     /* model.h, as the next two */
    FF_SEES_INSTRUCTIONS = 1u << 3, /* PC, SM and warp of an access */
    FF_SEES_FUTURE = 1u << 4,       /* a recorded run of the same work */
    FF_SEES_OPERANDS = 1u << 5,     /* the ranges that a launch uses */
    FF_SEES_SAMPLES = 1u << 6,      /* when pages were last used, in rounds */
    FF_SEES_SHARERS = 1u << 7,      /* who met the latest faults of a block */
    FF_SEES_REMOTE = 1u << 8,       /* accesses over a link (model.h): all, or estimates of them */
};

/* What a policy must control, and what a backend lets it control. A driver that serves faults and
 * chooses victims itself grants neither. */
enum ff_control {
    FF_CONTROLS_FAULTS = 1u << 0,   /* it is asked before a fault is served */
    FF_CONTROLS_VICTIMS = 1u << 1,  /* the victims of an eviction are the policy's */
    FF_CONTROLS_REMOTE = 1u << 2,   /* a page can be used from the tier where it is */
    FF_CONTROLS_SAMPLING = 1u << 3, /* sampling can be armed and ceased by range */
};

/* ---- parameters ---- */

enum ff_param_type {
    FF_PARAM_INT,
    FF_PARAM_BOOL, /* 0, 1, on, off */
    FF_PARAM_SIZE, /* bytes, with units: 64K, 2M */
    FF_PARAM_NS,   /* a time in nanoseconds, with units: 500us, 1s */
    FF_PARAM_TEXT, /* empty by default; the value is its offset in env->text. `max`: its length */
};

/* One declared parameter. A policy's table ends with a row whose name is NULL. */
struct ff_param {
    const char *name;
    enum ff_param_type type;
    int64_t initial, min, max; /* the default, and the accepted range */
    const char *help;
};

#define FF_PARAMS_MAX 16

/* ---- what hooks are told ---- */

/* The faults of one batch that fall in one block, without duplicates. */
struct ff_fault_group {
    uint32_t block;
    uint32_t tier;          /* where the pages are going */
    uint32_t launch;        /* execution ID of the kernel running there, FF_NONE if unknown */
    struct ff_mask faulted; /* never empty */
    struct ff_mask written; /* the faulted pages that were to be written */
    uint32_t thread;        /* that met the first of them: a thread, an SM; 0 if unknown */
};

/* Who says that a kernel indexes an operand with a fixed stride. */
enum ff_stride {
    FF_STRIDE_UNKNOWN, /* nobody */
    FF_STRIDE_HINT,    /* the program that launches it (struct ff_launch of farfault.h) */
    FF_STRIDE_SOURCE,  /* the kernel's source, which the runtime has read */
    FF_STRIDE_MODEL,   /* a model of the program: what a compiler can tell */
    FF_STRIDES
};

/* A range that a kernel uses, as far as the runtime knows. */
struct ff_operand {
    uint32_t range;
    bool reads, writes; /* both, if unknown */
    uint8_t stride;     /* enum ff_stride */
    uint8_t group;      /* the same for operands that one variable indexes; 0: not known */
};

/* A kernel starts or ends on a device. */
struct ff_launch_event {
    uint32_t launch; /* execution ID: equal for launches of one kernel with equal arguments */
    uint32_t tier;
    bool begins;
    const struct ff_operand *operands; /* of a begin; NULL where they are not known */
    uint32_t operand_count;
    bool copies; /* no kernel, but a copy by a copy engine */
};

/* Memory and pages come to a device. */
enum ff_arrival_kind {
    FF_ARRIVAL_ALLOCATED, /* the block got memory, pages will follow (NVIDIA: chunk activated) */
    FF_ARRIVAL_SERVED,    /* pages have arrived (NVIDIA: chunk used) */
    FF_ARRIVAL_STAYED,    /* pages that were leaving could not: they are still there */
};

struct ff_arrival {
    enum ff_arrival_kind kind;
    uint32_t block, tier;
    bool faulted;                /* by a fault, with what came along; else by advice */
    const struct ff_mask *pages; /* NULL with FF_ARRIVAL_ALLOCATED */
};

/* Memory and pages leave a device. */
enum ff_leave_kind {
    /* All content of the block there is dead, but its memory is still held. A backend that takes
     * dead content away at once reports FF_LEAVE_RELEASED instead. */
    FF_LEAVE_DEAD,
    FF_LEAVE_PAGES,    /* these pages are leaving */
    FF_LEAVE_RELEASED, /* the block holds no memory there any more */
};

struct ff_leave {
    enum ff_leave_kind kind;
    uint32_t block, tier;
    const struct ff_mask *pages; /* of FF_LEAVE_PAGES */
};

/* ---- what hooks answer ---- */

/* The units in which a block's memory is allocated, for as long as it holds any on the tier, are
 * called its granule, in pages: 0 (an answer: the device's own), 1, FF_LEAF_PAGES or
 * FF_BLOCK_PAGES. Where the view's unit is 1, there is only that one. */

/* The answer to a fault. The engine clears it before the call. */
struct ff_fault_advice {
    /* Other pages of the block to bring along. Ignored: those that are there or on their way,
     * faulted ones, and pages that are not the block's. */
    struct ff_mask prefetch;
    struct ff_mask throttle; /* faulted pages not to serve before throttle_until_ns */
    uint64_t throttle_until_ns;
    /* Pages of the block to leave where they are and to use from there, until advice brings them. A
     * backend that cannot map remotely migrates the faulted ones like the others. */
    struct ff_mask remote;
    uint32_t granule; /* of the block's memory, if it holds none there yet */
    bool one_request; /* model.h: the pages cross the link as one request */
};

/* What a piece of advice asks for. What a backend cannot do is dropped (FF_DROP_UNSUPPORTED): the
 * software device writes back only guests, pages in memory that one device lends another, and lends
 * only where there are several. */
enum ff_action {
    FF_BRING, /* bring the pages to `tier` (prefetch) */
    /* Evict the pages from `tier` (pre-evict); no pages named: the whole block. By its granule
     * (ff_view_granule) there leave: 2 MiB: all or nothing; 64 KiB: the leaves of these pages; 4
     * KiB: these pages, which frees memory once 16 that lie together have left. */
    FF_EVICT,
    /* Copy them to the host and keep them: until they are written to, they can go without a copy.
     * No pages named: what of the block has no copy. */
    FF_WRITE_BACK,
    FF_USE_REMOTE, /* let `tier` use them from where they are */
    FF_END_REMOTE, /* no longer: the next use is a fault again */
    /* Copy what only the host has of these pages to `tier`, in memory that it lends: they are
     * nearer to the device that will use them, and go without a copy if `tier` needs the memory
     * itself. */
    FF_LEND,
    FF_SAMPLE, /* arm, or cease, samples of the block's range under the running kernel `launch` */
    FF_ACTIONS
};

/* One piece of advice. Zero in a member other than `block`, `tier` and `launch` leaves it to the
 * engine. */
struct ff_advice {
    enum ff_action action;
    uint32_t block, tier;
    struct ff_mask pages;
    uint32_t launch;   /* the execution ID it is expected to serve, or FF_NONE */
    uint32_t granule;  /* FF_BRING: of the block's memory, if it holds none on the tier yet */
    bool ceases;       /* FF_SAMPLE: no more samples */
    bool joins;        /* FF_BRING, model.h: the pages are part of the tier's latest request */
    uint64_t ready_ns; /* model.h: when the policy has come to this; 0: now */
};

/* Owned by the caller; bounded. */
struct ff_advice_list {
    struct ff_advice *items;
    uint32_t count, capacity;
};

/* False when the list is full: stop advising. */
static inline bool ff_advice_add(struct ff_advice_list *list, const struct ff_advice *advice) {
    if (list->count == list->capacity)
        return false;
    list->items[list->count++] = *advice;
    return true;
}

/* Advises `action` for all pages of a block; FF_BRING: for those that are not on the tier yet. A
 * block id that is not valid is passed over. False when the list is full. */
static inline bool ff_advise_block(struct ff_advice_list *list, const struct ff_view *view,
                                   enum ff_action action, uint32_t block, uint32_t tier) {
    struct ff_advice advice;
    if (block >= view->block_limit || view->blocks[block].page_count == 0)
        return true;
    struct ff_mask there = ff_view_expected(view, tier, block);
    memset(&advice, 0, sizeof advice);
    advice.action = action;
    advice.block = block;
    advice.tier = tier;
    advice.launch = FF_NONE;
    advice.pages = ff_view_pages(view, block);
    if (action == FF_BRING)
        advice.pages = ff_mask_minus(&advice.pages, &there);
    return ff_mask_empty(&advice.pages) || ff_advice_add(list, &advice);
}

/* Why a piece of advice was dropped. */
enum ff_drop {
    FF_DROP_INVALID,     /* no such block or tier, or nothing named */
    FF_DROP_PRESENT,     /* there is nothing to be done */
    FF_DROP_BUSY,        /* the block is being moved */
    FF_DROP_NO_ROOM,     /* nothing could leave, or the evictor would not have it leave */
    FF_DROP_QUEUE_FULL,  /* more advice than the engine carries out */
    FF_DROP_UNSUPPORTED, /* the backend cannot do that */
    FF_DROPS
};

enum ff_evict_cause {
    FF_EVICT_FOR_FAULT,    /* a fault waits: name a victim */
    FF_EVICT_FOR_PREFETCH, /* a prefetch would like room: name no block that is needed sooner */
    FF_EVICT_AHEAD,        /* pre-eviction: keep a reserve of free memory for faults */
};

struct ff_evict_request {
    enum ff_evict_cause cause;
    uint32_t tier;
    uint32_t for_block; /* that will get the memory; FF_NONE for FF_EVICT_AHEAD */
    uint64_t pages;   /* how many are wanted; if the granule is FF_BLOCK_PAGES, the block's size */
    uint32_t granule; /* pages in which the memory is wanted: the view's unit, or FF_BLOCK_PAGES */
};

/* A block that may leave. Of the pages that it names (none: the whole block) there leave:
 *   - where the view's unit is 1: these pages;
 *   - if 64 KiB are wanted, of a block in 64 KiB (ff_view_granule): the leaves of these pages;
 *   - likewise, of a block in 4 KiB: all that lies in the same 64 KiB of memory, and came at about
 *     the same time;
 *   - else: the whole block. */
struct ff_victim {
    uint32_t block;
    struct ff_mask pages;
};

/* Owned by the caller; bounded. */
struct ff_victim_list {
    struct ff_victim *items;
    uint32_t count, capacity;
};

/* Names a whole block. False when the list is full: stop naming. */
static inline bool ff_victim_add(struct ff_victim_list *list, uint32_t block) {
    if (list->count == list->capacity)
        return false;
    struct ff_victim *victim = &list->items[list->count++];
    memset(victim, 0, sizeof *victim);
    victim->block = block;
    return true;
}

/* ---- a policy ---- */

/* What takes too long for any hook, training a network for example, is for the engine to run. One
 * instance of a policy calls these from `learn` alone, or never from `learn`. */
struct ff_background {
    void *self;
    /* Runs work(argument), which may allocate and sees no view, on a thread of its own; where time
     * is modelled, at once, before this returns. False: something is at work already, or there is
     * no thread. The engine waits for it before `fini`. */
    bool (*start)(void *self, void (*work)(void *argument), void *argument);
    /* Whether nothing is at work. What the work has written may then be read. */
    bool (*done)(void *self);
    /* Runs work(argument) at once, and returns how many nanoseconds that took on this machine: for
     * a policy that charges measured time where time is modelled. */
    uint64_t (*time)(void *self, void (*work)(void *argument), void *argument);
};

/* What a policy instance is born with. */
struct ff_policy_env {
    uint32_t tier_count;
    uint32_t tier; /* the instance's device (evict); FF_NONE where one instance serves all */
    uint32_t block_limit, range_limit;
    void *block_state; /* [block_limit] of block_state_size bytes, zero at first */
    void *range_state; /* [range_limit] of range_state_size bytes, zero at first */
    void *arena;       /* arena_size bytes, zero at first, and paid for as touched */
    size_t arena_size;
    uint64_t seed;
    const int64_t *params; /* values, in the order of the declared table */
    const char *text;      /* text parameters begin at text + params[i] */
    const struct ff_background *background;
    struct ff_error *error;       /* `init` may leave one line here that says why it fails */
    const struct ff_model *model; /* model.h, during `init`; NULL: the device and time are real */
};

/* What a policy has found out, for people: a line, of a kernel and a range. */
struct ff_finding {
    uint32_t launch, range; /* FF_NONE: of none in particular */
    char text[160];
};

/* The head of every table. */
struct ff_policy {
    const char *name;
    const char *summary; /* one line, for `farfault list` */
    uint32_t api;        /* FF_POLICY_API */
    uint32_t sees;       /* enum ff_visibility, or-ed: what it must see */
    uint32_t controls;   /* enum ff_control, or-ed: what it must control */
    /* Bytes of state that the engine allocates, zeroed: for an instance, by block, by range. */
    size_t state_size, block_state_size, range_state_size;
    size_t (*arena_size)(const int64_t *params); /* bytes of the arena; NULL: none */
    const struct ff_param *params;               /* NULL: none */
    /* 0 or negative errno. NULL: zeroed state will do. */
    int (*init)(void *state, const struct ff_policy_env *env);
    /* Only after `init` has succeeded. NULL: nothing to release. */
    void (*fini)(void *state);

    /* Finding number `index`, when the work has ended. False: there are no more. NULL: there are
     * none. */
    bool (*report)(const void *state, uint32_t index, struct ff_finding *finding);

    /* The core. NULL: ignored. What on_launch advises is queued. */
    void (*on_launch)(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice);
    void (*on_arrival)(void *state, const struct ff_view *view, const struct ff_arrival *arrival);
    void (*on_leave)(void *state, const struct ff_view *view, const struct ff_leave *leave);

    /* State by range and block: the range was allocated; it is gone, and then its blocks. */
    void (*range_added)(void *state, const struct ff_view *view, uint32_t range);
    void (*range_freed)(void *state, uint32_t range);
    void (*block_freed)(void *state, uint32_t block);

    /* Extensions, called where the backend shows samples or accesses. NULL: it has none. A policy
     * that can do without leaves these out of `sees`. */
    const struct ff_sample_hooks *samples;
    const struct ff_access_hooks *accesses; /* model.h */
};

/* ---- the four kinds ---- */

/* One instance an engine. */
struct ff_prefetch_policy {
    struct ff_policy base;
    /* Before the faults of a batch are served: all of them, sorted by block. What it advises is
     * queued behind them. NULL: does not look at batches. */
    void (*on_batch)(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice);
    /* Before the faulted pages of one block move; once for each group, whatever it has to wait for.
     * NULL: only the faulted pages move. */
    void (*on_fault)(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice);
    const struct ff_learn_hooks *learning;    /* NULL: learns nothing in the background */
    const struct ff_forecast_hooks *forecast; /* NULL: predicts no uses */
};

/* One instance a device. */
struct ff_evict_policy {
    struct ff_policy base;
    /* Names victims, best first. Required. What the engine takes of them:
     *   1. request->granule is FF_BLOCK_PAGES: the first block that can leave together with all
     *      that have leaves in its chunk; the chunk is emptied.
     *   2. else: what is named in turn, until there is enough room; it asks again while there is
     *      not.
     *   3. none can leave, and a fault waits: the lowest evictable block. */
    void (*pick)(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims);
    /* How many pages to keep free ahead of need. NULL: what the backend chose. */
    uint64_t (*reserve)(void *state, const struct ff_view *view);
    /* `pick` goes by ff_view.last_uses (FF_SEES_SAMPLES): so they are to be kept up to date for
     * pages that stay, too, where that costs something and the backend can. */
    bool by_use;
};

/* One instance an engine. */
struct ff_place_policy {
    struct ff_policy base;
    /* Tiers that pages of the block evicted from `from` may go to, best first; returns how many.
     * The engine takes the first that has room, and the host if none has. NULL: the host. */
    uint32_t (*place)(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                      uint32_t tiers[FF_TIERS_MAX]);
    const struct ff_host_hooks *host; /* model.h; NULL: it has none */
};

/* One instance an engine. */
struct ff_discard_policy {
    struct ff_policy base;
    /* Sets the pages of the block whose content is dead, so that an eviction drops them instead of
     * copying them. NULL: only what the application itself declared dead. */
    void (*dead)(void *state, const struct ff_view *view, uint32_t block, struct ff_mask *pages);
};

/* ---- loading a policy from a shared object ---- */

/* What a shared object exports as `ff_policy_module`. Tables that it does not have are NULL; they
 * must live as long as the object is loaded. */
struct ff_policy_module {
    uint32_t api; /* FF_POLICY_API; checked before anything else is read */
    const struct ff_prefetch_policy *prefetch;
    const struct ff_evict_policy *evict;
    const struct ff_place_policy *place;
    const struct ff_discard_policy *discard;
};

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    __attribute__((visibility("default"))) const struct ff_policy_module ff_policy_module;

#endif
