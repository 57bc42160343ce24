/* Buffers: managed memory that PoCL is told to use in place (CL_MEM_USE_HOST_PTR), while the
 * program keeps seeing the flags and the host pointer that it gave.
 *
 * Every buffer has an entry from its creation to its destructor callback, managed or not: it is
 * also what the footprint is counted by. Ours is the first callback registered, so it is called
 * last; where OpenCL takes its time with that, the handle may be another buffer's by then, so the
 * callback goes by the entry. */
#include "preload/opencl/internal.h"

#include <stdlib.h>
#include <string.h>

#define HOST_FLAGS                                                                                 \
    ((cl_mem_flags)(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR))

struct buffer_entry {
    struct ff__buffer buffer;
    size_t counted;   /* bytes of the footprint; no more once the program holds nothing of it */
    cl_uint held;     /* references that the program has */
    cl_uint in_hands; /* of a whole buffer: how many of it and its parts the program holds */
    bool replaced;    /* the handle is another buffer's */
    /* Of a whole buffer; `opening` is held. */
    cl_uint mapped;    /* by the program, it or a part */
    bool stays_open;   /* the program has an address for good */
    uint32_t unmapped; /* so often, since it was closed */
    uint32_t patience; /* so often it stays open */
};

static struct ff__handles buffers = FF__HANDLES_INIT;

bool ff__buffer_find(cl_mem handle, struct ff__buffer *out) {
    if (ff__in_child())
        return false;
    pthread_mutex_lock(&buffers.lock);
    struct buffer_entry *entry = ff__handles_find(&buffers, handle);
    if (entry)
        *out = entry->buffer;
    pthread_mutex_unlock(&buffers.lock);
    return entry != NULL;
}

/* ---- what the program holds ---- */

/* PoCL keeps a buffer as long as commands use it. A program that enqueues far ahead and releases at
 * once has many such, and yet little memory in use at a time: what counts for the footprint is what
 * the program still holds. */

static struct buffer_entry *find_entry(cl_mem handle) {
    return ff__handles_find(&buffers, handle);
}

/* The lock is held. Returns the bytes that have no holder any more. */
static size_t let_go(struct buffer_entry *entry) {
    struct buffer_entry *root = find_entry(entry->buffer.root);
    if (entry->held == 0 || --entry->held > 0 || !root || --root->in_hands > 0)
        return 0;
    size_t bytes = root->counted;
    root->counted = 0;
    return bytes;
}

FF_HOOKED cl_int CL_API_CALL clRetainMemObject(cl_mem handle) {
    cl_int status = REAL(clRetainMemObject)(handle);
    if (status != CL_SUCCESS || ff__in_child())
        return status;
    pthread_mutex_lock(&buffers.lock);
    struct buffer_entry *entry = find_entry(handle);
    if (entry && entry->held)
        entry->held++;
    pthread_mutex_unlock(&buffers.lock);
    return status;
}

FF_HOOKED cl_int CL_API_CALL clReleaseMemObject(cl_mem handle) {
    if (!ff__in_child()) { /* before the real call, which may be the end of the entry */
        pthread_mutex_lock(&buffers.lock);
        struct buffer_entry *entry = find_entry(handle);
        size_t bytes = entry ? let_go(entry) : 0;
        pthread_mutex_unlock(&buffers.lock);
        ff__footprint_remove(bytes);
    }
    return REAL(clReleaseMemObject)(handle);
}

/* ---- end of life ---- */

static void discard(struct buffer_entry *entry) {
    if (entry->buffer.owned)
        ff_mem_free(ff__context_if_open(), entry->buffer.memory);
    ff__footprint_remove(entry->counted);
    free(entry);
}

/* The handle is no longer this entry's. */
static void leave(const struct buffer_entry *entry, cl_mem handle) {
    if (entry->buffer.shadow && entry->buffer.root == handle)
        ff__mappings_forget(handle);
}

static void CL_CALLBACK on_destroy(cl_mem handle, void *user) {
    struct buffer_entry *entry = user;
    if (ff__in_child())
        return;
    pthread_mutex_lock(&buffers.lock);
    bool replaced = entry->replaced;
    if (!replaced)
        ff__handles_take(&buffers, handle);
    pthread_mutex_unlock(&buffers.lock);
    if (!replaced)
        leave(entry, handle);
    discard(entry);
}

/* From here on the entry belongs to the buffer. */
static void enter(struct buffer_entry *entry, cl_mem handle) {
    entry->held = 1;
    pthread_mutex_lock(&buffers.lock);
    struct buffer_entry *before = ff__handles_take(&buffers, handle);
    if (before) {
        before->replaced = true;
        leave(before, handle);
    }
    entry->replaced = !ff__handles_put(&buffers, handle, entry);
    struct buffer_entry *root = find_entry(entry->buffer.root);
    if (root)
        root->in_hands++;
    pthread_mutex_unlock(&buffers.lock);
    if (REAL(clSetMemObjectDestructorCallback)(handle, on_destroy, entry) != CL_SUCCESS)
        ff__fall_back("clSetMemObjectDestructorCallback", "a buffer's memory will not be freed");
}

/* ---- creation ---- */

struct buffer_request {
    cl_context context;
    const cl_mem_properties *properties;
    bool has_properties;
    cl_mem_flags flags;
    size_t size;
    void *host;
    int failure; /* why there is no managed memory for it; 0: no reason */
};

static cl_mem create_real(const struct buffer_request *request, cl_int *status) {
    if (request->has_properties)
        return REAL(clCreateBufferWithProperties)(request->context, request->properties,
                                                  request->flags, request->size, request->host,
                                                  status);
    return REAL(clCreateBuffer)(request->context, request->flags, request->size, request->host,
                                status);
}

/* Whether host pointer and flags agree. Where they do not, the real call must see them as they are,
 * and say what is wrong. */
static bool makes_sense(const struct buffer_request *request) {
    cl_mem_flags flags = request->flags & HOST_FLAGS;
    if ((flags & CL_MEM_USE_HOST_PTR) && flags != CL_MEM_USE_HOST_PTR)
        return false;
    bool wants_host = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    return wants_host == (request->host != NULL);
}

/* Shared virtual memory that is managed is used in place; it must be as large as the buffer. */
static bool use_svm(struct ff_context *context, struct buffer_request *request,
                    struct buffer_entry *entry) {
    void *base;
    size_t rest;
    if (!(request->flags & CL_MEM_USE_HOST_PTR) ||
        !ff_mem_lookup(context, request->host, &base, &rest))
        return false;
    size_t exact = ff__svm_size(base), offset = (size_t)((char *)request->host - (char *)base);
    size_t size = exact ? exact : rest;
    if (offset > size || request->size > size - offset)
        request->size = 0; /* the real call's error for it is the right one */
    ff__probe_callbacks(request->context);
    entry->buffer.memory = request->host;
    entry->buffer.host = request->host;
    return true;
}

/* Turns the request into one for managed memory; leaves it as it is where that cannot be. */
static void manage(struct buffer_request *request, struct buffer_entry *entry) {
    struct ff_context *context = ff__context();
    void *memory = NULL;
    if (!context || request->size == 0 || !makes_sense(request) || use_svm(context, request, entry))
        return;
    request->failure = ff_mem_alloc_for_kernels(context, request->size, &memory);
    if (request->failure < 0)
        return;
    ff__note_managed(memory, request->size);
    ff__mark_managed();
    ff__probe_callbacks(request->context);
    if (request->host)
        ff_mem_write(context, memory, request->host, request->size);
    entry->buffer.memory = memory;
    entry->buffer.owned = true;
    if (request->flags & CL_MEM_USE_HOST_PTR) {
        entry->buffer.host = request->host;
        entry->buffer.shadow = true;
    }
    if (request->flags == 0) /* the real call says so only as long as there is no other flag */
        request->flags = CL_MEM_READ_WRITE;
    request->flags = (request->flags & ~HOST_FLAGS) | CL_MEM_USE_HOST_PTR;
    request->host = memory;
}

static cl_mem create_buffer(struct buffer_request *request, cl_int *status_out) {
    struct buffer_entry *entry = ff__in_child() ? NULL : calloc(1, sizeof *entry);
    cl_int status = CL_SUCCESS;
    request->size = ff__size_allowed(request->size);
    if (request->host)
        ff__clock_start();
    if (entry) {
        entry->buffer.size = request->size;
        entry->buffer.host_flags = request->flags & HOST_FLAGS;
        manage(request, entry);
    }
    cl_mem handle = create_real(request, &status);
    if (status_out)
        *status_out = status;
    if (handle && ff__mode() != FF__PASSIVE && (!entry || !entry->buffer.memory)) {
        ff__fall_back("clCreateBuffer", NULL);
        if (request->failure) {
            ff__no_memory(request->size, request->failure);
            ff__leave_if_required();
        }
    }
    if (!entry || !handle) {
        if (entry)
            discard(entry);
        return handle;
    }
    entry->buffer.root = handle;
    /* shared virtual memory is counted where it is allocated */
    entry->counted = ff__svm_size(request->host) ? 0 : request->size;
    ff__footprint_add(entry->counted);
    enter(entry, handle);
    return handle;
}

FF_HOOKED cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                            void *host, cl_int *status) {
    struct buffer_request request = {
        .context = context, .flags = flags, .size = size, .host = host};
    return create_buffer(&request, status);
}

FF_HOOKED cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context,
                                                          const cl_mem_properties *properties,
                                                          cl_mem_flags flags, size_t size,
                                                          void *host, cl_int *status) {
    struct buffer_request request = {context, properties, true, flags, size, host, 0};
    return create_buffer(&request, status);
}

FF_HOOKED cl_mem CL_API_CALL clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
                                               cl_buffer_create_type type, const void *what,
                                               cl_int *status) {
    const cl_buffer_region *region = what; /* the only type there is */
    cl_mem handle = REAL(clCreateSubBuffer)(parent, flags, type, what, status);
    struct ff__buffer whole;
    struct buffer_entry *entry;
    if (!handle || !ff__buffer_find(parent, &whole) || !(entry = calloc(1, sizeof *entry)))
        return handle;
    entry->buffer = whole;
    entry->buffer.memory = whole.memory ? whole.memory + region->origin : NULL;
    entry->buffer.host = whole.host ? whole.host + region->origin : NULL;
    entry->buffer.size = region->size;
    entry->buffer.owned = false;
    enter(entry, handle);
    return handle;
}

/* ---- what the program sees of it ---- */

/* The buffer itself, or the one that an image is made of, directly or through other images. */
static bool find_source(cl_mem handle, struct ff__buffer *out) {
    while (handle && !ff__buffer_find(handle, out)) {
        cl_mem parent = NULL;
        REAL(clGetMemObjectInfo)(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
        handle = parent;
    }
    return handle != NULL;
}

/* Mappings are counted, and memory opened and closed, by one thread at a time. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* NULL where nothing is to be opened. */
static struct buffer_entry *find_root(cl_mem handle) {
    struct ff__buffer buffer;
    if (!ff__context_if_open() || !find_source(handle, &buffer) || !buffer.memory)
        return NULL;
    pthread_mutex_lock(&buffers.lock);
    struct buffer_entry *root = find_entry(buffer.root);
    pthread_mutex_unlock(&buffers.lock);
    return root;
}

static void open_memory(const struct buffer_entry *root) {
    if (ff_mem_hint(ff__context_if_open(), root->buffer.memory, 1, FF_HINT_SYSTEM_CALLS, 0) != 0)
        ff__fall_back("clEnqueueMapBuffer",
                      "system calls that are given addresses in a mapped buffer may fail (EFAULT)");
}

void ff__buffer_open_mapped(cl_mem handle) {
    pthread_mutex_lock(&opening);
    struct buffer_entry *root = find_root(handle);
    if (root && ++root->mapped == 1)
        open_memory(root);
    pthread_mutex_unlock(&opening);
}

void ff__buffer_open(cl_mem handle) {
    pthread_mutex_lock(&opening);
    struct buffer_entry *root = find_root(handle);
    if (root) {
        root->stays_open = true;
        open_memory(root);
    }
    pthread_mutex_unlock(&opening);
}

/* Faults of memory that is open cost several times as much, but to close and to open it evicts it.
 * So each time it stays open for twice as many mappings as the last time. As long as nothing was
 * evicted there are few faults, and nothing to gain. */
static bool is_worth_closing(const struct buffer_entry *root) {
    return !root->stays_open && root->unmapped > root->patience &&
           !ff__host_is_empty(ff__context_if_open());
}

static void close_memory(struct buffer_entry *root) {
    root->unmapped = 0;
    root->patience = 2 * root->patience + 1;
    ff_mem_hint(ff__context_if_open(), root->buffer.memory, 1, FF_HINT_KERNELS, 0);
}

void ff__buffer_unmapped(cl_mem handle) {
    pthread_mutex_lock(&opening);
    struct buffer_entry *root = find_root(handle);
    if (root && root->mapped > 0 && --root->mapped == 0) {
        root->unmapped++;
        if (is_worth_closing(root))
            close_memory(root);
    }
    pthread_mutex_unlock(&opening);
}

FF_HOOKED cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t size,
                                                void *value, size_t *size_out) {
    struct ff__buffer buffer;
    cl_int status = REAL(clGetMemObjectInfo)(handle, what, size, value, size_out);
    if (status != CL_SUCCESS || !value || !find_source(handle, &buffer) || !buffer.memory)
        return status;
    if (what == CL_MEM_FLAGS)
        *(cl_mem_flags *)value = (*(cl_mem_flags *)value & ~HOST_FLAGS) | buffer.host_flags;
    else if (what == CL_MEM_HOST_PTR)
        *(void **)value = buffer.host;
    else if (what == CL_MEM_USES_SVM_POINTER)
        *(cl_bool *)value = buffer.host && !buffer.shadow;
    return status;
}
