/* What the engine's files share: what an engine is, and what they call of each other. */
#ifndef FF_ENGINE_INTERNAL_H
#define FF_ENGINE_INTERNAL_H

#include "engine/allocator.h"
#include "engine/background.h"
#include "engine/launch_ids.h"
#include "engine/running.h"

/* Faults that arrived while their block was busy. */
struct ff__late {
    uint32_t next;  /* in the queue of blocks that are free again */
    uint16_t tiers; /* bit t: tier t has some */
    uint8_t tier;   /* that is taken next, in the queue */
    bool queued;
};

/* Why a block is not evicted although its memory is wanted; only where time is real. */
struct ff__stay {
    uint64_t served_ns;  /* when pages of it last came for a fault */
    uint32_t page;       /* the first of those pages */
    bool lasts;          /* it is protected for longer than others */
    uint64_t refused_ns; /* it could not leave: no eviction of it is tried before this time */
    uint64_t delay_ns;   /* the latest delay between such tries; 0: it can leave */
};

/* One entry per tier. Undefined for a tier without late faults. */
struct ff__late_pages {
    struct ff_mask faulted, written;
};

/* Pages of a block that are mapped, to be used from the host. */
struct ff__mapping {
    struct ff_mask pages;
    uint64_t end_ns; /* while it is queued: when they are no longer */
    uint32_t next;   /* in the queue of such blocks */
    uint8_t tier;    /* the device that uses them */
    bool queued;
    bool stays; /* some could not be unmapped: the kernel holds them */
};

struct ff__engine {
    struct ff__space space;
    const struct ff__description *backend;
    struct ff__system system;
    struct ff_view view;
    const struct ff_prefetch_policy *prefetch;
    const struct ff_evict_policy *evict;
    const struct ff_place_policy *place;
    const struct ff_discard_policy *discard;
    void *prefetch_state, *evict_state[FF_TIERS_MAX], *place_state, *discard_state;
    void *block_state[FF__SLOTS][FF_TIERS_MAX], *range_state[FF__SLOTS][FF_TIERS_MAX],
        *arena[FF__SLOTS][FF_TIERS_MAX];
    struct ff__background background[FF__SLOTS][FF_TIERS_MAX];
    struct ff__late *late;             /* [block] */
    struct ff__late_pages *late_pages; /* [block][tier] */
    struct ff__stay *stay;             /* [block] */
    uint32_t refused_count;            /* blocks that could not leave */
    uint32_t unused_count;             /* blocks that were evicted before they were used */
    uint64_t unused_ns;                /* when such a block last faulted again */
    uint64_t protect_ns;               /* how long a block that `lasts` is protected */
    uint32_t protected_count;          /* blocks that have been protected */
    uint32_t late_head, late_tail;     /* blocks with late faults whose job has finished */
    /* Of whole blocks, and of split ones; an allocator that the backend brings serves both */
    const struct ff__allocator *whole, *split;
    void *allocator_state;
    uint32_t granule; /* of the memory of blocks, unless advice says otherwise */
    uint32_t reserve;
    uint16_t *guests; /* [block] bit t: it is a guest on tier t; NULL: no device lends */
    uint32_t *visits; /* [block][tier] times that it has come there as a guest */
    struct ff_lending lending[FF_TIERS_MAX];
    /* In the order in which they came; some have left */
    struct ff__queue guest_order[FF_TIERS_MAX];
    struct ff__mapping *mappings;      /* [block]; NULL: the backend maps nothing remotely */
    uint32_t mapped_head, mapped_tail; /* in the order in which their time ends */
    bool uses_remote; /* pages have been left where they are, to be used from there */
    bool watched;     /* the backend shows accesses, and keeps the pages' `unused` and `dirty` */
    bool virtual_time;
    bool pressed[FF_TIERS_MAX];         /* see ff__engine_preevict() */
    uint64_t preevicting[FF_TIERS_MAX]; /* pages that are leaving for the reserve */
    struct ff__running running[FF_TIERS_MAX];
    struct ff_link_cost *links;       /* [from * tier_count + to] */
    struct ff__totals *range_totals;  /* [range] */
    struct ff__totals **page_totals;  /* [block][page]; NULL: its range is not shared */
    struct ff__totals *kernel_totals; /* [number of a kernel] */
    uint16_t *kernel_of_launch;       /* [slot of an execution ID] */
    struct ff__launch_ids launches;
    struct ff__queue events;    /* to the correlator; only if a policy learns, like the next */
    uint32_t *freed;            /* [range] how often it has been freed */
    struct ff__sampler sampler; /* all zero: nothing samples */
    struct ff_latest_faults *latest_faults; /* [block]; NULL: no policy must see them */
    bool check;
    struct ff_error failure; /* the first broken invariant, with `check` */
};

/* An engine in memory of the caller's; see ff__engine_open(). */
int ff__engine_init(struct ff__engine *engine, const struct ff__engine_config *config,
                    struct ff_error *error);
void ff__engine_fini(struct ff__engine *engine);

/* ---- engine.c ---- */

/* The view as of now: all else in it is the engine's own, and always up to date. */
static inline const struct ff_view *ff__engine_view(struct ff__engine *engine, uint64_t now_ns) {
    engine->view.now_ns = now_ns;
    return &engine->view;
}

/* ---- policies.c ---- */

/* -ENOTSUP, with a line: a policy must see or control more than the backend grants. */
int ff__policies_check(const struct ff__engine_config *config, struct ff_error *error);

/* Negative errno, with a line; ff__policies_unmake() may follow. */
int ff__policies_make(struct ff__engine *engine, const struct ff__engine_config *config,
                      struct ff_error *error);
void ff__policies_unmake(struct ff__engine *engine);

/* Tells the policies of all kinds; of the evictors, that of the tier. */
void ff__tell_arrival(struct ff__engine *engine, const struct ff_arrival *arrival);
void ff__tell_leave(struct ff__engine *engine, const struct ff_leave *leave);
void ff__tell_launch(struct ff__engine *engine, const struct ff_launch_event *event,
                     struct ff_advice_list *advice);

/* Tells the policies of all kinds and tiers. */
void ff__tell_range_added(struct ff__engine *engine, uint32_t range);
void ff__tell_range_freed(struct ff__engine *engine, uint32_t range);
void ff__tell_block_freed(struct ff__engine *engine, uint32_t block);

/* ---- learning.c ---- */

/* Only if the policy learns. -ENOMEM; ff__learning_fini() may follow. */
int ff__learning_init(struct ff__engine *engine);
void ff__learning_fini(struct ff__engine *engine);

/* Queues an event for the correlator; see ff__engine_can_tell(). */
void ff__engine_tell(struct ff__engine *engine, const struct ff_event *event);

/* The range is being freed: nothing is learned from its events any more. */
void ff__learning_forget_range(struct ff__engine *engine, uint32_t range);

/* ---- latest_faults.c ---- */

/* Only if a policy must see them. -ENOMEM; ff__latest_faults_fini() may follow. */
int ff__latest_faults_init(struct ff__engine *engine);
void ff__latest_faults_fini(struct ff__engine *engine);

/* The block is freed. */
void ff__latest_faults_forget(struct ff__engine *engine, uint32_t block);

/* ---- engine.c, continued ---- */

/* Where jobs of a block overlap: which of its pages are on their way. NULL elsewhere: the block is
 * busy. */
static inline struct ff__page_facts *ff__moving(const struct ff__engine *engine, uint32_t block) {
    const struct ff__space *space = &engine->space;
    unsigned char *facts = space->facts + block * space->facts_size;
    return engine->whole->overlaps ? (void *)(facts + space->page_facts_at) : NULL;
}

/* ---- job_plan.c ---- */

/* Of the late faults of the block for the tier. */
static inline struct ff__late_pages *ff__late_pages(const struct ff__engine *engine, uint32_t block,
                                                    uint32_t tier) {
    return &engine->late_pages[(size_t)block * engine->space.tier_count + tier];
}

void ff__job_clear(struct ff__job *job);

/* Pre-evicts a block from a tier that is pressed: a fault or prefetch took memory when little was
 * left, or more is allocated than is meant to be. RUN, or NONE. */
int ff__engine_preevict(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                        struct ff__job *job);

/* Pages that a touch from the tier finds in place. */
struct ff_mask ff__job_reachable(const struct ff__engine *engine, uint32_t block, uint32_t tier);

/* Takes out the pages that are inactive, or that move already, which only single pages of a block
 * do. */
void ff__job_leave_out(const struct ff__engine *engine, uint32_t block, struct ff_mask *wanted);

/* Makes the way in of these pages, for which there is memory, part of the job. */
void ff__job_bring(struct ff__engine *engine, uint32_t block, uint32_t tier,
                   const struct ff_mask *pages, struct ff__job *job);

/* ---- peers.c ---- */

/* -ENOMEM; ff__peers_fini() may follow. */
int ff__peers_init(struct ff__engine *engine, const uint64_t lend[FF_TIERS_MAX]);
void ff__peers_fini(struct ff__engine *engine);

/* What the block has on the tier was evicted to there. */
static inline bool ff__is_guest(const struct ff__engine *engine, uint32_t block, uint32_t tier) {
    return engine->guests && (engine->guests[block] >> tier & 1);
}

/* Makes the way of these pages, which only the host has, to memory that the tier lends part of the
 * job. False: there is no such memory. */
bool ff__peers_lend(struct ff__engine *engine, uint32_t block, uint32_t tier,
                    const struct ff_mask *pages, struct ff__job *job);

/* The way in to lent memory has ended; `in` has the pages that arrived. */
void ff__peers_arrived(struct ff__engine *engine, const struct ff__move *in);

/* A guest's move from the tier has ended. */
void ff__peers_left(struct ff__engine *engine, const struct ff__move *out);

/* `landed` pages have arrived on the peer; memory was taken for `taken` pages. */
void ff__peers_landed(struct ff__engine *engine, const struct ff__move *out,
                      const struct ff_mask *landed, uint32_t taken);

/* A guest is copied to the host: before the copy, and after it, with what has been copied. */
void ff__peers_copying(struct ff__engine *engine, const struct ff__move *out, bool begins);

/* ---- mappings.c: pages that are used from the host ---- */

/* Ours: how long a page stays mapped. What of it is used in that time is counted as one page's
 * transfer, however often it is used. */
#define FF__MAPPED_NS 1000000u

/* -ENOMEM; ff__mappings_fini() may follow. */
int ff__mappings_init(struct ff__engine *engine);
void ff__mappings_fini(struct ff__engine *engine);

static inline struct ff_mask ff__mapped(const struct ff__engine *engine, uint32_t block) {
    return engine->mappings ? engine->mappings[block].pages : (struct ff_mask){{0}};
}

/* Of these pages, those that can be mapped: on no device. */
struct ff_mask ff__mappable(const struct ff__engine *engine, uint32_t block,
                            const struct ff_mask *pages);

/* Makes the mapping of these pages for the tier the job's way in; and what has become of that. */
void ff__mappings_begin(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages, struct ff__job *job);
void ff__mappings_arrived(struct ff__engine *engine, const struct ff__move *in);

/* Adds the end of the mapping of these pages (NULL: all) to the job; and what has become of that.
 * False: none is mapped. */
bool ff__mappings_end(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                      struct ff__job *job);
void ff__mappings_left(struct ff__engine *engine, const struct ff__move *out);

/* The end of all mappings of a block: RUN, NONE, or LATER. */
int ff__engine_unmap(struct ff__engine *engine, uint32_t block, struct ff__job *job);

/* The same of a block whose time has come: RUN or NONE. */
int ff__engine_unmap_due(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job);

/* When that is; UINT64_MAX: nothing is mapped. */
uint64_t ff__engine_mapped_until(const struct ff__engine *engine);

/* ---- memory*.c: which block holds what memory, and which has to leave ---- */

/* Before all else. -EINVAL: it cannot be given out in that granule. */
int ff__memory_open(struct ff__engine *engine, const struct ff__engine_config *config);

/* Whether a block's memory can be in this granule; 0: the device's own. */
bool ff__engine_has_granule(const struct ff__engine *engine, uint32_t granule);

/* Adds a copy of these pages to the host to the job; they stay. False: the job is full. */
bool ff__memory_write_back(struct ff__engine *engine, uint32_t block, uint32_t tier,
                           const struct ff_mask *pages, struct ff__job *job);

/* Sees to it that there is memory for pages of a block, by eviction if need be; in the job's
 * granule, if the block holds none yet. Takes pages out of *wanted that find no room, those that
 * `must` come last. False: there is no room at all. */
bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job);

/* Adds a pre-eviction to the job if free memory is short. */
bool ff__memory_preevict(struct ff__engine *engine, uint32_t tier, struct ff__job *job);

/* What was held for a way out, and is not for the way in of the same job, is free again. What is
 * left of the move is still there. */
void ff__memory_left(struct ff__engine *engine, const struct ff__move *out);

/* `pages` begin or end to leave a device, or to come to one. */
void ff__memory_mark(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                     bool leave, bool begin);

/* The job's way in has ended, with the pages that are now in it. */
void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job);

/* The block has come for a fault, on this page first: it stays for a while, if need be. */
void ff__memory_served(struct ff__engine *engine, uint32_t block, uint32_t page);

/* When a block may leave that may not now; 0: that depends on jobs. */
uint64_t ff__memory_retry(const struct ff__engine *engine);

/* Whether the block, or these pages of it, could leave the tier now. */
bool ff__memory_can_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          const struct ff_mask *pages);

/* The block can leave, for all that is known. */
void ff__memory_forget_refusal(struct ff__engine *engine, uint32_t block);

/* There are faults on `pages` of the block. */
void ff__memory_faulted(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages);

static inline struct ff__tier_memory ff__memory_of(const struct ff__engine *engine, uint32_t tier) {
    return engine->whole->memory(engine, tier);
}

/* After memory was taken: updates the count, and notes whether little is left. */
void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier);

void ff__memory_count(struct ff__engine *engine);

#endif
