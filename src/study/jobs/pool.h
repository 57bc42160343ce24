/* Jobs on several threads, under a progress bar, whose results are handed over in order. */
#ifndef FF_STUDY_JOBS_POOL_H
#define FF_STUDY_JOBS_POOL_H

#include <stdbool.h>

struct ff__jobs; /* that runs */

struct ff__job_pool {
    unsigned count, threads;
    void (*job)(void *self, unsigned index); /* on any thread, all at the same time */
    /* Both on the calling thread. `done`: job `index` and all before it have ended; it may print.
     * NULL: nothing is to be done then. `name`: what the bar says while the job runs; to be freed.
     */
    void (*done)(void *self, unsigned index);
    char *(*name)(const void *self, unsigned index);
    /* Threads of others may help between these two; NULL: none do. */
    void (*begin)(void *self, struct ff__jobs *pool);
    void (*end)(void *self);
    void *self;
};

/* Returns when all have ended; with one thread, and nobody to help, that is the calling one. 0, or
 * an exit status, with a line on stderr, if not one thread could be started. */
int ff__pool_run(const struct ff__job_pool *pool);

/* Does jobs on the calling thread until none is left, or `job`, which has done this one, says that
 * it does no more. */
void ff__pool_help(struct ff__jobs *pool, bool (*job)(void *helper, unsigned index), void *helper);

/* As many as there are processors that this process may use. */
unsigned ff__pool_threads(void);

#endif
