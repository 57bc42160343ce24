/* A live backend without a device: memory that is only words, a program that asks for them, and
 * moves that take time or fail when a test wants it. It has every verb of engine/backend.h that a
 * backend must have, in the same order: a new backend starts as a copy of backend.c, in which the
 * driver's calls take the place of content.h. */
#ifndef FF_TESTS_FAKE_BACKEND_H
#define FF_TESTS_FAKE_BACKEND_H

#include "fake/content.h"

#include <pthread.h>

#define FAKE_FAULTS   1024u
#define FAKE_PATIENCE 20u /* seconds until a fault counts as never answered */

/* What goes wrong with moves. */
struct fake_trouble {
    uint32_t nap_us;                 /* the longest that a move takes */
    uint32_t slow_us;                /* the shortest that a move takes */
    uint32_t fail_percent;           /* of all tries to move something */
    bool fail_midway;                /* such a try has done part of its work */
    uint32_t fail_block, fail_times; /* so many of the first tries to move this block fail, too */
};

struct fake_counts {
    uint64_t failures, rejections, replays, aborts;
    uint32_t tries;  /* to move the block that is to fail */
    uint64_t faults; /* that were handed over, or served where they were met */
};

/* A thread that waits for a page. */
struct fake_waiter {
    struct fake_waiter *next;
    uint32_t block, page;
    bool woken, rejected;
};

struct fake_device {
    uint64_t memory, size; /* bytes of each device; of addresses */
    uint32_t devices, granule;
    bool serves_here;
    struct ff__pipeline *pipeline; /* set by `attach` */
    pthread_mutex_t lock;          /* of all below; taken after the pipeline's */
    pthread_cond_t arrived, posted;
    struct fake content;
    bool *is_open; /* [block] it is part of a range */
    struct fake_trouble trouble;
    struct fake_counts counts;
    struct ff__fault faults[FAKE_FAULTS];
    uint32_t fault_count;
    struct fake_waiter *waiters;
    bool interrupted, somebody_waits;
    bool closed; /* who waits gives up */
};

extern const struct ff__backend fake_backend;

enum fake_touch { TOUCHED, TOUCH_CLOSED, TOUCH_REJECTED, TOUCH_LOST };

/* The program reads a page into *word, or writes it there, and waits until it is on a device. */
enum fake_touch fake_device_access(struct fake_device *device, uint32_t block, uint32_t page,
                                   uint32_t *word, bool write);

/* A fault that nobody waits for. The lock is held. */
void fake_device_post(struct fake_device *device, uint32_t block, uint32_t page, bool write);

/* Whoever still waits gives up. */
void fake_device_let_go(struct fake_device *device);

#endif
