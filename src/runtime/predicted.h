/* For runtimes that know before a launch what it will access: preloads. */
#ifndef FF_RUNTIME_PREDICTED_H
#define FF_RUNTIME_PREDICTED_H

#include "engine/prediction.h"

#include <farfault/farfault.h>

/* A launch that is predicted to access something. Its owner is called twice, from any thread,
 * without a lock: just before it begins, to bring what it needs; and when it has ended, and what
 * `what` counts does not change any more. */
struct ff__predicted {
    struct ff__prediction what;
    void (*begins)(struct ff__predicted *predicted);
    void (*ends)(struct ff__predicted *predicted);
};

/* How many pages of these bytes are not on the device; 0 of what is no memory of the context's.
 * With `counts`, they are brought there, as by ff_mem_prefetch(), but before what policies advise.
 */
uint64_t ff__order(struct ff_context *context, struct ff__interval bytes, uint32_t device,
                   const struct ff__order_counts *counts);

/* As ff_launch_begin() and ff_launch_end(), with what is predicted of the launch, or NULL. Of
 * `what` name, operands and strides count. In a forked child the owner is not called. */
void ff__predicted_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                         const struct ff_launch *what, struct ff__predicted *predicted);
void ff__predicted_end(struct ff_context *context, uint32_t device, uint64_t identity,
                       struct ff__predicted *predicted);

/* What the stream's next launch is predicted to access; NULL: that is not known. Returns what was
 * here for a launch that has not come. The caller serializes it with launches. */
struct ff__predicted *ff__stream_expect(struct ff_stream *stream, struct ff__predicted *next);

#endif
