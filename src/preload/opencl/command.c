/* Commands and waits that are only timed, and what makes memory that is not managed: generated from
 * the list of hooks. */
#include "preload/opencl/internal.h"

#define FF_HOOK(name)
#define FF_COMMAND(name, parameters, arguments, blocking)                                          \
    FF_HOOKED cl_int CL_API_CALL name parameters {                                                 \
        ff__clock_start();                                                                         \
        cl_int status_of_##name = REAL(name) arguments;                                            \
        if (blocking)                                                                              \
            ff__clock_stop();                                                                      \
        return status_of_##name;                                                                   \
    }
#define FF_UNMANAGED(type, name, parameters, arguments)                                            \
    FF_HOOKED type CL_API_CALL name parameters {                                                   \
        if (ff__mode() == FF__MANAGED)                                                             \
            ff__fall_back(#name, NULL);                                                            \
        return REAL(name) arguments;                                                               \
    }
#include "preload/opencl/hooks.def"

FF_HOOKED void *CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image,
                                              cl_bool blocking, cl_map_flags flags,
                                              const size_t *origin, const size_t *region,
                                              size_t *row, size_t *slice, cl_uint count,
                                              const cl_event *list, cl_event *event,
                                              cl_int *status) {
    ff__clock_start();
    ff__buffer_open(image);
    void *mapped = REAL(clEnqueueMapImage)(queue, image, blocking, flags, origin, region, row,
                                           slice, count, list, event, status);
    if (blocking)
        ff__clock_stop();
    return mapped;
}

FF_HOOKED cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue queue,
                                                   void(CL_CALLBACK *function)(void *),
                                                   void *arguments, size_t argument_size,
                                                   cl_uint object_count, const cl_mem *objects,
                                                   const void **locations, cl_uint count,
                                                   const cl_event *list, cl_event *event) {
    ff__clock_start();
    for (cl_uint i = 0; objects && i < object_count; i++)
        ff__buffer_open(objects[i]);
    return REAL(clEnqueueNativeKernel)(queue, function, arguments, argument_size, object_count,
                                       objects, locations, count, list, event);
}

/* ---- seeing that something is complete ---- */

FF_HOOKED cl_int CL_API_CALL clFinish(cl_command_queue queue) {
    cl_int status = REAL(clFinish)(queue);
    ff__clock_stop();
    return status;
}

FF_HOOKED cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event *list) {
    cl_int status = REAL(clWaitForEvents)(count, list);
    ff__clock_stop();
    return status;
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *user) {
    (void)event, (void)status, (void)user;
    ff__clock_stop();
}

/* The program's callback observes a completion, and so do we, just before it. */
FF_HOOKED cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int type,
                                                void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                                                void *user) {
    if (type == CL_COMPLETE && notify)
        REAL(clSetEventCallback)(event, type, on_complete, NULL);
    return REAL(clSetEventCallback)(event, type, notify, user);
}
