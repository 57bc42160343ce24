#include "backend/soft/told.h"

#include "base/thread.h"

#include <errno.h>
#include <sched.h>

#define SPINS 64u /* reads between which the other thread may need this one's CPU */

static ff__told_fn asked_for(const struct ff__told *told) {
    return __atomic_load_n(&told->call, __ATOMIC_ACQUIRE);
}

static void *run(void *argument) {
    struct ff__told *told = argument;
    while (!__atomic_load_n(&told->ends, __ATOMIC_ACQUIRE)) {
        if (sem_wait(&told->asked))
            continue;
        ff__told_fn call = asked_for(told);
        if (call)
            told->status = call(told->argument);
        __atomic_store_n(&told->call, NULL, __ATOMIC_RELEASE);
    }
    return NULL;
}

int ff__told_start(struct ff__told *told, struct ff__changes *changes,
                   const struct ff__uffd *uffd) {
    told->changes = changes;
    told->uffd = uffd;
    if (sem_init(&told->asked, 0, 0))
        return -errno;
    int status = ff__thread_start(&told->thread, run, told, "ff-told");
    told->runs = status == 0;
    if (status)
        sem_destroy(&told->asked);
    return status;
}

void ff__told_stop(struct ff__told *told) {
    if (!told->runs)
        return;
    __atomic_store_n(&told->ends, true, __ATOMIC_RELEASE);
    sem_post(&told->asked);
    pthread_join(told->thread, NULL);
    sem_destroy(&told->asked);
    told->runs = false;
}

static void read_on(struct ff__told *told, uint32_t *tries) {
    ff__changes_settle(told->changes, told->uffd);
    if (++*tries % SPINS == 0)
        sched_yield();
}

int ff__told_call(struct ff__told *told, ff__told_fn call, void *argument) {
    uint32_t tries = 0;
    while (__atomic_exchange_n(&told->busy, true, __ATOMIC_ACQUIRE))
        read_on(told, &tries);
    told->argument = argument;
    __atomic_store_n(&told->call, call, __ATOMIC_RELEASE);
    sem_post(&told->asked);
    while (asked_for(told))
        read_on(told, &tries);
    int status = told->status;
    __atomic_store_n(&told->busy, false, __ATOMIC_RELEASE);
    return status;
}
