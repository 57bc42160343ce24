/* What carries out the engine's commands: the software device, later the simulator and CUDA
 * devices.
 *
 * Pre-conditions hold for every verb: the block is live; the engine has marked it busy, so that
 * no two calls for one block run at the same time; pages are within the block. Calls for
 * different blocks may run at the same time, from different threads. Moves complete before the
 * call returns. Errors are negative errno; a failed call may have done part of its work and is
 * repeated until it succeeds, so every verb can be repeated. */
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

    /* Waits for faults at most `timeout_ns` (0: only looks) and returns how many there were, or
     * negative errno. Woken early, with 0, by `interrupt`. Only one thread at a time waits; any
     * may look. */
    int (*wait)(void *self, struct ff__fault *faults, uint32_t capacity, uint64_t timeout_ns);
    void (*interrupt)(void *self);

    /* Brings the pages to the device and lets the threads that wait for them go on. */
    int (*in)(void *self, const struct ff__move *move);

    /* Takes the pages out of the device, atomically against writers: a page's last content is
     * either on the host afterwards or still on the device. Sets in *copied the pages whose
     * bytes went to the host. */
    int (*out)(void *self, const struct ff__move *move, struct ff_mask *copied);

    /* Lets threads that wait for these pages try again. */
    void (*replay)(void *self, uint32_t block, const struct ff_mask *pages);

    /* A fault outside every range: the access is an error of the program. */
    void (*reject)(void *self, const struct ff__fault *fault);
};

#endif
