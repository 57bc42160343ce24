/* Streams, events, captures. */
#include "cuda/runtime/internal.h"

/* ---- streams ---- */

FF_RT_FORWARD(cudaStreamCreate, (cudaStream_t * stream), cuStreamCreate(stream, CU_STREAM_DEFAULT))
FF_RT_FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags),
              cuStreamCreate(stream, flags))
FF_RT_FORWARD(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
              cuStreamCreateWithPriority(stream, flags, priority))
FF_RT_FORWARD(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy(stream))
FF_RT_FORWARD(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery(ff__rt_stream(stream)))
FF_RT_FORWARD(cudaStreamSynchronize, (cudaStream_t stream),
              cuStreamSynchronize(ff__rt_stream(stream)))
FF_RT_FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
              cuStreamWaitEvent(ff__rt_stream(stream), event, flags))
FF_RT_FORWARD(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
              cuStreamGetPriority(ff__rt_stream(stream), priority))
FF_RT_FORWARD(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags),
              cuStreamGetFlags(ff__rt_stream(stream), flags))
FF_RT_FORWARD(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id),
              cuStreamGetId(ff__rt_stream(stream), id))

/* Results have the same numbers, so that the driver may call it as its own. */
FF_RT_FORWARD(cudaStreamAddCallback,
              (cudaStream_t stream, cudaStreamCallback_t call, void *user, unsigned flags),
              cuStreamAddCallback(ff__rt_stream(stream), (CUstreamCallback)(void (*)(void))call,
                                  user, flags))

/* ---- captures ---- */

FF_RT_FORWARD(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
              cuStreamBeginCapture(ff__rt_stream(stream), (CUstreamCaptureMode)mode))
FF_RT_FORWARD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
              cuStreamEndCapture(ff__rt_stream(stream), graph))
FF_RT_FORWARD(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
              cuStreamIsCapturing(ff__rt_stream(stream), (CUstreamCaptureStatus *)status))
FF_RT_FORWARD(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
              cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

/* ---- events ---- */

FF_RT_FORWARD(cudaEventCreate, (cudaEvent_t * event), cuEventCreate(event, CU_EVENT_DEFAULT))
FF_RT_FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags),
              cuEventCreate(event, flags))
FF_RT_FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
              cuEventRecord(event, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
              cuEventRecordWithFlags(event, ff__rt_stream(stream), flags))
FF_RT_FORWARD(cudaEventQuery, (cudaEvent_t event), cuEventQuery(event))
FF_RT_FORWARD(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize(event))
FF_RT_FORWARD(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy(event))
FF_RT_FORWARD(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
              cuEventElapsedTime(ms, start, end))
