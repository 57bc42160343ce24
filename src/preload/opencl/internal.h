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

#include "preload/preload.h"

#include <farfault/policy.h>

/* ---- lookup.c: the real functions ---- */

struct ff__real {
#define FF_HOOK(name) __typeof__(name) *name;
#define FF_REAL(name) __typeof__(name) *name;
#include "preload/opencl/hooks.def"
};

/* Looked up at the first call. */
const struct ff__real *ff__real(void);
#define REAL(name) (ff__real()->name)

/* ---- device.c ---- */

/* Bytes of memory that a program may plan with, and of the largest allocation. */
uint64_t ff__memory_shown(void);

/* A size that the real call judges as the device's limit does: what is above that becomes too large
 * for any. */
size_t ff__size_allowed(size_t size);

/* Which farfault device runs what this queue is given; false for a queue that is none of PoCL's. */
bool ff__device_of_queue(cl_command_queue queue, uint32_t *device);

/* ---- memory.c ---- */

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

/* The program is about to get an address in the buffer or image, and may give it to system calls:
 * until it unmaps the buffer, or from now on. */
void ff__buffer_open_mapped(cl_mem handle);
void ff__buffer_open(cl_mem handle);

/* It has unmapped the buffer, or could not map it. */
void ff__buffer_unmapped(cl_mem handle);

/* ---- gate.c: doing something in the moment when a command begins ---- */

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

/* Before enqueueing: the command gets one event more to wait for, and an event if the program asks
 * for none. *list and *event live as long as the gate, which stays where it is. `queue` NULL: it
 * gets the event only, and does not wait. */
void ff__gate_close(struct ff__gate *gate, cl_command_queue queue, cl_uint *count,
                    const cl_event **list, cl_event **event);

/* Once it is enqueued: sets the callbacks. `begins` is called in time, if at all, where the gate
 * has held the command and callbacks come first (probe.c). Of a callback that cannot be set `ends`
 * is called at once, `begins` not at all. */
void ff__gate_watch(const struct ff__gate *gate, struct ff__watch *watch);

/* Lets it begin. */
void ff__gate_open(struct ff__gate *gate);

/* The last use of gate->event. */
void ff__gate_forget(struct ff__gate *gate);

/* ---- line.c: launches behind others, which need no gate ---- */

struct ff__line_place {
    struct ff__line *line; /* NULL: in none */
    uint64_t number;
};

/* Before a launch is enqueued. Returns whether it will not begin before ff__line_leave(). */
bool ff__line_enter(struct ff__line_place *place, cl_command_queue queue);

/* After the launch was enqueued, and is watched; or could not be enqueued. */
void ff__line_leave(const struct ff__line_place *place, bool enqueued);

/* The launch is about to begin. May wait for the launch that is being enqueued behind it. */
void ff__line_begin(const struct ff__line_place *place);

/* ---- probe.c: what this OpenCL does that OpenCL does not promise ---- */

/* Before managed memory of the context is allocated. Only the first call does anything. */
void ff__probe_callbacks(cl_context context);

/* Whether `begins` of a watch behind a gate is called before the command has any effect. */
bool ff__callbacks_come_first(void);

/* ---- overwrite.c: commands that replace what buffers hold ---- */

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

/* `status`: the real call's. Waits for the command if `blocking`. Returns what the program gets. */
cl_int ff__overwrite_end(struct ff__overwrite *overwrite, cl_int status, cl_bool blocking);

/* Whether nothing has ever been evicted. */
bool ff__host_is_empty(struct ff_context *context);

/* ---- map.c ---- */

/* Drops what is left of mappings of a buffer that goes away. */
void ff__mappings_forget(cl_mem root);

/* ---- svm.c ---- */

/* The size of the shared virtual memory that begins at `base`; 0 if there is none. */
size_t ff__svm_size(const void *base);

/* ---- program.c ---- */

/* All of it, which the caller frees, a zero behind it, which *size includes; NULL: there is none,
 * as of what comes from a binary. */
char *ff__program_source(cl_kernel kernel, size_t *size);

/* What it was built with, which the caller frees; NULL: not known. */
char *ff__program_options(cl_kernel kernel);

/* `fixed`: by argument of the kernel, whether its program's source has it indexed with a fixed
 * stride. */
void ff__program_strides(cl_kernel kernel, bool *fixed, cl_uint count);

/* ---- kernel.c ---- */

/* What is launched, and the beginnings of managed allocations that it uses, each once, and by each
 * enum ff_stride. */
struct ff__kernel_uses {
    uint64_t identity;
    const char *name; /* NULL: no memory for it */
    const void **operands;
    uint8_t *strides;
    size_t count;
};

/* What a launch of the kernel with its arguments as they are now uses, in a piece of memory that
 * begins with `size` bytes for the caller, who frees it. NULL if the kernel is not known, or there
 * is no memory. */
void *ff__kernel_snapshot(cl_kernel kernel, size_t size, struct ff__kernel_uses *uses);

/* The name of its function, which the caller frees; or NULL. */
char *ff__kernel_name(cl_kernel kernel);

#endif
