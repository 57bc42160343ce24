/* Whether callbacks for CL_RUNNING come first: are called by the thread that has taken the command
 * up, before any of its work. OpenCL promises neither; PoCL 3.1 does so; other versions queue
 * callbacks for a thread of their own.
 *
 * It is found out once, when the first managed memory is allocated, by a command that only looks
 * whether its callback has been called, and by which thread. No waiting is involved: what comes
 * first by chance comes from another thread. */
#include "preload/opencl/internal.h"

static struct {
    struct ff__watch watch;
    pthread_t caller; /* of the callback */
    bool called;      /* atomic */
    bool comes_first;
} probe;

static void note_caller(struct ff__watch *watch) {
    (void)watch;
    probe.caller = pthread_self();
    __atomic_store_n(&probe.called, true, __ATOMIC_RELEASE);
}

static void ignore(struct ff__watch *watch) {
    (void)watch;
}

/* The command. */
static void CL_CALLBACK look(void *unused) {
    (void)unused;
    probe.comes_first = __atomic_load_n(&probe.called, __ATOMIC_ACQUIRE) &&
                        pthread_equal(probe.caller, pthread_self());
}

/* Runs it, on a queue of its own, where nothing is in its way. */
static void run_on(cl_command_queue queue) {
    struct ff__gate gate;
    cl_uint count = 0;
    const cl_event *list = NULL;
    cl_event *event = NULL;
    char unused = 0;
    ff__gate_close(&gate, queue, &count, &list, &event);
    cl_int status = gate.lock ? REAL(clEnqueueNativeKernel)(queue, look, &unused, sizeof unused, 0,
                                                            NULL, NULL, count, list, event)
                              : CL_OUT_OF_HOST_MEMORY;
    if (status == CL_SUCCESS)
        ff__gate_watch(&gate, &probe.watch);
    ff__gate_open(&gate);
    if (status != CL_SUCCESS)
        return;
    REAL(clWaitForEvents)(1, event);
    ff__gate_forget(&gate);
}

static void find_out(cl_context context) {
    cl_device_id devices[16];
    size_t size = 0;
    if (REAL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) ||
        size == 0)
        return;
    cl_command_queue queue = REAL(clCreateCommandQueue)(context, devices[0], 0, NULL);
    if (!queue)
        return;
    probe.watch = (struct ff__watch){note_caller, ignore, ignore, 0};
    run_on(queue);
    REAL(clReleaseCommandQueue)(queue);
}

void ff__probe_callbacks(cl_context context) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool probed;
    if (__atomic_load_n(&probed, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&lock);
    if (!probed)
        find_out(context);
    __atomic_store_n(&probed, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

bool ff__callbacks_come_first(void) {
    return probe.comes_first;
}
