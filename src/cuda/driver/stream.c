/* Streams: queues of commands on farfault's workers.
 *
 * A command goes to the stream's queue at once, unless one before it waits for a mark of another
 * stream that is not complete: then it is held, with all that follow, until the mark is. So no
 * worker ever waits. */
#include "cuda/driver/internal.h"

#include "base/clock.h"
#include "cuda/driver/graph.h"
#include "cuda/driver/working_set.h"
#include "preload/preload.h"
#include "runtime/stream.h"

#include <stdlib.h>
#include <string.h>

struct ff__event ff__cuda_completed;

/* ---- marks ---- */

struct ff__cuda_mark *ff__cuda_mark_make(void) {
    struct ff__cuda_mark *mark = calloc(1, sizeof *mark);
    if (mark != NULL)
        mark->users = 1;
    return mark;
}

void ff__cuda_mark_release(struct ff__cuda_mark *mark) {
    if (mark != NULL && --mark->users == 0)
        free(mark);
}

static CUresult start(CUstream stream, const struct ff__cuda_command *command);

/* Starts what was held, up to the next command that waits. */
static void let_go(CUstream stream) {
    struct ff__cuda_command *command = stream->first;
    while (command != NULL) {
        if (command->kind == FF_CUDA_WAIT && !command->mark->complete) {
            stream->next_waiter = command->mark->waiters;
            command->mark->waiters = stream;
            break;
        }
        CUresult result = CUDA_SUCCESS;
        if (command->kind == FF_CUDA_WAIT)
            ff__cuda_mark_release(command->mark);
        else
            result = start(stream, command);
        if (result != CUDA_SUCCESS) /* nobody is there who could be told */
            __atomic_store_n(&stream->context->error, result, __ATOMIC_RELAXED);
        struct ff__cuda_command *next = command->next;
        free(command);
        command = next;
    }
    stream->first = command;
    if (command == NULL)
        stream->last = NULL;
}

static void complete(const struct ff_work *work, void *argument) {
    struct ff__cuda_mark *mark = *(struct ff__cuda_mark **)argument;
    (void)work;
    ff__clock_mark();
    ff__lock_acquire(&ff__cuda_lock);
    mark->complete = true;
    mark->stream->done = mark->number;
    mark->ns = ff__clock_ns();
    for (CUstream stream = mark->waiters, next; stream != NULL; stream = next) {
        next = stream->next_waiter;
        let_go(stream);
    }
    mark->waiters = NULL;
    ff__cuda_mark_release(mark);
    ff__event_tell(&ff__cuda_completed);
    ff__lock_release(&ff__cuda_lock);
}

/* ---- what workers do ---- */

_Thread_local bool ff__cuda_is_calling;

static void copy_part(const struct ff_work *work, void *argument) {
    const struct ff__cuda_copy *copy = argument;
    for (size_t i = work->first; i < work->end; i++)
        ff__cuda_copy_part(copy, i);
}

static void copy_begin(const struct ff_work *work, void *argument) {
    (void)work;
    ff__cuda_copy_begin(argument);
}

static void set_begin(const struct ff_work *work, void *argument) {
    (void)work;
    ff__cuda_set_begin(argument);
}

static void set_part(const struct ff_work *work, void *argument) {
    const struct ff__cuda_set *set = argument;
    for (size_t i = work->first; i < work->end; i++)
        ff__cuda_set_part(set, i);
}

static void call(const struct ff_work *work, void *argument) {
    const struct ff__cuda_call *call = argument;
    CUresult status = CUDA_SUCCESS;
    (void)work;
    if (call->call != NULL) {
        call->call(call->stream, call->user);
        return;
    }
    if (call->context != NULL)
        status = ff__cuda_module_errors(call->context);
    ff__cuda_is_calling = true;
    if (call->callback != NULL)
        call->callback(call->stream, status, call->user);
    else if (status == CUDA_SUCCESS)
        call->program(call->user);
    ff__cuda_is_calling = false;
}

static CUresult run(CUstream stream, ff_kernel_fn function, size_t items, const void *arguments,
                    size_t size) {
    const struct ff_launch launch = {
        .kernel = function, .grid = items, .arguments = arguments, .argument_size = size};
    return items == 0 ? CUDA_SUCCESS
                      : ff__cuda_result(ff__stream_run(stream->queue, &launch), NULL);
}

static CUresult launch(CUstream stream, const struct ff__cuda_command *command) {
    struct ff_error error;
    ff__cuda_working_set_predict(command->kernel.function, stream, &command->kernel.launch);
    int code = ff__ptx_launch(ff__cuda_farfault(), stream->queue, command->kernel.function->kernel,
                              &command->kernel.launch, &error);
    ff__cuda_working_set_forget(stream);
    return ff__cuda_result(code, &error);
}

static CUresult start_copy(CUstream stream, const struct ff__cuda_copy *copy) {
    size_t parts = ff__cuda_copy_parts(copy);
    CUresult result = run(stream, copy_begin, ff__cuda_copy_has_begin(copy), copy, sizeof *copy);
    return result == CUDA_SUCCESS ? run(stream, copy_part, parts, copy, sizeof *copy) : result;
}

static CUresult start_set(CUstream stream, const struct ff__cuda_set *set) {
    size_t parts = ff__cuda_set_parts(set);
    bool begins = parts != 0 && ff__cuda_set_has_begin(set);
    CUresult result = run(stream, set_begin, begins, set, sizeof *set);
    return result == CUDA_SUCCESS ? run(stream, set_part, parts, set, sizeof *set) : result;
}

/* Puts a command that does not wait into the stream's queue. */
static CUresult start(CUstream stream, const struct ff__cuda_command *command) {
    stream->started++;
    switch (command->kind) {
    case FF_CUDA_KERNEL:
        return launch(stream, command);
    case FF_CUDA_NATIVE:
        return ff__cuda_native_start(stream, &command->native);
    case FF_CUDA_COPY:
        return start_copy(stream, &command->copy);
    case FF_CUDA_SET:
        return start_set(stream, &command->set);
    case FF_CUDA_CALL:
        return run(stream, call, 1, &command->call, sizeof command->call);
    default:
        command->mark->stream = stream;
        command->mark->number = stream->started;
        return run(stream, complete, 1, &command->mark, sizeof(struct ff__cuda_mark *));
    }
}

/* ---- appending ---- */

const void **ff__cuda_parameters(struct ff__cuda_command *command, size_t *size) {
    *size = 0;
    if (command->kind == FF_CUDA_KERNEL) {
        *size = command->kernel.launch.parameter_size;
        return &command->kernel.launch.parameters;
    }
    if (command->kind != FF_CUDA_NATIVE)
        return NULL;
    *size = command->native.size;
    return &command->native.argument;
}

void ff__cuda_parameters_free(struct ff__cuda_command *command) {
    size_t size;
    const void **parameters = ff__cuda_parameters(command, &size);
    if (parameters != NULL)
        free((void *)*parameters);
}

static CUresult hold(CUstream stream, const struct ff__cuda_command *command) {
    struct ff__cuda_command all = *command;
    size_t size;
    const void **parameters = ff__cuda_parameters(&all, &size);
    struct ff__cuda_command *copy = malloc(sizeof *copy + size);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (size != 0)
        *parameters = memcpy(copy + 1, *parameters, size);
    *copy = all;
    copy->next = NULL;
    if (stream->last != NULL)
        stream->last->next = copy;
    else
        stream->first = copy;
    stream->last = copy;
    return CUDA_SUCCESS;
}

static CUresult append(CUstream stream, const struct ff__cuda_command *command) {
    bool waits = command->kind == FF_CUDA_WAIT;
    if (stream->first == NULL && waits && command->mark->complete) {
        ff__cuda_mark_release(command->mark);
        return CUDA_SUCCESS;
    }
    if (stream->first == NULL && !waits)
        return start(stream, command);
    bool is_first = stream->first == NULL;
    CUresult result = hold(stream, command);
    if (result == CUDA_SUCCESS && is_first)
        let_go(stream);
    return result;
}

/* A mark is complete a moment before its command leaves the queue: whoever has seen that must find
 * the stream idle. */
bool ff__cuda_stream_is_idle(CUstream stream) {
    return stream->first == NULL &&
           (stream->done == stream->started || ff__stream_is_idle(stream->queue));
}

/* `stream` goes on once all is done that `other` has now. */
static CUresult join(CUstream stream, CUstream other) {
    if (ff__cuda_stream_is_idle(other))
        return CUDA_SUCCESS;
    struct ff__cuda_mark *mark = ff__cuda_mark_make();
    if (mark == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mark->users++; /* the one of each command */
    struct ff__cuda_command command = {.kind = FF_CUDA_RECORD, .mark = mark};
    CUresult result = append(other, &command);
    if (result != CUDA_SUCCESS) {
        free(mark);
        return result;
    }
    command.kind = FF_CUDA_WAIT;
    result = append(stream, &command);
    if (result != CUDA_SUCCESS)
        ff__cuda_mark_release(mark);
    return result;
}

/* The legacy stream and the blocking ones of its context wait for each other. */
static CUresult join_legacy(CUstream stream) {
    CUstream legacy = stream->context->legacy;
    CUresult result = CUDA_SUCCESS;
    if ((stream->flags & CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_SUCCESS;
    if (stream != legacy)
        return join(stream, legacy);
    for (CUstream other = stream->context->streams; other != NULL; other = other->next)
        if (other != legacy && (other->flags & CU_STREAM_NON_BLOCKING) == 0 &&
            result == CUDA_SUCCESS)
            result = join(legacy, other);
    return result;
}

CUresult ff__cuda_submit(CUstream stream, const struct ff__cuda_command *command) {
    CUresult result = join_legacy(stream);
    return result == CUDA_SUCCESS ? append(stream, command) : result;
}

/* Memory of the host that the driver knows nothing of may be gone, or be other data, once the call
 * is back: as on a device, such a copy is done by then. */
static bool must_wait(const struct ff__cuda_command *command) {
    return command->kind == FF_CUDA_COPY &&
           (ff__cuda_find((uintptr_t)command->copy.to.address) == NULL ||
            ff__cuda_find((uintptr_t)command->copy.from.address) == NULL);
}

CUresult ff__cuda_enqueue(CUstream name, const struct ff__cuda_command *command) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__clock_start();
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_capture_check(stream);
    bool waits = result == CUDA_SUCCESS && stream->capture == NULL && must_wait(command);
    if (result == CUDA_SUCCESS && !waits)
        result = stream->capture != NULL ? ff__cuda_capture_command(stream, command)
                                         : ff__cuda_submit(stream, command);
    ff__lock_release(&ff__cuda_lock);
    return waits ? ff__cuda_execute(stream, command) : result;
}

/* A kernel that races says so once. */
static CUresult launch_twice(CUstream stream, const struct ff__cuda_command *command) {
    CUfunction function = command->kernel.function;
    struct ff_error error;
    int code = ff__ptx_launch_both(ff__cuda_farfault(), stream->queue, function->kernel,
                                   &command->kernel.launch, &error);
    if (code > 0 && !__atomic_exchange_n(&function->races, true, __ATOMIC_RELAXED))
        ff__say("%s", error.message);
    if (code >= 0)
        return CUDA_SUCCESS;
    CUresult result = ff__cuda_result(code, &error);
    __atomic_store_n(&stream->context->error, result, __ATOMIC_RELAXED);
    return result;
}

/* In the calling thread, once all before it is done. */
static CUresult execute_here(CUstream stream, const struct ff__cuda_command *command) {
    if (command->kind == FF_CUDA_KERNEL)
        return launch_twice(stream, command);
    if (command->kind == FF_CUDA_COPY) {
        for (size_t i = 0; i < ff__cuda_copy_parts(&command->copy); i++)
            ff__cuda_copy_part(&command->copy, i);
        return CUDA_SUCCESS;
    }
    ff__cuda_set_begin(&command->set);
    for (size_t i = 0; i < ff__cuda_set_parts(&command->set); i++)
        ff__cuda_set_part(&command->set, i);
    return CUDA_SUCCESS;
}

CUresult ff__cuda_execute(CUstream name, const struct ff__cuda_command *command) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__clock_start();
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_capture_check(stream);
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (result == CUDA_SUCCESS)
        result = join_legacy(stream);
    if (result == CUDA_SUCCESS)
        ff__cuda_stream_wait(stream);
    ff__lock_release(&ff__cuda_lock);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_module_errors(context);
    if (result == CUDA_SUCCESS)
        result = execute_here(stream, command);
    ff__clock_stop();
    return result;
}

/* ---- waiting ---- */

/* What is held goes to the queue as marks are completed. */
void ff__cuda_stream_wait(CUstream stream) {
    stream->users++;
    while (stream->first != NULL)
        ff__event_wait(&ff__cuda_completed, &ff__cuda_lock);
    ff__lock_release(&ff__cuda_lock);
    ff_stream_synchronize(stream->queue);
    ff__lock_acquire(&ff__cuda_lock);
    stream->users--;
}

/* ---- names ---- */

static _Thread_local bool per_thread;

/* The calling thread's streams, one a context. */
struct own_stream {
    struct own_stream *next;
    CUcontext context;
    CUstream stream;
};
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void free_own(void *list) {
    if (ff__in_child())
        return;
    ff__lock_acquire(&ff__cuda_lock);
    for (struct own_stream *own = list, *next; own != NULL; own = next) {
        next = own->next;
        if (!ff__cuda_is_destroyed(own->context))
            ff__cuda_stream_end(own->stream);
        free(own);
    }
    ff__lock_release(&ff__cuda_lock);
}

static void make_own_key(void) {
    pthread_key_create(&own_key, free_own);
}

static CUresult own_stream(CUcontext context, CUstream *out) {
    pthread_once(&own_once, make_own_key);
    struct own_stream *first = pthread_getspecific(own_key);
    for (struct own_stream *own = first; own != NULL; own = own->next)
        if (own->context == context) {
            *out = own->stream;
            return CUDA_SUCCESS;
        }
    struct own_stream *own = malloc(sizeof *own);
    if (own == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ff__lock_release(&ff__cuda_lock);
    CUresult result = ff__cuda_stream_make(context, CU_STREAM_DEFAULT, 0, &own->stream);
    ff__lock_acquire(&ff__cuda_lock);
    if (result != CUDA_SUCCESS) {
        free(own);
        return result;
    }
    own->next = first;
    own->context = context;
    pthread_setspecific(own_key, own);
    *out = own->stream;
    return CUDA_SUCCESS;
}

void ff__cuda_per_thread(bool on) {
    per_thread = on;
}

CUresult ff__cuda_stream(CUcontext context, CUstream name, CUstream *out) {
    if (name == CU_STREAM_PER_THREAD || (name == NULL && per_thread))
        return own_stream(context, out);
    if (name == NULL || name == CU_STREAM_LEGACY) {
        *out = context->legacy;
        return CUDA_SUCCESS;
    }
    for (CUstream stream = context->streams; stream != NULL; stream = stream->next)
        if (stream == name && !stream->is_ended) {
            *out = stream;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_HANDLE;
}

/* ---- making and ending ---- */

CUresult ff__cuda_stream_make(CUcontext context, unsigned flags, int priority, CUstream *out) {
    static uint64_t made; /* atomic */
    CUstream stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
    stream->id = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    int status = ff_stream_create(ff__cuda_farfault(), (uint32_t)context->device, &stream->queue);
    if (status != 0) {
        free(stream);
        return ff__cuda_result(status, NULL);
    }
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_streams_sweep(context);
    stream->next = context->streams;
    context->streams = stream;
    ff__lock_release(&ff__cuda_lock);
    *out = stream;
    return CUDA_SUCCESS;
}

void ff__cuda_streams_sweep(CUcontext context) {
    for (CUstream *link = &context->streams; *link != NULL;) {
        CUstream stream = *link;
        if (!stream->is_ended || stream->users != 0 || !ff__cuda_stream_is_idle(stream)) {
            link = &stream->next;
            continue;
        }
        *link = stream->next;
        ff_stream_destroy(stream->queue);
        free(stream);
    }
}

void ff__cuda_stream_end(CUstream stream) {
    ff__cuda_capture_drop(stream);
    stream->is_ended = true;
    ff__cuda_streams_sweep(stream->context);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    CUcontext context;
    if (stream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_enter(&context);
    return result == CUDA_SUCCESS ? ff__cuda_stream_make(context, flags, priority, stream) : result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult ff__cuda_stream_enter(CUstream name, CUstream *stream) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, stream);
    if (result != CUDA_SUCCESS)
        ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuStreamDestroy_v2(CUstream name) {
    CUstream stream;
    if (name == NULL || name == CU_STREAM_LEGACY || name == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    ff__cuda_stream_end(stream);
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

/* ---- the API ---- */

CUresult cuStreamQuery(CUstream name) {
    CUstream stream;
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_idle = ff__cuda_stream_is_idle(stream);
    bool is_captured = stream->capture != NULL;
    CUcontext context = stream->context;
    ff__lock_release(&ff__cuda_lock);
    if (is_captured)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!is_idle)
        return CUDA_ERROR_NOT_READY;
    ff__clock_stop();
    return ff__cuda_module_errors(context);
}

CUresult cuStreamSynchronize(CUstream name) {
    CUstream stream;
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_captured = stream->capture != NULL;
    /* the legacy stream is done when all that it waits for is */
    if (!is_captured && stream == stream->context->legacy)
        result = join_legacy(stream);
    CUcontext context = stream->context;
    if (!is_captured && result == CUDA_SUCCESS)
        ff__cuda_stream_wait(stream);
    ff__lock_release(&ff__cuda_lock);
    if (is_captured)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    ff__clock_stop();
    return result == CUDA_SUCCESS ? ff__cuda_module_errors(context) : result;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user,
                             unsigned flags) {
    struct ff__cuda_command command = {
        .kind = FF_CUDA_CALL,
        .call = {
            .callback = callback, .context = ff__cuda_current(), .stream = stream, .user = user}};
    if (callback == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return ff__cuda_enqueue(stream, &command);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user) {
    struct ff__cuda_command command = {
        .kind = FF_CUDA_CALL,
        .call = {.program = function, .context = ff__cuda_current(), .user = user}};
    if (function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return ff__cuda_enqueue(stream, &command);
}

/* ---- what they say of themselves ---- */

/* With the lock, if it succeeds. */
static CUresult enter_to(const void *out, CUstream name, CUstream *stream) {
    return out == NULL ? CUDA_ERROR_INVALID_VALUE : ff__cuda_stream_enter(name, stream);
}

static CUresult leave(CUresult result) {
    if (result == CUDA_SUCCESS)
        ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuStreamGetPriority(CUstream name, int *priority) {
    CUstream stream;
    CUresult result = enter_to(priority, name, &stream);
    if (result == CUDA_SUCCESS)
        *priority = stream->priority;
    return leave(result);
}

CUresult cuStreamGetFlags(CUstream name, unsigned *flags) {
    CUstream stream;
    CUresult result = enter_to(flags, name, &stream);
    if (result == CUDA_SUCCESS)
        *flags = stream->flags;
    return leave(result);
}

CUresult cuStreamGetCtx(CUstream name, CUcontext *context) {
    CUstream stream;
    CUresult result = enter_to(context, name, &stream);
    if (result == CUDA_SUCCESS)
        *context = stream->context;
    return leave(result);
}

CUresult cuStreamGetCtx_v2(CUstream name, CUcontext *context, CUgreenCtx *green) {
    if (green != NULL)
        *green = NULL;
    return cuStreamGetCtx(name, context);
}

CUresult cuStreamGetId(CUstream name, unsigned long long *id) {
    CUstream stream;
    CUresult result = enter_to(id, name, &stream);
    if (result == CUDA_SUCCESS)
        *id = stream->id;
    return leave(result);
}

CUresult cuStreamGetDevice(CUstream name, CUdevice *device) {
    CUcontext context;
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuStreamGetCtx(name, &context);
    if (result == CUDA_SUCCESS)
        *device = context->device;
    return result;
}

/* Managed memory is everyone's: nothing follows from it. */
CUresult cuStreamAttachMemAsync(CUstream name, CUdeviceptr address, size_t size, unsigned flags) {
    CUstream stream;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_stream_enter(name, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    const struct ff__cuda_allocation *allocation = ff__cuda_find(address);
    if (allocation == NULL || allocation->memory != FF_CUDA_MANAGED ||
        (size != 0 && size != allocation->size))
        result = CUDA_ERROR_INVALID_VALUE;
    ff__lock_release(&ff__cuda_lock);
    return result;
}
