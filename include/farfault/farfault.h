/* farfault/farfault.h - managed memory, streams and launches on the software device.
 *
 * A context holds one managed address space and one or more software devices, each with a memory
 * budget. Memory from ff_mem_alloc() may be larger than the budget: it is kept on the host tier,
 * and its pages migrate to a device when a kernel (or any other thread, or a system call) accesses
 * them, or when a policy prefetches them.
 *
 * Errors: functions that can fail return 0 or a negative errno. Those with a `struct ff_error *`
 * (NULL: not wanted) also return one line that says what is wrong and what would be right. The
 * library never prints, exits or aborts; but an access to a page whose content is lost, or outside
 * every allocation, is what it is without the library: SIGBUS, SIGSEGV.
 *
 * Threads: any thread may call any function unless its comment says otherwise.
 *
 * Signals: docs/running.md has what FF_HANDLER_SIGBUS and _KERNELS ask of a program.
 *   - Handlers may access managed memory, whatever they interrupt. While a thread holds what others
 *     may wait for, it gets no signals and cannot be cancelled.
 *   - A handler may call ff_mem_lookup(), ff_context_owns(), ff_mem_write(), ff_mem_prefetch(),
 *     ff_mem_hint(), ff_launch_end(), ff_memory_limit(), ff_stats_read() and
 *     ff_stream_synchronize(). The others allocate memory.
 *   - ff_stream_synchronize() waits with signals. A handler may leave it, and accesses, by
 *     siglongjmp(). What any other function has allocated is lost then.
 *
 * Children: after fork(), or clone() without CLONE_VM, a child has no managed memory (an access
 * ends it with SIGSEGV) and no threads of the library.
 *   - On a context or stream of the parent, functions do nothing, at once: they return -EPERM, that
 *     they have found nothing, or counters of 0. Nothing is freed.
 *   - The child can open contexts of its own.
 *   - One that shares memory until it executes (vfork, posix_spawn) must call none of these
 *     functions.
 *
 * Sizes: a struct that the caller allocates may get more members later, at its end; programs need
 * not be compiled again. Inline functions pass its size to the functions named ff_*_sized(). A
 * member that the caller's struct lacks has its default, and is not returned. One that the library
 * does not know must be zero (else -E2BIG), and is returned as zero. struct ff_error, struct
 * ff_link and struct ff_work stay as they are. */
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
    FF_MECHANISM_AUTO, /* MOVE where Linux has it (6.8), else COPY */
    FF_MECHANISM_MOVE, /* whole blocks are copied into a frame, which is moved into place */
    FF_MECHANISM_COPY, /* UFFDIO_COPY in; write-protect, copy, unmap out */
};

enum ff_handler {
    FF_HANDLER_ADAPTIVE, /* spin for a while after a fault, then sleep */
    FF_HANDLER_SLEEP,    /* always sleep in poll(2): least CPU, slowest faults */
    FF_HANDLER_SIGBUS,   /* the faulting thread serves itself from a SIGBUS handler: fastest faults,
                            but system calls that access an absent page fail with EFAULT */
    FF_HANDLER_KERNELS,  /* default: SIGBUS in memory for kernels alone, else adaptive */
};

/* One direction of a paced link, 1 MB/s to 1000 TB/s and up to 1 s; all zero: as fast as this
 * machine copies. */
struct ff_link {
    double bytes_per_second;
    uint64_t latency_ns;
};

enum ff_log_level { FF_LOG_WARNING, FF_LOG_INFO };
typedef void (*ff_log_fn)(void *user, enum ff_log_level level, const char *message);

/* The configuration of a context. ff_config_init() fills in the defaults; strings are borrowed
 * during ff_open(). */
struct ff_config {
    size_t size; /* of the caller's struct; ff_config_init() sets it */
    /* "auto" (the default), "nvidia-1:thrashing=0", ... : see `farfault list systems` */
    const char *system;
    const char *policy_file; /* shared object with more policies, or NULL */
    uint64_t memory; /* budget of each device in bytes, a multiple of 2 MiB after rounding down */
    /* Bytes in which that is allocated: 2 MiB, 64 KiB or 4 KiB (docs/architecture.md) */
    uint64_t granule;
    uint32_t devices; /* 1..8 */
    uint32_t workers; /* threads that run C kernels, per device; 0: one per CPU */
    /* Threads that serve faults, at most 8; 0: as many as CPUs, at least 2. */
    uint32_t fault_workers;
    enum ff_mechanism mechanism;
    enum ff_handler handler;
    uint64_t spin_ns;       /* how long an adaptive handler spins after it served a fault */
    const char *host_file;  /* the host tier's file (created and unlinked at once), NULL for RAM */
    uint64_t address_space; /* bytes of managed addresses; bounds the sum of all allocations */
    struct ff_link link;    /* host link of each device, both ways */
    struct ff_link peer_link; /* between each two devices, both ways */
    /* The socket of a broker (farfaultd) through which to share devices, or NULL */
    const char *share;
    const char *share_device; /* the device of the broker to use; NULL: any one */
    uint64_t seed;            /* for policies that use random numbers */
    const char *record;       /* a trace of the run to write (farfault/trace.h), NULL for none; "%p"
                               in it becomes the process ID */
    /* Record what each launch touches first, page by page, whatever is resident: nothing is when a
     * launch begins. What is resident beyond `memory` leaves; then further touches of it are
     * recorded, too. Much slower than a run. Only with `record` and the system demand */
    bool touches;
    /* Record every access of kernels whose code is translated for it, and show policies their uses
     * as samples. Only with `record` */
    bool accesses;
    bool check;    /* verify every invariant after every event (slow; for tests) */
    bool explain;  /* the preload's summary ends with what ff_finding_read() has */
    ff_log_fn log; /* NULL: silent */
    void *log_user;
    /* The share of the time that this program gets where programs of a device take turns: 1 to 8
     * times that of one with 1, the default */
    uint64_t share_priority;
};

FF_API void ff_config_init_sized(struct ff_config *config, size_t size);
static inline void ff_config_init(struct ff_config *config) {
    ff_config_init_sized(config, sizeof *config);
}

/* Sets one entry from text: "memory", "256M". Names are those of the FARFAULT_* environment
 * variables in lower case (`farfault run --help`). `value` must outlive the config. -EINVAL:
 * unknown name or bad value, or the caller's struct has no such member. */
FF_API int ff_config_set(struct ff_config *config, const char *name, const char *value,
                         struct ff_error *error);

/* Applies every FARFAULT_* variable that is set. */
FF_API int ff_config_from_environment(struct ff_config *config, struct ff_error *error);

/* Whether every FARFAULT_* variable that is set is a known one. -EINVAL: one is not, and the
 * message names the nearest known one. */
FF_API int ff_environment_check(struct ff_error *error);

/* -EINVAL: bad configuration. -E2BIG: it sets a member that this version does not know. -EPERM: no
 * right to use userfaultfd. -ENOSYS: Linux lacks it or a needed feature, or has pages of another
 * size than 4 KiB. -ENOMEM, -ENOSPC: the budget, the addresses or the host file do not fit. Errors
 * of the recording's file are those of ff_trace_create(). The caller owns *out: ff_close(). */
FF_API int ff_open(const struct ff_config *config, struct ff_context **out, struct ff_error *error);

/* Frees everything, managed memory included. No kernel may be running, and no thread may access
 * managed memory any more. */
FF_API void ff_close(struct ff_context *context);

/* ---- memory ---- */

/* Managed memory of `size` bytes that reads as zeros, 2 MiB aligned; below 64 KiB, 4 KiB aligned:
 * such allocations share chunks of device memory, and each has pages of its own. -EINVAL: size 0.
 * -ENOMEM: no addresses left. -ENOSPC: the host file has no room. */
FF_API int ff_mem_alloc(struct ff_context *context, size_t size, void **out);

/* As ff_mem_alloc(), for what kernels and copies by the program's own code alone use: no system
 * call is given an address in it, nor is it unmapped, moved, protected or dropped by one. With
 * FF_HANDLER_KERNELS its faults cost least; otherwise it is as all memory. FF_HINT_SYSTEM_CALLS
 * ends that, FF_HINT_KERNELS makes it so again. */
FF_API int ff_mem_alloc_for_kernels(struct ff_context *context, size_t size, void **out);

/* `pointer` must come from ff_mem_alloc (NULL is allowed; otherwise -EINVAL), and no thread may use
 * it any more. */
FF_API int ff_mem_free(struct ff_context *context, void *pointer);

/* Whether `pointer` lies in a live managed allocation. If so, *base and *size (either may be NULL)
 * are set to the allocation's. */
FF_API bool ff_mem_lookup(struct ff_context *context, const void *pointer, void **base,
                          size_t *size);

/* Whether any of [pointer, pointer + size) is an address of the context: of its managed memory, or
 * of the memory that backs it. Memory there must not be locked, moved or unmapped. */
FF_API bool ff_context_owns(struct ff_context *context, const void *pointer, size_t size);

/* Copies `size` bytes into managed memory without migrating pages: pages on a device are
 * overwritten there, the others on the host tier. The range must be inside one allocation
 * (-EINVAL). Not atomic against other writers. */
FF_API int ff_mem_write(struct ff_context *context, void *to, const void *from, size_t size);

/* Hint: prefetch [pointer, pointer + size) to the device, in the background. Pages that do not fit
 * are not prefetched. */
FF_API int ff_mem_prefetch(struct ff_context *context, const void *pointer, size_t size,
                           uint32_t device);

/* What a program says of its own memory. */
enum ff_hint {
    /* The content of whole pages inside is dead and may be dropped; they read as zeros or old data
     * afterwards. */
    FF_HINT_DISCARD,
    /* Whole pages inside are written before they are read: those that are on no device need not be
     * copied there. */
    FF_HINT_OVERWRITE,
    FF_HINT_EVICT, /* will not be used for a long time: evict it to the host now */
    FF_HINT_HOME,  /* `device` is where kernels will use it */
    /* An allocator of the application has taken the memory back, and will not read its content. It
     * stays resident until it is evicted; a system with discard=inactive then does not copy it. */
    FF_HINT_INACTIVE,
    FF_HINT_ACTIVE, /* in use again; must be called before the first write */
    /* From now on system calls may be given addresses in the allocation, all of it
     * (ff_mem_alloc_for_kernels). What is on devices leaves them once. */
    FF_HINT_SYSTEM_CALLS,
    /* And from now on not any more, where it came from ff_mem_alloc_for_kernels; likewise. */
    FF_HINT_KERNELS,
};

/* Gives a hint on [pointer, pointer + size); `device` counts for FF_HINT_HOME alone. -EINVAL: no
 * such hint or device, or the memory is not in one allocation. -ENOMEM: no addresses for
 * FF_HINT_SYSTEM_CALLS or FF_HINT_KERNELS. -ENOSYS: the device does not tell kernels' memory from
 * other memory, or has too many ranges of it, and it stays as it was. */
FF_API int ff_mem_hint(struct ff_context *context, const void *pointer, size_t size,
                       enum ff_hint hint, uint32_t device);

/* ---- streams and launches ---- */

/* Launches on a stream run in order; different streams run concurrently. */
FF_API int ff_stream_create(struct ff_context *context, uint32_t device, struct ff_stream **out);

/* Waits for the stream's work, then frees it. */
FF_API void ff_stream_destroy(struct ff_stream *stream);

/* Waits until everything launched on the stream has finished. */
FF_API void ff_stream_synchronize(struct ff_stream *stream);

/* A part of a launch: the items [first, end) of its grid of `count` items. */
struct ff_work {
    size_t first, end, count;
    uint32_t device, worker;
};
typedef void (*ff_kernel_fn)(const struct ff_work *work, void *arguments);

struct ff_launch {
    const char *name; /* name and arguments determine the execution ID of the launch */
    ff_kernel_fn kernel;
    size_t grid;  /* number of items */
    size_t chunk; /* items a worker takes at a time; 0: grid / (4 x workers) */
    const void *arguments;
    size_t argument_size;        /* copied at the call */
    const void *const *operands; /* managed pointers that the kernel uses, or NULL if unknown */
    /* By operand: FF_STRIDE_HINT of farfault/policy.h where the kernel indexes it with a fixed
     * stride, else FF_STRIDE_UNKNOWN. It is a hint: what is wrong costs time only. NULL: all are
     * unknown */
    const uint8_t *strides;
    size_t operand_count;
    uint32_t ctas, warps; /* for recordings: thread blocks, and warps of each; 0, 0: unknown */
};
/* -EINVAL: no kernel, empty grid, or an operand that is not managed. -E2BIG, -ENOMEM. */
FF_API int ff_kernel_launch_sized(struct ff_stream *stream, const struct ff_launch *launch,
                                  size_t size);
static inline int ff_kernel_launch(struct ff_stream *stream, const struct ff_launch *launch) {
    return ff_kernel_launch_sized(stream, launch, sizeof *launch);
}

/* For runtimes that run kernels themselves (the OpenCL preload): a kernel with this identity
 * begins, and ends, on the device. `identity` is a hash of name and arguments; launches with the
 * same identity have the same execution ID. The name is for recordings, or NULL. Operands as above,
 * `strides` with any value of enum ff_stride. */
FF_API void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                            const char *name, const void *const *operands, const uint8_t *strides,
                            size_t operand_count);
FF_API void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity);

/* ---- recording ---- */

/* What a warp's instruction accesses of one page. */
struct ff_warp_access {
    const void *address; /* in the page */
    uint32_t cta, warp;
    uint32_t pc;           /* the same in every run, another one than in other kernels */
    uint32_t instructions; /* of the warp since its last access, this one included */
    uint32_t bytes;        /* 0: unknown */
    bool write;            /* it may read as well */
};

/* For runtimes that see every access of their kernels: whether ff_config.accesses asks for them;
 * and what a kernel has accessed, between ff_launch_begin() and ff_launch_end() of its launch. The
 * events of a warp come in its order. Those of one instruction are neighbours, and only the first
 * has instructions. One at no managed address, such as NULL, is recorded as work of the warp: its
 * instructions alone. */
FF_API bool ff_records_accesses(const struct ff_context *context);
FF_API void ff_record_accesses(struct ff_context *context, uint32_t device,
                               const struct ff_warp_access *accesses, size_t count);

/* Ends the recording that ff_config.record asked for: the trace gets its final name, and later
 * events are not in it. ff_close() does the same. A process that ends without either leaves only an
 * unfinished PATH.PID-N.part. Returns 0, also if nothing was recorded; or the first error of
 * writing. That error was logged as a warning when it occurred, and no trace is left. */
FF_API int ff_record_finish(struct ff_context *context);

/* ---- statistics ---- */

#define FF_DROP_REASONS 6

/* Counters since ff_open(), all devices together. */
struct ff_stats {
    uint64_t faults;              /* far faults served: pages that were accessed while absent */
    uint64_t write_faults;        /* first writes to clean pages */
    uint64_t spurious;            /* fault messages whose page had arrived meanwhile */
    uint64_t batches;             /* groups of faults served together */
    uint64_t populated;           /* pages that got their first frame (they read as zeros) */
    uint64_t pages_in, pages_out; /* pages copied to a device, from a device */
    uint64_t pages_lent;          /* pages evicted to another device that lends memory */
    uint64_t pages_fetched;       /* pages that came back from such a device */
    /* Bytes of other devices' memory that evicted pages take: now, and at most */
    uint64_t borrowed, borrowed_peak;
    /* Bytes of this program's device that other programs have borrowed through a broker: now, and
     * at most */
    uint64_t lent, lent_peak;
    uint64_t pages_written_back; /* of pages_out: copied while they stay */
    uint64_t pages_dropped; /* pages evicted without a copy, because the host had their content */
    uint64_t prefetched;    /* pages migrated to a device without a fault */
    /* Of these, accessed before their eviction, and not accessed; 0 where accesses are not
     * visible. */
    uint64_t prefetch_used, prefetch_useless;
    uint64_t refaults;                           /* faulted pages that had been evicted before */
    uint64_t evictions;                          /* blocks */
    uint64_t advice_applied;                     /* pieces of advice that were followed */
    uint64_t advice_dropped;                     /* pieces of advice that were not */
    uint64_t dropped_by_reason[FF_DROP_REASONS]; /* the same, by enum ff_drop of policy.h */
    /* Faults and evictions that a policy's `learn` was too slow to get; never launches */
    uint64_t events_dropped;
    uint64_t launches;
    uint64_t demanded; /* pages of the operands of all launches */
    uint64_t fault_ns; /* time spent serving faults, summed over threads */
    /* Bytes of device memory: the budget; held now; the most that was held */
    uint64_t capacity, resident, resident_peak;
    /* Bytes of device memory above the budget: pages that faulted while all resident ones were
     * pinned by Linux for input or output. Now, and largest ever. */
    uint64_t overshoot, overshoot_peak;
    uint64_t allocated, allocated_peak; /* bytes of managed memory */
    uint64_t host_held;    /* bytes of memory, or of the file, that the host tier takes */
    uint64_t batches_full; /* of these, found no free memory: an eviction went first */
    /* That launches have waited, while other programs of the device had their turn; those of the
     * same time once */
    uint64_t waited_ns;
    /* Pages that were mapped to be used from the host, each time; while one is, it does not count
     * again */
    uint64_t pages_mapped;
};

/* Changes how much of a device's memory may be used while the program runs, for instance because
 * another program needs some: at most what the device was opened with, in units of 2 MiB, rounded
 * down. What is above it leaves in the background; until then ff_stats.overshoot counts it.
 * -EINVAL: no such device, less than 2 MiB, or more than it was opened with. */
FF_API int ff_memory_limit(struct ff_context *context, uint32_t device, uint64_t bytes);

/* Hit rate: demanded pages that did not fault / demanded pages. It is an upper bound where kernels
 * access only parts of their operands. Negative if no launch named operands. */
FF_API double ff_stats_hit_rate(const struct ff_stats *stats);

FF_API void ff_stats_read_sized(struct ff_context *context, struct ff_stats *out, size_t size);
static inline void ff_stats_read(struct ff_context *context, struct ff_stats *out) {
    ff_stats_read_sized(context, out, sizeof *out);
}

/* Verifies every invariant now. 0; or -EUCLEAN with the first broken invariant, now or, with
 * config.check, at any time before. A broken invariant is a defect of farfault, and results may be
 * wrong. */
FF_API int ff_check(struct ff_context *context, struct ff_error *error);

/* What the policies have found out so far, for people: finding number `index`, of a kernel and an
 * allocation. */
struct ff_found {
    char kernel[64]; /* "": of none, or the launch named none */
    bool has_range;
    uint32_t range; /* the number of the allocation, in their order from 0 */
    size_t size;    /* of the allocation */
    char text[160];
};
/* False: there are no more. */
FF_API bool ff_finding_read_sized(struct ff_context *context, uint32_t index, struct ff_found *out,
                                  size_t size);
static inline bool ff_finding_read(struct ff_context *context, uint32_t index,
                                   struct ff_found *out) {
    return ff_finding_read_sized(context, index, out, sizeof *out);
}

/* What moved for launches of one kernel, or of one allocation. */
struct ff_moved {
    char kernel[64]; /* its name; of an allocation, that of the first kernel that named it; "":
                        unknown */
    uint32_t number; /* of an allocation: in their order, from 0 */
    bool is_strided; /* of an allocation: some launch says that it is indexed with a fixed stride */
    uint64_t size; /* bytes of the allocation; of a kernel, of all operands of its largest launch */
    /* Bytes of the allocation that have been on a device, whether they were accessed or came with
     * others; 0 for kernels */
    uint64_t touched;
    uint64_t launches; /* of the kernel; that named the allocation */
    uint64_t faults, refaults;
    uint64_t bytes_in, bytes_out, prefetched_bytes;
    uint64_t stall_ns; /* from the begin of a fault's service to its end, summed over faults */
};

#define FF_MOVED_MAX 16u

/* The worst come first: in the order of their stalls, then of the bytes that moved. Only struct
 * ff_moved may grow. */
struct ff_moved_list {
    uint32_t count;
    uint32_t rest_count;  /* those that are not in `worst` */
    struct ff_moved rest; /* their sum: no name and no number; of kernels no size either */
    struct ff_moved worst[FF_MOVED_MAX];
};

enum ff_moved_by {
    FF_MOVED_BY_KERNEL,     /* by name; the launches without one count as one */
    FF_MOVED_BY_ALLOCATION, /* those that were freed, too */
};

/* Faults and moves outside of launches count for allocations only. What left a device counts for
 * the kernel that ran there then, what came for the one that it came for. `size` is that of a
 * struct ff_moved. */
FF_API void ff_moved_read_sized(struct ff_context *context, enum ff_moved_by by,
                                struct ff_moved_list *out, size_t size);
static inline void ff_moved_read(struct ff_context *context, enum ff_moved_by by,
                                 struct ff_moved_list *out) {
    ff_moved_read_sized(context, by, out, sizeof out->rest);
}

/* A place in the program's code at which far faults are met. */
struct ff_place {
    double share;       /* of all faults that count, 0 to 1 */
    uint64_t offset;    /* in the object: what `addr2line -e OBJECT` takes; else the address */
    char function[128]; /* "": no name is known */
    char object[256];   /* the program or shared library; "": none that the linker knows */
};

/* The places with the most faults, at most `capacity`; returns how many there are. Where a signal
 * handler serves faults, each one counts; else one a millisecond does. 0 where a thread's place
 * cannot be seen (no /proc). */
FF_API uint32_t ff_places_read_sized(struct ff_context *context, struct ff_place *out,
                                     uint32_t capacity, size_t size);
static inline uint32_t ff_places_read(struct ff_context *context, struct ff_place *out,
                                      uint32_t capacity) {
    return ff_places_read_sized(context, out, capacity, sizeof *out);
}

/* Finds the names of all places that are known, for those who are about to unload code: names of
 * what is not loaded any more cannot be found. NULL is fine. */
FF_API void ff_places_keep(struct ff_context *context);

/* For tables of fewer lines: adds all but names and numbers. */
FF_API void ff_moved_add_sized(struct ff_moved *to, const struct ff_moved *more, size_t size);
static inline void ff_moved_add(struct ff_moved *to, const struct ff_moved *more) {
    ff_moved_add_sized(to, more, sizeof *to);
}

/* The choices made at run time, for reports: "MOVE, adaptive, userfaultfd", valid until
 * ff_close(). */
FF_API const char *ff_context_describe(struct ff_context *context);

#ifdef __cplusplus
}
#endif

#endif
