#include "trace/record.h"

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/lock.h"
#include "base/queue.h"
#include "base/thread.h"
#include "trace/touchers.h"
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 4u /* a power of two; one is filled while others are written */

/* What a block of the managed addresses belongs to. */
struct owner {
    uint32_t range;       /* and one; 0: no range here */
    uint32_t first_block; /* of the range */
    uint64_t bytes;       /* of the range, at its first block */
    uint32_t device;      /* its home, at its first block */
};

struct ff__recorder {
    struct ff__lock lock; /* held while recording */
    struct ff__trace_encoder blocks[BLOCKS];
    struct ff__trace_encoder *block; /* the one that is filled */
    struct ff__queue full, empty;    /* others: pointers */
    bool over;                       /* nothing is recorded any more */
    bool launched, accessed;         /* there were launches; there were accesses */
    struct owner *owners;            /* [block] */
    struct ff__touchers touchers;
    uint64_t block_limit, start_ns;
    char *path;
    struct ff__log log;
    /* the writing thread's */
    pthread_t thread;
    sem_t wake, opened;
    bool ends;  /* when the queue is empty */
    bool keeps; /* the trace then */
    struct ff_trace_info info;
    struct ff_trace_writer *writer;
    int status; /* the first error */
};

/* ---- the writing thread ---- */

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore)) /* interrupted */
        ;
}

static void warn(const struct ff__recorder *recorder) {
    ff__log_line(&recorder->log, FF_LOG_WARNING, "recording to %s failed (%s); there is no trace",
                 recorder->path, strerror(-recorder->status));
}

static void write_block(struct ff__recorder *recorder, struct ff__trace_encoder *block) {
    int status = ff__trace_write_block(recorder->writer, block);
    if (!status || recorder->status)
        return;
    __atomic_store_n(&recorder->status, status, __ATOMIC_RELAXED);
    warn(recorder);
}

static void end_trace(struct ff__recorder *recorder) {
    if (!recorder->keeps || recorder->status) {
        ff_trace_abandon(recorder->writer);
        return;
    }
    recorder->status = ff_trace_finish(recorder->writer);
    if (recorder->status)
        warn(recorder);
}

static void *write_events(void *argument) {
    struct ff__recorder *recorder = argument;
    struct ff__trace_encoder *block;
    const int kept = STDERR_FILENO;      /* for warnings */
    ff__descriptors_keep_only(&kept, 1); /* the program cannot close the file */
    recorder->status = ff_trace_create(recorder->path, &recorder->info, &recorder->writer);
    sem_post(&recorder->opened);
    bool last = recorder->status != 0;
    while (!last) {
        wait_for(&recorder->wake);
        last = __atomic_load_n(&recorder->ends, __ATOMIC_ACQUIRE);
        while (ff__queue_pop(&recorder->full, &block)) {
            write_block(recorder, block);
            ff__queue_push(&recorder->empty, &block);
        }
    }
    if (recorder->writer)
        end_trace(recorder);
    return NULL;
}

static int make_blocks(struct ff__recorder *recorder) {
    if (ff__queue_init(&recorder->full, BLOCKS, sizeof recorder->block) ||
        ff__queue_init(&recorder->empty, BLOCKS, sizeof recorder->block))
        return -ENOMEM;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        recorder->block = &recorder->blocks[i];
        if (ff__trace_encoder_init(recorder->block))
            return -ENOMEM;
        if (i + 1 < BLOCKS) /* the last one is filled first */
            ff__queue_push(&recorder->empty, &recorder->block);
    }
    return 0;
}

static int start_writing(struct ff__recorder *recorder) {
    if (!recorder->owners || !recorder->path || make_blocks(recorder))
        return -ENOMEM;
    int status = ff__thread_start(&recorder->thread, write_events, recorder, "ff-record");
    if (status)
        return status;
    wait_for(&recorder->opened);
    if (recorder->status)
        pthread_join(recorder->thread, NULL);
    return recorder->status;
}

static void give_block(struct ff__recorder *recorder) {
    ff__queue_push(&recorder->full, &recorder->block); /* which has room for all there are */
    sem_post(&recorder->wake);
}

/* No thread records any more. */
static void stop_writing(struct ff__recorder *recorder, bool keeps) {
    recorder->keeps = keeps;
    if (recorder->block->events > 0)
        give_block(recorder);
    __atomic_store_n(&recorder->ends, true, __ATOMIC_RELEASE);
    sem_post(&recorder->wake);
    pthread_join(recorder->thread, NULL);
}

/* ---- opening ---- */

/* The path with the process ID for "%p", so that each of a program's processes has a trace. */
static char *make_path(const char *pattern) {
    const char *mark = strstr(pattern, "%p");
    size_t size = strlen(pattern) + 24;
    char *path = malloc(size);
    if (path && mark)
        snprintf(path, size, "%.*s%ld%s", (int)(mark - pattern), pattern, (long)getpid(), mark + 2);
    else if (path)
        snprintf(path, size, "%s", pattern);
    return path;
}

/* The command line, with blanks between its words. */
static void read_command(char *out, size_t size) {
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    for (ssize_t i = 0; i + 1 < got; i++)
        if (out[i] == '\0')
            out[i] = ' ';
}

static void release(struct ff__recorder *recorder) {
    if (recorder->owners)
        ff__lazy_unmap(recorder->owners, recorder->block_limit * sizeof *recorder->owners);
    ff__queue_fini(&recorder->full);
    ff__queue_fini(&recorder->empty);
    for (uint32_t i = 0; i < BLOCKS; i++)
        ff__trace_encoder_fini(&recorder->blocks[i]);
    sem_destroy(&recorder->wake);
    sem_destroy(&recorder->opened);
    ff__lock_fini(&recorder->lock);
    free(recorder->path);
    free(recorder);
}

int ff__recorder_open(const struct ff__recorder_config *config, struct ff__recorder **out,
                      struct ff_error *error) {
    struct ff__recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return ff__fail(error, -ENOMEM, "no memory to record");
    recorder->info = (struct ff_trace_info){.source = "live",
                                            .memory = config->memory,
                                            .touches = config->touches,
                                            .accesses = config->accesses};
    read_command(recorder->info.subject, sizeof recorder->info.subject);
    recorder->block_limit = config->address_space >> FF_BLOCK_SHIFT;
    recorder->owners = ff__lazy_map(recorder->block_limit * sizeof *recorder->owners);
    recorder->path = make_path(config->path);
    recorder->log = config->log;
    recorder->start_ns = ff__clock_ns();
    ff__lock_init(&recorder->lock);
    sem_init(&recorder->wake, 0, 0);
    sem_init(&recorder->opened, 0, 0);
    int status = start_writing(recorder);
    if (status) {
        ff__fail(error, status, "cannot record to %s: %s", config->path,
                 status == -EEXIST ? "it exists, and is not a regular file" : strerror(-status));
        release(recorder);
        return status;
    }
    *out = recorder;
    return 0;
}

/* ---- ending ---- */

static void warn_of_nothing(const struct ff__recorder *recorder) {
    if (recorder->info.accesses && recorder->launched && !recorder->accessed)
        ff__log_line(&recorder->log, FF_LOG_WARNING,
                     "%s has no accesses: only those of kernels in PTX can be seen; --touches "
                     "records what launches of other kernels touch first",
                     recorder->path);
}

/* Whether it was not over before. */
static bool stop_recording(struct ff__recorder *recorder) {
    ff__lock_acquire(&recorder->lock);
    bool first = !recorder->over;
    recorder->over = true;
    ff__lock_release(&recorder->lock);
    return first;
}

int ff__recorder_finish(struct ff__recorder *recorder) {
    if (stop_recording(recorder)) {
        stop_writing(recorder, true);
        warn_of_nothing(recorder);
    }
    return recorder->status;
}

void ff__recorder_close(struct ff__recorder *recorder) {
    if (!recorder)
        return;
    ff__recorder_finish(recorder);
    release(recorder);
}

void ff__recorder_abandon(struct ff__recorder *recorder) {
    if (!recorder)
        return;
    if (stop_recording(recorder))
        stop_writing(recorder, false);
    release(recorder);
}

/* ---- events ---- */

/* Locked, with a time; false: the recording is over. */
static bool begin(struct ff__recorder *recorder, uint64_t *time_ns) {
    ff__lock_acquire(&recorder->lock);
    *time_ns = ff__clock_ns() - recorder->start_ns;
    if (!recorder->over && !__atomic_load_n(&recorder->status, __ATOMIC_RELAXED))
        return true;
    ff__lock_release(&recorder->lock);
    return false;
}

static void end(struct ff__recorder *recorder) {
    ff__lock_release(&recorder->lock);
}

static void next_block(struct ff__recorder *recorder) {
    give_block(recorder);
    while (!ff__queue_pop(&recorder->empty, &recorder->block))
        sched_yield();
}

/* What it does must be safe in a signal handler. */
static void put(struct ff__recorder *recorder, const struct ff_trace_event *event) {
    if (!ff__trace_encoder_has_room(recorder->block))
        next_block(recorder);
    ff__trace_encode(recorder->block, event);
}

/* Sets range and page of an offset, and the range's home; false: no range is there. */
static bool place(const struct ff__recorder *recorder, uint64_t offset,
                  struct ff_trace_event *event) {
    uint64_t block = offset >> FF_BLOCK_SHIFT;
    if (block >= recorder->block_limit || recorder->owners[block].range == 0)
        return false;
    const struct owner *owner = &recorder->owners[block],
                       *first = &recorder->owners[owner->first_block];
    uint64_t inside = offset - ((uint64_t)owner->first_block << FF_BLOCK_SHIFT);
    event->range = owner->range - 1;
    event->page = inside / FF_PAGE_SIZE;
    event->device = first->device;
    return inside < first->bytes;
}

static void own(struct ff__recorder *recorder, uint64_t offset, uint64_t bytes,
                struct owner owner) {
    uint64_t first = offset >> FF_BLOCK_SHIFT,
             end_block = (offset + bytes + FF_BLOCK_SIZE - 1) >> FF_BLOCK_SHIFT;
    owner.first_block = (uint32_t)first;
    for (uint64_t block = first; block < end_block && block < recorder->block_limit; block++)
        recorder->owners[block] = owner;
}

void ff__record_range(struct ff__recorder *recorder, uint32_t range, uint64_t offset,
                      uint64_t bytes, uint32_t device) {
    struct ff_trace_event event = {
        .kind = FF_TRACE_RANGE, .range = range, .bytes = bytes, .device = device};
    if (!begin(recorder, &event.time_ns))
        return;
    own(recorder, offset, bytes, (struct owner){range + 1, 0, bytes, device});
    put(recorder, &event);
    end(recorder);
}

void ff__record_free(struct ff__recorder *recorder, uint64_t offset, uint64_t bytes) {
    struct ff_trace_event event = {.kind = FF_TRACE_FREE};
    if (!begin(recorder, &event.time_ns))
        return;
    if (place(recorder, offset, &event))
        put(recorder, &event);
    own(recorder, offset, bytes, (struct owner){0, 0, 0, 0});
    end(recorder);
}

void ff__record_home(struct ff__recorder *recorder, uint64_t offset, uint32_t device) {
    uint64_t time_ns;
    if (!begin(recorder, &time_ns))
        return;
    recorder->owners[offset >> FF_BLOCK_SHIFT].device = device;
    end(recorder);
}

void ff__record_launch(struct ff__recorder *recorder, uint32_t device, uint64_t identity,
                       const struct ff_launch *begins) {
    struct ff_trace_event event = {.kind = begins ? FF_TRACE_LAUNCH : FF_TRACE_LAUNCH_END,
                                   .device = device,
                                   .identity = identity,
                                   .ctas = begins ? begins->ctas : 0,
                                   .warps = begins ? begins->warps : 0};
    const char *name = begins ? begins->name : NULL;
    /* a copy, of a name that may lie in managed memory; without one there is no memory for it */
    char *copy = name ? strndup(name, FF__TRACE_NAME_MAX) : NULL;
    event.name = copy;
    if (begin(recorder, &event.time_ns)) {
        recorder->launched = true;
        if (begins)
            ff__touchers_begin(&recorder->touchers);
        else
            ff__touchers_end(&recorder->touchers);
        put(recorder, &event);
        end(recorder);
    }
    free(copy);
}

/* The addresses of a range. */
struct range_bytes {
    uint64_t first, bytes; /* 0 bytes: none */
};

/* The range and page of an access; false: no range is there. `last`: the range of the one before
 * it, in which most go on. */
static inline bool place_access(const struct ff__recorder *recorder, struct range_bytes *last,
                                uint64_t offset, struct ff_trace_event *event) {
    if (offset - last->first < last->bytes) {
        event->page = (offset - last->first) / FF_PAGE_SIZE;
        return true;
    }
    last->bytes = 0;
    if (!place(recorder, offset, event))
        return false;
    uint32_t first = recorder->owners[offset >> FF_BLOCK_SHIFT].first_block;
    *last = (struct range_bytes){(uint64_t)first << FF_BLOCK_SHIFT, recorder->owners[first].bytes};
    return true;
}

#define PLACED 256u /* accesses that are placed, then encoded */

/* Those at managed addresses up to the first that is not; returns how many. */
static uint32_t put_accesses(struct ff__recorder *recorder, uint64_t time_ns, uint32_t device,
                             const struct ff_warp_access *accesses, size_t count, uint64_t base) {
    struct ff__trace_place places[PLACED];
    struct ff_trace_event event = {.range = 0};
    struct range_bytes last = {.bytes = 0};
    if (!ff__trace_encoder_has_room(recorder->block))
        next_block(recorder);
    uint32_t room = FF__TRACE_EVENTS_MAX - recorder->block->events, placed = 0;
    for (; placed < count && placed < room && placed < PLACED; placed++) {
        uint64_t offset = (uint64_t)(uintptr_t)accesses[placed].address - base;
        if (!place_access(recorder, &last, offset, &event))
            break;
        places[placed] = (struct ff__trace_place){event.page, event.range};
    }
    ff__trace_encode_accesses(recorder->block, time_ns, device, accesses, places, placed);
    recorder->accessed |= placed > 0;
    return placed;
}

/* Of an access at no managed address. */
static void put_work(struct ff__recorder *recorder, uint64_t time_ns, uint32_t device,
                     const struct ff_warp_access *access) {
    if (access->instructions > 0)
        put(recorder, &(struct ff_trace_event){.kind = FF_TRACE_WORK,
                                               .time_ns = time_ns,
                                               .device = device,
                                               .cta = access->cta,
                                               .warp = access->warp,
                                               .instructions = access->instructions});
}

void ff__record_accesses(struct ff__recorder *recorder, uint32_t device,
                         const struct ff_warp_access *accesses, size_t count, uint64_t base) {
    uint64_t time_ns;
    if (!begin(recorder, &time_ns))
        return;
    for (size_t i = 0; i < count;) {
        uint32_t placed = put_accesses(recorder, time_ns, device, accesses + i, count - i, base);
        if (placed == 0)
            put_work(recorder, time_ns, device, &accesses[i]);
        i += placed > 0 ? placed : 1;
    }
    end(recorder);
}

void ff__record_work(struct ff__recorder *recorder, uint32_t device) {
    struct ff_trace_event event = {.kind = FF_TRACE_WORK, .device = device};
    if (!begin(recorder, &event.time_ns))
        return;
    for (event.cta = 0; event.cta < recorder->touchers.count; event.cta++) {
        event.instructions = ff__touchers_rest(&recorder->touchers, event.cta);
        if (event.instructions > 0)
            put(recorder, &event);
    }
    end(recorder);
}

/* What a thread touches is told as a CTA's access, of one warp. */
static void describe_fault(struct ff__recorder *recorder, const struct ff__fault *fault,
                           struct ff_trace_event *event) {
    event->write = fault->write;
    event->kind = recorder->info.touches ? FF_TRACE_ACCESS : FF_TRACE_FAULT;
    if (recorder->info.touches)
        event->cta = ff__touchers_touch(&recorder->touchers, fault->thread, &event->instructions);
}

void ff__record_faults(struct ff__recorder *recorder, const struct ff__fault *faults,
                       uint32_t count, uint64_t base) {
    struct ff_trace_event event = {.kind = FF_TRACE_FAULT};
    if (!begin(recorder, &event.time_ns))
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (!place(recorder, faults[i].address - base, &event))
            continue;
        describe_fault(recorder, &faults[i], &event);
        put(recorder, &event);
    }
    end(recorder);
}

void ff__record_host_write(struct ff__recorder *recorder, uint64_t offset,
                           const struct ff_mask *pages) {
    struct ff_trace_event event = {.kind = FF_TRACE_HOST_WRITE};
    if (!begin(recorder, &event.time_ns))
        return;
    FF_MASK_FOR_EACH_RUN(pages, run) {
        event.bytes = (uint64_t)(run.end - run.first) * FF_PAGE_SIZE;
        if (place(recorder, offset + (uint64_t)run.first * FF_PAGE_SIZE, &event))
            put(recorder, &event);
    }
    end(recorder);
}

void ff__record_moves(struct ff__recorder *recorder, enum ff_trace_kind kind, uint32_t device,
                      uint64_t offset, const struct ff_mask *pages) {
    struct ff_trace_event event = {.kind = kind};
    if (!begin(recorder, &event.time_ns))
        return;
    FF_MASK_FOR_EACH_RUN(pages, run) {
        event.pages = run.end - run.first;
        if (!place(recorder, offset + (uint64_t)run.first * FF_PAGE_SIZE, &event))
            continue;
        event.device = device; /* which may not be the range's home any more */
        put(recorder, &event);
    }
    end(recorder);
}
