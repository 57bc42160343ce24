/* The OpenCL preload: what unmodified OpenCL programs meet when `farfault run` starts them. It sits
 * between the program and the OpenCL loader, gives buffers and shared virtual memory managed memory
 * that PoCL's CPU devices then use in place, and tells farfault when kernels begin and end.
 *
 * Whatever goes wrong in here ends in the real call, is counted and shows in the summary. */
#ifndef FF_PRELOAD_OPENCL_INTERNAL_H
#define FF_PRELOAD_OPENCL_INTERNAL_H

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_gl.h>

#include "report/account.h"

#include <farfault/policy.h>

#include <pthread.h>
#include <signal.h>

/* A function that the program meets instead of OpenCL's. */
#define FF_HOOKED __attribute__((visibility("default")))

/* ---- opencl.c: the real functions, and whether there is anything to manage ---- */

struct ff__real {
#define FF_HOOK(name) __typeof__(name) *name;
#define FF_REAL(name) __typeof__(name) *name;
#include "opencl_hooks.def"
};

/* Looked up at the first call. */
const struct ff__real *ff__real(void);
#define REAL(name) (ff__real()->name)

enum ff__mode ff__mode(void);
const struct ff_config *ff__config(void);

/* Opened at the first call; NULL where nothing is managed: in passive mode, after a failure to
 * open, and in a forked child. With FARFAULT_REQUIRE=1 a failure to open ends the process. */
struct ff_context *ff__context(void);

/* The context if it is open already; does not open it. */
struct ff_context *ff__context_if_open(void);

/* Ends the process with status 1 if FARFAULT_REQUIRE=1 says that a failure must. */
void ff__leave_if_required(void);

/* There is no managed memory for an allocation, for which `status` is the reason: says so, once. The allocation is then
 * left to OpenCL, unless a failure must end the process. */
void ff__no_memory(size_t size, int status);

/* One line on stderr that begins with "farfault: ". */
__attribute__((format(printf, 1, 2))) void ff__say(const char *format, ...);

/* ---- opencl_device.c ---- */

/* Bytes of memory that a program may plan with, and of the largest allocation. */
uint64_t ff__memory_shown(void);

/* A size that the real call judges as the device's limit does: what is above that becomes too large for any. */
size_t ff__size_allowed(size_t size);

/* ---- signal_calls.c: handlers of the program's for signals that are ours, too ---- */

/* Around opening the context, whose handler then comes first. `opened`: it is open. */
void ff__sigbus_prepare(void);
void ff__sigbus_prepared(bool opened);

/* A signal that is not ours does what it would have done without us. */
void ff__pass_signal_on(struct sigaction *action, int number, siginfo_t *info, void *ucontext);

/* ---- opencl_fork.c: forked children, which inherit no managed memory ---- */

/* Called once, at the start. */
void ff__watch_forks(void);

/* Whether this process is a forked child. Nothing in here may then touch the
 * context, or a lock: another thread may have held it at the fork. */
bool ff__in_child(void);

/* Managed memory has been given out here: what a child must not touch. */
void ff__note_managed(const void *pointer, size_t size);

/* ---- opencl_summary.c: clock, footprint, counters, and the report at exit ---- */

/* What is left to OpenCL: the generated hooks by their names, then these. */
#define FF__FALLBACKS                                                                              \
    FALLBACK(buffer, "clCreateBuffer")         /* a buffer without managed memory */               \
    FALLBACK(svm, "clSVMAlloc")                /* shared virtual memory that is not managed */     \
    FALLBACK(launch, "clEnqueueNDRangeKernel") /* a launch that farfault does not hear of */       \
    FALLBACK(map, "clEnqueueMapBuffer")        /* a mapping that shows the managed memory */       \
    FALLBACK(destructor, "clSetMemObjectDestructorCallback") /* memory that is never freed */

enum ff__fallback {
#define FF_HOOK(name)
#define FF_UNMANAGED(type, name, parameters, arguments) FF__FALLBACK_##name,
#include "opencl_hooks.def"
#define FALLBACK(id, name) FF__FALLBACK_##id,
    FF__FALLBACKS
#undef FALLBACK
        FF__FALLBACK_COUNT,
};

/* Counts; the first one of each kind prints `why`, if there is one. */
void ff__fall_back(enum ff__fallback which, const char *why);

void ff__clock_start(void); /* a command is being enqueued */
void ff__clock_mark(void);  /* a command is complete */
void ff__clock_stop(
    void); /* and the program has observed it: a moment that an account of a killed program has */
void ff__count_launch(void);

void ff__footprint_add(size_t bytes);
void ff__footprint_remove(size_t bytes);

/* Reads FARFAULT_SUMMARY and FARFAULT_ACCOUNTS; from now on the process reports when it exits. */
void ff__summary_start(void);

/* What is to be in the report: settings, the mode and what led to it, the context once it is open. */
void ff__summary_configured(const struct ff_config *config);
void ff__summary_mode(enum ff__mode mode, const char *reason);
void ff__summary_opened(struct ff_context *context);

/* Managed memory has been given out. */
void ff__mark_managed(void);

/* No report after all. */
void ff__summary_cancel(void);

/* ---- opencl_table.c: objects by their OpenCL handle ---- */

/* The first member of what is kept in a table. */
struct ff__node {
    struct ff__node *next;
    const void *key;
};

struct ff__table {
    pthread_mutex_t lock;
    struct ff__node **buckets;
    size_t capacity, count; /* capacity: 0 or a power of two */
};

#define FF__TABLE_INIT                                                                             \
    { PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0 }

/* These hold no lock of their own: the caller holds table->lock. False: no memory. */
bool ff__table_put(struct ff__table *table, struct ff__node *node, const void *key);
struct ff__node *ff__table_find(const struct ff__table *table, const void *key);
struct ff__node *ff__table_take(struct ff__table *table, const void *key); /* NULL: not there */

/* ---- opencl_device.c ---- */

/* Which farfault device runs what this queue is given; false for a queue that is none of PoCL's. */
bool ff__device_of_queue(cl_command_queue queue, uint32_t *device);

/* ---- opencl_memory.c ---- */

/* A buffer as the program sees it, and where its content is. */
struct ff__buffer {
    cl_mem root;  /* itself, or the buffer that this is a part of */
    char *memory; /* managed, or NULL */
    size_t size;
    char *host;              /* what the program gave as host pointer with CL_MEM_USE_HOST_PTR */
    cl_mem_flags host_flags; /* which of CL_MEM_USE_, ALLOC_ and COPY_HOST_PTR it asked for */
    bool shadow;             /* `memory` stands in for `host`, which is not managed */
    bool owned;              /* `memory` goes when the buffer does */
};

/* False if the handle is not one of a buffer that is known. */
bool ff__buffer_find(cl_mem handle, struct ff__buffer *out);

/* ---- opencl_gate.c: doing something in the moment when a command begins ---- */

/* What is to happen when a command begins and when it is complete. Part of what its functions need,
 * which goes with `forget`, when neither is called any more. */
struct ff__watch {
    void (*begins)(struct ff__watch *watch); /* NULL: not wanted */
    void (*ends)(struct ff__watch *watch);
    void (*forget)(struct ff__watch *watch);
    unsigned pending; /* callbacks that may still come; atomic */
};

struct ff__gate {
    cl_event *event;      /* the command's, once it is enqueued */
    cl_event lock;        /* what it waits for; NULL: it may begin before it is watched */
    cl_event ours, *list; /* the gate's own */
};

/* Before enqueueing: the command gets one event more to wait for, and an event if the program asks for
 * none. *list and *event live as long as the gate, which stays where it is. `queue` NULL: it gets the
 * event only, and does not wait. */
void ff__gate_close(struct ff__gate *gate, cl_command_queue queue, cl_uint *count,
                    const cl_event **list, cl_event **event);

/* Once it is enqueued: sets the callbacks. `begins` is called in time, if at all, where the gate has held
 * the command and callbacks come first (opencl_probe.c). Of a callback that cannot be set `ends` is called
 * at once, `begins` not at all. */
void ff__gate_watch(const struct ff__gate *gate, struct ff__watch *watch);

/* Lets it begin. */
void ff__gate_open(struct ff__gate *gate);

/* The last use of gate->event. */
void ff__gate_forget(struct ff__gate *gate);

/* ---- opencl_line.c: launches behind others, which need no gate ---- */

struct ff__place {
    struct ff__line *line; /* NULL: in none */
    uint64_t number;
};

/* Before a launch is enqueued. Returns whether it will not begin before ff__line_leave(). */
bool ff__line_enter(struct ff__place *place, cl_command_queue queue);

/* It is enqueued, and watched; or it could not be enqueued. */
void ff__line_leave(const struct ff__place *place, bool enqueued);

/* It is about to begin. May wait for the launch that is being enqueued behind it. */
void ff__line_begin(const struct ff__place *place);

/* ---- opencl_probe.c: what this OpenCL does that OpenCL does not promise ---- */

/* Before managed memory of the context is allocated. Only the first call does anything. */
void ff__probe_callbacks(cl_context context);

/* Whether `begins` of a watch behind a gate is called before the command has any effect. */
bool ff__callbacks_come_first(void);

/* ---- opencl_overwrite.c: commands that replace what buffers hold ---- */

/* Which part of which buffers. */
struct ff__replaced {
    cl_uint count;
    const cl_mem *buffers;
    size_t offset, size; /* size 0: to the end */
    const void *from;    /* where the new content is, NULL if nowhere in memory */
};

struct ff__overwrite {
    struct ff__overwritten *what; /* NULL: nothing is to be told */
    struct ff__gate gate;
};

/* Around the real call. Returns whether that must not block, because it waits for the gate. */
bool ff__overwrite_begin(struct ff__overwrite *overwrite, const struct ff__replaced *replaced,
                         cl_command_queue queue, cl_uint *count, const cl_event **list,
                         cl_event **event);

/* `status` is the real call's. Waits for the command if `blocking`. Returns what the program gets. */
cl_int ff__overwrite_end(struct ff__overwrite *overwrite, cl_int status, cl_bool blocking);

/* ---- opencl_map.c ---- */

/* Drops what is left of mappings of a buffer that goes away. */
void ff__mappings_forget(cl_mem root);

/* ---- opencl_svm.c ---- */

/* The size of the shared virtual memory that begins at `base`; 0 if there is none. */
size_t ff__svm_size(const void *base);

/* ---- opencl_program.c ---- */

/* `fixed`: by argument of the kernel, whether its program's source has it indexed with a fixed stride. */
void ff__program_strides(cl_kernel kernel, bool *fixed, cl_uint count);

/* ---- opencl_kernel.c ---- */

/* What is launched, and the beginnings of managed allocations that it uses, each once, and by each enum ff_stride. */
struct ff__uses {
    uint64_t identity;
    const char *name; /* NULL: no memory for it */
    const void **operands;
    uint8_t *strides;
    size_t count;
};

/* What a launch of the kernel with its arguments as they are now uses, in a piece of memory that begins with `size` bytes for
 * the caller, who frees it. NULL if the kernel is not known, or there is no memory. */
void *ff__kernel_snapshot(cl_kernel kernel, size_t size, struct ff__uses *uses);

/* The name of its function, which the caller frees; or NULL. */
char *ff__kernel_name(cl_kernel kernel);

/* Extends a hash. */
uint64_t ff__mix(uint64_t hash, uint64_t word);
uint64_t ff__mix_bytes(uint64_t hash, const void *bytes, size_t size);

#endif
