/* Holding the launches of a program while others of its device have their turn (share/protocol.h:
 * HOLD, GO).
 *
 * A launch waits before it begins, in the thread that begins it, and holds no lock of farfault
 * meanwhile; a fault is never held. When the kernels that run have ended, what the device holds is
 * noted, to be fetched when the turn comes; only then launches go on. All but ff__hold_pass() is
 * for the thread that talks to the broker. */
#ifndef FF_RUNTIME_HOLD_H
#define FF_RUNTIME_HOLD_H

#include "engine/pipeline.h"

enum ff__hold_state {
    FF__HOLD_NONE,    /* launches go on */
    FF__HOLD_DRAINS,  /* kernels still run */
    FF__HOLD_RESTS,   /* none do, and the memory has been given up */
    FF__HOLD_RESTORES /* what was there is being fetched */
};

struct ff__hold {
    bool closed; /* atomic: launches wait */
    struct ff__lock lock;
    struct ff__event opened;
    uint32_t waiting;   /* atomic: launches */
    bool has_waited;    /* a launch has, since it was closed */
    uint64_t waited_ns; /* atomic: so long launches have waited, those of the same time once */
    enum ff__hold_state state;
    uint64_t since_ns, closed_ns; /* of the state, or its last progress; and of `closed` */
    uint64_t limit_ns;            /* so long kernels may take to end */
    uint64_t kept;                /* bytes of the device that it may keep */
    uint64_t target;              /* bytes of it that it is going to have */
    struct ff_advice *items;      /* what was there */
    uint32_t count, capacity, next;
};

void ff__hold_init(struct ff__hold *hold);
void ff__hold_fini(struct ff__hold *hold);

/* Returns when launches may go on. */
void ff__hold_wait(struct ff__hold *hold);

static inline void ff__hold_pass(struct ff__hold *hold) {
    if (__builtin_expect(__atomic_load_n(&hold->closed, __ATOMIC_RELAXED), false))
        ff__hold_wait(hold);
}

/* Launches are to wait, and kernels to end within `limit_ns`. */
void ff__hold_close(struct ff__hold *hold, uint64_t kept, uint64_t limit_ns, uint64_t now_ns);

/* What was there may be fetched, into `target` bytes. */
void ff__hold_restore(struct ff__hold *hold, uint64_t target, uint64_t now_ns);

/* Launches go on at once. */
void ff__hold_open(struct ff__hold *hold);

/* Whether what runs has just ended, or has taken too long: what was there is noted, and the memory
 * can be given up. */
bool ff__hold_has_drained(struct ff__hold *hold, struct ff__pipeline *pipeline,
                          const struct ff__usage *usage, uint64_t now_ns);

/* Fetches more, as far as there is room in the `own` bytes of the device. Whether all that fits has
 * just come back; then launches go on. */
bool ff__hold_has_restored(struct ff__hold *hold, struct ff__pipeline *pipeline,
                           const struct ff__usage *usage, uint64_t own, uint64_t now_ns);

#endif
