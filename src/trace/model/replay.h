/* Traces as workloads: the ranges of a trace are the arrays, its launches the kernels, and what
 * each warp did are the steps. */
#ifndef FF_TRACE_MODEL_REPLAY_H
#define FF_TRACE_MODEL_REPLAY_H

#include "workload/workload.h"

/* Reads the whole trace into memory: about 24 bytes an access. Release with ff__workload_close
 * (which frees *out and its arrays and calls type->close). Errors of ff_trace_open; -EBADMSG too
 * where the events contradict each other; -ENOMEM; -EFBIG: more than 2^32 accesses.
 *
 * From a trace without accesses, faults stand in for them: each launch has one warp that touches
 * the faulted pages in turn. What happened outside of every launch is in launches "(no launch)".
 * Moves are not replayed: they are what the simulation is to find out. */
int ff__trace_workload(const char *path, struct ff__workload **out, struct ff_error *error);

#endif
