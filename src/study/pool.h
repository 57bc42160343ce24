/* Jobs on several threads, under a progress bar, whose results are handed over in order. */
#ifndef FF_STUDY_POOL_H
#define FF_STUDY_POOL_H

struct ff__job_pool {
    unsigned count, threads;
    void (*job)(void *self, unsigned index); /* on any thread, all at the same time */
    /* Both on the calling thread. `done`: job `index` and all before it have ended; it may print.
     * NULL: nothing is to be done then. `name`: what the bar says while the job runs; to be freed.
     */
    void (*done)(void *self, unsigned index);
    char *(*name)(const void *self, unsigned index);
    void *self;
};

/* Returns when all have ended: 0, or an exit status, with a line on stderr, if not one thread could
 * be started. */
int ff__pool_run(const struct ff__job_pool *pool);

/* As many as there are processors that this process may use. */
unsigned ff__pool_threads(void);

#endif
