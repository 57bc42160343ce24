/* For runtimes that are made of farfault's streams (src/cuda). */
#ifndef FF_RUNTIME_STREAM_H
#define FF_RUNTIME_STREAM_H

#include <farfault/farfault.h>

/* As ff_kernel_launch(), but neither policies nor recordings hear of it: for what is no kernel.
 * What is called may launch more, on this stream or others, but must not wait for this one. */
int ff__stream_run(struct ff_stream *stream, const struct ff_launch *what);

/* Whether everything that was launched on it has finished. */
bool ff__stream_is_idle(struct ff_stream *stream);

#endif
