/* The energy of a run on DeepUM's host, from stated powers: Figures 9(c) and 11(b). */
#ifndef FF_STUDY_REPRO_DEEPUM_ENERGY_H
#define FF_STUDY_REPRO_DEEPUM_ENERGY_H

#include "study/repro/deepum_runs.h"

/* Joules of 100 iterations; NaN: the run failed. `resident`: the same workload's kernels alone. */
double ff__deepum_joules(const struct ff__simulated *simulated,
                         const struct ff__simulated *resident);

#endif
