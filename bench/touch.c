#include "touch.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct toucher {
    const struct touching *touching;
    pthread_barrier_t *start;
    pthread_t thread;
    size_t first, end; /* units */
};

static void touch(const struct touching *touching, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        size_t at = i * touching->unit;
        (void)*(
            volatile char *)&touching->ranges[at / touching->range_size][at % touching->range_size];
    }
}

static void *toucher_thread(void *argument) {
    struct toucher *it = argument;
    pthread_barrier_wait(it->start);
    touch(it->touching, it->first, it->end);
    return NULL;
}

static double touch_at_once(const struct touching *touching, unsigned threads, size_t units) {
    struct toucher touchers[TOUCHERS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        touchers[i] = (struct toucher){.touching = touching,
                                       .start = &start,
                                       .first = units * i / threads,
                                       .end = units * (i + 1) / threads};
        if (pthread_create(&touchers[i].thread, NULL, toucher_thread, &touchers[i])) {
            fprintf(stderr, "farfault-bench: cannot start a thread\n");
            exit(1);
        }
    }
    uint64_t begin = ff__clock_ns();
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(touchers[i].thread, NULL);
    double seconds = (double)(ff__clock_ns() - begin) * 1e-9;
    pthread_barrier_destroy(&start);
    return seconds;
}

double touch_seconds(const struct touching *touching, unsigned threads) {
    size_t units = touching->range_size * touching->count / touching->unit;
    if (threads > 1)
        return touch_at_once(touching, threads, units);
    uint64_t begin = ff__clock_ns();
    touch(touching, 0, units);
    return (double)(ff__clock_ns() - begin) * 1e-9;
}
