/* farfault/extensions.h - tables of hooks beyond the core, which a policy has or has not. */
#ifndef FARFAULT_EXTENSIONS_H
#define FARFAULT_EXTENSIONS_H

#include <farfault/view.h>

struct ff_advice_list;

/* ---- samples of use, in rounds ---- */

/* When a page or leaf was last used, and how often. */
struct ff_sample {
    uint32_t block;
    uint16_t page, page_count; /* the pages it speaks for */
    uint32_t rank;             /* of its last use among the round's: 0 is the oldest */
    uint32_t count;            /* 0: not known */
};

/* A round of samples of one range under one kernel: what was used since the samples were armed,
 * each page or leaf once, in any order. */
struct ff_sample_round {
    uint32_t range, launch, tier;
    const struct ff_sample *items;
    uint32_t count;
    uint64_t accesses; /* to the range since then; 0: not known */
};

struct ff_sample_hooks {
    /* What it advises is queued; but samples are armed and ceased at once. */
    void (*on_samples)(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice);
};

/* ---- learning in the background ---- */

/* Learning has two parts. `learn` does the work: it may take long, runs in a thread of its own, and
 * no fault waits for it. `publish` shows the other hooks what came of it. The state has two parts
 * accordingly: what `learn` writes belongs to learning, and is touched by `learn` and `publish`
 * alone; the rest is written by `publish` and by all other hooks, and `learn` does not look at it.
 *
 * The engine calls the two in turn, with the same events, never `learn` twice at the same time.
 * Where time is modelled, it calls them one right after the other.
 *
 * A range can be freed before its events are learned from, or between `learn` and `publish`; its
 * number, and its blocks', may belong to another range by then. Such an event is FF_EVENT_VOID: in
 * both, or only in `publish`, if `learn` has seen it before. What learning remembers of a block may
 * still be about a range that was freed. An execution ID may also be freed in between; its number
 * is not given again soon. */

#define FF_LEARN_EVENTS 64u /* the most that are shown at a time */

enum ff_event_kind {
    FF_EVENT_FAULT,      /* block, page, tier, launch, thread: a far fault, as served */
    FF_EVENT_LAUNCH,     /* launch, tier: a kernel starts */
    FF_EVENT_LAUNCH_END, /* launch, tier: it has finished */
    FF_EVENT_EVICTED,    /* block, tier: it has left the device, or some of its pages have */
    FF_EVENT_NO_ROOM,    /* block, tier, launch: advice that found no room without harm */
    FF_EVENT_VOID,       /* to be ignored: its range has been freed since */
};

struct ff_event {
    enum ff_event_kind kind;
    uint32_t tier, block, page;
    uint32_t range; /* of the block; FF_NONE for launches */
    uint32_t launch;
    uint32_t thread; /* of a fault: as in struct ff_fault_group */
    uint64_t now_ns;
};

struct ff_learn_hooks {
    /* The correlator's step, while other hooks may run: learn from events, oldest first, 1 to
     * FF_LEARN_EVENTS of them. No view: it is not about now. NULL: there is nothing to do that
     * takes long. */
    void (*learn)(void *state, const struct ff_event *events, uint32_t count);
    /* The same events, while no other hook runs and faults wait: some microseconds at most. A
     * launch is the last event of a call, since a policy may have more to do for it. NULL: nothing
     * to show. */
    void (*publish)(void *state, const struct ff_event *events, uint32_t count);
    /* The prefetcher's step, after new events: what to bring in next. NULL: nothing ahead. */
    void (*plan)(void *state, const struct ff_view *view, struct ff_advice_list *advice);
    /* Whether anything is done at present with what is learned and planned. If not, that may come
     * some milliseconds later, and take less time. NULL: it always is. */
    bool (*is_used)(const void *state);
};

/* ---- a forecast of next uses ---- */

/* Uses of blocks on a device are numbered in the order in which they are expected: the number of
 * the launch, counted from the first on, is in the high 32 bits, the place within it in the low
 * ones. Numbers may be compared with each other and mean nothing else. */
#define FF_NO_USE UINT64_MAX /* no use is expected */

struct ff_forecast_hooks {
    /* uses[i]: the next expected use of blocks[i] on the tier, or FF_NO_USE. Asked from within the
     * hooks of other kinds, often: no change of state that shows. `launches_only`: the low 32 bits
     * may be left zero, if that is less work. */
    void (*next_uses)(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses);
    /* Where the tier's work is now: a lower number is over. */
    uint64_t (*now)(const void *state, uint32_t tier);
    /* How often predictions were retracted: as long as this is the same, a predicted launch that is
     * later than the running one is still predicted. */
    uint64_t (*retractions)(const void *state, uint32_t tier);
};

/* What the forecast in the view says; FF_NO_USE, too, if there is none. */
static inline uint64_t ff_view_next_use(const struct ff_view *view, uint32_t tier, uint32_t block) {
    uint64_t use = FF_NO_USE;
    if (view->forecast.hooks)
        view->forecast.hooks->next_uses(view->forecast.state, view, tier, &block, 1, false, &use);
    return use;
}

/* The number of the launch of that use, which is less work to find; FF_NO_USE as above. */
static inline uint64_t ff_view_next_launch(const struct ff_view *view, uint32_t tier,
                                           uint32_t block) {
    uint64_t use = FF_NO_USE;
    if (view->forecast.hooks)
        view->forecast.hooks->next_uses(view->forecast.state, view, tier, &block, 1, true, &use);
    return use == FF_NO_USE ? FF_NO_USE : use >> 32;
}

/* Where the tier's work is now, as a use; 0 without a forecast. */
static inline uint64_t ff_view_current_use(const struct ff_view *view, uint32_t tier) {
    const struct ff_forecast_hooks *hooks = view->forecast.hooks;
    return hooks && hooks->now ? hooks->now(view->forecast.state, tier) : 0;
}

/* How often predictions were retracted; 0 without a forecast. */
static inline uint64_t ff_view_retractions(const struct ff_view *view, uint32_t tier) {
    const struct ff_forecast_hooks *hooks = view->forecast.hooks;
    return hooks && hooks->retractions ? hooks->retractions(view->forecast.state, tier) : 0;
}

#endif
