/* Capturing streams: their commands become nodes of a graph instead of work. A stream that waits
 * for an event of a captured one takes part from then on. */
#include "cuda/driver/graph.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void release(struct ff__cuda_capture *capture) {
    if (capture != NULL && --capture->users == 0) {
        if (capture->graph != NULL)
            ff__cuda_graph_free(capture->graph);
        free(capture);
    }
}

/* ---- what comes behind what ---- */

static void clear_tail(CUstream stream) {
    free(stream->tail);
    stream->tail = NULL;
    stream->tail_count = 0;
}

static CUresult set_tail(CUstream stream, CUgraphNode node) {
    clear_tail(stream);
    return ff__cuda_nodes_add(&stream->tail, &stream->tail_count, node);
}

static CUresult fail(struct ff__cuda_capture *capture, CUresult result) {
    capture->is_invalid = true;
    return result;
}

static CUgraphNodeType type_of(const struct ff__cuda_command *command) {
    switch (command->kind) {
    case FF_CUDA_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case FF_CUDA_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case FF_CUDA_SET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    default:
        return CU_GRAPH_NODE_TYPE_HOST;
    }
}

CUresult ff__cuda_capture_command(CUstream stream, const struct ff__cuda_command *command) {
    struct ff__cuda_capture *capture = stream->capture;
    CUgraphNode node;
    if (capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    /* what happens once, such as a prefetch or a callback, has no node */
    if (command->kind == FF_CUDA_CALL && command->call.program == NULL)
        return fail(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUresult result = ff__cuda_graph_add(capture->graph, type_of(command), command, stream->tail,
                                         stream->tail_count, &node);
    return result == CUDA_SUCCESS ? set_tail(stream, node) : fail(capture, result);
}

void ff__cuda_captured_forget(CUevent event) {
    release(event->capture);
    free(event->captured);
    event->capture = NULL;
    event->captured = NULL;
    event->captured_count = 0;
}

CUresult ff__cuda_capture_record(CUstream stream, CUevent event) {
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    ff__cuda_captured_forget(event);
    event->capture = stream->capture;
    event->capture->users++;
    for (uint32_t i = 0; i < stream->tail_count; i++)
        if (ff__cuda_nodes_add(&event->captured, &event->captured_count, stream->tail[i]) !=
            CUDA_SUCCESS)
            return fail(stream->capture, CUDA_ERROR_OUT_OF_MEMORY);
    return CUDA_SUCCESS;
}

CUresult ff__cuda_capture_wait(CUstream stream, CUevent event) {
    struct ff__cuda_capture *capture = event->capture;
    if (stream->capture != NULL && stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (capture == NULL || capture->graph == NULL)
        return stream->capture != NULL ? fail(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
                                       : CUDA_ERROR_CAPTURED_EVENT;
    if (stream == stream->context->legacy)
        return fail(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->is_invalid = true;
        return fail(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (stream->capture == NULL) {
        stream->capture = capture;
        capture->users++;
    }
    for (uint32_t i = 0; i < event->captured_count; i++)
        if (ff__cuda_nodes_add(&stream->tail, &stream->tail_count, event->captured[i]) !=
            CUDA_SUCCESS)
            return fail(capture, CUDA_ERROR_OUT_OF_MEMORY);
    return CUDA_SUCCESS;
}

/* ---- what is forbidden meanwhile ---- */

bool ff__cuda_capture_forbids(CUcontext context) {
    for (CUstream stream = context->streams; stream != NULL; stream = stream->next)
        if (stream->capture != NULL && stream->capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            (stream->flags & CU_STREAM_NON_BLOCKING) == 0) {
            stream->capture->is_invalid = true;
            return true;
        }
    return false;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    CUresult result = ff__cuda_started();
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- begin and end ---- */

static CUresult find(CUstream name, CUstream *stream) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, stream);
    if (result != CUDA_SUCCESS)
        ff__lock_release(&ff__cuda_lock);
    return result;
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode) {
    static uint64_t made;
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct ff__cuda_capture *capture = calloc(1, sizeof *capture);
    CUgraph graph = ff__cuda_graph_make();
    if (capture == NULL || graph == NULL) {
        free(capture);
        if (graph != NULL)
            ff__cuda_graph_free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    graph->is_captured = true;
    *capture = (struct ff__cuda_capture){
        .graph = graph, .origin = stream, .mode = mode, .id = ++made, .users = 1};
    stream->capture = capture;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream name, CUstreamCaptureMode mode) {
    CUstream stream;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = begin(stream, mode);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

static void leave(CUstream stream) {
    release(stream->capture);
    stream->capture = NULL;
    clear_tail(stream);
}

/* Whether some node that nothing depends on is not what the origin's stream ends with: then the
 * stream that recorded it was not joined. */
static bool is_unjoined(CUstream origin) {
    CUgraph graph = origin->capture->graph;
    for (uint32_t i = 0; i < graph->count; i++) {
        bool is_end = true, is_tail = false;
        for (uint32_t j = 0; j < graph->count && is_end; j++)
            for (uint32_t k = 0; k < graph->nodes[j]->before_count; k++)
                is_end &= graph->nodes[j]->before[k] != graph->nodes[i];
        for (uint32_t j = 0; j < origin->tail_count; j++)
            is_tail |= origin->tail[j] == graph->nodes[i];
        if (is_end && !is_tail)
            return true;
    }
    return false;
}

static CUresult end(CUstream stream, CUgraph *out) {
    struct ff__cuda_capture *capture = stream->capture;
    *out = NULL;
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    CUresult result = capture->is_invalid   ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : is_unjoined(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                            : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) {
        *out = capture->graph;
        (*out)->is_captured = false;
    } else {
        ff__cuda_graph_free(capture->graph);
    }
    capture->graph = NULL;
    for (CUstream other = stream->context->streams; other != NULL; other = other->next)
        if (other->capture == capture && other != stream)
            leave(other);
    leave(stream);
    return result;
}

CUresult cuStreamEndCapture(CUstream name, CUgraph *graph) {
    CUstream stream;
    if (graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = end(stream, graph);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

void ff__cuda_capture_drop(CUstream stream) {
    CUgraph graph;
    if (stream->capture == NULL)
        return;
    stream->capture->is_invalid = true;
    if (end(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
        leave(stream);
}

/* ---- what a program asks ---- */

static CUstreamCaptureStatus status_of(CUstream stream) {
    return stream->capture == NULL       ? CU_STREAM_CAPTURE_STATUS_NONE
           : stream->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream name, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **nodes, size_t *count) {
    CUstream stream;
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    *status = status_of(stream);
    if (*status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        if (id != NULL)
            *id = stream->capture->id;
        if (graph != NULL)
            *graph = stream->capture->graph;
        if (nodes != NULL)
            *nodes = stream->tail;
        if (count != NULL)
            *count = stream->tail_count;
    }
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream name, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **nodes,
                                   const CUgraphEdgeData **edges, size_t *count) {
    if (edges != NULL)
        *edges = NULL; /* none has any data */
    return cuStreamGetCaptureInfo_v2(name, status, id, graph, nodes, count);
}

CUresult cuStreamGetCaptureInfo(CUstream name, CUstreamCaptureStatus *status, cuuint64_t *id) {
    return cuStreamGetCaptureInfo_v2(name, status, id, NULL, NULL, NULL);
}

CUresult cuStreamIsCapturing(CUstream name, CUstreamCaptureStatus *status) {
    return cuStreamGetCaptureInfo(name, status, NULL);
}

static CUresult update(CUstream stream, const CUgraphNode *nodes, size_t count, bool sets) {
    if (stream->capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == NULL || nodes[i]->graph != stream->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
    if (sets)
        clear_tail(stream);
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = ff__cuda_nodes_add(&stream->tail, &stream->tail_count, nodes[i]);
    return result;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream name, CUgraphNode *nodes, size_t count,
                                           unsigned flags) {
    CUstream stream;
    if ((nodes == NULL && count != 0) || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = update(stream, nodes, count, flags == 1);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream name, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned flags) {
    return edges != NULL ? CUDA_ERROR_NOT_SUPPORTED
                         : cuStreamUpdateCaptureDependencies(name, nodes, count, flags);
}
