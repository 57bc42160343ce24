/* Mapping buffers whose content the program wants at an address of its own (CL_MEM_USE_HOST_PTR).
 *
 * The kernels work on managed memory that stands in for it, so mapping copies from there to the
 * program's address, and unmapping back if it was mapped for writing. The copies are commands of
 * the same queue, just before a real map or unmap that waits for them: order, events, command types
 * and the map count are OpenCL's own. They are SVM copies because those take plain pointers; a
 * buffer read would be refused where the program restricts what the host may do. */
#include "preload/opencl/internal.h"

#include <stdlib.h>
#include <string.h>

struct buffer_mapping {
    struct buffer_mapping *next;
    cl_mem root;
    char *host, *memory;
    size_t size;
    bool written; /* by the program, through the mapping */
};

/* In the order of mapping: of two equal mappings OpenCL unmaps the older first, and so do we. */
static struct buffer_mapping *mappings, **mappings_end = &mappings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(struct buffer_mapping *mapping) {
    mapping->next = NULL;
    pthread_mutex_lock(&lock);
    *mappings_end = mapping;
    mappings_end = &mapping->next;
    pthread_mutex_unlock(&lock);
}

/* Takes the first one of this buffer, at `host` unless that is NULL. */
static struct buffer_mapping *take(cl_mem root, const void *host) {
    pthread_mutex_lock(&lock);
    struct buffer_mapping **place = &mappings;
    while (*place && ((*place)->root != root || (host && (*place)->host != host)))
        place = &(*place)->next;
    struct buffer_mapping *mapping = *place;
    if (mapping) {
        *place = mapping->next;
        if (!mapping->next)
            mappings_end = place;
    }
    pthread_mutex_unlock(&lock);
    return mapping;
}

void ff__mappings_forget(cl_mem root) {
    for (struct buffer_mapping *mapping; (mapping = take(root, NULL)) != NULL;)
        free(mapping);
}

/* ---- mapping ---- */

struct map_request {
    cl_command_queue queue;
    cl_mem handle;
    cl_bool blocking;
    cl_map_flags flags;
    size_t offset, size;
    cl_uint count;
    const cl_event *list;
    cl_event *event;
};

static void *map_real(const struct map_request *request, cl_int *status) {
    return REAL(clEnqueueMapBuffer)(request->queue, request->handle, request->blocking,
                                    request->flags, request->offset, request->size, request->count,
                                    request->list, request->event, status);
}

/* Whether the real map will accept it, as far as copying before it depends on that. */
static bool is_valid(const struct map_request *request, const struct ff__buffer *buffer) {
    cl_context here = NULL, there = NULL;
    cl_mem_flags flags = 0;
    REAL(clGetCommandQueueInfo)(request->queue, CL_QUEUE_CONTEXT, sizeof here, &here, NULL);
    REAL(clGetMemObjectInfo)(request->handle, CL_MEM_CONTEXT, sizeof there, &there, NULL);
    REAL(clGetMemObjectInfo)(request->handle, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    bool readable = !(flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS));
    bool writable = !(flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS));
    if ((request->flags & CL_MAP_READ) && !readable)
        return false;
    if ((request->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) && !writable)
        return false;
    return here && here == there && request->size > 0 && request->size <= buffer->size &&
           request->offset <= buffer->size - request->size;
}

/* Copies for the mapping, after the events of a list. */
static cl_int copy(cl_command_queue queue, const struct buffer_mapping *mapping, bool to_host,
                   cl_uint count, const cl_event *list, cl_event *copied) {
    void *to = to_host ? mapping->host : mapping->memory;
    const void *from = to_host ? mapping->memory : mapping->host;
    return REAL(clEnqueueSVMMemcpy)(queue, CL_FALSE, to, from, mapping->size, count, list, copied);
}

static cl_int copy_and_map(struct map_request request, const struct buffer_mapping *mapping) {
    cl_event copied = NULL;
    cl_int status = CL_SUCCESS;
    if (!(request.flags & CL_MAP_WRITE_INVALIDATE_REGION)) {
        status = copy(request.queue, mapping, true, request.count, request.list, &copied);
        if (status != CL_SUCCESS)
            return status;
        request.count = 1;
        request.list = &copied;
    }
    map_real(&request, &status);
    if (copied)
        REAL(clReleaseEvent)(copied);
    return status;
}

static void *map_shadow(const struct map_request *request, const struct ff__buffer *buffer,
                        cl_int *status) {
    struct buffer_mapping *mapping = malloc(sizeof *mapping);
    if (!mapping) {
        ff__fall_back("clEnqueueMapBuffer", NULL);
        return map_real(request, status);
    }
    *mapping = (struct buffer_mapping){
        .root = buffer->root,
        .host = buffer->host + request->offset,
        .memory = buffer->memory + request->offset,
        .size = request->size,
        .written = (request->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0,
    };
    void *host = mapping->host;
    cl_int result = copy_and_map(*request, mapping);
    if (status)
        *status = result;
    if (result == CL_SUCCESS) {
        remember(mapping);
        return host;
    }
    free(mapping);
    return NULL;
}

/* What is mapped to be overwritten need not come. */
static void *map_in_place(struct map_request request, cl_int *status_out) {
    bool replaces = request.flags & CL_MAP_WRITE_INVALIDATE_REGION;
    const struct ff__replaced replaced = {replaces, &request.handle, request.offset, request.size,
                                          NULL};
    struct ff__overwrite overwrite;
    cl_int status;
    cl_bool blocking = request.blocking;
    ff__buffer_open_mapped(request.handle);
    if (ff__overwrite_begin(&overwrite, &replaced, request.queue, &request.count, &request.list,
                            &request.event))
        request.blocking = CL_FALSE;
    void *mapped = map_real(&request, &status);
    status = ff__overwrite_end(&overwrite, status, blocking);
    if (status_out)
        *status_out = status;
    if (status == CL_SUCCESS)
        return mapped;
    ff__buffer_unmapped(request.handle);
    return NULL;
}

FF_HOOKED void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem handle,
                                               cl_bool blocking, cl_map_flags flags, size_t offset,
                                               size_t size, cl_uint count, const cl_event *list,
                                               cl_event *event, cl_int *status) {
    const struct map_request request = {queue, handle, blocking, flags, offset,
                                        size,  count,  list,     event};
    struct ff__buffer buffer;
    void *mapped;
    ff__clock_start();
    if (ff__buffer_find(handle, &buffer) && buffer.shadow && is_valid(&request, &buffer))
        mapped = map_shadow(&request, &buffer, status);
    else
        mapped = map_in_place(request, status);
    if (blocking)
        ff__clock_stop();
    return mapped;
}

/* ---- unmapping ---- */

static cl_int copy_and_unmap(cl_command_queue queue, cl_mem handle,
                             const struct buffer_mapping *mapping, cl_uint count,
                             const cl_event *list, cl_event *event) {
    cl_event copied = NULL;
    if (mapping->written) {
        cl_int status = copy(queue, mapping, false, count, list, &copied);
        if (status != CL_SUCCESS)
            return status;
        count = 1;
        list = &copied;
    }
    cl_int status =
        REAL(clEnqueueUnmapMemObject)(queue, handle, mapping->memory, count, list, event);
    if (copied)
        REAL(clReleaseEvent)(copied);
    return status;
}

FF_HOOKED cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem handle,
                                                     void *mapped, cl_uint count,
                                                     const cl_event *list, cl_event *event) {
    struct ff__buffer buffer;
    struct buffer_mapping *mapping = NULL;
    ff__clock_start();
    if (mapped && ff__buffer_find(handle, &buffer) && buffer.shadow)
        mapping = take(buffer.root, mapped);
    cl_int status = mapping
                        ? copy_and_unmap(queue, handle, mapping, count, list, event)
                        : REAL(clEnqueueUnmapMemObject)(queue, handle, mapped, count, list, event);
    if (!mapping && status == CL_SUCCESS)
        ff__buffer_unmapped(handle);
    else if (status == CL_SUCCESS)
        free(mapping);
    else if (mapping)
        remember(mapping);
    return status;
}
