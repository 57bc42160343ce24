/* Events: marks in the order of streams, with times. */
#include "cuda/driver/internal.h"

#include "cuda/driver/graph.h"
#include "preload/preload.h"

#include <stdlib.h>

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    CUcontext context;
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL || (flags & ~(known | CU_EVENT_INTERPROCESS)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_EVENT_INTERPROCESS) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUevent made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    made->flags = flags;
    *event = made;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_mark_release(event->mark);
    ff__cuda_captured_forget(event);
    ff__lock_release(&ff__cuda_lock);
    free(event);
    return CUDA_SUCCESS;
}

/* The lock is held. */
CUresult ff__cuda_event_record(CUstream stream, CUevent event) {
    struct ff__cuda_mark *mark = ff__cuda_mark_make();
    if (mark == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mark->users++;
    struct ff__cuda_command command = {.kind = FF_CUDA_RECORD, .mark = mark};
    CUresult result = ff__cuda_submit(stream, &command);
    if (result != CUDA_SUCCESS) {
        free(mark);
        return result;
    }
    ff__cuda_captured_forget(event);
    ff__cuda_mark_release(event->mark);
    event->mark = mark;
    return CUDA_SUCCESS;
}

/* An event that was never recorded is complete. The lock is held. */
CUresult ff__cuda_event_wait(CUstream stream, CUevent event) {
    if (event->mark == NULL)
        return CUDA_SUCCESS;
    event->mark->users++;
    struct ff__cuda_command command = {.kind = FF_CUDA_WAIT, .mark = event->mark};
    CUresult result = ff__cuda_submit(stream, &command);
    if (result != CUDA_SUCCESS)
        ff__cuda_mark_release(event->mark);
    return result;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream name, unsigned flags) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL || flags > 1)
        return event == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    ff__clock_start();
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS && event->context != context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = stream->capture != NULL ? ff__cuda_capture_record(stream, event)
                                         : ff__cuda_event_record(stream, event);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream name, CUevent event, unsigned flags) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL || flags > 1)
        return event == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS)
        result = stream->capture != NULL || event->capture != NULL
                     ? ff__cuda_capture_wait(stream, event)
                     : ff__cuda_event_wait(stream, event);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuEventQuery(CUevent event) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    ff__lock_acquire(&ff__cuda_lock);
    if (event->capture != NULL)
        result = CUDA_ERROR_CAPTURED_EVENT;
    else if (event->mark != NULL && !event->mark->complete)
        result = CUDA_ERROR_NOT_READY;
    ff__lock_release(&ff__cuda_lock);
    if (result != CUDA_SUCCESS)
        return result;
    ff__clock_stop();
    return ff__cuda_module_errors(event->context);
}

CUresult cuEventSynchronize(CUevent event) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    ff__lock_acquire(&ff__cuda_lock);
    if (event->capture != NULL)
        result = CUDA_ERROR_CAPTURED_EVENT;
    struct ff__cuda_mark *mark = result == CUDA_SUCCESS ? event->mark : NULL;
    if (mark != NULL)
        mark->users++;
    while (mark != NULL && !mark->complete)
        ff__event_wait(&ff__cuda_completed, &ff__cuda_lock);
    ff__cuda_mark_release(mark);
    ff__lock_release(&ff__cuda_lock);
    if (result != CUDA_SUCCESS)
        return result;
    ff__clock_stop();
    return ff__cuda_module_errors(event->context);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (start == NULL || end == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    if (start->mark == NULL || end->mark == NULL ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (!start->mark->complete || !end->mark->complete)
        result = CUDA_ERROR_NOT_READY;
    else
        *ms = (float)((double)(int64_t)(end->mark->ns - start->mark->ns) / 1e6);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end) {
    return cuEventElapsedTime(ms, start, end);
}
