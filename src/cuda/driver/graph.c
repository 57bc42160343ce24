/* Graphs built by hand: nodes and what they depend on. */
#include "cuda/driver/graph.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

CUresult ff__cuda_nodes_add(CUgraphNode **nodes, uint32_t *count, CUgraphNode node) {
    for (uint32_t i = 0; i < *count; i++)
        if ((*nodes)[i] == node)
            return CUDA_SUCCESS;
    return ff__cuda_nodes_push(nodes, count, node);
}

CUresult ff__cuda_nodes_push(CUgraphNode **nodes, uint32_t *count, CUgraphNode node) {
    if (ff__grow(nodes, *count, sizeof **nodes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*nodes)[(*count)++] = node;
    return CUDA_SUCCESS;
}

static void free_node(CUgraphNode node) {
    ff__cuda_parameters_free(&node->command);
    if (node->child != NULL)
        ff__cuda_graph_free(node->child);
    free(node->parameters);
    free(node->before);
    free(node);
}

CUgraph ff__cuda_graph_make(void) {
    return calloc(1, sizeof(struct CUgraph_st));
}

void ff__cuda_graph_free(CUgraph graph) {
    for (uint32_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    ff__cuda_graph_let_go(graph);
    free(graph->nodes);
    free(graph);
}

/* Another's parameters in a copy of its command. */
static CUresult own_parameters(struct ff__cuda_command *command) {
    size_t size;
    const void **parameters = ff__cuda_parameters(command, &size);
    if (parameters == NULL)
        return CUDA_SUCCESS;
    void *copy = malloc(size + 1);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *parameters = memcpy(copy, *parameters, size);
    return CUDA_SUCCESS;
}

static CUresult make_node(CUgraph graph, CUgraphNodeType type,
                          const struct ff__cuda_command *command, CUgraphNode *out) {
    CUgraphNode node = calloc(1, sizeof *node);
    if (node == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->graph = graph;
    node->type = type;
    node->command.kind = FF_CUDA_CALL;
    if (command != NULL)
        node->command = *command;
    CUresult result = own_parameters(&node->command);
    if (result != CUDA_SUCCESS) {
        free(node);
        return result;
    }
    *out = node;
    return CUDA_SUCCESS;
}

CUresult ff__cuda_graph_add(CUgraph graph, CUgraphNodeType type,
                            const struct ff__cuda_command *command, const CUgraphNode *before,
                            size_t before_count, CUgraphNode *out) {
    for (size_t i = 0; i < before_count; i++)
        if (before == NULL || before[i] == NULL || before[i]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    CUresult result = make_node(graph, type, command, out);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < before_count && result == CUDA_SUCCESS; i++)
        result = ff__cuda_nodes_add(&(*out)->before, &(*out)->before_count, before[i]);
    (*out)->place = graph->count;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_nodes_push(&graph->nodes, &graph->count, *out);
    if (result != CUDA_SUCCESS)
        free_node(*out);
    return result;
}

/* ---- graphs ---- */

static CUresult check(const void *one, const void *other) {
    CUresult result = ff__cuda_started();
    return one == NULL || other == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    CUresult result = check(graph, graph);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *graph = ff__cuda_graph_make();
    return *graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph) {
    CUresult result = check(graph, graph);
    if (result != CUDA_SUCCESS || graph->is_captured)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_ILLEGAL_STATE;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_graph_free(graph);
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    return CUDA_SUCCESS;
}

static CUresult copy_nodes(CUgraph from, CUgraph to) {
    CUresult result = ff__cuda_graph_hold_all(from, to);
    if (result != CUDA_SUCCESS)
        return result;
    for (uint32_t i = 0; i < from->count; i++) {
        CUgraphNode node = from->nodes[i], copy;
        result = ff__cuda_graph_add(to, node->type, &node->command, NULL, 0, &copy);
        if (result != CUDA_SUCCESS)
            return result;
        copy->event = node->event;
        copy->address = node->address;
        copy->from = node;
        if (node->child != NULL) {
            copy->child = ff__cuda_graph_make();
            result = copy->child == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                                         : copy_nodes(node->child, copy->child);
        }
        if (result != CUDA_SUCCESS)
            return result;
    }
    for (uint32_t i = 0; i < from->count; i++)
        for (uint32_t j = 0; j < from->nodes[i]->before_count && result == CUDA_SUCCESS; j++)
            result = ff__cuda_nodes_add(&to->nodes[i]->before, &to->nodes[i]->before_count,
                                        to->nodes[from->nodes[i]->before[j]->place]);
    return result;
}

CUresult ff__cuda_graph_copy(CUgraph graph, CUgraph *out) {
    CUgraph made = ff__cuda_graph_make();
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = copy_nodes(graph, made);
    if (result == CUDA_SUCCESS)
        *out = made;
    else
        ff__cuda_graph_free(made);
    return result;
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph) {
    CUresult result = check(clone, graph);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_graph_has_memory(graph) ? CUDA_ERROR_NOT_SUPPORTED
                                              : ff__cuda_graph_copy(graph, clone);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

/* ---- adding nodes ---- */

struct node_addition {
    CUgraphNodeType type;
    const struct ff__cuda_command *command;
    CUevent event;
    CUgraph child; /* taken over */
};

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                    const struct node_addition *what) {
    ff__lock_acquire(&ff__cuda_lock);
    CUresult result = ff__cuda_graph_add(graph, what->type, what->command, before, count, node);
    if (result == CUDA_SUCCESS) {
        (*node)->event = what->event;
        (*node)->child = what->child;
    }
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *params) {
    struct ff__cuda_command command;
    CUresult result = check(node, graph);
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_launch_of(params, false, &command);
    if (result != CUDA_SUCCESS)
        return result;
    result = add(node, graph, nodes, count,
                 &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_KERNEL, .command = &command});
    ff__cuda_parameters_free(&command);
    return result;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                              size_t count, const CUDA_MEMCPY3D *copy, CUcontext context) {
    struct ff__cuda_command command = {.kind = FF_CUDA_COPY};
    CUresult result = check(node, graph);
    if (copy == NULL || context == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_copy_of(copy, &command.copy);
    return result == CUDA_SUCCESS ? add(node, graph, nodes, count,
                                        &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                                                                .command = &command})
                                  : result;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context) {
    struct ff__cuda_command command = {.kind = FF_CUDA_SET};
    CUresult result = check(node, graph);
    if (params == NULL || context == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_set_of(params, &command.set);
    return result == CUDA_SUCCESS ? add(node, graph, nodes, count,
                                        &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                                                                .command = &command})
                                  : result;
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                            size_t count, const CUDA_HOST_NODE_PARAMS *params) {
    CUresult result = check(node, graph);
    if (params == NULL || params->fn == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct ff__cuda_command command = {.kind = FF_CUDA_CALL,
                                       .call = {.program = params->fn, .user = params->userData}};
    return result == CUDA_SUCCESS
               ? add(node, graph, nodes, count,
                     &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_HOST, .command = &command})
               : result;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                  size_t count, CUgraph child) {
    CUgraph clone;
    CUresult result = check(node, graph);
    if (child == NULL || child == graph)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = cuGraphClone(&clone, child);
    if (result != CUDA_SUCCESS)
        return result;
    result = add(node, graph, nodes, count,
                 &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = clone});
    if (result != CUDA_SUCCESS)
        cuGraphDestroy(clone);
    return result;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                             size_t count) {
    CUresult result = check(node, graph);
    return result == CUDA_SUCCESS ? add(node, graph, nodes, count,
                                        &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_EMPTY})
                                  : result;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                   size_t count, CUevent event) {
    CUresult result = check(node, graph);
    if (event == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS
               ? add(node, graph, nodes, count,
                     &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                             .event = event})
               : result;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                 size_t count, CUevent event) {
    CUresult result = check(node, graph);
    if (event == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS
               ? add(node, graph, nodes, count,
                     &(struct node_addition){.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event})
               : result;
}

/* ---- dependencies ---- */

static CUresult depend(CUgraph graph, CUgraphNode before, CUgraphNode after) {
    if (before == NULL || after == NULL || before == after || before->graph != graph ||
        after->graph != graph)
        return CUDA_ERROR_INVALID_VALUE;
    return ff__cuda_nodes_add(&after->before, &after->before_count, before);
}

static CUresult forget(CUgraph graph, CUgraphNode before, CUgraphNode after) {
    if (before == NULL || after == NULL || before->graph != graph || after->graph != graph)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < after->before_count; i++)
        if (after->before[i] == before) {
            after->before[i] = after->before[--after->before_count];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult change(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count,
                       CUresult (*how)(CUgraph graph, CUgraphNode before, CUgraphNode after)) {
    CUresult result = check(graph, graph);
    if (count != 0 && (from == NULL || to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = how(graph, from[i], to[i]);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t count) {
    return change(graph, from, to, count, depend);
}

bool ff__cuda_edges_have_data(const CUgraphEdgeData *edges, size_t count) {
    static const CUgraphEdgeData full = {.type = 0};
    for (size_t i = 0; edges != NULL && i < count; i++)
        if (memcmp(&edges[i], &full, sizeof full) != 0)
            return true;
    return false;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
    return ff__cuda_edges_have_data(edges, count) ? CUDA_ERROR_NOT_SUPPORTED
                                                  : change(graph, from, to, count, depend);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count) {
    return change(graph, from, to, count, forget);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count) {
    return ff__cuda_edges_have_data(edges, count) ? CUDA_ERROR_NOT_SUPPORTED
                                                  : change(graph, from, to, count, forget);
}

/* ---- what is in a graph: as many as there is room for, or, with no list, their number ---- */

struct listing {
    CUgraphNode *one, *other; /* the second: of edges */
    size_t room, found;
};

static void list(struct listing *listing, CUgraphNode one, CUgraphNode other) {
    if (listing->one != NULL && listing->found < listing->room)
        listing->one[listing->found] = one;
    if (listing->other != NULL && listing->found < listing->room)
        listing->other[listing->found] = other;
    listing->found++;
}

static void finish(const struct listing *listing, size_t *count) {
    for (size_t i = listing->found; listing->one != NULL && i < listing->room; i++)
        listing->one[i] = NULL;
    *count =
        listing->one == NULL || listing->found < listing->room ? listing->found : listing->room;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    CUresult result = check(graph, count);
    if (result != CUDA_SUCCESS)
        return result;
    struct listing listing = {.one = nodes, .room = *count};
    for (uint32_t i = 0; i < graph->count; i++)
        list(&listing, graph->nodes[i], NULL);
    finish(&listing, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    CUresult result = check(graph, count);
    if (result != CUDA_SUCCESS)
        return result;
    struct listing listing = {.one = nodes, .room = *count};
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->before_count == 0)
            list(&listing, graph->nodes[i], NULL);
    finish(&listing, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
    CUresult result = check(graph, count);
    if ((from == NULL) != (to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    struct listing listing = {.one = from, .other = to, .room = *count};
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t j = 0; j < graph->nodes[i]->before_count; j++)
            list(&listing, graph->nodes[i]->before[j], graph->nodes[i]);
    finish(&listing, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
    CUresult result = check(node, count);
    if (result != CUDA_SUCCESS)
        return result;
    struct listing listing = {.one = nodes, .room = *count};
    for (uint32_t i = 0; i < node->before_count; i++)
        list(&listing, node->before[i], NULL);
    finish(&listing, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
    CUresult result = check(node, count);
    if (result != CUDA_SUCCESS)
        return result;
    struct listing listing = {.one = nodes, .room = *count};
    for (uint32_t i = 0; i < node->graph->count; i++)
        for (uint32_t j = 0; j < node->graph->nodes[i]->before_count; j++)
            if (node->graph->nodes[i]->before[j] == node)
                list(&listing, node->graph->nodes[i], NULL);
    finish(&listing, count);
    return CUDA_SUCCESS;
}

/* No edge has any data. */
static void no_data(CUgraphEdgeData *edges, const size_t *count) {
    if (edges != NULL && count != NULL)
        memset(edges, 0, *count * sizeof *edges);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *count) {
    CUresult result = cuGraphGetEdges(graph, from, to, count);
    if (result == CUDA_SUCCESS)
        no_data(edges, count);
    return result;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                       size_t *count) {
    CUresult result = cuGraphNodeGetDependencies(node, nodes, count);
    if (result == CUDA_SUCCESS)
        no_data(edges, count);
    return result;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
                                         CUgraphEdgeData *edges, size_t *count) {
    CUresult result = cuGraphNodeGetDependentNodes(node, nodes, count);
    if (result == CUDA_SUCCESS)
        no_data(edges, count);
    return result;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
    CUresult result = check(node, type);
    if (result == CUDA_SUCCESS)
        *type = node->type;
    return result;
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
    CUresult result = check(node, node);
    if (result != CUDA_SUCCESS)
        return result;
    CUgraph graph = node->graph;
    if (graph->is_captured) /* streams and events know its nodes */
        return CUDA_ERROR_ILLEGAL_STATE;
    if (node->address != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    ff__lock_acquire(&ff__cuda_lock);
    for (uint32_t i = 0; i < graph->count; i++)
        forget(graph, node, graph->nodes[i]);
    for (uint32_t i = node->place; i + 1 < graph->count; i++) {
        graph->nodes[i] = graph->nodes[i + 1];
        graph->nodes[i]->place = i;
    }
    graph->count--;
    free_node(node);
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

/* ---- parameters of kernels: pointers into the block that the node has ---- */

static CUresult function_of(CUgraphNode node, CUfunction *function) {
    if (node->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    if (node->command.kind == FF_CUDA_NATIVE)
        return ff__cuda_native_function(&node->command.native, function);
    *function = node->command.kernel.function;
    return CUDA_SUCCESS;
}

static CUresult list_parameters(CUgraphNode node, const struct ff__ptx_function *code) {
    size_t size;
    char *block = (char *)(uintptr_t)*ff__cuda_parameters(&node->command, &size);
    if (node->parameters == NULL)
        node->parameters = calloc(code->parameter_count + 1, sizeof *node->parameters);
    if (node->parameters == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < code->parameter_count; i++)
        node->parameters[i] = block + code->parameter_offsets[i];
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
    static const struct ff__ptx_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    CUfunction function;
    CUresult result = check(node, params);
    if (result == CUDA_SUCCESS)
        result = function_of(node, &function);
    if (result == CUDA_SUCCESS)
        result = list_parameters(node, function->code);
    if (result != CUDA_SUCCESS)
        return result;
    const struct ff__ptx_launch *launch =
        node->command.kind == FF_CUDA_KERNEL ? &node->command.kernel.launch : &once;
    *params = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                        .gridDimX = launch->grid[0],
                                        .gridDimY = launch->grid[1],
                                        .gridDimZ = launch->grid[2],
                                        .blockDimX = launch->block[0],
                                        .blockDimY = launch->block[1],
                                        .blockDimZ = launch->block[2],
                                        .sharedMemBytes = launch->shared,
                                        .kernelParams = node->parameters};
    return CUDA_SUCCESS;
}

CUresult ff__cuda_node_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    struct ff__cuda_command command;
    if (node->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    bool cooperative =
        node->command.kind == FF_CUDA_KERNEL && node->command.kernel.launch.cooperative;
    CUresult result = ff__cuda_launch_of(params, cooperative, &command);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_parameters_free(&node->command);
    free(node->parameters);
    node->parameters = NULL;
    node->command = command;
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    CUresult result = check(node, params);
    return result == CUDA_SUCCESS ? ff__cuda_node_set_kernel(node, params) : result;
}
