/* Jobs on several threads, whose results are handed over in order. */
#ifndef FF_CLI_POOL_H
#define FF_CLI_POOL_H

struct ff__pool {
    unsigned count, threads;
    void (*job)(void *self, unsigned index); /* on any thread, all at the same time */
    /* Both on the calling thread. `done`: job `index` and all before it have ended. `tick`: this many
     * jobs have ended, and `index` was the last to begin. */
    void (*done)(void *self, unsigned index);
    void (*tick)(void *self, unsigned ended, unsigned index);
    void *self;
};

/* Returns when all have ended: 0, or a negative errno if not one thread could be started. */
int ff__pool_run(const struct ff__pool *pool);

/* As many as there are processors that this process may use. */
unsigned ff__pool_threads(void);

#endif
