/* What the library itself needs of a writer beyond trace.h. */
#ifndef FF_TRACE_WRITER_H
#define FF_TRACE_WRITER_H

#include <farfault/trace.h>

/* Lets go of the writer and leaves its file as it is: after a fork it is the parent's. */
void ff__trace_leave(struct ff_trace_writer *writer);

#endif
