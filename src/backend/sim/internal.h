/* What the simulator's files share.
 *
 * Time is virtual, in picoseconds (a cycle is less than a nanosecond). Everything that concerns more
 * than one SM (faults, transfers, launches) is an event in one queue, ordered by time and then by the
 * order of scheduling, so that a run is the same every time. Between events SMs run on their own: a
 * fault becomes visible outside its SM only after the device's `visible` time, so that SMs may run
 * that far ahead of each other without any of them noticing (a conservative window). */
#ifndef FF_BACKEND_SIM_INTERNAL_H
#define FF_BACKEND_SIM_INTERNAL_H

#include "backend/sim/sim.h"

#include "engine/engine.h"

#define PS_PER_NS UINT64_C(1000)
#define NEVER     UINT64_MAX

enum { LINK_IN, LINK_OUT, LINK_PEER, LINKS };

struct sim;

/* ---- warps and SMs: sm.c ---- */

struct warp {
    uint64_t ready; /* when it can issue */
    bool ended;     /* but keeps its place until the links are idle */
    uint64_t data;  /* when all loaded data that it has got is there */
    /* its waits, as bits: that have not ended; of these, for loads; that it needs the end of to go on */
    uint64_t missing, loads, needs;
    uint32_t cta, warp, step;
    uint32_t untold; /* instructions since the last access that was observed */
    uint16_t cta_slot;
};

/* A page that a warp's instruction waits for. Every page counts on its own: it has been used once it
 * has come, and may leave again before the others come. Else instructions whose pages do not fit all
 * at once would never end. The waits of a warp have the numbers warp * WARP_WAITS + 0, 1, ... */
#define WARP_WAITS 64u /* so that there is always room for one more instruction's */

struct wait {
    uint64_t page;
    uint32_t next; /* number + 1 of the next wait for a page of the same block */
    bool write;
};

#define TLB_WAYS 8u

struct sm {
    uint64_t now, memory_free;
    uint64_t *heap; /* ready << 8 | slot, smallest first */
    uint32_t heap_count;
    struct warp *warps;               /* [slot] */
    uint64_t *tlb;                    /* [set][way], most recent first */
    uint32_t *cta_warps;              /* [cta slot] warps that have not ended; 0: free */
    uint16_t *free_slots;             /* stack */
    uint32_t free_count, ctas, ended; /* warps that have ended and keep their places */
};

/* Faults on pages of one word of a block's mask that differ in nothing else. */
struct fault {
    uint64_t time;   /* when they are seen outside the SM */
    uint64_t pages;  /* of the word */
    uint64_t served; /* in a batch: pages that were brought */
    uint64_t word;   /* of all blocks' */
    uint16_t thread; /* the first page's SM + 1; 0: unknown */
    uint16_t sms;    /* that have each of them */
    bool write;
};

static inline uint32_t ff__fault_block(const struct fault *fault) {
    return (uint32_t)(fault->word / FF_MASK_WORDS);
}

/* A launch that waits for its device, or something that takes effect in its turn. */
struct launch {
    struct ff__kernel kernel;
    uint32_t number;
    bool is_note; /* no kernel: these bytes become inactive, or active again */
    bool inactive;
    uint32_t array;
    uint64_t offset, bytes;
};

/* Where a position of an operand is: in which run, and where in it. Positions are gone through in order,
 * so that only the first one takes divisions. */
struct cursor {
    uint64_t position, inside;
    uint64_t start;            /* of the run, in the managed space */
    uint64_t index[FF__LOOPS]; /* iterations of the loops before this one */
    int innermost;             /* loop that has more than one; 0: none */
};

/* Of an operand of a kernel in bulk. */
struct front {
    double size;          /* bytes */
    uint64_t clear;       /* up to this position all is known to be in place; 0: nothing is known */
    struct cursor cursor; /* where looking ended last */
    uint32_t first, last; /* blocks that it lies in */
    uint32_t step_first,
        step_last; /* that the step was seen to lie in when its faults were raised */
};

/* Pages of a block that the step has faulted on, and those of them that have come, and been used. */
struct asked {
    struct ff_mask pages, used;
    uint32_t stop; /* the step's; otherwise void */
};

/* How far a kernel in bulk has come: bulk.c. */
struct bulk {
    uint64_t step, steps, horizon;
    double ps_per_step;
    uint64_t time;
    bool waits, faulted;  /* for pages; the step has been counted as short of them */
    bool raised;          /* all its faults are there, as long as nothing changes in its blocks */
    uint32_t stop;        /* steps that have been short of pages, this one among them */
    struct asked *asked;  /* [block] */
    uint32_t room;        /* for entries, in the driver's next batch */
    struct front *fronts; /* [operand] */
    uint32_t front_capacity;
};

struct device {
    uint32_t tier;
    struct sm *sms;
    uint64_t link_free[LINKS];
    /* the running kernel */
    bool running;
    struct launch current;
    struct bulk bulk;
    uint32_t next_cta, ctas_left;
    uint64_t started, last_end;
    uint64_t stalled;        /* since then no warp on the SMs can go on; NEVER: some can */
    struct ff_mask *touched; /* [block] by the launch `touched_by` */
    uint32_t *touched_by;    /* [block] */
    struct launch *queue;    /* ring of launches to come */
    uint32_t queue_head, queue_count, queue_capacity;
    /* faults */
    struct ff_mask *pending; /* [block] pages whose fault has been raised and not been answered */
    uint32_t *waiters;       /* [block] first wait + 1 */
    struct wait *waits;      /* [(SM * warps + slot) * WARP_WAITS + i] */
    struct fault *buffer;    /* faults nobody has taken yet, by time */
    uint32_t buffer_count, buffer_capacity;
    uint64_t look_at;    /* when the buffer will be looked at next; NEVER */
    bool in_batch;       /* the driver is at work on `batch` */
    struct fault *batch; /* [ff__sim_batch_limit()] what it works on */
    uint32_t batch_count, batch_next;
    uint64_t batch_start;
    struct ff__queue advice; /* struct ff_advice: prefetches to come */
    uint32_t prefetching;    /* prefetches and pre-evictions under way */
    /* accesses that the policies have not seen yet */
    struct ff_access *accesses;
    uint32_t access_count;
};

/* Pages of the block that the running launch has touched so far. */
static inline struct ff_mask *ff__device_touched(struct device *device, uint32_t block) {
    if (device->touched_by[block] != device->current.number) {
        device->touched_by[block] = device->current.number;
        ff_mask_clear(&device->touched[block]);
    }
    return &device->touched[block];
}

/* ---- events: event.c ---- */

enum event_kind {
    EVENT_KERNEL, /* the device's next kernel starts */
    EVENT_FAULTS, /* the device's fault buffer has something new */
    EVENT_DRIVER, /* the driver turns to the next block of its batch */
    EVENT_REPLAY, /* warps with answered faults try again */
    EVENT_ARRIVE, /* a job's next piece has come, but for the last one */
    EVENT_FINISH, /* a job's last byte has come */
    EVENT_IDLE,   /* nothing may move over the links any more */
    EVENT_RETRY,  /* throttled faults are due: block, pages in `job` */
    EVENT_ADVICE, /* a policy has come to its advice, in `job` */
    EVENT_HOST,   /* the host goes on */
};

struct job;

struct event {
    uint64_t time, order;
    enum event_kind kind;
    uint32_t device;
    struct job *job;
};

struct events {
    struct event *heap;
    uint32_t count, capacity;
    uint64_t order;
};

int ff__events_push(struct events *events, struct event event);
bool ff__events_pop(struct events *events, struct event *out);
static inline uint64_t ff__events_next(const struct events *events) {
    return events->count ? events->heap[0].time : NEVER;
}

/* ---- jobs and links: moves.c ---- */

enum job_cause {
    JOB_OF_BATCH, /* the driver waits for it */
    JOB_ALONE,    /* other faults */
    JOB_PREFETCH,
    JOB_RESTOCK,
    JOB_HOST, /* the host waits for it */
};

struct job {
    struct ff__job job;
    enum job_cause cause;
    uint32_t device;
    struct ff_mask fetched;      /* pages that come from another device */
    struct ff_fault_group group; /* of a retry */
    struct ff_advice advice;     /* of EVENT_ADVICE */
    struct job *next;            /* free */
};

struct job *ff__sim_job(struct sim *sim);
void ff__sim_job_free(struct sim *sim, struct job *job);

/* The next of the pieces in which a job's pages come. */
struct ff_mask ff__sim_piece(const struct sim *sim, const struct job *job);

/* Reserves the links for a job that can start at `time`; it ends with an EVENT_FINISH. */
void ff__sim_start(struct sim *sim, struct job *job, uint64_t time);

/* ---- the driver: driver.c ---- */

/* Lets the policies learn from what has happened, and plan. */
void ff__sim_learn(struct sim *sim, uint64_t time);
void ff__sim_faults(struct sim *sim, struct device *device, uint64_t time);
void ff__sim_replay(struct sim *sim, struct device *device, uint64_t time);
void ff__sim_driver(struct sim *sim, struct device *device, uint64_t time);
void ff__sim_arrive(struct sim *sim, struct job *job, uint64_t time);
void ff__sim_finish(struct sim *sim, struct job *job, uint64_t time);
void ff__sim_retry(struct sim *sim, struct job *job, uint64_t time);
/* Starts prefetches and pre-evictions if the driver has time. */
void ff__sim_idle(struct sim *sim, struct device *device, uint64_t time);
/* Whether nothing moves, or waits to be moved. */
bool ff__sim_links_idle(const struct sim *sim, const struct device *device, uint64_t time);
/* Gives advice to be carried out, when it is known. */
void ff__sim_advise(struct sim *sim, const struct ff_advice *advice, uint64_t time);
void ff__sim_advised(struct sim *sim, struct job *job, uint64_t time);

/* ---- SMs: sm.c ---- */

int ff__sms_init(struct sim *sim, struct device *device);
void ff__sms_fini(struct sim *sim, struct device *device);
/* Fills the SMs with the first CTAs of the current kernel. */
void ff__sms_start(struct sim *sim, struct device *device, uint64_t time);
/* Runs every SM up to `until`; returns the earliest time any of them could go on, NEVER if all wait. */
uint64_t ff__sms_run(struct sim *sim, struct device *device, uint64_t until);
/* These pages' faults have been answered: what waits for one of them uses it, here or over a link, or
 * faults again if it is at neither place any more. */
void ff__sms_wake(struct sim *sim, struct device *device, uint32_t block,
                  const struct ff_mask *pages, uint64_t time);
/* Warps that have ended may leave now. */
void ff__sms_release(struct sim *sim, struct device *device, uint64_t time);
/* Shows the accesses so far to the policies. */
void ff__sms_show(struct sim *sim, struct device *device);

/* ---- without time: untimed.c ---- */

/* Runs a whole kernel. */
void ff__untimed_kernel(struct sim *sim, struct device *device, const struct ff__kernel *kernel);

/* Raises faults, at their time, on pages whose last one is not still unanswered. */
void ff__sim_raise_fault(struct sim *sim, struct device *device, const struct fault *fault);

/* ---- kernels in bulk: bulk.c ---- */

static inline bool ff__is_bulk(const struct device *device) {
    return !device->current.kernel.step;
}

void ff__bulk_start(struct sim *sim, struct device *device, uint64_t time);
/* As ff__sms_run(). */
uint64_t ff__bulk_run(struct sim *sim, struct device *device, uint64_t until);
void ff__bulk_wake(struct sim *sim, struct device *device, uint64_t time);
/* Some of the block's pages are not there any more. */
void ff__bulk_left(struct sim *sim, struct device *device, uint32_t block);
/* Some have come, or their faults have been answered. */
void ff__bulk_changed(struct sim *sim, struct device *device, uint32_t block);

/* ---- the future: future.c ---- */

/* The pages that were accessed, in order. */
struct recording {
    uint64_t *order;
    uint64_t count, capacity;
};

int ff__recording_add(struct recording *recording, uint64_t page);

/* Indexes a recording; the future borrows its order. */
int ff__future_make(const struct recording *recording, uint64_t page_count, struct ff_future *out);
void ff__future_free(struct ff_future *future);

/* ---- rounds: laps.c ---- */

#define LAP_PERIOD 4u
#define LAPS_KEPT  (2 * LAP_PERIOD + 1)
#define LAP_WORDS  (sizeof(struct ff__sim_result) / sizeof(uint64_t))

struct laps {
    uint64_t count;
    struct ff__sim_result at[LAPS_KEPT]; /* counters at the ends of the last rounds */
    struct ff__sim_result more;          /* of rounds that were not run */
};

/* A round has ended. If the rest can be told from those so far, it is passed over. */
void ff__laps_end(struct sim *sim, uint64_t time);
/* Adds what was passed over. */
void ff__laps_add(const struct laps *laps, struct ff__sim_result *result);

/* ---- the whole: sim.c ---- */

struct sim {
    const struct ff__sim_config *config;
    const struct ff__gpu *gpu;
    struct ff__workload *workload;
    struct ff__sim_result *result;
    struct ff__engine engine;
    struct events events;
    struct device *devices;
    uint64_t now;
    uint64_t ps_per_instruction, walk, visible;
    double ps_per_sector; /* an SM's share of the memory's bandwidth */
    uint32_t warps_per_sm, tlb_sets, ctas_per_sm;
    uint32_t *generation; /* [block] bumped when pages leave: a TLB entry of before is void */
    bool shows_accesses;  /* some policy watches */
    bool prefetch_watches;
    bool pages_alone; /* untimed: faults can take the engine's short way */
    /* the host */
    uint64_t next_action, host_time; /* the host itself is at work until then */
    struct laps laps;
    bool host_waits, host_ended;
    bool freeing;     /* an array goes: nobody may bring its pages back meanwhile */
    uint32_t *ranges; /* [array] */
    uint32_t host_jobs, jobs_at_work;
    uint32_t launch_count, launches_done;
    uint32_t *faulted; /* [slot of an execution ID] the ID that last had a fault there, plus one */
    uint32_t faulted_capacity;
    struct job *free_jobs;
    struct job **retries; /* faults that found no room */
    uint32_t retry_count, retry_capacity;
    struct recording *recording; /* NULL: not recorded */
    int failure;                 /* the first error; everything ends */
    struct ff_error *error;
};

/* Counters as of now that are kept elsewhere during a run. */
void ff__sim_stock(const struct sim *sim, uint64_t time, struct ff__sim_result *out);

/* Remembers the first failure. */
void ff__sim_fail(struct sim *sim, int status, const char *what);

/* Tells who watches, if anybody does. The time is that of the loop, which never goes back, and not of
 * the SM that may be ahead of it or of the event that may be behind: the order of what is told is that
 * in which it was decided. */
void ff__sim_observe_access(struct sim *sim, const struct ff_trace_event *event,
                            const struct ff_access *seen);
static inline void ff__sim_observe(struct sim *sim, const struct ff_trace_event *event) {
    ff__sim_observe_access(sim, event, NULL);
}

static inline void ff__sim_post(struct sim *sim, uint64_t time, enum event_kind kind,
                                uint32_t device, struct job *job) {
    struct event event = {.time = time, .kind = kind, .device = device, .job = job};
    int status = ff__events_push(&sim->events, event);
    if (status)
        ff__sim_fail(sim, status, "events");
}

static inline uint64_t ff__sim_ns(uint64_t ps) {
    return ps / PS_PER_NS;
}

static inline bool ff__sim_flat(const struct sim *sim) {
    return sim->gpu->fault_cost == FF__FAULT_FLAT;
}

/* Pages of the block have left the device: what was looked up before is void. */
static inline void ff__sim_left(struct sim *sim, uint32_t tier, uint32_t block) {
    sim->generation[block]++;
    ff__bulk_left(sim, &sim->devices[tier - 1], block);
}

/* Faults that are taken at a time, at most. */
static inline uint32_t ff__sim_batch_limit(const struct sim *sim) {
    return ff__sim_flat(sim) ? 1 : sim->gpu->batch_faults;
}

/* What the device has of the block that the page is in. */
static inline const struct ff_tier_pages *ff__sim_pages(const struct sim *sim, uint32_t tier,
                                                        uint64_t page) {
    return &ff__facts(&sim->engine.space, (uint32_t)(page / FF_BLOCK_PAGES))->tier[tier];
}

/* Whether a touch of the page by the device would find it, here or over a link. */
static inline bool ff__sim_resident(const struct sim *sim, uint32_t tier, uint64_t page) {
    return ff_mask_test(&ff__sim_pages(sim, tier, page)->resident, page % FF_BLOCK_PAGES);
}

/* An access to a page that is there. */
static inline void ff__sim_use(struct sim *sim, uint64_t page, bool write) {
    uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), index = page % FF_BLOCK_PAGES;
    struct ff__space *space = &sim->engine.space;
    struct ff_page_facts *facts = ff__page_facts(space, block);
    if (space->stats.prefetched > 0 && ff_mask_test(&facts->unused, index)) {
        ff_mask_unset(&facts->unused, index);
        space->stats.prefetch_used++;
    }
    if (write)
        ff_mask_set(&facts->dirty, index);
}

static inline bool ff__sim_remote(const struct sim *sim, uint32_t tier, uint64_t page) {
    return ff_mask_test(&ff__sim_pages(sim, tier, page)->remote, page % FF_BLOCK_PAGES);
}

#endif
