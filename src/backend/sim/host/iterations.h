/* Iterations of a program: what each took, and whether the rest will be like those before. */
#ifndef FF_BACKEND_SIM_HOST_ITERATIONS_H
#define FF_BACKEND_SIM_HOST_ITERATIONS_H

#include "backend/sim/sim.h"

struct job;
struct sim;

#define ITERATIONS_PERIOD 4u
#define ITERATIONS_KEPT   (2 * ITERATIONS_PERIOD + 1)

struct iterations {
    uint64_t count;
    struct ff__sim_result at[ITERATIONS_KEPT]; /* counters at the ends of the last iterations */
    struct ff__sim_result more;                /* of iterations that were not run */
};

/* An iteration of the job has ended. If the remaining iterations can be extrapolated from those so
 * far, they are skipped; but not while other jobs run, whose time would pass. */
void ff__iterations_end(struct sim *sim, struct job *job, uint64_t time);

#endif
