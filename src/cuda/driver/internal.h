/* The CUDA driver of the software device (libcuda.so.1): what its files share.
 *
 * Addresses of the device are addresses of the process. Plain device memory is memory of the
 * process that counts against the device's size; managed memory is farfault's. Kernels are
 * translated PTX (src/ptx) and run on farfault's workers. Interfaces and results are those of the
 * CUDA driver API's documentation. */
#ifndef FF_CUDA_INTERNAL_H
#define FF_CUDA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF_CUDA_EXACT_NAMES
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "base/lock.h"
#include "cuda/driver/native.h"
#include "ptx/exec.h"

#include <farfault/farfault.h>

#define FF_CUDA_VERSION_OF_DRIVER 13000

/* ---- driver.c: start, and what calls begin with ---- */

/* Everything below that is not said to be a thread's own is guarded by it. */
extern struct ff__lock ff__cuda_lock;

/* CUDA_ERROR_NOT_INITIALIZED until cuInit(), and in a forked child; CUDA_ERROR_NOT_PERMITTED in
 * functions of the program that a stream calls. */
CUresult ff__cuda_started(void);
/* The thread's context, which has no error; else why there is none. */
CUresult ff__cuda_enter(CUcontext *out);
/* The same for calls with an argument that is needed: CUDA_ERROR_INVALID_VALUE, if it is NULL. */
CUresult ff__cuda_started_with(const void *needed);
CUresult ff__cuda_enter_with(const void *needed, CUcontext *context);
/* The same for calls that a capture of a stream may forbid: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
 * and the capture is invalid. */
CUresult ff__cuda_enter_unsafe(CUcontext *out);
/* Of a negative errno; the line is shown, once for each result. */
CUresult ff__cuda_result(int code, const struct ff_error *error);

/* ---- device.c ---- */

#define FF_CUDA_DEVICES 8

struct ff__cuda_device {
    CUcontext primary;
    uint32_t primary_users;
    unsigned primary_flags;
    uint64_t plain; /* bytes of plain memory, in units of 2 MiB */
    CUmemoryPool default_pool, pool;
};
extern struct ff__cuda_device ff__cuda_devices[FF_CUDA_DEVICES];

/* Opens the devices at the first call. */
CUresult ff__cuda_open(void);
struct ff_context *ff__cuda_farfault(void);
int ff__cuda_device_count(void);
uint64_t ff__cuda_device_memory(void); /* bytes of each */
/* Whether the memory of programs is plain, without a limit: for runs to compare with. */
bool ff__cuda_is_passive(void);
/* CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_NOT_INITIALIZED. */
CUresult ff__cuda_device_check(CUdevice device);
CUresult ff__cuda_device_check_with(const void *needed,
                                    CUdevice device); /* as ff__cuda_enter_with() */
int ff__cuda_attribute(CUdevice_attribute attribute); /* 0: unknown */

/* ---- context.c ---- */

struct CUctx_st {
    CUdevice device;
    unsigned flags;
    uint64_t id;
    CUresult error; /* atomic: a kernel failed, and nothing works any more */
    bool destroyed; /* atomic; its handle stays what it is */
    bool is_primary;
    struct CUctx_st *next; /* of all that were ever made */
    struct CUstream_st *streams, *legacy;
    struct CUmod_st *modules;
    size_t limits[CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED + 1];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    uint32_t peers;            /* bits of devices */
    struct ff__ptx_heap *heap; /* of device code, in managed memory; NULL: not used yet */
};

/* By `next`; the lock is held. */
extern CUcontext ff__cuda_contexts;
bool ff__cuda_is_destroyed(CUcontext context);
/* NULL: the thread has none. */
CUcontext ff__cuda_current(void);
/* A context whose only current thread may be this one. NULL: no memory. */
CUcontext ff__cuda_context_make(CUdevice device, unsigned flags, bool is_primary);
/* Waits for its work and frees what it has. */
void ff__cuda_context_end(CUcontext context);
/* Waits for all work of it; the error of a kernel that failed. */
CUresult ff__cuda_context_wait(CUcontext context);

/* ---- stream.c: queues of commands ---- */

/* A place in the order of a stream: complete once all before it is. */
struct ff__cuda_mark {
    uint32_t users;
    bool complete;
    uint64_t ns;                 /* when it was completed */
    struct CUstream_st *waiters; /* whose first command that is held waits for it */
    struct CUstream_st *stream;  /* whose command it is, once that is in the queue: the */
    uint64_t number;             /* number-th one */
};

enum ff__cuda_kind {
    FF_CUDA_KERNEL,
    FF_CUDA_NATIVE,
    FF_CUDA_COPY,
    FF_CUDA_SET,
    FF_CUDA_CALL, /* of a function of the driver's, or of the program's */
    FF_CUDA_RECORD,
    FF_CUDA_WAIT
};

/* Rows of rows of bytes. */
struct ff__cuda_block {
    char *address;
    size_t pitch, slice; /* bytes from a row to the next, and from a layer of rows to the next */
};
struct ff__cuda_copy {
    struct ff__cuda_block to, from;
    size_t width, height, depth; /* bytes, rows, layers */
};
struct ff__cuda_set {
    struct ff__cuda_block to;
    size_t width, height; /* elements, rows */
    uint32_t value, size; /* of an element: 1, 2 or 4 bytes */
};
struct ff__cuda_call {
    void (*call)(CUstream stream, void *user);
    void (*program)(void *user); /* instead of `call` */
    CUstreamCallback callback;   /* instead of both */
    CUcontext context;           /* whose errors the program's function hears of; NULL: none */
    CUstream stream;
    void *user;
};

struct ff__cuda_command {
    struct ff__cuda_command *next;
    enum ff__cuda_kind kind;
    union {
        struct {
            CUfunction function;
            struct ff__ptx_launch launch; /* parameters: behind the command once it is held */
        } kernel;
        struct ff__cuda_native native; /* argument: as the parameters of a kernel */
        struct ff__cuda_copy copy;
        struct ff__cuda_set set;
        struct ff__cuda_call call;
        struct ff__cuda_mark *mark;
    };
};

/* What a command points to, and its copies have copies of: parameters. NULL: it has none. */
const void **ff__cuda_parameters(struct ff__cuda_command *command, size_t *size);
void ff__cuda_parameters_free(struct ff__cuda_command *command);

struct CUstream_st {
    CUcontext context;
    struct CUstream_st *next; /* of the context */
    bool is_ended;            /* its name means nothing any more; it goes when it is idle */
    uint32_t users;           /* threads that wait for it */
    unsigned flags;
    int priority;
    uint64_t id;
    struct ff_stream *queue;               /* what can run, in its order */
    uint64_t started, done;                /* commands in all; up to the last complete mark */
    struct ff__cuda_command *first, *last; /* held: the first one waits */
    struct CUstream_st *next_waiter;       /* for the same mark */
    struct ff__cuda_capture *capture;      /* NULL: none */
    struct CUgraphNode_st **tail;          /* of a capture: what the next node comes behind */
    uint32_t tail_count;
};

/* Streams by the names that programs have for them: 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD
 * are the context's and the thread's. */
CUresult ff__cuda_stream(CUcontext context, CUstream name, CUstream *out);
/* Enters and finds the stream: then the lock is held. */
CUresult ff__cuda_stream_enter(CUstream name, CUstream *stream);
/* In the thread's flavours of functions 0 is the thread's stream. */
void ff__cuda_per_thread(bool on);

/* Enters, finds the stream and appends the command, or a node to the graph that is recorded. Copies
 * of parameters are made. */
CUresult ff__cuda_enqueue(CUstream stream, const struct ff__cuda_command *command);
/* The same, and waits for it; not while a graph is recorded. A kernel runs twice, by both
 * schedules, and one line says whether its results differ. */
CUresult ff__cuda_execute(CUstream stream, const struct ff__cuda_command *command);
/* Appends it; the lock is held. */
CUresult ff__cuda_submit(CUstream stream, const struct ff__cuda_command *command);
/* Waits until all is done. The lock is held, and given up meanwhile. */
void ff__cuda_stream_wait(CUstream stream);
bool ff__cuda_stream_is_idle(CUstream stream); /* the lock is held */
CUresult ff__cuda_stream_make(CUcontext context, unsigned flags, int priority, CUstream *out);
/* What it has to do is done all the same. The lock is held. */
void ff__cuda_stream_end(CUstream stream);
/* Frees those that have ended and are idle. The lock is held. */
void ff__cuda_streams_sweep(CUcontext context);
/* Whether this thread is in a function of the program that a stream calls. */
extern _Thread_local bool ff__cuda_is_calling;

/* NULL: no memory. */
struct ff__cuda_mark *ff__cuda_mark_make(void);
void ff__cuda_mark_release(struct ff__cuda_mark *mark); /* NULL: nothing; the lock is held */
/* Signals; the lock is held. */
extern struct ff__event ff__cuda_completed;

/* ---- copy.c ---- */

/* Parts that any threads may do at the same time. */
/* Before all parts of an upload or a set: what is managed will be written before it is read. The
 * first: whether there is anything to say. An upload is then written on the device. */
bool ff__cuda_copy_has_begin(const struct ff__cuda_copy *copy);
void ff__cuda_copy_begin(const struct ff__cuda_copy *copy);
size_t ff__cuda_copy_parts(const struct ff__cuda_copy *copy);
void ff__cuda_copy_part(const struct ff__cuda_copy *copy, size_t number);
bool ff__cuda_set_has_begin(const struct ff__cuda_set *set);
void ff__cuda_set_begin(const struct ff__cuda_set *set);
size_t ff__cuda_set_parts(const struct ff__cuda_set *set);
void ff__cuda_set_part(const struct ff__cuda_set *set, size_t number);

CUresult ff__cuda_copy_of(const CUDA_MEMCPY3D *params, struct ff__cuda_copy *out);
CUresult ff__cuda_set_of(const CUDA_MEMSET_NODE_PARAMS *params, struct ff__cuda_set *out);

/* ---- event.c ---- */

struct CUevent_st {
    CUcontext context;
    unsigned flags;
    struct ff__cuda_mark *mark;       /* of the last record; NULL: there was none */
    struct ff__cuda_capture *capture; /* the last record was in it, behind these nodes */
    struct CUgraphNode_st **captured;
    uint32_t captured_count;
};

/* The lock is held. */
CUresult ff__cuda_event_record(CUstream stream, CUevent event);
CUresult ff__cuda_event_wait(CUstream stream, CUevent event);

/* ---- module.c ---- */

struct CUfunc_st {
    CUmodule module; /* NULL: of none, it is a function of the processor */
    const struct ff__ptx_function *code;
    struct ff__ptx_kernel *kernel; /* atomic; NULL: not loaded yet */
    const char *name;
    int (*native)(void *argument);       /* NULL: of a module */
    bool races;                          /* atomic: it was said */
    struct ff__working_set *working_set; /* NULL: not looked for (working_set.h) */
    int dynamic_shared; /* bytes that a launch may ask for, if the program said so; else -1 */
};
/* What a launch may ask for; the function is loaded. */
int ff__cuda_dynamic_shared(CUfunction function);

struct CUmod_st {
    CUcontext context;          /* NULL: of a library, for all contexts */
    CUmodule next, next_of_all; /* of the context; of all */
    struct ff__ptx_program *program;
    struct CUfunc_st *functions; /* [function_count] */
    uint32_t function_count;
    uint32_t version, arch; /* of the PTX */
    struct CUlib_st *library;
    bool brings;    /* what launches access is brought before they begin */
    bool allocates; /* its code may call malloc() */
};

/* An error of the context's kernels, if there is one: the context has it from now on. The lock is
 * free. */
CUresult ff__cuda_module_errors(CUcontext context);
void ff__cuda_module_end(CUmodule module);
/* The PTX in an image that fits the device best, which the caller frees.
 * CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE. */
CUresult ff__cuda_text_of(const void *bytes, size_t size, char **text, size_t *text_size);
/* A whole file, with a zero behind it; the caller frees it. CUDA_ERROR_FILE_NOT_FOUND. */
CUresult ff__cuda_read_file(const char *path, char **out, size_t *size);
/* There is nothing to say in the logs that these options ask for. */
void ff__cuda_empty_logs(unsigned count, const CUjit_option *options, void **values);

/* ---- launch.c ---- */

/* A launch as a command; its block of parameters is laid out as PTX says, from pointers to each or
 * from a buffer, and the caller frees it (ff__cuda_parameters_free()). */
CUresult ff__cuda_launch_of(const CUDA_KERNEL_NODE_PARAMS *params, bool cooperative,
                            struct ff__cuda_command *out);

/* ---- native.c ---- */

/* Puts it into the stream's queue. */
CUresult ff__cuda_native_start(CUstream stream, const struct ff__cuda_native *kernel);
/* What programs know such a kernel by, whose one parameter is its argument: the same for all
 * launches, as long as the process. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult ff__cuda_native_function(const struct ff__cuda_native *kernel, CUfunction *out);

/* ---- memory.c ---- */

enum ff__cuda_memory {
    FF_CUDA_PLAIN,
    FF_CUDA_MANAGED,
    FF_CUDA_HOST,
    FF_CUDA_REGISTERED,
    FF_CUDA_KERNELS /* asked for: managed memory that kernels and copies alone use */
};

struct ff__cuda_allocation {
    uintptr_t address;
    size_t size;
    enum ff__cuda_memory memory;
    unsigned flags; /* as the program gave them */
    CUcontext context;
    CUmemoryPool pool;                   /* NULL: of none */
    bool is_freed;                       /* a stream is to free it */
    struct ff__cuda_graph_memory *graph; /* of graphs that are there; NULL: of none */
    uint64_t id;
    /* What the program has advised; locations as CUmem_range_attribute returns them */
    bool read_mostly;
    int preferred, prefetched;
    uint32_t accessed_by;
};
/* Whether the range begins in memory of a device or of the host that the driver has made, and ends
 * behind it. The lock is free. */
bool ff__cuda_is_beyond(CUdeviceptr address, size_t size);
/* The one that the address lies in, or NULL. The lock is held. */
struct ff__cuda_allocation *ff__cuda_find(CUdeviceptr address);
CUresult ff__cuda_alloc(CUcontext context, size_t size, enum ff__cuda_memory memory, unsigned flags,
                        CUdeviceptr *out);
CUresult ff__cuda_alloc_for_kernels(CUdeviceptr *address, size_t size); /* native.h */
CUresult ff__cuda_free(CUdeviceptr address);
void ff__cuda_free_all(CUcontext context);
/* It has given out so many bytes more. The lock is held. */
void ff__cuda_pool_count(CUmemoryPool pool, int64_t bytes);
/* A pool ends, and what it has given out is of none from now on. The lock is held. */
void ff__cuda_pool_forget(CUmemoryPool pool);

/* ---- graph_memory.c ---- */

/* The program frees memory of a graph, which keeps it. False: it is not allocated. The lock is
 * held. */
bool ff__cuda_graph_memory_free(struct ff__cuda_graph_memory *memory);
/* What allocates for a stream that is captured: as the graph's. The lock is free. */
CUresult ff__cuda_capture_alloc(CUcontext context, CUstream stream, size_t size, bool is_managed,
                                CUdeviceptr *address);

/* ---- lookup.c ---- */

/* The function that a name means in a CUDA version, or NULL; `*known`: some version has it. */
void *ff__cuda_lookup(const char *name, int version, bool per_thread, bool *known);

#endif
