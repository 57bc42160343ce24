/* Traces for other tools. */
#ifndef FF_TRACE_MODEL_EXPORT_H
#define FF_TRACE_MODEL_EXPORT_H

#include <farfault/trace.h>
#include <stdio.h>

/* Writes a trace as Chrome's trace-event JSON, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing show: a process for each device with its launches as slices, faults and
 * evictions as instants, and counters of faults and of pages on the device; host uses and
 * allocations in a process of their own. Page accesses are only counted: they show as an argument
 * of their launch.
 *
 * Nothing is held but what runs. Errors of reading; -EIO, -ENOSPC of writing. */
int ff__trace_export_chrome(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                            FILE *out, struct ff_error *error);

/* Writes the batches in which a driver has handled faults as CSV, a line each, after a line of
 * names: its number and device; when it began and how long it took, in ns; entries of the fault
 * buffer; of these, pages that are distinct, and blocks of theirs; duplicates, the rest; pages that
 * arrived on the device and that left it meanwhile. A trace without batches has the line of names
 * alone. Errors as above; -ENOMEM. */
int ff__trace_export_batches(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                             FILE *out, struct ff_error *error);

/* Writes libCacheSim's oracleGeneral (oracle.h): each access, or touch, as a request for an object
 * of 4096 bytes, which is its page. Errors as above; -ENOTSUP: a trace of faults; -EBADMSG; -EFBIG.
 */
int ff__trace_export_oracle(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                            FILE *out, struct ff_error *error);

/* A way to write a trace. */
struct ff__export_format {
    const char *name;
    int (*write)(struct ff_trace_reader *reader, const struct ff_trace_info *info, FILE *out,
                 struct ff_error *error);
};

/* The format of that name, of the first one for NULL; NULL: there is none. */
const struct ff__export_format *ff__export_format(const char *name);

/* From file to file; `to` appears only if all went well. */
int ff__trace_export(const char *path, const struct ff__export_format *format, const char *to,
                     struct ff_error *error);

#endif
