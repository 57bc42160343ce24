/* Doing something in the moment when a command begins.
 *
 * PoCL 3.1 calls CL_RUNNING callbacks in the worker thread that has taken the command up, before
 * any of its work, and CL_COMPLETE callbacks after it; it holds no lock meanwhile (probe.c sees
 * whether that is so here). That is exactly what is wanted, if the callbacks are there in time: the
 * event exists only once the command is enqueued, and an idle worker may have taken it by then. So
 * the command waits for a user event (the gate) that opens when the callbacks are set. Launches
 * behind others need none (line.c).
 *
 * A command that fails, for an event in its wait list did, gets no callback from PoCL 3.1. What was
 * prepared for it never happens, and its record is lost: some hundred bytes. */
#include "preload/opencl/internal.h"

#include <stdlib.h>
#include <string.h>

void ff__gate_close(struct ff__gate *gate, cl_command_queue queue, cl_uint *count,
                    const cl_event **list, cl_event **event) {
    cl_context context = NULL;
    *gate = (struct ff__gate){0};
    if (!*event)
        *event = &gate->ours;
    gate->event = *event;
    if (!queue || (*count == 0) != (*list == NULL))
        return; /* a list that is wrong is for the real call to see */
    gate->list = malloc((*count + 1) * sizeof(cl_event));
    REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (gate->list && context)
        gate->lock = REAL(clCreateUserEvent)(context, NULL);
    if (!gate->lock)
        return;
    if (*count)
        memcpy(gate->list, *list, *count * sizeof(cl_event));
    gate->list[(*count)++] = gate->lock;
    *list = gate->list;
}

static void drop(struct ff__watch *watch) {
    if (__atomic_sub_fetch(&watch->pending, 1, __ATOMIC_ACQ_REL) == 0)
        watch->forget(watch);
}

static void CL_CALLBACK on_running(cl_event event, cl_int status, void *user) {
    struct ff__watch *watch = user;
    (void)event;
    if (status >= 0)
        watch->begins(watch);
    drop(watch);
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *user) {
    struct ff__watch *watch = user;
    (void)event, (void)status;
    watch->ends(watch);
    drop(watch);
}

void ff__gate_watch(const struct ff__gate *gate, struct ff__watch *watch) {
    cl_event event = *gate->event;
    watch->pending = watch->begins ? 2 : 1;
    if (watch->begins &&
        REAL(clSetEventCallback)(event, CL_RUNNING, on_running, watch) != CL_SUCCESS)
        drop(watch);
    if (REAL(clSetEventCallback)(event, CL_COMPLETE, on_complete, watch) != CL_SUCCESS)
        on_complete(event, CL_COMPLETE, watch);
}

void ff__gate_open(struct ff__gate *gate) {
    if (gate->lock) {
        REAL(clSetUserEventStatus)(gate->lock, CL_COMPLETE);
        REAL(clReleaseEvent)(gate->lock);
    }
    free(gate->list);
}

void ff__gate_forget(struct ff__gate *gate) {
    if (gate->ours)
        REAL(clReleaseEvent)(gate->ours);
}
