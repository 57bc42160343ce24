/* Simulations of workloads x devices x lines, a line being a system at a size of memory. sweep.c
 * makes it, show.c and json.c give it to people and to programs. */
#ifndef FF_STUDY_SIM_SWEEP_H
#define FF_STUDY_SIM_SWEEP_H

#include "study/amount.h"
#include "study/mean.h"
#include "study/outputs.h"
#include "study/sim/simulations.h"

#include <farfault/trace.h>

enum { FF__SWEEP_IN_MEMORY, FF__SWEEP_SYSTEMS }; /* the first line; systems begin at the second */

/* Memory of a device. */
struct ff__budget {
    char *text;               /* as given: "66%" */
    struct ff__amount amount; /* all 0: as much as the device has */
};

struct ff__sweep {
    struct ff__simulations cells; /* the first member: it stands for the sweep as that */
    struct ff__study study;
    struct ff__words workloads; /* specifications, or paths of traces */
    bool traces;
    struct ff_trace_info *infos; /* [workload] of traces */
    uint64_t *footprints;        /* [workload] */
    struct ff__words system_names;
    bool by_default; /* the systems: nobody has asked for those that cannot run a workload */
    struct ff__gpu *gpus;
    unsigned gpu_count;
    struct ff__budget *budgets;
    unsigned budget_count;
    struct ff__words beside;     /* programs on further devices, or idle ones */
    struct ff__machine *machine; /* that the devices are of; NULL: none */
    unsigned devices;
    bool check, untimed, extrapolates, explains, anyway;
    bool curve; /* misses by the size of memory, and no systems */
    struct ff__outputs outputs;
    const char *trace; /* NULL: none */
    unsigned line_count;
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

/* Cells are numbered by workload, then device, then line. */
static inline unsigned ff__sweep_cell(const struct ff__sweep *sweep, unsigned workload,
                                      unsigned gpu, unsigned line) {
    return (workload * sweep->gpu_count + gpu) * sweep->line_count + line;
}

static inline unsigned ff__sweep_line(const struct ff__sweep *sweep, unsigned system,
                                      unsigned budget) {
    return FF__SWEEP_SYSTEMS + budget * sweep->system_names.count + system;
}

/* Of each device: whole frames, of the size in which it hands out memory. Shares are rounded to the
 * nearest, at least one, sizes down. A size below one is left as it is, for the simulator to
 * refuse. */
uint64_t ff__sweep_memory(const struct ff__sweep *sweep, unsigned workload, unsigned gpu,
                          unsigned budget);

/* Where a cell is. */
struct ff__sweep_place {
    unsigned workload, gpu, line;
    unsigned system, budget; /* only for the lines of systems */
    const char *system_name;
    uint64_t memory; /* of each device; 0: enough for everything */
};
struct ff__sweep_place ff__sweep_place(const struct ff__sweep *sweep, unsigned cell);

/* Geometric means over the workloads, of times: of the baseline, and of in-memory, and of the
 * system. NaN where nothing can be compared. */
struct ff__sweep_mean {
    double faster, slowdown;
    unsigned count; /* workloads that have a slowdown */
};
struct ff__sweep_mean ff__sweep_mean(const struct ff__sweep *sweep, unsigned gpu, unsigned system,
                                     unsigned budget);

/* Whether it should have come to an end. */
bool ff__sweep_failed(const struct ff__sweep *sweep, unsigned cell);

/* Time as a multiple of in-memory; NaN if either is missing. */
double ff__sweep_slowdown(const struct ff__sweep *sweep, unsigned cell);

/* An iteration or repetition of a program beside the workload; NaN: none ended. */
double ff__sweep_repetition_ms(const struct ff__sim_result *result);

/* Misses avoided by prefetching, against the baseline at the same memory; NaN without it. */
double ff__sweep_coverage(const struct ff__sweep *sweep, unsigned cell);

void ff__sweep_show(const struct ff__sweep *sweep, unsigned workload, unsigned gpu);
void ff__sweep_show_means(const struct ff__sweep *sweep);

/* Everything; the caller owns it. */
json_t *ff__sweep_results(const struct ff__sweep *sweep);

#endif
