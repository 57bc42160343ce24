/* What sim, replay and compare share. */
#ifndef FF_CLI_SIM_H
#define FF_CLI_SIM_H

#include "cli/options.h"
#include "study/sim/sweep.h"

/* Reads and checks a sweep from the command line; names are workloads, or traces. Returns 0 or an
 * exit status. Whatever it returns, the sweep is to be freed. */
int ff__sweep_read(const struct ff__options *options, bool traces, struct ff__sweep *out);

#endif
