/* Graphs that can be launched: a copy of the graph with an order of its nodes. All run in the one
 * stream, one after the other, which every order of dependencies permits. */
#include "cuda/driver/graph.h"

#include "preload/preload.h"

#include <stdlib.h>
#include <string.h>

struct CUgraphExec_st {
    CUgraph graph;
    CUgraphNode *order; /* [graph->count] */
    bool auto_free;     /* a launch frees what the one before has left */
};

/* ---- instantiating ---- */

/* False: there is a cycle. */
static bool find_order(CUgraph graph, CUgraphNode *order, bool *is_done) {
    uint32_t done = 0, before;
    do {
        before = done;
        for (uint32_t i = 0; i < graph->count; i++) {
            bool is_ready = !is_done[i];
            for (uint32_t j = 0; j < graph->nodes[i]->before_count; j++)
                is_ready &= is_done[graph->nodes[i]->before[j]->place];
            if (!is_ready)
                continue;
            is_done[i] = true;
            order[done++] = graph->nodes[i];
        }
    } while (done > before);
    return done == graph->count;
}

static CUresult order_nodes(CUgraphExec exec) {
    bool *is_done = calloc(exec->graph->count + 1, sizeof *is_done);
    exec->order = calloc(exec->graph->count + 1, sizeof(CUgraphNode));
    CUresult result = is_done == NULL || exec->order == NULL          ? CUDA_ERROR_OUT_OF_MEMORY
                      : find_order(exec->graph, exec->order, is_done) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_VALUE;
    free(is_done);
    return result;
}

/* What the graph keeps, launches may still use. */
static void wait_for_launches(CUgraphExec exec) {
    CUcontext context;
    if (exec->graph != NULL && exec->graph->held_count != 0 &&
        ff__cuda_enter(&context) == CUDA_SUCCESS)
        ff__cuda_context_wait(context);
}

static void free_exec(CUgraphExec exec) {
    wait_for_launches(exec);
    if (exec->graph != NULL)
        cuGraphDestroy(exec->graph);
    free(exec->order);
    free(exec);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || graph == NULL || flags > 15)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUgraphExec exec = calloc(1, sizeof *exec);
    if (exec == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->auto_free = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_graph_copy(graph, &exec->graph);
    ff__lock_release(&ff__cuda_lock);
    if (result == CUDA_SUCCESS)
        result = order_nodes(exec);
    if (result == CUDA_SUCCESS)
        *out = exec;
    else
        free_exec(exec);
    return result;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed, char *log,
                               size_t size) {
    if (failed != NULL)
        *failed = NULL;
    if (log != NULL && size != 0)
        *log = '\0';
    return cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuGraphInstantiateWithFlags(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : result == CUDA_ERROR_INVALID_VALUE
                             ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                             : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    CUresult result = ff__cuda_started_with(exec);
    if (result != CUDA_SUCCESS)
        return result;
    free_exec(exec);
    return CUDA_SUCCESS;
}

/* ---- launching ---- */

static CUresult submit_graph(CUstream stream, CUgraphNode *order, uint32_t count);

static CUresult submit_child(CUstream stream, CUgraph child) {
    struct CUgraphExec_st exec = {.graph = child};
    CUresult result = order_nodes(&exec);
    if (result == CUDA_SUCCESS)
        result = submit_graph(stream, exec.order, child->count);
    free(exec.order);
    return result;
}

static CUresult submit_node(CUstream stream, CUgraphNode node) {
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return ff__cuda_event_record(stream, node->event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return ff__cuda_event_wait(stream, node->event);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return submit_child(stream, node->child);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return ff__cuda_graph_memory_submit(node);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_KERNEL:
        ff__count_launch();
        return ff__cuda_submit(stream, &node->command);
    default:
        return ff__cuda_submit(stream, &node->command);
    }
}

static CUresult submit_graph(CUstream stream, CUgraphNode *order, uint32_t count) {
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = submit_node(stream, order[i]);
    return result;
}

static CUresult launch_graph(CUstream stream, CUgraphExec exec) {
    CUresult result = ff__cuda_capture_check(stream);
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        return ff__cuda_capture_graph(stream, exec->graph);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_graph_memory_check(exec->graph, exec->auto_free);
    return result == CUDA_SUCCESS ? submit_graph(stream, exec->order, exec->graph->count) : result;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream name) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter_with(exec, &context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__clock_start();
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS)
        result = launch_graph(stream, exec);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream name) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter_with(exec, &context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

/* ---- changing ---- */

/* The node that is a copy of this one; NULL: none. */
static CUgraphNode copy_of(CUgraphExec exec, CUgraphNode node) {
    for (uint32_t i = 0; i < exec->graph->count; i++)
        if (exec->graph->nodes[i]->from == node)
            return exec->graph->nodes[i];
    return NULL;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (exec == NULL || node == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode copy = copy_of(exec, node);
    return copy == NULL ? CUDA_ERROR_INVALID_VALUE : ff__cuda_node_set_kernel(copy, params);
}

static CUgraphExecUpdateResult compare(CUgraph one, CUgraph other, CUgraphNode *differs) {
    *differs = NULL;
    if (ff__cuda_graph_has_memory(one) || ff__cuda_graph_has_memory(other))
        return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    if (one->count != other->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (uint32_t i = 0; i < one->count; i++) {
        CUgraphNode node = one->nodes[i], with = other->nodes[i];
        *differs = with;
        if (node->type != with->type)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (node->before_count != with->before_count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (uint32_t j = 0; j < node->before_count; j++)
            if (node->before[j]->place != with->before[j]->place)
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    *differs = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* What nodes do, from a graph that has the same ones; what they are copies of stays. */
static void take_over(CUgraph to, CUgraph from) {
    struct CUgraph_st before_it = *to;
    to->held = from->held, to->held_count = from->held_count;
    from->held = before_it.held, from->held_count = before_it.held_count;
    for (uint32_t i = 0; i < to->count; i++) {
        struct CUgraphNode_st *node = to->nodes[i], *with = from->nodes[i], before = *node;
        node->command = with->command;
        node->event = with->event;
        node->child = with->child;
        with->command = before.command;
        with->child = before.child;
        free(node->parameters);
        node->parameters = NULL;
    }
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (exec == NULL || graph == NULL || info == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    info->errorFromNode = NULL;
    info->result = compare(exec->graph, graph, &info->errorNode);
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    CUgraph copy;
    wait_for_launches(exec);
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_graph_copy(graph, &copy);
    if (result == CUDA_SUCCESS) {
        take_over(exec->graph, copy);
        ff__cuda_graph_free(copy);
    }
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    return result;
}
