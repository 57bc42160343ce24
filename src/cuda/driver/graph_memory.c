/* Memory that graphs allocate and free. Its address is a graph's as long as the graph and those
 * made of it are there, and so is the memory: a node that allocates or frees it changes only
 * whether the program may use it. Memory that no node has freed outlives its graph, and is the
 * program's to free. */
#include "cuda/driver/graph.h"

#include <stdlib.h>

struct ff__cuda_graph_memory {
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    CUdevice device;
    bool is_live; /* allocated by a launch, and not freed since */
};

/* By CUgraphMem_attribute: used now and at most, reserved now and at most. */
static uint64_t values[FF_CUDA_DEVICES][CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1];

static void count(const struct ff__cuda_graph_memory *memory, CUgraphMem_attribute attribute,
                  bool more) {
    uint64_t *value = &values[memory->device][attribute];
    value[0] += more ? memory->params.bytesize : -memory->params.bytesize;
    if (value[1] < value[0])
        value[1] = value[0];
}

static void set_live(struct ff__cuda_graph_memory *memory, bool live) {
    if (memory->is_live != live)
        count(memory, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, live);
    memory->is_live = live;
}

bool ff__cuda_graph_memory_free(struct ff__cuda_graph_memory *memory) {
    bool was_live = memory->is_live;
    set_live(memory, false);
    return was_live;
}

/* No graph has it any more. The lock is free. */
static void end_memory(void *user) {
    struct ff__cuda_graph_memory *memory = user;
    CUdeviceptr address = memory->params.dptr;
    ff__lock_acquire(&ff__cuda_lock);
    bool is_live = memory->is_live;
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool is_there = found != NULL && found->graph == memory; /* else its context has ended */
    if (is_there)
        found->graph = NULL;
    set_live(memory, false);
    count(memory, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, false);
    ff__lock_release(&ff__cuda_lock);
    if (is_there && !is_live)
        ff__cuda_free(address);
    free(memory);
}

/* Fills in params->dptr. The lock is free. */
static CUresult make_memory(CUcontext context, enum ff__cuda_memory kind,
                            CUDA_MEM_ALLOC_NODE_PARAMS *params, CUuserObject *out) {
    struct ff__cuda_graph_memory *memory = calloc(1, sizeof *memory);
    CUuserObject object = ff__cuda_object_make(end_memory, memory, 1);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (memory != NULL && object != NULL)
        result =
            ff__cuda_alloc(context, params->bytesize, kind, CU_MEM_ATTACH_GLOBAL, &params->dptr);
    if (result != CUDA_SUCCESS) {
        free(memory);
        free(object);
        return result;
    }
    *memory = (struct ff__cuda_graph_memory){.params = *params, .device = context->device};
    memory->params.accessDescs = NULL;
    memory->params.accessDescCount = 0;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_find(params->dptr)->graph = memory;
    count(memory, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, true);
    ff__lock_release(&ff__cuda_lock);
    *out = object;
    return CUDA_SUCCESS;
}

/* ---- launching ---- */

static struct ff__cuda_graph_memory *memory_at(CUdeviceptr address) {
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    return found != NULL && found->address == address ? found->graph : NULL;
}

CUresult ff__cuda_graph_memory_check(CUgraph graph, bool auto_free) {
    for (uint32_t i = 0; i < graph->count; i++) {
        struct ff__cuda_graph_memory *memory = memory_at(graph->nodes[i]->address);
        if (graph->nodes[i]->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            continue;
        if (memory == NULL || (memory->is_live && !auto_free))
            return CUDA_ERROR_INVALID_VALUE;
        set_live(memory, false);
    }
    return CUDA_SUCCESS;
}

CUresult ff__cuda_graph_memory_submit(CUgraphNode node) {
    struct ff__cuda_graph_memory *memory = memory_at(node->address);
    bool allocates = node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    if (memory == NULL || memory->is_live == allocates)
        return CUDA_ERROR_INVALID_VALUE;
    set_live(memory, allocates);
    return CUDA_SUCCESS;
}

bool ff__cuda_graph_has_memory(CUgraph graph) {
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->address != 0)
            return true;
    return false;
}

/* ---- capturing; the lock is free ---- */

CUresult ff__cuda_capture_alloc(CUcontext context, CUstream name, size_t size, bool is_managed,
                                CUdeviceptr *address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = is_managed ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                              : CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, context->device}},
        .bytesize = size};
    CUuserObject object;
    CUstream stream;
    CUresult result =
        make_memory(context, is_managed ? FF_CUDA_MANAGED : FF_CUDA_PLAIN, &params, &object);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS && stream->capture == NULL) /* it has ended by now */
        result = CUDA_ERROR_ILLEGAL_STATE;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_graph_hold(stream->capture->graph, object, 1);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_capture_memory(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params.dptr);
    else
        ff__cuda_object_release(object, 1);
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    if (result == CUDA_SUCCESS)
        *address = params.dptr;
    return result;
}

/* ---- the API ---- */

static CUresult check_params(CUcontext context, const CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    if (params->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        params->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || params->bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params->poolProps.location.id != context->device)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Every device has access to all memory. */
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                size_t node_count, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    CUcontext context;
    CUuserObject object;
    CUresult result = ff__cuda_enter(&context);
    if (node == NULL || graph == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_params(context, params);
    if (result == CUDA_SUCCESS)
        result = make_memory(context, FF_CUDA_PLAIN, params, &object);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_graph_hold(graph, object, 1);
    if (result != CUDA_SUCCESS)
        ff__cuda_object_release(object, 1);
    else
        result =
            ff__cuda_graph_add(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, NULL, nodes, node_count, node);
    if (result == CUDA_SUCCESS)
        (*node)->address = params->dptr;
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                               size_t node_count, CUdeviceptr address) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (node == NULL || graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    result = memory_at(address) == NULL ? CUDA_ERROR_INVALID_VALUE
                                        : ff__cuda_graph_add(graph, CU_GRAPH_NODE_TYPE_MEM_FREE,
                                                             NULL, nodes, node_count, node);
    if (result == CUDA_SUCCESS)
        (*node)->address = address;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (node == NULL || params == NULL || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_graph_memory *memory = memory_at(node->address);
    if (memory != NULL)
        *params = memory->params;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (node == NULL || address == NULL || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_INVALID_VALUE;
    *address = node->address;
    return CUDA_SUCCESS;
}

/* Nothing is kept that no graph has. */
CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return ff__cuda_device_check(device);
}

static CUresult check_attribute(CUdevice device, CUgraphMem_attribute attribute,
                                const void *value) {
    CUresult result = ff__cuda_device_check(device);
    return value == NULL || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void *value) {
    CUresult result = check_attribute(device, attribute, value);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    *(cuuint64_t *)value = values[device][attribute];
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

/* Only the peaks can be set, to 0. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void *value) {
    CUresult result = check_attribute(device, attribute, value);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_peak = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                   attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!is_peak || *(cuuint64_t *)value != 0)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    values[device][attribute] = values[device][attribute - 1];
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}
