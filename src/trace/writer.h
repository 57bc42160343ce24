/* What a recording needs of a trace's writer beyond farfault/trace.h: blocks that were coded
 * elsewhere. */
#ifndef FF_TRACE_WRITER_H
#define FF_TRACE_WRITER_H

#include "trace/codec.h"

/* Compresses and writes the encoder's events, at least one, and empties it. Not together with
 * ff_trace_write(). 0 or negative errno, and again at every further call. */
int ff__trace_write_block(struct ff_trace_writer *writer, struct ff__trace_encoder *encoder);

#endif
