#include "study/live/copy_rate.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

/* Both ours: more than caches hold, and enough rounds for one in which nothing else runs. */
#define PIECES 16u
#define ROUNDS 25u

struct copier {
    pthread_t thread;
    char *from, *to;
    uint64_t began_ns, ended_ns;
};

static void *copy(void *argument) {
    struct copier *copier = argument;
    copier->began_ns = ff__clock_ns();
    for (size_t at = 0; at < PIECES * FF_BLOCK_SIZE; at += FF_BLOCK_SIZE)
        memcpy(copier->to + at, copier->from + at, FF_BLOCK_SIZE);
    copier->ended_ns = ff__clock_ns();
    return NULL;
}

/* The first copier is this thread. */
static int copy_together(struct copier *copiers, unsigned count) {
    unsigned started = 1;
    int status = 0;
    while (started < count && !status) {
        status = ff__thread_start(&copiers[started].thread, copy, &copiers[started], "ff-copy");
        started += status == 0;
    }
    copy(&copiers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(copiers[i].thread, NULL);
    return status;
}

/* From the first begin to the last end. */
static uint64_t time_taken(const struct copier *copiers, unsigned count) {
    uint64_t began = copiers[0].began_ns, ended = copiers[0].ended_ns;
    for (unsigned i = 1; i < count; i++) {
        began = copiers[i].began_ns < began ? copiers[i].began_ns : began;
        ended = copiers[i].ended_ns > ended ? copiers[i].ended_ns : ended;
    }
    return ended - began;
}

/* Memory whose pages are there: a copy must not have to populate any. */
static int furnish(struct copier *copiers, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        copiers[i].from = malloc(PIECES * FF_BLOCK_SIZE);
        copiers[i].to = malloc(PIECES * FF_BLOCK_SIZE);
        if (!copiers[i].from || !copiers[i].to)
            return -ENOMEM;
        memset(copiers[i].from, 1, PIECES * FF_BLOCK_SIZE);
        memset(copiers[i].to, 2, PIECES * FF_BLOCK_SIZE);
    }
    return 0;
}

int ff__copy_rate(unsigned threads, double *bytes_per_second) {
    struct copier copiers[FF__COPIERS_MAX] = {{.from = NULL}};
    unsigned count = threads < FF__COPIERS_MAX ? threads : FF__COPIERS_MAX;
    uint64_t least_ns = UINT64_MAX;
    int status = furnish(copiers, count);
    for (unsigned round = 0; round < ROUNDS && !status; round++) {
        status = copy_together(copiers, count);
        uint64_t ns = time_taken(copiers, count);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    *bytes_per_second = (double)count * PIECES * FF_BLOCK_SIZE * 1e9 / (double)least_ns;
    for (unsigned i = 0; i < count; i++) {
        free(copiers[i].from);
        free(copiers[i].to);
    }
    return status;
}
