/* Graphs: commands with what each depends on; built by hand, or recorded by capturing streams. For
 * all functions below the lock is held, unless they say otherwise. */
#ifndef FF_CUDA_GRAPH_H
#define FF_CUDA_GRAPH_H

#include "cuda/driver/internal.h"

struct CUgraphNode_st {
    CUgraph graph;
    CUgraphNodeType type;
    struct ff__cuda_command command; /* of a kernel, copy, set or call: owns its parameters */
    CUevent event;                   /* to record or to wait for */
    CUgraph child;                   /* owned */
    CUdeviceptr address;             /* of memory that is allocated or freed */
    CUgraphNode *before;             /* [before_count]: what it depends on */
    uint32_t before_count;
    uint32_t place;    /* in graph->nodes */
    CUgraphNode from;  /* of a copy: the node of the graph that was copied */
    void **parameters; /* of a kernel: what a program was given that asked for them; NULL */
};

/* References that a graph has. */
struct ff__cuda_held {
    CUuserObject object;
    uint32_t count;
};

struct CUgraph_st {
    CUgraphNode *nodes;
    uint32_t count;
    bool is_captured; /* a capture is recording it */
    struct ff__cuda_held *held;
    uint32_t held_count;
};

CUgraph ff__cuda_graph_make(void); /* NULL: no memory */
void ff__cuda_graph_free(CUgraph graph);
/* Copies what it is given; the command's parameters, too. */
CUresult ff__cuda_graph_add(CUgraph graph, CUgraphNodeType type,
                            const struct ff__cuda_command *command, const CUgraphNode *before,
                            size_t before_count, CUgraphNode *out);
/* A copy, which has the same user objects. */
CUresult ff__cuda_graph_copy(CUgraph graph, CUgraph *out);
/* Nothing twice. */
CUresult ff__cuda_nodes_add(CUgraphNode **nodes, uint32_t *count, CUgraphNode node);
/* One that is not there. */
CUresult ff__cuda_nodes_push(CUgraphNode **nodes, uint32_t *count, CUgraphNode node);

/* The lock is free. */
CUresult ff__cuda_node_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);

/* ---- user_object.c ---- */

struct CUuserObject_st {
    uint32_t users;
    CUhostFn destroy;
    void *user;
    CUuserObject next; /* of those that have no users any more */
};

/* With references that the caller has. NULL: no memory. */
CUuserObject ff__cuda_object_make(CUhostFn destroy, void *user, uint32_t count);
void ff__cuda_object_release(CUuserObject object, uint32_t count);
/* Calls the functions of those that nobody has any more. The lock is free. */
void ff__cuda_objects_end(void);
/* The caller's references become the graph's. */
CUresult ff__cuda_graph_hold(CUgraph graph, CUuserObject object, uint32_t count);
/* As many as `from` has, and so often. */
CUresult ff__cuda_graph_hold_all(CUgraph from, CUgraph to);
void ff__cuda_graph_let_go(CUgraph graph);

/* ---- graph_memory.c ---- */

/* CUDA_ERROR_INVALID_VALUE: memory is still allocated that the graph is about to allocate. */
CUresult ff__cuda_graph_memory_check(CUgraph graph, bool auto_free);
/* What a node of memory does in a launch. */
CUresult ff__cuda_graph_memory_submit(CUgraphNode node);
/* Such graphs are not copied by programs, nor nodes of others. */
bool ff__cuda_graph_has_memory(CUgraph graph);

/* Whether an edge is another than full: ports, or a launch from the device, of which there are
 * none here. NULL: none is. */
bool ff__cuda_edges_have_data(const CUgraphEdgeData *edges, size_t count);

/* ---- capture.c ---- */

struct ff__cuda_capture {
    CUgraph graph;
    CUstream origin;
    CUstreamCaptureMode mode;
    const void *thread; /* that began it */
    uint64_t id;
    bool is_invalid;
    uint32_t users;    /* streams and events */
    CUgraphNode *left; /* what streams that took part recorded last before they ended */
    uint32_t left_count;
};

/* Instead of a stream's queue: a node behind what the stream has recorded last. */
CUresult ff__cuda_capture_command(CUstream stream, const struct ff__cuda_command *command);
/* The same with a launch of a graph. */
CUresult ff__cuda_capture_graph(CUstream stream, CUgraph graph);
/* A node that allocates or frees memory. */
CUresult ff__cuda_capture_memory(CUstream stream, CUgraphNodeType type, CUdeviceptr address);
CUresult ff__cuda_capture_record(CUstream stream, CUevent event);
/* The stream or the event takes part in a capture. */
CUresult ff__cuda_capture_wait(CUstream stream, CUevent event);
/* Work of the legacy stream would make it wait for blocking streams, of which none may be captured:
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and the capture is invalid. */
CUresult ff__cuda_capture_check(CUstream stream);
/* The stream ends, and so does the capture that it began. One that it takes part in goes on. */
void ff__cuda_capture_drop(CUstream stream);
void ff__cuda_captured_forget(CUevent event);

#endif
