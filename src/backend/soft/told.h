/* System calls on managed memory that the kernel tells of: each waits until a thread has read the
 * message. So a thread of its own makes the call, while the one that asks for it reads. */
#ifndef FF_SOFT_TOLD_H
#define FF_SOFT_TOLD_H

#include "backend/soft/changes.h"

#include <semaphore.h>

typedef int (*ff__told_fn)(void *argument);

struct ff__told {
    struct ff__changes *changes;
    const struct ff__uffd *uffd;
    bool busy;        /* a thread asks; atomic */
    ff__told_fn call; /* to be made; NULL: it has been. Atomic */
    void *argument;
    int status;      /* of the last call */
    bool runs, ends; /* the thread; atomic */
    sem_t asked;
    pthread_t thread;
};

/* Starts the thread. Zeroed before. Negative errno. */
int ff__told_start(struct ff__told *told, struct ff__changes *changes, const struct ff__uffd *uffd);

/* Ends it, if it runs. */
void ff__told_stop(struct ff__told *told);

/* Has the thread make the call; what it returns. One call at a time; others wait. Faults that are
 * read meanwhile are kept for the next read. */
int ff__told_call(struct ff__told *told, ff__told_fn call, void *argument);

#endif
