/* Threads that use memory as kernels do, while a test changes it: each has a byte of every page
 * that is used, and counts in it. */
#ifndef FF_TESTS_SOFT_RUNNERS_H
#define FF_TESTS_SOFT_RUNNERS_H

#include <pthread.h>

#include "runtime/child.h"

#define RUNNERS 4u

struct runner {
    pthread_t thread;
    const struct runners *all;
    unsigned number;
};

struct runners {
    unsigned char *data;
    size_t size, stride; /* bytes; from a page that is used to the next one */
    bool stop;           /* atomic */
    struct runner runner[RUNNERS];
};

static inline void *run_on_data(void *argument) {
    const struct runner *runner = argument;
    const struct runners *all = runner->all;
    unsigned char count = 0;
    do {
        for (size_t at = runner->number; at < all->size; at += all->stride) {
            CHECK(all->data[at] == count);
            all->data[at]++;
        }
        count++;
    } while (!__atomic_load_n(&all->stop, __ATOMIC_RELAXED));
    return NULL;
}

/* The memory is zero. */
static inline void runners_start(struct runners *runners, unsigned char *data, size_t size,
                                 size_t stride) {
    *runners = (struct runners){.data = data, .size = size, .stride = stride};
    for (unsigned i = 0; i < RUNNERS; i++) {
        struct runner *runner = &runners->runner[i];
        runner->all = runners;
        runner->number = i;
        CHECK(pthread_create(&runner->thread, NULL, run_on_data, runner) == 0);
    }
}

static inline void runners_stop(struct runners *runners) {
    __atomic_store_n(&runners->stop, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < RUNNERS; i++)
        CHECK(pthread_join(runners->runner[i].thread, NULL) == 0);
}

#endif
