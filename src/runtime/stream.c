/* Streams and launches: C kernels over a grid, on the device's worker threads.
 *
 * Each stream is a queue of launches of which only the first runs. Workers take chunks of streams'
 * first launches, of one stream after the other; the worker that finishes a launch's last chunk
 * takes it off and wakes the others. */
#include "runtime/stream.h"

#include "runtime/context.h"
#include "runtime/predicted.h"

#include "base/map.h"
#include "base/signals.h"
#include "base/sized.h"
#include "base/thread.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queued_launch {
    struct queued_launch *next;
    struct ff_launch what;
    uint64_t identity;
    struct ff__predicted *predicted;     /* NULL: nothing is */
    size_t taken, finished;              /* items */
    bool begun, quiet;                   /* quiet: nobody hears of it */
    _Alignas(max_align_t) char memory[]; /* arguments, operands, name, strides */
};

struct ff_stream {
    struct ff__workers *workers;
    struct ff_stream *next;
    struct queued_launch *first, *last;
    struct ff__predicted *next_predicted; /* of the next launch; see ff__stream_expect() */
};

struct ff__workers {
    struct ff_context *context;
    uint32_t device, count;
    struct ff__lock lock;
    pthread_cond_t work;
    struct ff__event done;
    struct ff_stream *streams; /* a ring; from the one whose turn it is */
    bool stop;
    uint32_t running;  /* launches, quiet ones too */
    uint32_t numbered; /* workers that have taken their number */
    pthread_t threads[];
};

/* ---- running ---- */

static bool has_work(const struct ff_stream *stream) {
    return stream->first && stream->first->taken < stream->first->what.grid;
}

/* The next stream with items left to take, or NULL; then it is another one's turn. The lock is
 * held. */
static struct ff_stream *find_work(struct ff__workers *workers) {
    struct ff_stream *stream = workers->streams, *first = stream;
    while (stream && !has_work(stream))
        stream = stream->next == first ? NULL : stream->next;
    if (stream)
        workers->streams = stream->next;
    return stream;
}

static void announce(struct ff__workers *workers, struct queued_launch *launch,
                     struct ff__predicted *predicted, bool begins) {
    if (launch->quiet)
        return;
    if (begins)
        ff__predicted_begin(workers->context, workers->device, launch->identity, &launch->what,
                            predicted);
    else
        ff__predicted_end(workers->context, workers->device, launch->identity, predicted);
}

/* A launch begins to run. Where others run, too, quiet ones among them, faults may be of any. */
static void note_running(struct ff__workers *workers) {
    FF__ASSERT(ff__lock_is_held(&workers->lock));
    struct ff_stream *stream = workers->streams;
    if (++workers->running == 1)
        return;
    do {
        const struct queued_launch *launch = stream->first;
        if (launch && launch->taken > 0 && launch->predicted)
            ff__prediction_disturb(&launch->predicted->what);
        stream = stream->next;
    } while (stream != workers->streams);
}

/* Takes the finished launch off its stream. The lock is held; it is given up while the engine is
 * told. */
static void retire(struct ff__workers *workers, struct ff_stream *stream,
                   struct queued_launch *launch) {
    FF__ASSERT(ff__lock_is_held(&workers->lock));
    struct ff__predicted *predicted = launch->predicted;
    launch->predicted = NULL; /* its owner may free it at the end */
    ff__lock_release(&workers->lock);
    announce(workers, launch, predicted, false);
    ff__lock_acquire(&workers->lock);
    workers->running--;
    stream->first = launch->next;
    if (!stream->first)
        stream->last = NULL;
    free(launch);
    ff__event_tell(&workers->done);
    pthread_cond_broadcast(&workers->work);
}

static void run_chunk(struct ff__workers *workers, struct ff_stream *stream, uint32_t worker) {
    struct queued_launch *launch = stream->first;
    size_t first = launch->taken, left = launch->what.grid - first;
    size_t items = left < launch->what.chunk ? left : launch->what.chunk;
    launch->taken += items;
    bool begins = first == 0;
    if (begins)
        note_running(workers);
    while (!begins && !launch->begun)
        ff__lock_wait(&workers->lock, &workers->work);
    ff__lock_release(&workers->lock);
    if (begins)
        announce(workers, launch, launch->predicted, true);
    if (begins) {
        ff__lock_acquire(&workers->lock);
        launch->begun = true;
        pthread_cond_broadcast(&workers->work);
        ff__lock_release(&workers->lock);
    }
    struct ff_work work = {first, first + items, launch->what.grid, workers->device, worker};
    launch->what.kernel(&work, launch->memory);
    ff__lock_acquire(&workers->lock);
    launch->finished += items;
    if (launch->finished == launch->what.grid)
        retire(workers, stream, launch);
}

/* A kernel's own faults are its thread's: the program may have handlers for them, as we have for
 * SIGBUS. */
static void let_faults_through(void) {
    sigset_t set;
    ff__signals_fill(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static void *worker_thread(void *argument) {
    struct ff__workers *workers = argument;
    let_faults_through();
    ff__lock_acquire(&workers->lock);
    uint32_t number = workers->numbered++;
    while (!workers->stop) {
        struct ff_stream *stream = find_work(workers);
        if (stream)
            run_chunk(workers, stream, number);
        else
            ff__lock_wait(&workers->lock, &workers->work);
    }
    ff__lock_release(&workers->lock);
    return NULL;
}

/* ---- workers ---- */

static void stop_workers(struct ff__workers *workers, uint32_t started) {
    ff__lock_acquire(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->work);
    ff__lock_release(&workers->lock);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(workers->threads[i], NULL);
    ff__lock_fini(&workers->lock);
    pthread_cond_destroy(&workers->work);
    free(workers);
}

static int make_workers(struct ff_context *context, uint32_t device, struct ff__workers **out) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t count = context->config.workers ? context->config.workers
                     : cpus > 0              ? (uint32_t)cpus
                                             : 1;
    struct ff__workers *workers = calloc(1, sizeof *workers + count * sizeof workers->threads[0]);
    if (!workers)
        return -ENOMEM;
    workers->context = context;
    workers->device = device;
    workers->count = count;
    ff__lock_init(&workers->lock);
    pthread_cond_init(&workers->work, NULL);
    for (uint32_t i = 0; i < count; i++) {
        int status = ff__thread_start(&workers->threads[i], worker_thread, workers, "ff-worker");
        if (status) {
            stop_workers(workers, i);
            return status;
        }
    }
    *out = workers;
    return 0;
}

void ff__workers_destroy(struct ff__workers *workers) {
    if (workers)
        stop_workers(workers, workers->count);
}

/* ---- streams ---- */

static void link_stream(struct ff__workers *workers, struct ff_stream *stream) {
    struct ff_stream *turn = workers->streams;
    stream->next = turn ? turn->next : stream;
    if (turn)
        turn->next = stream;
    else
        workers->streams = stream;
}

static void unlink_stream(struct ff__workers *workers, struct ff_stream *stream) {
    struct ff_stream *before = stream;
    while (before->next != stream)
        before = before->next;
    before->next = stream->next;
    if (workers->streams == stream)
        workers->streams = stream->next == stream ? NULL : stream->next;
}

int ff_stream_create(struct ff_context *context, uint32_t device, struct ff_stream **out) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    if (device >= context->config.devices)
        return -EINVAL;
    struct ff__workers **workers = &context->workers[ff_tier_of_device(device)];
    ff__lock_acquire(&context->making_workers);
    int status = *workers ? 0 : make_workers(context, device, workers);
    ff__lock_release(&context->making_workers);
    if (status)
        return status;
    struct ff_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return -ENOMEM;
    stream->workers = *workers;
    ff__lock_acquire(&stream->workers->lock);
    link_stream(stream->workers, stream);
    ff__lock_release(&stream->workers->lock);
    *out = stream;
    return 0;
}

bool ff__stream_is_idle(struct ff_stream *stream) {
    ff__lock_acquire(&stream->workers->lock);
    bool is_idle = stream->first == NULL;
    ff__lock_release(&stream->workers->lock);
    return is_idle;
}

void ff_stream_synchronize(struct ff_stream *stream) {
    if (ff__context_is_inherited(stream->workers->context))
        return;
    ff__lock_acquire(&stream->workers->lock);
    while (stream->first)
        ff__event_wait(&stream->workers->done, &stream->workers->lock);
    ff__lock_release(&stream->workers->lock);
}

void ff_stream_destroy(struct ff_stream *stream) {
    if (!stream || ff__context_is_inherited(stream->workers->context))
        return;
    ff_stream_synchronize(stream);
    struct ff__workers *workers = stream->workers;
    ff__lock_acquire(&workers->lock);
    unlink_stream(workers, stream);
    ff__lock_release(&workers->lock);
    free(stream);
}

/* Execution IDs are equal for equal names and arguments (DeepUM, section 4.1). */
static uint64_t identify(const struct ff_launch *what) {
    uint64_t hash = what->name ? ff__hash_bytes(0, what->name, strlen(what->name)) : 0;
    hash = ff__hash_bytes(hash, &what->kernel, sizeof what->kernel);
    hash = ff__hash_bytes(hash, &what->grid, sizeof what->grid);
    return ff__hash_bytes(hash, what->arguments, what->argument_size);
}

static bool operands_managed(struct ff_context *context, const struct ff_launch *what) {
    for (size_t i = 0; i < what->operand_count; i++)
        if (!ff_mem_lookup(context, what->operands[i], NULL, NULL))
            return false;
    return true;
}

/* A copy of it and of all that it points to, in one piece of memory; NULL: there is none. */
static struct queued_launch *copy_launch(const struct ff_launch *what, uint32_t workers) {
    size_t operands = what->operand_count * sizeof(void *);
    size_t arguments = (what->argument_size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    size_t name = what->name ? strlen(what->name) + 1 : 0;
    size_t strides = what->strides ? what->operand_count : 0;
    struct queued_launch *launch =
        calloc(1, sizeof *launch + arguments + operands + name + strides);
    if (!launch)
        return NULL;
    launch->what = *what;
    launch->identity = identify(what);
    if (what->argument_size)
        memcpy(launch->memory, what->arguments, what->argument_size);
    if (operands)
        memcpy(launch->memory + arguments, what->operands, operands);
    if (name)
        launch->what.name = memcpy(launch->memory + arguments + operands, what->name, name);
    if (strides)
        launch->what.strides =
            memcpy(launch->memory + arguments + operands + name, what->strides, strides);
    launch->what.operands = (const void *const *)(void *)(launch->memory + arguments);
    const size_t parts = 4 * (size_t)workers;
    if (launch->what.chunk == 0)
        launch->what.chunk = what->grid < parts ? 1 : what->grid / parts;
    return launch;
}

static int launch_held(struct ff_stream *stream, const struct ff_launch *what, bool quiet) {
    struct ff__workers *workers = stream->workers;
    if (!what->kernel || what->grid == 0 || !operands_managed(workers->context, what))
        return -EINVAL;
    struct queued_launch *launch = copy_launch(what, workers->count);
    if (!launch)
        return -ENOMEM;
    launch->quiet = quiet;
    if (!quiet) {
        launch->predicted = stream->next_predicted;
        stream->next_predicted = NULL;
    }
    ff__lock_acquire(&workers->lock);
    if (stream->last)
        stream->last->next = launch;
    else
        stream->first = launch;
    stream->last = launch;
    pthread_cond_broadcast(&workers->work);
    ff__lock_release(&workers->lock);
    return 0;
}

struct ff__predicted *ff__stream_expect(struct ff_stream *stream, struct ff__predicted *next) {
    struct ff__predicted *left = stream->next_predicted;
    stream->next_predicted = next;
    return left;
}

/* Signals are held off once, not for each lock that it takes. */
static int launch(struct ff_stream *stream, const struct ff_launch *what, bool quiet) {
    ff__signals_hold();
    int status = launch_held(stream, what, quiet);
    ff__signals_release();
    return status;
}

int ff_kernel_launch_sized(struct ff_stream *stream, const struct ff_launch *wanted, size_t size) {
    struct ff_launch what = {.name = NULL};
    if (ff__context_is_inherited(stream->workers->context))
        return -EPERM;
    int status = ff__sized_get(&what, sizeof what, wanted, size);
    return status ? status : launch(stream, &what, false);
}

int ff__stream_run(struct ff_stream *stream, const struct ff_launch *what) {
    return ff__context_is_inherited(stream->workers->context) ? -EPERM : launch(stream, what, true);
}
