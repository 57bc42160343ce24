/* farfault/farfault.h - managed memory, streams and launches on the software device.
 *
 * A context holds one managed address space and one or more software devices, each with a memory
 * budget. Memory from ff_mem_alloc() may be larger than the budget: it lives on the host tier
 * and comes to a device, page by page, when a kernel (or any other thread, or a system call)
 * touches it. Any thread may call any function unless it says otherwise.
 *
 * Functions that can fail return 0 or a negative errno and, where they take a `struct ff_error
 * *`, one line that says what is wrong and what would be right (NULL: not wanted). The library
 * never prints, exits or aborts. */
#ifndef FARFAULT_H
#define FARFAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FF_API __attribute__((visibility("default")))

struct ff_context;
struct ff_stream;

struct ff_error {
    char message[256];
};

/* ---- contexts ---- */

enum ff_mechanism {
    FF_MECHANISM_AUTO, /* MOVE where the kernel has it (Linux 6.8), else COPY */
    FF_MECHANISM_MOVE, /* whole blocks are copied into a frame, which is moved into place */
    FF_MECHANISM_COPY, /* UFFDIO_COPY in; write-protect, copy, unmap out */
};

enum ff_handler {
    FF_HANDLER_ADAPTIVE, /* spin for a while after a fault, then sleep (standard) */
    FF_HANDLER_SLEEP,    /* always sleep in poll(2): least CPU, slowest faults */
    FF_HANDLER_SIGBUS,   /* the faulting thread serves itself from a SIGBUS handler: fastest faults,
                            but system calls that meet an absent page fail with EFAULT */
};

/* One direction of a paced link; all zero: as fast as this machine copies. */
struct ff_link {
    double bytes_per_second;
    uint64_t latency_ns;
};

enum ff_log_level { FF_LOG_WARNING, FF_LOG_INFO };
typedef void (*ff_log_fn)(void *user, enum ff_log_level level, const char *message);

/* What a context is made of. ff_config_init() fills in the standard values; strings are borrowed
 * during ff_open(). */
struct ff_config {
    const char *system; /* "nvidia", "nvidia-1:thrashing=0", ... : see `farfault list systems` */
    const char *policy_file; /* shared object with more policies, or NULL */
    uint64_t memory;  /* budget of each device in bytes, a multiple of 2 MiB after rounding down */
    uint32_t devices; /* 1..8 */
    uint32_t workers; /* threads that run C kernels, per device; 0: one a CPU */
    uint32_t
        fault_workers; /* threads that serve faults, at most 8; 0: as many as CPUs, at least 2 */
    enum ff_mechanism mechanism;
    enum ff_handler handler;
    uint64_t spin_ns;       /* how long an adaptive handler spins after it served a fault */
    const char *host_file;  /* the host tier's file (created and unlinked at once), NULL for RAM */
    uint64_t address_space; /* bytes of managed addresses; bounds the sum of all allocations */
    struct ff_link link;    /* host link of each device, both ways */
    uint64_t seed;          /* for policies that draw random numbers */
    const char *record;     /* a trace of the run to write (farfault/trace.h), NULL for none; "%p"
                               in it becomes the process ID */
    bool check;             /* verify every invariant after every event (slow; for tests) */
    ff_log_fn log;          /* NULL: silent */
    void *log_user;
};

FF_API void ff_config_init(struct ff_config *config);

/* Sets one entry from text: "memory", "256M". Names are those of the FARFAULT_* environment
 * variables in lower case (`farfault run --help`). `value` must outlive the config. -EINVAL:
 * unknown name or bad value. */
FF_API int ff_config_set(struct ff_config *config, const char *name, const char *value,
                         struct ff_error *error);

/* Applies every FARFAULT_* variable that is set. */
FF_API int ff_config_from_environment(struct ff_config *config, struct ff_error *error);

/* Whether every FARFAULT_* variable that is set is one that something in farfault reads. -EINVAL: one is not, and the
 * message names the one that was probably meant. */
FF_API int ff_environment_check(struct ff_error *error);

/* Errors of the file to record to are those of ff_trace_create(). -EINVAL: bad configuration. -EPERM: no right to use userfaultfd. -ENOSYS: the kernel lacks it
 * or a needed feature. -ENOMEM, -ENOSPC: the budget, the addresses or the host file do not fit.
 * The caller owns *out: ff_close(). */
FF_API int ff_open(const struct ff_config *config, struct ff_context **out, struct ff_error *error);

/* Frees everything, managed memory included. No kernel may run and nobody may touch managed
 * memory any more. */
FF_API void ff_close(struct ff_context *context);

/* ---- memory ---- */

/* Managed memory of `size` bytes that reads as zeros, 2 MiB aligned. -EINVAL: size 0. -ENOMEM:
 * no addresses left. -ENOSPC: the host file has no room. */
FF_API int ff_mem_alloc(struct ff_context *context, size_t size, void **out);

/* `pointer` must come from ff_mem_alloc (NULL is fine) and nobody may use it any more. -EINVAL
 * otherwise. */
FF_API int ff_mem_free(struct ff_context *context, void *pointer);

/* Whether `pointer` lies in a live managed allocation; then *base and *size (may be NULL)
 * describe it. */
FF_API bool ff_mem_lookup(struct ff_context *context, const void *pointer, void **base,
                          size_t *size);

/* Whether any of [pointer, pointer + size) is an address of the context's: of its managed memory, or of
 * what stands behind it. Memory there must not be locked, moved or unmapped. */
FF_API bool ff_context_owns(struct ff_context *context, const void *pointer, size_t size);

/* Copies `size` bytes into managed memory without making them resident: what is on a device is
 * overwritten there, the rest goes to the host tier. The range must be inside one allocation
 * (-EINVAL). Not atomic against other writers. */
FF_API int ff_mem_write(struct ff_context *context, void *to, const void *from, size_t size);

/* Hint: bring [pointer, pointer + size) to the device, in the background. Advice: what does not
 * fit is dropped. */
FF_API int ff_mem_prefetch(struct ff_context *context, const void *pointer, size_t size,
                           uint32_t device);

enum ff_advice_kind {
    FF_ADVISE_DISCARD,   /* content of whole pages inside is dead: drop it; it reads as zeros or old
                          data afterwards */
    FF_ADVISE_OVERWRITE, /* whole pages inside are written before they are read: what is on no
                            device need not be brought there */
    FF_ADVISE_EVICT,     /* will not be used for long: send it to the host now */
    FF_ADVISE_HOME,      /* `device` is where kernels will use it */
    /* An allocator of the application has taken the memory back, and will not ask for its content. It
     * stays where it is until the room is needed, and then is dropped instead of copied, under a
     * system that does so (discard=inactive). */
    FF_ADVISE_INACTIVE,
    FF_ADVISE_ACTIVE, /* in use again; to be said before the first write */
};
FF_API int ff_mem_advise(struct ff_context *context, const void *pointer, size_t size,
                         enum ff_advice_kind advice, uint32_t device);

/* ---- streams and launches ---- */

/* Launches on a stream run in order; streams run side by side. */
FF_API int ff_stream_create(struct ff_context *context, uint32_t device, struct ff_stream **out);

/* Waits for the stream's work, then frees it. */
FF_API void ff_stream_destroy(struct ff_stream *stream);

/* Waits until everything launched on the stream has finished. */
FF_API void ff_stream_synchronize(struct ff_stream *stream);

/* One work item of a launch: it does the items [first, end) of the grid of `count`. */
struct ff_work {
    size_t first, end, count;
    uint32_t device, worker;
};
typedef void (*ff_kernel_fn)(const struct ff_work *work, void *arguments);

struct ff_launch {
    const char *name; /* with the arguments: which execution ID this launch has */
    ff_kernel_fn kernel;
    size_t grid;  /* number of items */
    size_t chunk; /* items a worker takes at a time; 0: grid / (4 x workers) */
    const void *arguments;
    size_t argument_size;        /* copied at the call */
    const void *const *operands; /* managed pointers that the kernel uses, or NULL if unknown */
    size_t operand_count;
};
/* -EINVAL: no kernel, empty grid, or an operand that is not managed. -ENOMEM. */
FF_API int ff_kernel_launch(struct ff_stream *stream, const struct ff_launch *launch);

/* For runtimes that run kernels themselves (the OpenCL preload): a kernel with this identity
 * begins, and ends, on the device. `identity` is a hash of name and arguments; equal means the
 * same execution ID. The name is for recordings, or NULL. Operands as above. */
FF_API void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                            const char *name, const void *const *operands, size_t operand_count);
FF_API void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity);

/* ---- recording ---- */

/* Ends the recording that ff_config.record has asked for: the trace gets its name, and what comes
 * later is not in it. ff_close() does so too; a process that ends without either leaves only an
 * unfinished PATH.PID-N.part. 0 if nothing was recorded; or the first error of writing, which was
 * logged as a warning when it occurred, with no trace left. */
FF_API int ff_record_finish(struct ff_context *context);

/* ---- statistics ---- */

/* Counters since ff_open(), all devices together. */
struct ff_stats {
    uint64_t faults;              /* far faults served: pages that were asked for and absent */
    uint64_t write_faults;        /* first writes to clean pages */
    uint64_t spurious;            /* fault messages whose page had arrived meanwhile */
    uint64_t batches;             /* groups of faults served together */
    uint64_t populated;           /* pages given their first frame (read as zeros) */
    uint64_t pages_in, pages_out; /* pages whose bytes were copied to, from a device */
    uint64_t pages_dropped;       /* evicted as the host had them: no copy */
    uint64_t prefetched;          /* pages brought in without having faulted */
    /* Of these, accessed before they left, and not; 0 where accesses cannot be seen. */
    uint64_t prefetch_used, prefetch_useless;
    uint64_t refaults;       /* faulted pages that had been evicted before */
    uint64_t evictions;      /* blocks */
    uint64_t advice_dropped; /* pieces of advice that did not fit */
    uint64_t
        events_dropped; /* faults and evictions that learning was too slow to see; never launches */
    uint64_t launches;
    uint64_t demanded; /* pages of the operands of all launches */
    uint64_t fault_ns; /* time spent serving faults, summed over threads */
    uint64_t capacity, resident,
        resident_peak; /* bytes of device memory: budget, held now, most ever held */
    /* Bytes of device memory above the budget: what had to come although all that was there was pinned
     * by the kernel, for input and output. Now, and most ever. */
    uint64_t overshoot, overshoot_peak;
    uint64_t allocated, allocated_peak; /* bytes of managed memory */
    uint64_t host_held;                 /* bytes of host memory that back the host tier */
};

/* hit rate: demanded pages already resident / demanded, an upper bound where kernels touch only
 * parts of their operands; negative if no launch named operands. */
FF_API double ff_stats_hit_rate(const struct ff_stats *stats);

FF_API void ff_stats_read(struct ff_context *context, struct ff_stats *out);

/* Verifies every invariant now. 0, or -EUCLEAN with the first that broke, now or, with config.check, at any time
 * before: then it is farfault that is wrong, and results may be, too. */
FF_API int ff_check(struct ff_context *context, struct ff_error *error);

/* What was chosen at run time, in words for reports: "MOVE, adaptive, userfaultfd", valid until
 * ff_close(). */
FF_API const char *ff_context_describe(struct ff_context *context);

#ifdef __cplusplus
}
#endif

#endif
