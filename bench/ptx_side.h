/* One way to run kernels of tests/ptx/kernels: a context with one worker, as large as all data,
 * with or without a recording of every access. Ends the process with a line where something fails.
 */
#ifndef FF_BENCH_PTX_SIDE_H
#define FF_BENCH_PTX_SIDE_H

#include "kernels.h"
#include "ptx/exec.h"

void side_require(int code, const char *what);

struct side {
    struct ff_context *context;
    struct ff_stream *stream;
    struct ff__ptx_program *program;
    void *buffers[KERNEL_BUFFERS]; /* freed with the context */
};

/* `topic`: its kernels are compiled. `recording`: a path, or NULL. */
struct side side_open(const char *topic, const char *recording);
void side_close(struct side *side);

const struct kernel_case *side_case(const char *topic, const char *kernel);

/* Sets the buffers, which are allocated at the first call, to the plan's data. */
void side_fill(struct side *side, const struct kernel_plan *plan);

/* Milliseconds: wall-clock, and of the processor time of all threads. */
struct side_time {
    double wall, cpu;
};
struct side_time side_launch(struct side *side, const char *kernel, const struct kernel_plan *plan);

#endif
