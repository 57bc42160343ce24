/* What the files of benchmarks share. */
#ifndef FF_BENCH_BENCH_H
#define FF_BENCH_BENCH_H

#include "measure.h"

/* Runs of each benchmark, as asked for on the command line. */
int bench_runs(void);

/* Prints a line and keeps it for the JSON. */
void report(const char *name, const char *unit, const struct series *series);

/* ---- sim.c: the simulator ---- */

/* Accesses per second and memory held, without and with timing. */
void bench_untimed(void);
void bench_timed(void);

/* Cost by the number of accesses, and by the footprint; minutes. */
void bench_scale(void);

#endif
