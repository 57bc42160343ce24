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
        free(capture->left);
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
    case FF_CUDA_NATIVE:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case FF_CUDA_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case FF_CUDA_SET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    default:
        return CU_GRAPH_NODE_TYPE_HOST;
    }
}

/* A node behind what the stream has recorded last. */
static CUresult record(CUstream stream, CUgraphNodeType type,
                       const struct ff__cuda_command *command, CUgraphNode *out) {
    struct ff__cuda_capture *capture = stream->capture;
    CUresult result =
        ff__cuda_graph_add(capture->graph, type, command, stream->tail, stream->tail_count, out);
    return result == CUDA_SUCCESS ? set_tail(stream, *out) : fail(capture, result);
}

CUresult ff__cuda_capture_command(CUstream stream, const struct ff__cuda_command *command) {
    CUgraphNode node;
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    /* what happens once, such as a prefetch or a callback, has no node */
    if (command->kind == FF_CUDA_CALL && command->call.program == NULL)
        return fail(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return record(stream, type_of(command), command, &node);
}

CUresult ff__cuda_capture_graph(CUstream stream, CUgraph graph) {
    CUgraph child;
    CUgraphNode node;
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUresult result = ff__cuda_graph_has_memory(graph) ? CUDA_ERROR_NOT_SUPPORTED
                                                       : ff__cuda_graph_copy(graph, &child);
    if (result != CUDA_SUCCESS)
        return fail(stream->capture, result);
    result = record(stream, CU_GRAPH_NODE_TYPE_GRAPH, NULL, &node);
    if (result == CUDA_SUCCESS)
        node->child = child;
    else
        ff__cuda_graph_free(child);
    return result;
}

CUresult ff__cuda_capture_memory(CUstream stream, CUgraphNodeType type, CUdeviceptr address) {
    CUgraphNode node;
    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUresult result = record(stream, type, NULL, &node);
    if (result == CUDA_SUCCESS)
        node->address = address;
    return result;
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

CUresult ff__cuda_capture_check(CUstream stream) {
    if (stream != stream->context->legacy)
        return CUDA_SUCCESS;
    for (CUstream other = stream->context->streams; other != NULL; other = other->next)
        if (other->capture != NULL && (other->flags & CU_STREAM_NON_BLOCKING) == 0)
            return fail(other->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return CUDA_SUCCESS;
}

/* The mode of a capture says whom it forbids what; a thread's own mode, what it puts up with. */
static bool forbids(const struct ff__cuda_capture *capture) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (capture->thread == &thread_mode)
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult ff__cuda_enter_unsafe(CUcontext *out) {
    CUresult result = ff__cuda_enter(out);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    for (CUstream stream = (*out)->streams; stream != NULL; stream = stream->next)
        if (stream->capture != NULL && forbids(stream->capture))
            result = fail(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- begin and end ---- */

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
    *capture = (struct ff__cuda_capture){.graph = graph,
                                         .origin = stream,
                                         .mode = mode,
                                         .thread = &thread_mode,
                                         .id = ++made,
                                         .users = 1};
    stream->capture = capture;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream name, CUstreamCaptureMode mode) {
    CUstream stream;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_stream_enter(name, &stream);
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

/* All that the origin's stream comes behind, in the order in which it is found. */
static CUresult find_joined(CUstream origin, bool *is_joined) {
    CUgraphNode *found = NULL;
    uint32_t count = 0;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < origin->tail_count && result == CUDA_SUCCESS; i++)
        result = ff__cuda_nodes_add(&found, &count, origin->tail[i]);
    for (uint32_t i = 0; i < count; i++)
        is_joined[found[i]->place] = true;
    for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        for (uint32_t j = 0; j < found[i]->before_count && result == CUDA_SUCCESS; j++) {
            CUgraphNode before = found[i]->before[j];
            if (is_joined[before->place])
                continue;
            is_joined[before->place] = true;
            result = ff__cuda_nodes_push(&found, &count, before);
        }
    free(found);
    return result;
}

static bool are_joined(CUgraphNode *nodes, uint32_t count, const bool *is_joined) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_joined[nodes[i]->place])
            return false;
    return true;
}

/* Whether the origin's stream comes behind all that the other streams have recorded. */
static CUresult check_joined(CUstream origin) {
    bool *is_joined = calloc(origin->capture->graph->count + 1, sizeof *is_joined);
    if (is_joined == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = find_joined(origin, is_joined);
    bool all = are_joined(origin->capture->left, origin->capture->left_count, is_joined);
    for (CUcontext context = ff__cuda_contexts; context != NULL; context = context->next)
        for (CUstream stream = context->streams; stream != NULL; stream = stream->next)
            all = all && (stream->capture != origin->capture ||
                          are_joined(stream->tail, stream->tail_count, is_joined));
    free(is_joined);
    return result != CUDA_SUCCESS || all ? result : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

static CUresult end(CUstream stream, CUgraph *out) {
    struct ff__cuda_capture *capture = stream->capture;
    *out = NULL;
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    CUresult result =
        capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(stream);
    if (result == CUDA_SUCCESS) {
        *out = capture->graph;
        (*out)->is_captured = false;
    } else {
        ff__cuda_graph_free(capture->graph);
    }
    capture->graph = NULL;
    for (CUcontext context = ff__cuda_contexts; context != NULL; context = context->next)
        for (CUstream other = context->streams; other != NULL; other = other->next)
            if (other->capture == capture && other != stream)
                leave(other);
    leave(stream);
    return result;
}

CUresult cuStreamEndCapture(CUstream name, CUgraph *graph) {
    CUstream stream;
    if (graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = end(stream, graph);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

void ff__cuda_capture_drop(CUstream stream) {
    struct ff__cuda_capture *capture = stream->capture;
    CUgraph graph;
    if (capture == NULL)
        return;
    if (capture->origin == stream) {
        capture->is_invalid = true;
        end(stream, &graph);
        return;
    }
    for (uint32_t i = 0; i < stream->tail_count; i++)
        if (ff__cuda_nodes_add(&capture->left, &capture->left_count, stream->tail[i]) !=
            CUDA_SUCCESS)
            capture->is_invalid = true;
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
    CUresult result = ff__cuda_stream_enter(name, &stream);
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
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = update(stream, nodes, count, flags == 1);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream name, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned flags) {
    return ff__cuda_edges_have_data(edges, count)
               ? CUDA_ERROR_NOT_SUPPORTED
               : cuStreamUpdateCaptureDependencies(name, nodes, count, flags);
}
