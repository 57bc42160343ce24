/* Processes that mpirun or srun has started, which share the cells of one experiment: all of them
 * do what the command line says, but rank 0 alone shows and keeps results, and hands out cells. The
 * others run these, and know no more than what they have found themselves: no cell may depend on
 * what earlier ones have found.
 *
 * A rank other than 0 is two processes, one of which only starts the other again when it dies. */
#ifndef FF_STUDY_JOBS_RANKS_H
#define FF_STUDY_JOBS_RANKS_H

#include "study/jobs/pool.h"

#include <stddef.h>
#include <stdint.h>

/* As the starter says in the environment; alone: 0 of 1. */
unsigned ff__ranks_number(void);
unsigned ff__ranks_count(void);

/* Called once, before any thread exists, if there are several: afterwards rank 0 can be reached by
 * the others. `helper`: the program farfault-mpi. 0 or, with a line on stderr, an exit status. */
int ff__ranks_join(const char *helper);

/* ---- rank 0: one experiment after the other ---- */

struct ff__shared_cells {
    uint32_t sum; /* of all that tells these cells from others: who has another one does not help */
    /* The cell that job `at` of the pool runs; false: only rank 0 can. */
    bool (*cell)(const void *self, unsigned at, uint32_t *out);
    /* What a rank has found; false: it is nothing. Then, or if the rank dies, `run` does it here.
     */
    bool (*take)(void *self, unsigned at, const char *result, size_t size);
    void (*run)(void *self, unsigned at);
    void *self;
};

/* Lets the others take cells, and ends the experiment. */
void ff__ranks_open(const struct ff__shared_cells *cells, struct ff__jobs *pool);
void ff__ranks_close(void);

/* ---- the others ---- */

/* Runs cells of this experiment, on so many threads, until none is left. `run` returns a text of
 * malloc(). Does not return if rank 0 has ended or has other cells. */
void ff__ranks_serve(uint32_t sum, unsigned threads, char *(*run)(void *self, uint32_t cell),
                     void *self);

#endif
