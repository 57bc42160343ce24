/* User objects: what graphs keep as long as they are there. The last reference to go has its
 * function called, by the thread that took it, once the lock is free. */
#include "cuda/driver/graph.h"

#include "base/grow.h"

#include <stdlib.h>

static CUuserObject dying; /* by `next` */

CUuserObject ff__cuda_object_make(CUhostFn destroy, void *user, uint32_t count) {
    CUuserObject object = calloc(1, sizeof *object);
    if (object != NULL)
        *object = (struct CUuserObject_st){.users = count, .destroy = destroy, .user = user};
    return object;
}

void ff__cuda_object_release(CUuserObject object, uint32_t count) {
    object->users -= count < object->users ? count : object->users;
    if (object->users != 0)
        return;
    object->next = dying;
    dying = object;
}

void ff__cuda_objects_end(void) {
    ff__lock_acquire(&ff__cuda_lock);
    CUuserObject list = dying, next;
    dying = NULL;
    ff__lock_release(&ff__cuda_lock);
    for (; list != NULL; list = next) {
        next = list->next;
        list->destroy(list->user);
        free(list);
    }
}

/* ---- those of a graph ---- */

static struct ff__cuda_held *find(CUgraph graph, CUuserObject object) {
    for (uint32_t i = 0; i < graph->held_count; i++)
        if (graph->held[i].object == object)
            return &graph->held[i];
    return NULL;
}

CUresult ff__cuda_graph_hold(CUgraph graph, CUuserObject object, uint32_t count) {
    struct ff__cuda_held *held = find(graph, object);
    if (held == NULL) {
        if (ff__grow(&graph->held, graph->held_count, sizeof *graph->held) != 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
        held = &graph->held[graph->held_count++];
        *held = (struct ff__cuda_held){.object = object};
    }
    held->count += count;
    return CUDA_SUCCESS;
}

CUresult ff__cuda_graph_hold_all(CUgraph from, CUgraph to) {
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < from->held_count && result == CUDA_SUCCESS; i++) {
        result = ff__cuda_graph_hold(to, from->held[i].object, from->held[i].count);
        if (result == CUDA_SUCCESS)
            from->held[i].object->users += from->held[i].count;
    }
    return result;
}

void ff__cuda_graph_let_go(CUgraph graph) {
    for (uint32_t i = 0; i < graph->held_count; i++)
        ff__cuda_object_release(graph->held[i].object, graph->held[i].count);
    free(graph->held);
    graph->held = NULL;
    graph->held_count = 0;
}

/* ---- the API ---- */

CUresult cuUserObjectCreate(CUuserObject *object, void *user, CUhostFn destroy, unsigned count,
                            unsigned flags) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (object == NULL || destroy == NULL || count == 0 || count > INT32_MAX ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    *object = ff__cuda_object_make(destroy, user, count);
    return *object != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check(const void *object, unsigned count) {
    CUresult result = ff__cuda_started();
    return object == NULL || count == 0 || count > INT32_MAX ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
    CUresult result = check(object, count);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    object->users += count;
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
    CUresult result = check(object, count);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_object_release(object, count);
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                 unsigned flags) {
    CUresult result = check(object, count);
    if (graph == NULL || flags > CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_graph_hold(graph, object, count);
    if (result == CUDA_SUCCESS && flags == 0)
        object->users += count;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
    CUresult result = check(object, count);
    if (graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_held *held = find(graph, object);
    if (held == NULL || held->count < count) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else {
        held->count -= count;
        if (held->count == 0)
            *held = graph->held[--graph->held_count];
        ff__cuda_object_release(object, count);
    }
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_objects_end();
    return result;
}
