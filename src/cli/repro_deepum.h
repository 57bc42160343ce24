/* What the runs of farfault repro deepum share. */
#ifndef FF_CLI_REPRO_DEEPUM_H
#define FF_CLI_REPRO_DEEPUM_H

#include "cli/repro.h"
#include "cli/simulate.h"

#define FF__DEEPUM_GPU "v100-32g"

/* Of 32510 MiB that the driver reports, what the contexts of CUDA, cuDNN and PyTorch leave; that
 * they take 1 GiB is ours. */
#define FF__DEEPUM_MEMORY     ((UINT64_C(32510) - 1024) << 20)
#define FF__DEEPUM_ITERATIONS 100u /* of which the paper gives the time */
#define FF__DEEPUM_LEARNING   6u   /* in which systems that learn reach the steady state */
#define FF__DEEPUM_TABLES     "tables=1G"

/* Of all iterations, of which some were simulated; the last one of those stands for the others.
 * NaN: the run failed. */
double ff__deepum_seconds(const struct ff__simulated *simulated);

/* Part `ablation`: what each part of deepum-plus does, over Table 9(b)'s programs and small ones.
 * Fills `tables`; 0 or an exit status. */
int ff__repro_deepum_parts(const struct ff__repro_plan *plan, json_t *tables);

#endif
