/* Launches: telling farfault when a kernel begins and ends. That it begins is learned through a
 * gate. */
#include "preload/opencl/extents.h"

#include <stdlib.h>
#include <string.h>

struct watched_launch {
    struct ff__watch watch;
    bool passed; /* its beginning or its end, whichever came first; atomic */
    uint32_t device;
    struct ff__line_place place;
    struct ff__bringing *bringing; /* NULL: nothing is known of what it accesses */
    struct ff__kernel_uses uses;
};

struct launch_request {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_uint dimensions;
    const size_t *offset, *global, *local;
    cl_uint count;
    const cl_event *list;
    cl_event *event;
};

static cl_int enqueue(const struct launch_request *request) {
    return REAL(clEnqueueNDRangeKernel)(request->queue, request->kernel, request->dimensions,
                                        request->offset, request->global, request->local,
                                        request->count, request->list, request->event);
}

/* ---- beginning and end ---- */

/* A beginning that is told of after the end is none. */
static void on_begin(struct ff__watch *watch) {
    struct watched_launch *launch = (struct watched_launch *)watch;
    struct ff_context *context = ff__context_if_open();
    ff__line_begin(&launch->place);
    const struct ff__kernel_uses *uses = &launch->uses;
    const struct ff_launch what = {.name = uses->name,
                                   .operands = uses->operands,
                                   .strides = uses->strides,
                                   .operand_count = uses->count};
    if (__atomic_exchange_n(&launch->passed, true, __ATOMIC_ACQ_REL) || !context)
        return;
    if (launch->bringing)
        ff__predicted_begin(context, launch->device, uses->identity, &what,
                            &launch->bringing->predicted);
    else
        ff_launch_begin(context, launch->device, uses->identity, uses->name, uses->operands,
                        uses->strides, uses->count);
}

static void on_end(struct ff__watch *watch) {
    struct watched_launch *launch = (struct watched_launch *)watch;
    struct ff_context *context = ff__context_if_open();
    ff__clock_mark();
    if (!__atomic_exchange_n(&launch->passed, true, __ATOMIC_ACQ_REL) || !context)
        return;
    if (launch->bringing)
        ff__predicted_end(context, launch->device, launch->uses.identity,
                          &launch->bringing->predicted);
    else
        ff_launch_end(context, launch->device, launch->uses.identity);
}

static void forget(struct ff__watch *watch) {
    free(((struct watched_launch *)watch)->bringing);
    free(watch);
}

/* ---- what is launched ---- */

static uint64_t mix_sizes(uint64_t hash, cl_uint dimensions, const size_t *sizes) {
    return sizes ? ff__hash_bytes(hash, sizes, dimensions * sizeof *sizes) : ff__hash_word(hash);
}

/* False: the sizes are none that a device has. Where work-groups are not given, or of two sizes, of
 * which PoCL makes something, only work-items are known. */
static bool make_grid(const struct launch_request *request, struct ff__ptx_extent_launch *out) {
    *out = (struct ff__ptx_extent_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    if (!request->global || request->dimensions > 3)
        return false;
    for (cl_uint d = 0; d < request->dimensions; d++) {
        size_t offset = request->offset ? request->offset[d] : 0;
        out->any_block |= !request->local || request->local[d] == 0 ||
                          request->global[d] % request->local[d] != 0;
        if (request->global[d] == 0 || offset > INT32_MAX ||
            request->global[d] > INT32_MAX - offset)
            return false;
        out->offset[d] = (uint32_t)offset;
    }
    for (cl_uint d = 0; d < request->dimensions; d++) {
        out->block[d] = out->any_block ? 1 : (uint32_t)request->local[d];
        out->grid[d] = (uint32_t)request->global[d] / out->block[d];
    }
    return true;
}

static struct ff__bringing *find_bringing(const struct launch_request *request, uint32_t device) {
    struct ff__ptx_extent_launch launch;
    struct ff__bringing found, *bringing = NULL;
    if (ff__brings_working_sets() && make_grid(request, &launch) &&
        ff__kernel_bringing(request->kernel, device, &launch, &found) &&
        (bringing = malloc(sizeof *bringing)))
        *bringing = found;
    return bringing;
}

/* NULL: farfault will not hear of it. */
static struct watched_launch *prepare(const struct launch_request *request) {
    struct watched_launch what = {.watch = {on_begin, on_end, forget, 0}}, *launch = NULL;
    if (ff__device_of_queue(request->queue, &what.device))
        launch = ff__kernel_snapshot(request->kernel, sizeof what, &what.uses);
    if (!launch)
        return NULL;
    cl_uint dimensions = request->dimensions <= 3 ? request->dimensions : 0; /* else an error */
    uint64_t identity = what.uses.identity;
    identity = mix_sizes(identity, dimensions, request->offset);
    identity = mix_sizes(identity, dimensions, request->global);
    what.uses.identity = mix_sizes(identity, dimensions, request->local);
    what.bringing = find_bringing(request, what.device);
    return memcpy(launch, &what, sizeof what);
}

/* ---- enqueueing ---- */

static void CL_CALLBACK mark_clock(cl_event event, cl_int status, void *user) {
    (void)event, (void)status, (void)user;
    ff__clock_mark();
}

static void watch(const struct ff__gate *gate, struct watched_launch *launch) {
    if (launch)
        ff__gate_watch(gate, &launch->watch);
    else if (REAL(clSetEventCallback)(*gate->event, CL_COMPLETE, mark_clock, NULL) != CL_SUCCESS)
        ff__clock_mark();
}

/* `launch` is NULL where only the clock wants to know. */
static cl_int enqueue_watched(struct launch_request request, struct watched_launch *launch) {
    struct ff__gate gate;
    struct ff__line_place place = {NULL, 0};
    bool gated = launch && !ff__line_enter(&place, request.queue);
    ff__gate_close(&gate, gated ? request.queue : NULL, &request.count, &request.list,
                   &request.event);
    if (launch)
        launch->place = place;
    cl_int status = enqueue(&request);
    if (status == CL_SUCCESS)
        watch(&gate, launch);
    else if (launch)
        forget(&launch->watch);
    ff__line_leave(&place, status == CL_SUCCESS);
    ff__gate_open(&gate);
    ff__gate_forget(&gate);
    return status;
}

static cl_int launch_kernel(const struct launch_request *request) {
    ff__clock_start();
    if (ff__in_child())
        return enqueue(request);
    bool managed = ff__context() != NULL;
    struct watched_launch *launch = managed ? prepare(request) : NULL;
    cl_int status = enqueue_watched(*request, launch);
    if (status != CL_SUCCESS)
        return status;
    ff__count_launch();
    if (!managed && ff__mode() != FF__PASSIVE)
        ff__fall_back("clEnqueueNDRangeKernel", NULL);
    else if (managed && !launch)
        ff__fall_back("clEnqueueNDRangeKernel", "a launch of a kernel that is not known");
    return status;
}

FF_HOOKED cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dimensions, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint count, const cl_event *list,
                                                    cl_event *event) {
    const struct launch_request request = {queue, kernel, dimensions, offset, global,
                                           local, count,  list,       event};
    return launch_kernel(&request);
}

/* OpenCL defines a task as this. */
FF_HOOKED cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                                           const cl_event *list, cl_event *event) {
    static const size_t one = 1;
    const struct launch_request request = {queue, kernel, 1, NULL, &one, &one, count, list, event};
    return launch_kernel(&request);
}
