/* What the files of benchmarks share. */
#ifndef FF_BENCH_BENCH_H
#define FF_BENCH_BENCH_H

#include "measure.h"

#include <farfault/farfault.h>

#define MB (UINT64_C(1) << 20)

/* Runs of each benchmark, as asked for on the command line. */
int bench_runs(void);

/* Prints a line and keeps it for the JSON. */
void report(const char *name, const char *unit, const struct series *series);

/* ---- for benchmarks of managed memory; what fails ends the process ---- */

/* Everything but the arguments is the default. */
struct ff_context *open_context(const char *system, uint64_t memory, enum ff_handler handler);
char *alloc_managed(struct ff_context *context, size_t size);
double seconds_since(uint64_t start_ns);

/* ---- fault.c: faults, by one thread and by several at once ---- */

void bench_faults(void);
void bench_parallel_faults(void);

/* ---- samples.c: ways to sample the use of what is on the software device ---- */

void bench_samples(void);

/* ---- sim.c: the simulator ---- */

/* Accesses per second and memory held, without and with timing. */
void bench_curve(void);
void bench_timed(void);

/* Jobs beside each other against one alone. */
void bench_jobs(void);

/* Cost by the number of accesses, and by the footprint; minutes. */
void bench_scale(void);

#endif
