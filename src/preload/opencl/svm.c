/* Shared virtual memory: managed allocations in place of PoCL's. PoCL takes any pointer wherever
 * OpenCL wants one to shared virtual memory, so everything but allocating and freeing is its own.
 */
#include "preload/opencl/internal.h"

#include <stdlib.h>

struct svm_allocation {
    size_t size;
    bool managed;
};

static struct ff__handles allocations = FF__HANDLES_INIT;

static struct svm_allocation *take(const void *pointer) {
    pthread_mutex_lock(&allocations.lock);
    struct svm_allocation *entry = ff__handles_take(&allocations, pointer);
    pthread_mutex_unlock(&allocations.lock);
    return entry;
}

static bool enter(const void *pointer, size_t size, bool managed) {
    struct svm_allocation *entry = malloc(sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct svm_allocation){.size = size, .managed = managed};
    pthread_mutex_lock(&allocations.lock);
    bool put = ff__handles_put(&allocations, pointer, entry);
    pthread_mutex_unlock(&allocations.lock);
    if (put)
        ff__footprint_add(size);
    else
        free(entry);
    return put;
}

size_t ff__svm_size(const void *base) {
    pthread_mutex_lock(&allocations.lock);
    struct svm_allocation *entry = ff__handles_find(&allocations, base);
    size_t size = entry ? entry->size : 0;
    pthread_mutex_unlock(&allocations.lock);
    return size;
}

/* Managed memory of this size that clSVMFree will know, or NULL. */
static void *allocate_managed(size_t size) {
    struct ff_context *context = ff__context();
    void *memory = NULL;
    int status = context ? ff_mem_alloc(context, size, &memory) : 0;
    if (status)
        ff__no_memory(size, status);
    if (!memory)
        return NULL;
    if (!enter(memory, size, true)) {
        ff_mem_free(context, memory);
        return NULL;
    }
    ff__note_managed(memory, size);
    ff__mark_managed();
    return memory;
}

/* The real call goes first: it judges the arguments, and costs only addresses until it is used. */
FF_HOOKED void *CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                       cl_uint alignment) {
    size = ff__size_allowed(size);
    void *real = REAL(clSVMAlloc)(context, flags, size, alignment);
    if (!real || ff__in_child())
        return real;
    void *memory = allocate_managed(size);
    if (memory) {
        REAL(clSVMFree)(context, real);
        return memory;
    }
    if (ff__mode() != FF__PASSIVE)
        ff__fall_back("clSVMAlloc", NULL);
    enter(real, size, false);
    return real;
}

FF_HOOKED void CL_API_CALL clSVMFree(cl_context context, void *pointer) {
    struct svm_allocation *entry = ff__in_child() || !pointer ? NULL : take(pointer);
    if (entry)
        ff__footprint_remove(entry->size);
    if (entry && entry->managed)
        ff_mem_free(ff__context_if_open(), pointer);
    else
        REAL(clSVMFree)(context, pointer);
    free(entry);
}

/* What OpenCL does where the program gives no function of its own. */
static void CL_CALLBACK free_all(cl_command_queue queue, cl_uint count, void *pointers[],
                                 void *user) {
    (void)queue;
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(user, pointers[i]);
}

FF_HOOKED cl_int CL_API_CALL
clEnqueueSVMFree(cl_command_queue queue, cl_uint pointer_count, void *pointers[],
                 void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
                 void *user, cl_uint count, const cl_event *list, cl_event *event) {
    cl_context context = NULL;
    ff__clock_start();
    if (!function && REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context,
                                                 NULL) == CL_SUCCESS) {
        function = free_all;
        user = context;
    }
    return REAL(clEnqueueSVMFree)(queue, pointer_count, pointers, function, user, count, list,
                                  event);
}
