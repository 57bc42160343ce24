/* A device: its SMs, what it runs, its fault buffer, and what its driver is at. */
#ifndef FF_BACKEND_SIM_DEVICE_DEVICE_H
#define FF_BACKEND_SIM_DEVICE_DEVICE_H

#include "base/queue.h"

#include "backend/sim/device/bulk.h"
#include "backend/sim/driver/transfer.h"
#include "backend/sim/host/launch.h"
#include "backend/sim/machine/event.h"

struct warp {
    uint64_t ready; /* when it can issue */
    bool ended;     /* but keeps its place until the links are idle */
    uint64_t data;  /* when all loaded data that it has got is there */
    /* its waits, as bits: that have not ended; of these, for loads; that it needs the end of to go
     * on */
    uint64_t missing, loads, needs;
    uint32_t cta, warp, step;
    uint32_t untold; /* instructions since the last access that was observed */
    uint16_t cta_slot;
};

/* A page that a warp's instruction waits for. Every page counts on its own: it has been used once
 * it has come, and may leave again before the others come. Else instructions whose pages do not fit
 * all at once would never end. The first waits of all warps have the numbers 0, 1, ..., then come
 * the second ones: a warp seldom has many, and so those in use lie close together. */
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
    uint64_t *tlb;                    /* [set][way], most recent first; of the device's tlbs */
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

/* What has been raised. */
struct fault_buffer {
    struct ff_mask *pending; /* [block] pages whose fault has been raised and not been answered */
    struct fault *room;      /* [capacity]; `faults` lie in it, and before them is what was taken */
    struct fault *faults;    /* that the driver has not taken yet, by time */
    uint32_t count, capacity;
    uint64_t look_at; /* when the driver will look at it next; NEVER */
};

/* What the driver works on. */
struct batch {
    bool under_way;
    bool is_sorted;       /* the driver has fetched and sorted it, and serves it */
    struct fault *faults; /* [the fault model's limit], sorted by page */
    uint32_t count;
    struct ff_fault_group *groups; /* [the same] the faults by block, in their order */
    uint32_t *ends;                /* [the same] behind the group's last fault */
    uint32_t group_count, next;    /* the group to be served next */
    uint64_t start, ended;         /* this one; the one before */
    uint64_t number;               /* counted from 1 */
};

struct device {
    uint32_t tier;
    struct sm *sms;
    struct job *job;                 /* whose launches it runs, or ran last */
    struct ff__sim_result *counters; /* of the job on this device */
    /* the running kernel */
    bool running;
    struct launch current;
    struct bulk bulk;
    uint32_t next_cta, ctas_left;
    uint64_t started, last_end;
    uint64_t stalled;  /* since then no warp on the SMs can go on; NEVER: some can */
    uint64_t sms_next; /* when the first warp can go on, unless others can since: */
    bool sms_changed;
    struct ff_mask *touched; /* [block] by the launch `touched_by` */
    uint32_t *touched_by;    /* [block] */
    struct launch_queue queue;
    /* faults */
    uint32_t *waiters;  /* [block] first wait + 1 */
    struct wait *waits; /* [WARP_WAITS][SM * warps + slot] */
    uint64_t *tlbs;     /* [SM][TLB set][way]; 0: empty */
    struct fault_buffer buffer;
    struct batch batch;
    struct ff__queue advice; /* struct ff_advice: prefetches to come */
    /* When the thread that pre-evicts will have begun all that it has to; ps */
    uint64_t preevictor_free;
    uint32_t prefetching;    /* prefetches and pre-evictions under way */
    struct tracker *tracker; /* NULL: no policy must see samples */
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

static inline bool ff__is_bulk(const struct device *device) {
    return !device->current.kernel.step;
}

/* ---- device.c ---- */

/* Works out the times and sizes that follow from the preset. */
void ff__devices_set_times(struct sim *sim);
/* -ENOMEM. The caller ends it in any case; the device is all zero before. */
int ff__device_init(struct sim *sim, struct device *device, uint32_t tier);
void ff__device_fini(struct sim *sim, struct device *device);

/* ---- sm.c ---- */

int ff__sms_init(struct sim *sim, struct device *device);
void ff__sms_fini(struct sim *sim, struct device *device);
/* Fills the SMs with the first CTAs of the current kernel. */
void ff__sms_start(struct sim *sim, struct device *device, uint64_t time);
/* A prefetch or a pre-eviction is under way from `start` to `end`: what it takes from SMs that run
 * (mover_share). */
void ff__sms_delay(struct sim *sim, struct device *device, uint64_t start, uint64_t end);
/* Warps that have ended may leave now. */
void ff__sms_release(struct sim *sim, struct device *device, uint64_t time);
/* A warp has ended. */
void ff__sm_end_warp(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot);

/* ---- warp.c ---- */

/* Runs every SM up to `until`; returns the earliest time any of them could go on, NEVER if all
 * wait. */
uint64_t ff__sms_run(struct sim *sim, struct device *device, uint64_t until);

/* ---- wait.c ---- */

/* `count` accesses over a link, one after the other, which take their share of it. Returns the time
 * at which the last one ends. */
uint64_t ff__sm_use_remotely(struct sim *sim, struct device *device, uint32_t count,
                             uint64_t start);
/* A warp faults on a page, and waits for it. */
void ff__sm_wait(struct sim *sim, struct device *device, struct sm *sm, uint32_t slot,
                 uint64_t page, bool write, uint64_t time);
/* The faults on `pages` have been answered: each warp that waits for one of them uses it, here or
 * over a link, or faults again if it is at neither place. */
void ff__sms_wake(struct sim *sim, struct device *device, uint32_t block,
                  const struct ff_mask *pages, uint64_t time);

/* ---- access.c ---- */

struct touch {
    uint64_t page;
    struct warp *warp;
    uint32_t pc;
    bool write, missed, remote;
};

/* Gathers an access for the policies, and reports it to the observer of the simulation. */
void ff__access_show(struct sim *sim, struct device *device, const struct sm *sm,
                     const struct touch *touch);
/* Gathers `count` accesses over the link, of a kernel in bulk. */
void ff__access_show_remote(struct sim *sim, struct device *device, uint64_t page, uint32_t count,
                            bool write);
void ff__access_observe(struct sim *sim, const struct device *device, const struct sm *sm,
                        const struct touch *touch);
/* Shows the accesses so far to the policies. */
void ff__sms_show(struct sim *sim, struct device *device);

/* ---- fault_buffer.c ---- */

/* Raises faults, at their time, on pages whose last one is not still unanswered. */
void ff__faults_raise(struct sim *sim, struct device *device, const struct fault *fault);
/* Makes up to `limit` pages' faults that are visible at `time` the batch. */
void ff__faults_take(struct device *device, uint64_t time, uint32_t limit);

/* ---- untimed.c ---- */

/* Runs a whole kernel without time; -ENOTSUP if it is in bulk. */
void ff__untimed_launch(struct sim *sim, struct device *device, const struct launch *launch,
                        uint64_t time);
/* The end of a transfer without time: no warp waits for one. */
void ff__untimed_ended(struct sim *sim, struct device *device, enum transfer_cause cause,
                       uint64_t time);

#endif
