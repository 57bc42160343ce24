/* The engine: asks the policies, decides, and keeps the truth about pages. It knows no thread,
 * clock or system call (but for what policies do in the background: background.h): the live
 * pipeline and the simulator both drive it, one call at a time.
 *
 * Work comes as jobs. A `begin` call decides what is to be done, marks the blocks concerned busy
 * and fills in a job; the caller has the backend carry it out (every `out`, and `in` after them),
 * without any lock; `finish` makes it true. The outcome of its moves says until then that nothing
 * is left; the caller that carries the job out says what is. */
#ifndef FF_ENGINE_ENGINE_H
#define FF_ENGINE_ENGINE_H

#include "base/queue.h"
#include "engine/backend.h"
#include "engine/totals.h"
#include "policy/registry.h"
#include "space/space.h"

struct ff__allocator;
struct ff__prediction;

enum ff__job_status {
    FF__JOB_RUN,   /* carry it out, then finish it */
    FF__JOB_NONE,  /* nothing to move: the pages are there, or used from where they are; replay the
                        faults */
    FF__JOB_LATER, /* the block is busy; the faults are remembered and come back when its job is
                        finished. Or the pages are on their way: they end the faults */
    FF__JOB_NO_ROOM, /* everything that could leave is in flight, or has only just come: try again
                        after some job has finished, or at job->retry_ns if that is not 0 */
    FF__JOB_WAIT,    /* the policy throttles these pages until job->retry_ns */
    FF__JOB_DROPPED, /* advice that does not fit */
};

/* Blocks that share a chunk, and peers; and what of the block itself is mapped */
#define FF__OUTS_MAX (FF_CHUNK_LEAVES + FF_TIERS_MAX + 1)

struct ff__job {
    bool has_in;
    /* `in` got a whole chunk from evicted blocks and may have to give back a part */
    bool took_chunk;
    uint64_t owed;       /* the allocator's: pages of `in` whose memory the outs free */
    uint64_t preevicted; /* pages that the outs free for the reserve */
    uint32_t granule;    /* in which `in` would have memory allocated; 0: the device's own */
    bool one_request;    /* `in` crosses its link as one request (struct ff_fault_advice) */
    bool joins;          /* `in` is part of the link's latest request (struct ff_advice) */
    uint32_t out_count;
    uint64_t retry_ns;
    uint64_t begun_ns; /* when the first of its faults was to be served */
    uint32_t launch;   /* that it serves, or FF_NONE */
    struct ff__move in;
    struct ff_mask faulted;   /* of the pages of `in` */
    struct ff_mask written;   /* of these, where `in` is a mapping: to be written to */
    struct ff_mask throttled; /* faulted pages that `in` leaves out for now, until retry_ns */
    struct ff_mask there;     /* faulted pages that are there, as after a drop: replay them */
    struct ff_mask remote;    /* faulted pages that are now used from where they are: replay them */
    struct ff_fault_advice answer; /* of the policy to these faults, for ff__engine_fault_again() */
    bool asked;                    /* it has been given */
    struct ff_mask counted;        /* faults in the statistics: what is tried again counts once */
    struct ff__move out[FF__OUTS_MAX];
};

struct ff__engine_config {
    /* What it can do, and what that costs; borrowed until the engine is closed */
    const struct ff__description *backend;
    uint64_t base, address_space; /* the managed addresses */
    uint32_t devices;
    uint64_t memory;                 /* bytes a device, at most: */
    uint64_t capacity[FF_TIERS_MAX]; /* bytes that it has, 0: all */
    /* bit t: tier t is a neighbour's, with no memory yet: nothing but guests lies there */
    uint32_t guests_only;
    const struct ff__allocator *allocator; /* NULL: the engine's own, by chunk and by leaf */
    void *allocator_state;
    uint32_t granule;      /* of the memory of blocks, unless advice says otherwise; 0: its unit */
    uint32_t whole_leaves; /* blocks of so many leaves take a whole chunk; 0: FF_CHUNK_LEAVES */
    uint64_t lend[FF_TIERS_MAX]; /* bytes that each device lends to evictions of others */
    uint32_t reserve;            /* chunks to keep free ahead of need, once there is pressure */
    uint32_t spare;              /* chunks beyond the memory, for when what is there cannot leave */
    uint32_t launch_limit;       /* execution IDs that are known at a time; 0: FF_LAUNCH_SLOTS */
    uint64_t seed;
    bool check;
    bool virtual_time;              /* time is modelled */
    const struct ff_future *future; /* NULL: not known */
    struct ff__system system;
};

/* The reserve of programs that run: ours, a 32nd of the chunks, but no more than four. */
#define FF__RESERVE_SHARE 32u
#define FF__RESERVE_MAX   4u

/* One chunk of each `share` of a device's memory, at most so many; 0 of none. */
static inline uint32_t ff__engine_reserve(uint64_t memory, uint32_t share, uint32_t most) {
    uint64_t chunks = share ? (memory >> FF_BLOCK_SHIFT) / share : 0;
    return chunks < most ? (uint32_t)chunks : most;
}

/* What samples for the engine, where the backend shows FF_SEES_SAMPLES: the simulator's tracker, or
 * fault_samples.h. */
struct ff__sampler {
    void *self;
    /* Samples of a range's use on a tier are wanted under the running kernel `launch`, or not any
     * more. False: it cannot give them. */
    bool (*sample)(void *self, uint32_t tier, uint32_t range, uint32_t launch, bool wanted);
    void (*forget)(void *self, uint32_t range);  /* the range is freed */
    struct ff_last_uses last_uses[FF_TIERS_MAX]; /* for the view */
};

/* What of the configuration follows from what a backend is, which is borrowed; the rest is left
 * alone. Its devices are alike, and lend all that is free if pages can go from one to another. */
void ff__engine_configure(struct ff__engine_config *config, const struct ff__description *backend);

/* -EINVAL: also where a link or a fault costs nothing. -ENOTSUP: a policy must see more than the
 * backend shows. -ENOMEM. Then *engine is NULL, which may be closed. */
int ff__engine_open(struct ff__engine **engine, const struct ff__engine_config *config,
                    struct ff_error *error);
void ff__engine_close(struct ff__engine *engine);

/* Where every page is, for all to read: the engine alone changes it. */
const struct ff__space *ff__engine_space(const struct ff__engine *engine);

/* The first broken invariant, where it is asked to check; NULL: none is. */
const char *ff__engine_failure(const struct ff__engine *engine);

/* Whether pages have been left where they are, to be used from there. */
bool ff__engine_uses_remote(const struct ff__engine *engine);

/* Whether devices lend memory to each other's evictions. */
bool ff__engine_lends(const struct ff__engine *engine);

/* The execution ID of the kernel that began last of those that run on the tier, or FF_NONE. */
uint32_t ff__engine_latest_launch(const struct ff__engine *engine, uint32_t tier);

/* How many execution IDs have been given. */
uint64_t ff__engine_launches_given(const struct ff__engine *engine);

/* Bytes of its arena that the prefetch policy has used. */
uint64_t ff__engine_arena_used(const struct ff__engine *engine);

/* Whether the place policy has the host take memory in large pages. */
bool ff__engine_has_large_host_pages(const struct ff__engine *engine);

/* ---- jobs ---- */

/* A group of faults of one block. group->tier FF_NONE: the home of its range. Pages beyond the
 * block's end, of an older block in its place, are taken out of the group. RUN, NONE, LATER,
 * NO_ROOM or WAIT; -EFAULT: no such block. */
int ff__engine_fault(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *group,
                     struct ff__job *job);

/* Before new faults are served: the policy has not been asked about them, and none has been
 * counted. */
void ff__job_reset(struct ff__job *job);

/* As ff__engine_fault(), for a group that had NO_ROOM or whose pages have not all come, with the
 * job of that time: the policy is not asked again about faults that it has answered, and they are
 * not counted again. */
int ff__engine_fault_again(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *group,
                           struct ff__job *job);

/* Whether a policy must see who met the latest faults of a block (FF_SEES_SHARERS). */
bool ff__engine_sees_sharers(const struct ff__engine *engine);

/* A far fault, before it is served, and whoever met it (struct ff_latest_faults); 0: not known. */
void ff__engine_fault_met(struct ff__engine *engine, uint32_t block, uint32_t page,
                          uint32_t thread);

/* Whether the prefetch policy has on_batch. */
bool ff__engine_sees_batches(const struct ff__engine *engine);

/* Shows the faults of a batch, sorted by block, to a policy that sees batches, before they are
 * served. Of a group, tier FF_NONE: the home of its range. What the policy advises is to be queued.
 */
void ff__engine_batch(struct ff__engine *engine, uint64_t now_ns, struct ff_fault_group *groups,
                      uint32_t count, struct ff_advice_list *advice);

/* A piece of advice. RUN; NONE: followed, and nothing moves; DROPPED: counted by its reason. */
int ff__engine_advise(struct ff__engine *engine, uint64_t now_ns, const struct ff_advice *advice,
                      struct ff__job *job);

/* Counts a piece of advice that is not followed. */
void ff__engine_drop(struct ff__engine *engine, enum ff_drop why);

/* Whether a piece of advice is carried out at once: it needs no job. */
bool ff__engine_is_instant(const struct ff_advice *advice);

/* A piece of such advice. Whether it was followed. */
bool ff__engine_advise_now(struct ff__engine *engine, const struct ff_advice *advice);

/* Takes these of the block's pages (NULL: all, and its memory) off the device; `dead`: these
 * without a copy (may be NULL). RUN, NONE, or LATER (busy). */
int ff__engine_evict(struct ff__engine *engine, uint64_t now_ns, uint32_t block, uint32_t tier,
                     const struct ff_mask *pages, const struct ff_mask *dead, struct ff__job *job);

/* How many pages to keep free: as the evictor says, else as the engine is configured. */
uint64_t ff__engine_reserved(const struct ff__engine *engine, uint32_t tier);

enum ff__ahead {
    FF__AHEAD_NOTHING, /* there is nothing to do */
    FF__AHEAD_NEXT,    /* a piece of advice is done with, and nothing moves: ask again */
    FF__AHEAD_FOLLOW,  /* carry out the job, which follows advice, then finish it */
    FF__AHEAD_EVICT,   /* the same; it makes room */
};

/* What is to be done next ahead of need on a tier, FF_NONE: on all devices. First it evicts what is
 * above the capacity, then it follows the queue's first struct ff_advice, then it evicts for the
 * reserve. */
enum ff__ahead ff__engine_ahead(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                                struct ff__queue *advice, struct ff__job *job);

/* Makes these pages of a job's way in true, ahead of the others; they are no part of the job any
 * more. */
void ff__engine_arrive(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job,
                       const struct ff_mask *pages);

/* Makes a carried out job true: what has moved is where it was to go, the rest is where it was.
 * If something has not left, nothing must have come. Then serve the late faults. */
void ff__engine_finish(struct ff__engine *engine, uint64_t now_ns, struct ff__job *job);

/* Keeps a block whose faults have been served on its device until the threads that wait for them
 * have been told, where that is not the same moment. If nothing else can leave, it does. */
void ff__engine_pin(struct ff__engine *engine, uint32_t block, bool pinned);

/* Takes the next block's faults that came while it was busy and are to be served now. False:
 * there are none. */
bool ff__engine_take_late(struct ff__engine *engine, struct ff_fault_group *group);

/* Whether nothing of the block moves. */
bool ff__engine_is_at_rest(const struct ff__engine *engine, uint32_t block);

/* Changes how much of a device's memory may be allocated, in whole units of its allocator, while it
 * is in use. What is allocated above it is pre-evicted. -EINVAL: more than it was made with, or,
 * but for a neighbour's memory, not even one unit. */
int ff__engine_set_memory(struct ff__engine *engine, uint32_t tier, uint64_t bytes);

/* Looks again, sometime later, whether what uses spare memory, or memory above the capacity, can
 * leave. */
void ff__engine_press(struct ff__engine *engine);

/* Drops the block's late faults, and the block from the queue of those. */
void ff__engine_forget_late(struct ff__engine *engine, uint32_t block);

/* ---- ranges, launches, events ---- */

int ff__engine_range_add(struct ff__engine *engine, uint64_t page_count, uint32_t lead,
                         uint32_t home_tier, uint32_t *range);

/* Kernels will use the range on this device: its faults bring pages there. True: its home was
 * another one, and what lies on that is to be evicted, so that it faults to the new home. */
bool ff__engine_set_home(struct ff__engine *engine, uint32_t range, uint32_t tier);

/* Keeps the block, which must be idle, from every further job until its range is removed. */
void ff__engine_close_block(struct ff__engine *engine, uint32_t block);

/* Marks a block busy outside of any job, and takes out of *pages those that are on a device. False:
 * it is busy. */
bool ff__engine_claim_block(struct ff__engine *engine, uint32_t block, struct ff_mask *pages);

/* Ends that; the host now holds these pages. */
void ff__engine_release_block(struct ff__engine *engine, uint32_t block,
                              const struct ff_mask *held);

/* The host has written to these pages, which are on no device or leave it: it holds them now. */
void ff__engine_host_holds(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages);

/* Where accesses are seen: these pages, which are in place, are used. It changes something only for
 * the first use of what was prefetched, and for the first write since a page came or was copied. */
void ff__engine_used(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                     bool written);

/* Where accesses are seen: the host gets the content of these pages. Returns those that were dirty;
 * none is any more. */
struct ff_mask ff__engine_take_dirty(struct ff__engine *engine, uint32_t block,
                                     const struct ff_mask *pages);

/* Serving faults has taken so long. */
void ff__engine_count_service(struct ff__engine *engine, uint64_t ns);

/* Forgets pages' content: they read as zeros when they come next. Pages on a device are left
 * alone. */
void ff__engine_discard(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages);

/* Forgets all about pages that are on no device: they are freed, and may be allocated again. */
void ff__engine_free_pages(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages);

/* Policies forget what blocks have on the tier, although it stays. Returns how many pages that are.
 */
uint64_t ff__engine_forget(struct ff__engine *engine, uint64_t now_ns, uint32_t tier);

/* Notes which pages hold nothing that the application will ask for again, unless it says otherwise
 * or faults on them. They stay where they are; what leaves need not be copied, and is not
 * prefetched. */
void ff__engine_set_inactive(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                             bool inactive);

/* The blocks must be idle or closed, and off every device. Faults that came late for them are
 * forgotten: replay the blocks afterwards. */
void ff__engine_range_remove(struct ff__engine *engine, uint32_t range);

/* Kernels whose totals are kept apart. */
#define FF__KERNELS_MAX 1024u

/* A kernel starts on, or has left, a device. */
struct ff__launch {
    uint32_t tier;
    bool begins;
    uint64_t identity;
    uint32_t kernel; /* of a begin: the caller's number for its code, below FF__KERNELS_MAX */
    const struct ff_operand *operands; /* of a begin, NULL if not known */
    uint32_t operand_count;
    bool copies;       /* no kernel, but a copy by a copy engine */
    uint64_t demanded; /* pages of these, for the hit rate; 0 where accesses are counted */
    struct ff__prediction *prediction; /* the caller's, or NULL; the end names the same */
};

/* 0 or -ENOMEM (its identity could not be remembered). The end of one whose identity is not known,
 * or not any more, is not told. What the policies advise is to be queued. */
int ff__engine_launch(struct ff__engine *engine, uint64_t now_ns, const struct ff__launch *launch,
                      struct ff_advice_list *advice);

/* Shows accesses of the tier to the policies that watch, oldest first; at most FF__ACCESSES_MAX at
 * a time. Their advice is to be carried out now. */
#define FF__ACCESSES_MAX 256u
void ff__engine_access(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice);

/* Sets what samples from now on. */
void ff__engine_set_sampler(struct ff__engine *engine, const struct ff__sampler *sampler);

/* Shows a round of samples to the policies that have hooks for it. What they advise is to be
 * queued. */
void ff__engine_samples(struct ff__engine *engine, uint64_t now_ns,
                        const struct ff_sample_round *round, struct ff_advice_list *advice);

/* The caller's number of the code of an execution ID. */
uint32_t ff__engine_kernel_of(const struct ff__engine *engine, uint32_t launch);

/* Finding number `index` of all policies': first those of prefetching, then of eviction (on the
 * first device), placing and discarding. False: there are no more. */
bool ff__engine_finding(const struct ff__engine *engine, uint32_t index,
                        struct ff_finding *finding);

/* ---- learning: learning.c ---- */

/* Events that are learned from together. */
struct ff__learning_step {
    uint32_t count;
    struct ff_event events[FF_LEARN_EVENTS];
    uint32_t freed[FF_LEARN_EVENTS]; /* how often the event's range had been freed */
};

/* Whether a policy learns from events. */
bool ff__engine_learns(const struct ff__engine *engine);

/* Whether what a policy learns is used at present, as far as is known. */
bool ff__engine_uses_learning(const struct ff__engine *engine);

/* Whether the next event finds room in the queue. A full queue drops events, and counts them, so
 * that faults never wait for learning. A launch must not be dropped: what follows it would be
 * learned as another kernel's. So before a launch is recorded, events are learned until the queue
 * has room.
 */
bool ff__engine_can_tell(const struct ff__engine *engine);

/* The correlator's three steps: take the next events; learn from them, which is the only call of an
 * engine that may run beside others; and show the other hooks what was learned, before the next
 * events are taken. False: there are none. */
bool ff__engine_take_events(struct ff__engine *engine, struct ff__learning_step *step);
void ff__engine_learn(const struct ff__engine *engine, const struct ff__learning_step *step);
void ff__engine_publish(struct ff__engine *engine, struct ff__learning_step *step);

/* All three, until no event is left. */
void ff__engine_learn_all(struct ff__engine *engine);

/* Runs the prefetching thread's step. */
void ff__engine_plan(struct ff__engine *engine, uint64_t now_ns, struct ff_advice_list *advice);

/* Verifies every invariant now. */
int ff__engine_check(const struct ff__engine *engine, struct ff_error *error);

#endif
