/* Comes between the preload and OpenCL, and gives callbacks a behaviour that OpenCL allows and PoCL
 * 3.1 does not have. TEST_CALLBACKS says which:
 *   late        each is called from a thread of its own, some time after
 *   slow those for CL_RUNNING are set after some time, in which their commands must not begin
 *   refused     those for CL_COMPLETE cannot be set
 *   destroyed   those for destroyed buffers are called when the next buffer has been made */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LATE_MICROSECONDS 5000
#define SLOW_MICROSECONDS 500

static bool behaves(const char *how) {
    const char *wanted = getenv("TEST_CALLBACKS");
    return wanted && strcmp(wanted, how) == 0;
}

/* ---- events ---- */

typedef void(CL_CALLBACK event_fn)(cl_event event, cl_int status, void *user);

struct late {
    event_fn *notify;
    cl_event event;
    cl_int status;
    void *user;
};

static void *call_late(void *argument) {
    struct late *late = argument;
    usleep(LATE_MICROSECONDS);
    late->notify(late->event, late->status, late->user);
    clReleaseEvent(late->event);
    free(late);
    return NULL;
}

static void CL_CALLBACK start_late(cl_event event, cl_int status, void *user) {
    struct late *late = user;
    pthread_t thread;
    late->event = event;
    late->status = status;
    clRetainEvent(event);
    if (pthread_create(&thread, NULL, call_late, late))
        abort();
    pthread_detach(thread);
}

static void wait_unbegun(cl_event event) {
    cl_int status = CL_COMPLETE;
    usleep(SLOW_MICROSECONDS);
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status > CL_RUNNING)
        return;
    fputs("a command has begun before its callback was set\n", stderr);
    abort();
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clSetEventCallback(cl_event event,
                                                                             cl_int type,
                                                                             event_fn *notify,
                                                                             void *user) {
    __typeof__(clSetEventCallback) *real = dlsym(RTLD_NEXT, "clSetEventCallback");
    if (behaves("refused") && type == CL_COMPLETE)
        return CL_OUT_OF_HOST_MEMORY;
    if (behaves("slow") && type == CL_RUNNING)
        wait_unbegun(event);
    if (!behaves("late"))
        return real(event, type, notify, user);
    struct late *late = malloc(sizeof *late);
    if (!late)
        abort();
    *late = (struct late){.notify = notify, .user = user};
    return real(event, type, start_late, late);
}

/* ---- destroyed buffers ---- */

typedef void(CL_CALLBACK destroy_fn)(cl_mem handle, void *user);

struct destroyed {
    struct destroyed *next;
    destroy_fn *notify;
    cl_mem handle;
    void *user;
};

static struct destroyed *pending;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void CL_CALLBACK keep(cl_mem handle, void *user) {
    struct destroyed *destroyed = user;
    destroyed->handle = handle;
    pthread_mutex_lock(&lock);
    destroyed->next = pending;
    pending = destroyed;
    pthread_mutex_unlock(&lock);
}

static void call_pending(void) {
    pthread_mutex_lock(&lock);
    struct destroyed *first = pending;
    pending = NULL;
    pthread_mutex_unlock(&lock);
    for (struct destroyed *next; first; first = next) {
        next = first->next;
        first->notify(first->handle, first->user);
        free(first);
    }
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clSetMemObjectDestructorCallback(cl_mem handle, destroy_fn *notify, void *user) {
    __typeof__(clSetMemObjectDestructorCallback) *real =
        dlsym(RTLD_NEXT, "clSetMemObjectDestructorCallback");
    if (!behaves("destroyed"))
        return real(handle, notify, user);
    struct destroyed *destroyed = malloc(sizeof *destroyed);
    if (!destroyed)
        abort();
    *destroyed = (struct destroyed){.notify = notify, .user = user};
    cl_int status = real(handle, keep, destroyed);
    call_pending();
    return status;
}
