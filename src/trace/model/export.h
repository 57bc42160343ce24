/* Traces for other tools. */
#ifndef FF_TRACE_MODEL_EXPORT_H
#define FF_TRACE_MODEL_EXPORT_H

#include <farfault/trace.h>
#include <stdio.h>

/* Writes a trace as Chrome's trace-event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * show: a process for each device with its launches as slices, faults and evictions as instants, and
 * counters of faults and of pages on the device; host uses and allocations in a process of their own.
 * Page accesses are only counted: they show as an argument of their launch.
 *
 * Nothing is held but what runs. Errors of reading; -EIO, -ENOSPC of writing. */
int ff__trace_export_chrome(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                            FILE *out, struct ff_error *error);

/* The same from file to file; `to` appears only if all went well. */
int ff__trace_export(const char *path, const char *to, struct ff_error *error);

#endif
