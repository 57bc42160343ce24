/* A matrix of simulations (study/matrix.h). sweep.c makes it, show.c and json.c have what only
 * simulations tell. */
#ifndef FF_STUDY_SIM_SWEEP_H
#define FF_STUDY_SIM_SWEEP_H

#include "study/matrix.h"
#include "study/sim/simulations.h"

#include <farfault/trace.h>

struct ff__sweep {
    struct ff__simulations cells; /* the first member: it stands for the sweep as that */
    struct ff__study study;
    struct ff__matrix matrix; /* its subjects: workloads, or paths of traces */
    bool traces;
    struct ff_trace_info *infos; /* [workload] of traces */
    bool by_default;      /* the systems: nobody has asked for those that cannot run a workload */
    struct ff__gpu *gpus; /* [device] */
    struct ff__words beside;     /* programs on further devices, or idle ones */
    struct ff__machine *machine; /* that the devices are of; NULL: none */
    unsigned devices;
    bool check, untimed, extrapolates, explains, anyway;
    bool curve; /* misses by the size of memory, and no systems */
    struct ff__outputs outputs;
    const char *trace; /* NULL: none */
};

void ff__sweep_free(struct ff__sweep *sweep);

/* Runs all of it, shows the tables or writes JSON. Returns an exit status. */
int ff__sweep_run(struct ff__sweep *sweep);

/* As ff__sweep_run(), for miss-ratio curves (curve.c). */
int ff__sweep_run_curves(struct ff__sweep *sweep);

/* What the times and counts of a trace stand for, as a line of its table. */
void ff__sweep_show_limits(const struct ff__sweep *sweep, unsigned workload);

static inline const struct ff__simulated *ff__sweep_at(const struct ff__sweep *sweep,
                                                       unsigned cell) {
    return ff__simulations_at(&sweep->cells, cell);
}

/* Of each device: whole frames, of the size in which it hands out memory. Shares are rounded to the
 * nearest, at least one, sizes down. A size below one is left as it is, for the simulator to
 * refuse. */
uint64_t ff__sweep_memory(const struct ff__sweep *sweep, unsigned workload, unsigned gpu,
                          unsigned budget);

/* Who runs it: what the matrix asks. Given to it by ff__sweep_init(). */
void ff__sweep_init(struct ff__sweep *sweep);

/* Whether it should have come to an end. */
bool ff__sweep_failed(const struct ff__sweep *sweep, unsigned cell);

/* An iteration or repetition of a program beside the workload; NaN: none ended. */
double ff__sweep_repetition_ms(const struct ff__sim_result *result);

/* Misses avoided by prefetching, against the baseline at the same memory; NaN without it. */
double ff__sweep_coverage(const struct ff__sweep *sweep, unsigned cell);

void ff__sweep_show(const struct ff__sweep *sweep, unsigned workload, unsigned gpu);
void ff__sweep_show_means(const struct ff__sweep *sweep);

/* What only simulations have (struct ff__executor). */
const char *ff__sweep_measures(const void *self, unsigned cell, struct ff__run_measures *out);
void ff__sweep_add_run(const void *self, unsigned cell, json_t *run);

/* Everything; the caller owns it. */
json_t *ff__sweep_results(const struct ff__sweep *sweep);

#endif
