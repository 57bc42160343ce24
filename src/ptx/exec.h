/* Running the kernels of a PTX module on the processor: a module is translated to C (emit.h),
 * compiled by the system's compiler or taken from the cache (cache.h), and launched on a stream of
 * farfault.h, one item of the grid for each thread block.
 *
 * Global addresses are host addresses; shared and local ones are offsets, as in PTX. */
#ifndef FF_PTX_EXEC_H
#define FF_PTX_EXEC_H

#include "ptx/ptx.h"
#include <farfault/farfault.h>

enum ff__ptx_schedule {
    FF__PTX_TURNS, /* warps alternate at operations of warps and at cuts: the default */
    FF__PTX_SERIAL /* each warp runs until it waits for others or has ended */
};

struct ff__ptx_options {
    const char *cache; /* folder; NULL: FARFAULT_PTX_CACHE, else $XDG_CACHE_HOME/farfault/ptx, else
                          ~/.cache/farfault/ptx */
    bool record;       /* report each access of global memory; for ff_records_accesses() */
    bool yields;       /* give others a turn at every back edge; else only where a loop may wait for
                          another thread */
};

struct ff__ptx_program; /* a loaded module */
struct ff__ptx_heap;    /* heap.h */
struct ff__ptx_kernel;

/* A kernel is compiled when it is first used, with small ones that stand beside it, unless the
 * cache has it; that of a small module begins here, in the background. `text` need not end in a
 * zero and is not needed after the call. -EINVAL: not PTX (the message has line and reason);
 * -ENOEXEC: there is no compiler, and what begins here is not in the cache; -EACCES: the cache's
 * folder is not private; -ENOMEM, -ENOSPC. */
int ff__ptx_load(const char *text, size_t size, const struct ff__ptx_options *options,
                 struct ff__ptx_program **out, struct ff_error *error);
/* No launch of it may be running. */
void ff__ptx_unload(struct ff__ptx_program *program);

/* Waits for its code. -ENOENT; -ENOTSUP: it is refused, and the message says why and in which line;
 * -ENOEXEC: there is no compiler, or it failed and the message has what it said; -ENOMEM, -ENOSPC.
 */
int ff__ptx_kernel(struct ff__ptx_program *program, const char *name, struct ff__ptx_kernel **out,
                   struct ff_error *error);
/* A variable in global or constant space; `size` may be NULL. -ENOENT; where variables have
 * addresses of functions in them, errors as of ff__ptx_kernel(). */
int ff__ptx_symbol(struct ff__ptx_program *program, const char *name, void **address, size_t *size,
                   struct ff_error *error);

/* Whether code of the program may call malloc(). */
bool ff__ptx_allocates(const struct ff__ptx_program *program);

struct ff__ptx_launch {
    uint32_t grid[3], block[3];
    uint32_t shared;        /* bytes of dynamic shared memory */
    const void *parameters; /* the block of parameters, laid out as PTX says; copied */
    size_t parameter_size;
    bool cooperative; /* all thread blocks advance together */
    struct ff__ptx_heap
        *heap; /* of malloc(): in managed memory, the same for all launches; or NULL */
    enum ff__ptx_schedule schedule;
};
/* The stream is one of the context. Operands are the words of the parameters that lie in managed
 * memory. What a program loaded with `record` accesses is recorded if the context asks for it.
 * -EINVAL: sizes of zero, more than 1024 threads or than the kernel permits, more shared
 * memory than a block has, too few parameters; -E2BIG: a cooperative grid that is too large; others
 * as ff_kernel_launch(). */
int ff__ptx_launch(struct ff_context *context, struct ff_stream *stream,
                   struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                   struct ff_error *error);

/* Launches it twice on the same data, by both schedules of enum ff__ptx_schedule, and compares what
 * is then in the allocations that its parameters name and in the program's variables. Threads that
 * race with each other mostly make it differ; so do sums of floating-point atomics, whose order is
 * free. Waits for the stream; the results of FF__PTX_TURNS stay, unless that launch failed. 1: they
 * differ, and the message says where; 0; errors of the launches, -ENOMEM. */
int ff__ptx_launch_both(struct ff_context *context, struct ff_stream *stream,
                        struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                        struct ff_error *error);

/* After the stream was synchronized: 0, or why a launch of this program failed since the last call,
 * with kernel, block and place: -ENOTRECOVERABLE: a trap and the like; -ECANCELED: an assertion;
 * -EDEADLK: a block cannot advance; -EFAULT: an access to what is no memory; -ENOMEM. Launches
 * after a failure did nothing. */
int ff__ptx_failure(struct ff__ptx_program *program, struct ff_error *error);

/* From now on such an access ends its launch instead of the process: handlers of SIGSEGV and SIGBUS
 * are installed, which pass on what is no kernel's. Before a context is opened whose faults come as
 * SIGBUS. */
void ff__ptx_catch_faults(void);

#endif
