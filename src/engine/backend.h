/* What carries out the engine's commands: the software device, later the simulator and CUDA
 * devices.
 *
 * Pre-conditions hold for every verb: the block is live; the engine has marked it busy, so that
 * no two calls for one block run at the same time; pages are within the block. Calls for
 * different blocks may run at the same time, from different threads. Moves complete before the
 * call returns.
 *
 * A move ends in one of:
 *   0                  done
 *   -EAGAIN, -ENOMEM   not now; it may be tried again
 *   -EBUSY             these pages cannot leave: the kernel or a device holds them
 *   -ENOENT            the pages are gone: the program has unmapped them
 *   -EBADF             this thread has lost the backend's descriptors: another one must do it
 * In all but the first case a part of it may be done. What is not done is said page by page, and
 * is as it was before. */
#ifndef FF_ENGINE_BACKEND_H
#define FF_ENGINE_BACKEND_H

#include <farfault/policy.h>

/* Pages of one block on their way between the host and a device. */
struct ff__move {
    uint32_t block;
    uint32_t tier;        /* the device */
    uint32_t frame;       /* the block's memory there, in leaves */
    struct ff_mask pages; /* what moves */
    struct ff_mask held;  /* of these, the pages the host has content for. In: their bytes come, the
                             rest is zeroed.  Out: the copy is compared, the rest is copied */
    struct ff_mask dead;  /* out: pages to drop, whatever they hold */
    bool whole;           /* in: the block had no page on the device. out: nothing of it stays */
    bool freed; /* out: its range is freed; all goes, and even what is pinned is let go of */
};

/* One far fault as the backend saw it. */
struct ff__fault {
    uint64_t address;
    bool write;
    int32_t thread; /* who faulted, 0 if the backend cannot tell */
};

struct ff__backend {
    uint32_t shows; /* enum ff_visibility, or-ed */

    uint64_t (*now)(void *self);

    /* Called first of all on the first of the threads that will call the verbs, which start the
     * others: a place to take what must not depend on the program's threads. */
    void (*enter)(void *self);

    /* Waits for faults at most `timeout_ns` (0: only looks) and returns how many there were, or
     * negative errno. Woken early, with 0, by `interrupt`. Only one thread at a time waits; any
     * may look. A backend without faults of this kind may still have to be asked. */
    int (*wait)(void *self, struct ff__fault *faults, uint32_t capacity, uint64_t timeout_ns);
    void (*interrupt)(void *self);

    /* Brings the pages to the device and lets the threads that wait for them go on. Sets *missed
     * to those that did not come. */
    int (*in)(void *self, const struct ff__move *move, struct ff_mask *missed);

    /* Takes the pages out of the device, atomically against writers: a page's last content is
     * either on the host afterwards or still on the device. Sets *stayed to the pages that are
     * still there, and *copied to those whose bytes went to the host. */
    int (*out)(void *self, const struct ff__move *move, struct ff_mask *stayed,
               struct ff_mask *copied);

    /* Lets threads that wait for pages of the block try again. `pages` are on a device; one that the
     * program has dropped meanwhile is there again, as zeros. */
    void (*replay)(void *self, uint32_t block, const struct ff_mask *pages);

    /* A fault outside every range: the access is an error of the program. */
    void (*reject)(void *self, const struct ff__fault *fault);
};

#endif
