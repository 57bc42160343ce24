/* Commands that replace the content of a part of a buffer: what it held is dropped when they begin,
 * so that it does not come to the device only to be overwritten. Where it could be dropped too
 * late, after the command has written, nothing is. */
#include "preload/opencl/internal.h"

#include <farfault/policy.h>

#include <stdlib.h>

struct overwritten_span {
    char *memory;
    size_t size;
};

struct ff__overwritten {
    struct ff__watch watch;
    size_t count;
    struct overwritten_span spans[];
};

static void on_begin(struct ff__watch *watch) {
    const struct ff__overwritten *overwritten = (struct ff__overwritten *)watch;
    struct ff_context *context = ff__context_if_open();
    for (size_t i = 0; context && i < overwritten->count; i++)
        ff_mem_hint(context, overwritten->spans[i].memory, overwritten->spans[i].size,
                    FF_HINT_OVERWRITE, 0);
}

static void on_end(struct ff__watch *watch) {
    (void)watch;
    ff__clock_mark();
}

static void forget(struct ff__watch *watch) {
    free(watch);
}

/* ---- around the real call ---- */

static bool apart(const struct overwritten_span *span, const void *other, size_t size) {
    const char *from = other;
    return !from || from + size <= span->memory || from >= span->memory + span->size;
}

bool ff__host_is_empty(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats.host_held == 0;
}

/* What farfault is to be told; NULL where there is nothing to tell, or the real call must find an
 * error. As long as nothing was evicted, nothing that is overwritten has content that would come to
 * the device; and a gate costs more than a small command. */
static struct ff__overwritten *describe(const struct ff__replaced *replaced) {
    struct ff__overwritten *overwritten = NULL;
    struct ff_context *context = ff__context_if_open();
    if (context && replaced->count > 0 && replaced->buffers && !ff__host_is_empty(context))
        overwritten =
            malloc(sizeof *overwritten + replaced->count * sizeof(struct overwritten_span));
    if (!overwritten)
        return NULL;
    *overwritten = (struct ff__overwritten){.watch = {on_begin, on_end, forget, 0}};
    for (cl_uint i = 0; i < replaced->count; i++) {
        struct ff__buffer buffer;
        if (!ff__buffer_find(replaced->buffers[i], &buffer) || !buffer.memory ||
            replaced->offset > buffer.size)
            continue;
        size_t rest = buffer.size - replaced->offset;
        struct overwritten_span span = {buffer.memory + replaced->offset,
                                        replaced->size ? replaced->size : rest};
        if (span.size >= FF_PAGE_SIZE && span.size <= rest &&
            apart(&span, replaced->from, span.size))
            overwritten->spans[overwritten->count++] = span;
    }
    if (overwritten->count > 0)
        return overwritten;
    free(overwritten);
    return NULL;
}

bool ff__overwrite_begin(struct ff__overwrite *overwrite, const struct ff__replaced *replaced,
                         cl_command_queue queue, cl_uint *count, const cl_event **list,
                         cl_event **event) {
    cl_event *asked = *event;
    overwrite->what = ff__callbacks_come_first() ? describe(replaced) : NULL;
    if (!overwrite->what)
        return false;
    ff__gate_close(&overwrite->gate, queue, count, list, event);
    if (!overwrite->gate.lock) { /* nothing to hold it with: its content comes, as without us */
        ff__gate_open(&overwrite->gate);
        free(overwrite->what);
        overwrite->what = NULL;
        *event = asked;
    }
    return overwrite->what != NULL;
}

cl_int ff__overwrite_end(struct ff__overwrite *overwrite, cl_int status, cl_bool blocking) {
    if (!overwrite->what)
        return status;
    if (status == CL_SUCCESS)
        ff__gate_watch(&overwrite->gate, &overwrite->what->watch);
    else
        free(overwrite->what);
    ff__gate_open(&overwrite->gate);
    if (status == CL_SUCCESS && blocking)
        status = REAL(clWaitForEvents)(1, overwrite->gate.event);
    ff__gate_forget(&overwrite->gate);
    return status;
}

/* ---- the commands; mapping is in map.c ---- */

FF_HOOKED cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer,
                                                  cl_bool blocking, size_t offset, size_t size,
                                                  const void *from, cl_uint count,
                                                  const cl_event *list, cl_event *event) {
    const struct ff__replaced replaced = {1, &buffer, offset, size, from};
    struct ff__overwrite overwrite;
    ff__clock_start();
    bool waits = ff__overwrite_begin(&overwrite, &replaced, queue, &count, &list, &event);
    cl_int status = REAL(clEnqueueWriteBuffer)(queue, buffer, waits ? CL_FALSE : blocking, offset,
                                               size, from, count, list, event);
    status = ff__overwrite_end(&overwrite, status, blocking);
    if (blocking)
        ff__clock_stop();
    return status;
}

FF_HOOKED cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer,
                                                 const void *pattern, size_t pattern_size,
                                                 size_t offset, size_t size, cl_uint count,
                                                 const cl_event *list, cl_event *event) {
    const struct ff__replaced replaced = {1, &buffer, offset, size, NULL};
    struct ff__overwrite overwrite;
    ff__clock_start();
    ff__overwrite_begin(&overwrite, &replaced, queue, &count, &list, &event);
    cl_int status = REAL(clEnqueueFillBuffer)(queue, buffer, pattern, pattern_size, offset, size,
                                              count, list, event);
    return ff__overwrite_end(&overwrite, status, CL_FALSE);
}

FF_HOOKED cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue queue,
                                                        cl_uint object_count, const cl_mem *objects,
                                                        cl_mem_migration_flags flags, cl_uint count,
                                                        const cl_event *list, cl_event *event) {
    bool undefined = flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    const struct ff__replaced replaced = {undefined ? object_count : 0, objects, 0, 0, NULL};
    struct ff__overwrite overwrite;
    ff__clock_start();
    ff__overwrite_begin(&overwrite, &replaced, queue, &count, &list, &event);
    cl_int status =
        REAL(clEnqueueMigrateMemObjects)(queue, object_count, objects, flags, count, list, event);
    return ff__overwrite_end(&overwrite, status, CL_FALSE);
}
