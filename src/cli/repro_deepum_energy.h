/* The energy of a run on DeepUM's host, from stated powers: Figures 9(c) and 11(b). */
#ifndef FF_CLI_REPRO_DEEPUM_ENERGY_H
#define FF_CLI_REPRO_DEEPUM_ENERGY_H

#include "cli/repro_deepum_runs.h"

/* Joules of 100 iterations; NaN: the run failed. `resident`: the same workload's kernels alone. */
double ff__deepum_joules(const struct ff__simulated *simulated,
                         const struct ff__simulated *resident);

#endif
