/* What carries out the engine's commands for programs that run: the software device, later CUDA
 * devices. The runtime and the pipeline know a backend by this table only (backend/live.h lists
 * them).
 *
 * Pages move by submissions: a batch of moves, each of one block's pages from a tier to a tier. A
 * submission is started, goes on beside others and beside its caller as far as the backend can, and
 * is waited for. The struct itself is the token by which it is known; the caller owns it.
 *
 * Pre-conditions hold for every verb that names a block: the block is live; the engine has marked
 * it busy, so that no two calls for one block run at the same time, and no submission has two moves
 * of one block on one tier, but for the end of a mapping, which goes first; pages are within the
 * block. Calls for different blocks may run at the
 * same time, from different threads. In verbs of ranges, blocks are those of one range, whose first
 * page is the first of its first block.
 *
 * A move ends in one of:
 *   0                  done
 *   -EAGAIN, -ENOMEM   not now; it may be tried again
 *   -EBUSY             these pages cannot leave: the kernel or a device holds them
 *   -ENOENT            the pages are gone: the program has unmapped them
 *   -EBADF             this thread has lost the backend's descriptors: another one must do it
 *   -ECANCELED         it was aborted, or the memory that it was to come into has not become free
 * In all but the first case a part of it may be done. What is not done is said page by page, and
 * is as it was before. */
#ifndef FF_ENGINE_BACKEND_H
#define FF_ENGINE_BACKEND_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

struct ff__pipeline;

/* ---- what a backend says of itself ---- */

struct ff__tier_description {
    uint64_t memory;  /* bytes; 0: not limited, as the host */
    bool guests_only; /* it is another program's, and has no memory here until `lease` */
    uint32_t spare;   /* chunks beyond that, for when what is there cannot leave */
    uint32_t granule; /* pages in which it is allocated; 0: FF_BLOCK_PAGES */
};

struct ff__description {
    uint64_t base, address_space; /* managed addresses; bytes */
    uint32_t tier_count;          /* the host and the devices */
    struct ff__tier_description tier[FF_TIERS_MAX];
    struct ff_link_cost link[FF_TIERS_MAX][FF_TIERS_MAX]; /* [from][to], of every two tiers */
    uint64_t fault_ns;                                    /* as in struct ff_view; not 0 */
    uint32_t shows;                                       /* enum ff_visibility, or-ed */
    uint32_t controls;                                    /* enum ff_control, or-ed */
    uint32_t whole_leaves;     /* blocks of so many leaves take a whole chunk; 0: FF_CHUNK_LEAVES */
    bool copies_on_processors; /* as in struct ff_view */
    bool parts_cost_more;      /* the same */
    bool separate;             /* a device does not reach what another one has */
    bool peer_links;           /* pages go straight from a device to another one */
    /* What lies in memory that a device lends is used by nobody, and never written to there */
    bool guests_apart;
    /* Pages can be copied to the host while a device uses them; with guests_apart, those of guests
     * alone */
    bool writes_back;
    /* What leaves a device is copied even if the host had the same before it came there */
    bool copies_clean;
    bool reserves_host; /* a new range needs reserve_host, too */
    /* Pages that are used from the host have to be mapped for that, by moves (`mapped`), one by one
     * as they are touched. A mapping takes the time in which a page crosses the link, and counts as
     * FF__MAPPED_ACCESSES accesses */
    bool maps_remote;
    bool serves_here; /* the program's threads serve their faults themselves */
    char text[160];   /* for reports: what was chosen, in words */
};

/* ---- what it is told ---- */

/* Memory of a block on a tier. */
struct ff__place {
    uint32_t tier;
    uint32_t frame; /* in leaves; FF_NONE on the host; split: see space/frames.h */
};

/* Pages of one block from a tier to another one. One of the two is the host, but where the
 * description says peer_links. */
struct ff__move {
    uint32_t block;
    struct ff__place from, to;
    struct ff_mask pages; /* what moves */
    /* Of these, the pages the host has content for. To a device: their bytes come, the rest is
     * zeroed. From a device: the copy is compared, the rest is copied */
    struct ff_mask held;
    struct ff_mask dead; /* from a device: pages to drop, whatever they hold */
    bool whole; /* to a device: the block had no page on it. From a device: nothing of it stays */
    /* From a device: it was evicted to there from another one; to a device: it lends the memory
     * (engine/peers.c) */
    bool guest;
    bool lends; /* it is evicted to another device */
    bool keep;  /* from a device: the pages stay there, and are copied (write-back) */
    bool after; /* starts when all moves before it in the submission have left in whole; if one has
                   not, it ends in -ECANCELED */
    /* The pages are the host's, and stay so: to a device, they are mapped for it, those that are
     * not `held` as zeros; from one, no longer. No frame, and no other flag but `after` and `freed`
     */
    bool mapped;
    /* From a device: its range is freed; all goes, and even what is pinned is let go of */
    bool freed;

    /* The outcome, for the backend to keep up to date until the move has ended. */
    /* Pages that have not moved. Set by the caller: all of them, or what an earlier submission has
     * left */
    struct ff_mask left;
    /* From a device: pages whose bytes have gone to the host; adds up over submissions. Of a victim
     * that goes to another device, those for which that had no memory after all */
    struct ff_mask copied;
    /* Of a victim that goes to another device, with guests_apart: pages of `held` for which the
     * host has the same bytes; adds up likewise */
    struct ff_mask same;
    int status; /* what it ended in */
};

static inline bool ff__move_arrives(const struct ff__move *move) {
    return move->from.tier == FF_TIER_HOST;
}

/* Where on a device the pages are, or come to. */
static inline const struct ff__place *ff__move_place(const struct ff__move *move) {
    return ff__move_arrives(move) ? &move->to : &move->from;
}

/* Nothing of the move is done. */
static inline bool ff__move_is_whole(const struct ff__move *move) {
    return move->whole && ff_mask_equal(&move->left, &move->pages);
}

/* A batch of moves. They may be carried out at the same time, but for those that come `after`
 * others. */
struct ff__submission {
    struct ff__move *const *moves;
    uint32_t count;
    bool aborted;    /* atomic */
    uint64_t end_ns; /* the backend's */
};

/* One far fault as the backend saw it. */
struct ff__fault {
    uint64_t address;
    bool write;
    int32_t thread; /* that faulted, 0 if the backend cannot tell */
    uint64_t code;  /* the instruction that faulted; 0: it cannot tell, or has not looked */
};

/* Devices of other programs, whose memory may be lent to this one. */
struct ff__neighbours {
    uint32_t count;
    uint64_t memory[FF_TIERS_MAX]; /* bytes */
};

/* Remote accesses that a mapped page stands for: as many of a GPU's 128 bytes as fill it. */
#define FF__MAPPED_ACCESSES (FF_PAGE_SIZE / 128)

struct ff__backend {
    /* ---- making and unmaking: from any thread, one at a time ---- */

    /* Takes the devices and addresses that the configuration asks for; *self is for all other
     * verbs, until `close`. The configuration is borrowed for the call; the neighbours are tiers
     * behind its devices. `uses`: `accessed` will be asked. Negative errno, with a line that says
     * what is wrong: then there is nothing to close. */
    int (*open)(const struct ff_config *config, const struct ff__neighbours *neighbours, bool uses,
                void **self, struct ff_error *error);
    void (*close)(void *self);
    void (*describe)(void *self, struct ff__description *out);

    /* ---- the pipeline starts and stops; each may be NULL ---- */

    /* Called before all verbs below. The pipeline is borrowed until it has stopped: its space says
     * where blocks lie, and ff__pipeline_serve_here() serves a fault in the thread that meets it.
     * Negative errno, with a line that says what is wrong: then no thread starts. */
    int (*attach)(void *self, struct ff__pipeline *pipeline, struct ff_error *error);

    /* Called first of all on the first of the threads that will call the verbs, which start the
     * others: a place to take what must not depend on the program's threads. */
    void (*enter)(void *self);

    /* All these threads have started. */
    void (*started)(void *self);

    /* The threads are about to end, or could not start: no thread of the program may serve its
     * faults itself any more. May come without `attach`. */
    void (*detach)(void *self);

    /* ---- ranges ---- */

    /* Makes the addresses of a new range usable; they read as zeros. From any thread, with
     * the engine's lock held. -ENOMEM: they are as they were. */
    int (*open_range)(void *self, uint32_t first_block, uint64_t page_count);

    /* Makes sure that the host tier can take the range. Within a call of the pipeline; only where
     * the description says so. -ENOSPC: close_range follows. */
    int (*reserve_host)(void *self, uint32_t first_block, uint64_t page_count);

    /* Makes the addresses of a range unusable and gives its host memory back. No page of it is on a
     * device. Within a call of the pipeline. -EADDRINUSE: the program has mapped something else at
     * some of them; they must never be given out again. */
    int (*close_range)(void *self, uint32_t first_block, uint64_t page_count);

    /* From now on kernels and copies alone use the range, and their threads may serve its faults
     * themselves (ff__pipeline_serve_here); nothing has used it yet. From any thread, with the
     * engine's lock held. NULL, or negative errno: it is as it was. */
    int (*set_kernels)(void *self, uint32_t first_block, uint64_t page_count);

    /* Takes that back, or makes it so while the range may be in use. No page of the range is on a
     * device, and its blocks are busy. Within a call of the pipeline. Negative errno: it is as it
     * was. */
    int (*change_kernels)(void *self, uint32_t first_block, uint64_t page_count, bool kernels);

    /* Sets the host's copy of these pages, none of which is on a device. `from` holds the content
     * of the block's page `first` and of those behind it, in memory that cannot fault. From any
     * thread. */
    void (*write_host)(void *self, uint32_t block, const struct ff_mask *pages, uint32_t first,
                       const char *from);

    /* Gives back the memory behind the host's copies of these pages, whose content is dead. From
     * any thread. */
    void (*discard)(void *self, uint32_t block, const struct ff_mask *pages);

    /* Bytes of memory that the host tier takes. From any thread. */
    uint64_t (*host_held)(void *self);

    /* Whether any of [low, high) is an address that the backend has taken. From any thread. */
    bool (*owns)(void *self, uintptr_t low, uintptr_t high);

    /* ---- faults ---- */

    uint64_t (*now)(void *self);

    /* Waits for faults at most `timeout_ns` and returns how many there were, or negative errno.
     * Woken early, with 0, by `interrupt`. Only one thread at a time waits. `soon`: the calling
     * thread has just served faults, and the next are likely to follow, so that it may pay to spin.
     * A backend without faults of this kind may still have to be asked. */
    int (*wait)(void *self, struct ff__fault *faults, uint32_t capacity, bool soon,
                uint64_t timeout_ns);
    void (*interrupt)(void *self);

    /* Lets threads that wait for pages of the block try again. `pages` are on a device; one that
     * the program has dropped meanwhile is there again, as zeros. */
    void (*replay)(void *self, uint32_t block, const struct ff_mask *pages);

    /* A fault outside every range: an error of the program, unless the range has been freed since.
     */
    void (*reject)(void *self, const struct ff__fault *fault);

    /* ---- use of pages that are there; NULL: it is not seen ---- */

    /* Which of `pages`, which are on a device, have been used since the call before that had them;
     * what is said of those that have come since then means nothing. From a thread that serves
     * faults or moves, with the engine's lock held; the block is not busy. -EAGAIN: not now. Any
     * other error: nor ever again. */
    int (*accessed)(void *self, uint32_t block, const struct ff_mask *pages, struct ff_mask *used);

    /* ---- memory of neighbours; NULL: it can have none ---- */

    /* A lease of a neighbour's memory (share/lease.h), once a tier: the files are borrowed for the
     * call. From one thread. -EPROTO: they are not what they are to be. -ENOMEM. */
    int (*lease)(void *self, uint32_t tier, int memory_fd, int states_fd);

    /* Gives the system back what memory is kept for chunks of a device that nothing holds. The
     * pipeline's lock is held. */
    void (*release)(void *self, uint32_t tier);

    /* ---- moves ---- */

    /* Starts the moves, and may carry them out, or a part of them, before it returns. Threads that
     * wait for pages go on when these have come. A page that leaves does so atomically against
     * writers: its last content is either in `copied`, or the page is still there. */
    void (*submit)(void *self, struct ff__submission *submission);

    /* Returns when all moves of the submission have ended, with their outcomes; no other thread may
     * use it by then. */
    void (*complete)(void *self, struct ff__submission *submission);

    /* Ends a submission early, from any thread, between its `submit` and the end of its `complete`:
     * what has not moved by then does not, but for a page or two. */
    void (*abort)(void *self, struct ff__submission *submission);
};

#endif
