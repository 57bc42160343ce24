/* What the command line needs of traces beside farfault/trace.h. */
#ifndef FF_CLI_TRACE_CALLS_H
#define FF_CLI_TRACE_CALLS_H

#include <farfault/farfault.h>

struct ff__workload;

/* The program that a trace was taken of, as a workload. Errors of ff_trace_open(). */
int ff__trace_workload(const char *path, struct ff__workload **out, struct ff_error *error);

/* Converts to a trace; NULL `format`: what the file looks like. -EINVAL: no such format; the message
 * says which there are. */
int ff__trace_import(const char *path, const char *format, const char *to, struct ff_error *error);

/* Writes a trace for Perfetto. */
int ff__trace_export(const char *path, const char *to, struct ff_error *error);

#endif
