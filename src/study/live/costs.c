#include "study/live/costs.h"

#include "base/clock.h"
#include "base/error.h"
#include "study/live/copy_rate.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

/* All ours: enough for figures that repeat within some percent, in a second. */
#define ROUNDS     25u
#define BLOCKS     24u /* faults of a round, each of a block of its own */
#define PAGE_TURNS 20u /* as many times more of single pages, as they take a tenth of the time */
/* A pause in which a handler falls asleep: PAUSES times as long as it spins, and PAUSE_NS more. */
#define PAUSES   2u
#define PAUSE_NS 100000u
#define LAUNCHES 200u

const uint64_t ff__cost_sizes[FF__COST_SIZES] = {FF_PAGE_SIZE, FF_LEAF_SIZE, UINT64_C(256) << 10,
                                                 UINT64_C(1) << 20, FF_BLOCK_SIZE};

/* The smallest of the rounds: what it costs while nothing else runs. */
static void keep_least(double *least, double value) {
    if (*least <= 0 || value < *least)
        *least = value;
}

/* ---- faults and evictions ---- */

struct bench {
    struct ff_context *context;
    volatile char *ranges[BLOCKS]; /* each in a block of its own */
    uint64_t size;                 /* of a range */
};

static int open_bench(const struct ff_config *like, uint64_t size, struct bench *bench,
                      struct ff_error *error) {
    struct ff_config config = *like;
    config.system = "nvidia-1"; /* brings all of a block that is no larger than the range */
    config.memory = (BLOCKS + 8) * FF_BLOCK_SIZE;
    config.devices = 1;
    config.record = config.policy_file = config.share = NULL;
    int status = ff_open(&config, &bench->context, error);
    if (status)
        return status;
    bench->size = size;
    for (unsigned i = 0; i < BLOCKS && !status; i++) {
        void *range = NULL;
        status = ff_mem_alloc(bench->context, size, &range);
        bench->ranges[i] = range;
        if (!status)
            memset(range, 1, size);
    }
    return status ? ff__fail(error, status, "cannot allocate managed memory: %s", strerror(-status))
                  : 0;
}

static void evict_all(struct bench *bench) {
    for (unsigned i = 0; i < BLOCKS; i++)
        ff_mem_hint(bench->context, (const void *)bench->ranges[i], bench->size, FF_HINT_EVICT, 0);
}

static uint64_t time_of_touches(const struct bench *bench) {
    uint64_t start = ff__clock_ns();
    for (unsigned i = 0; i < BLOCKS; i++)
        (void)bench->ranges[i][0];
    return ff__clock_ns() - start;
}

static void compute(uint64_t ns) {
    uint64_t start = ff__clock_ns();
    while (ff__clock_ns() - start < ns)
        ;
}

/* The same, with a pause before each. */
static uint64_t time_of_rare_touches(const struct bench *bench, uint64_t pause_ns) {
    uint64_t took = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        compute(pause_ns);
        uint64_t start = ff__clock_ns();
        (void)bench->ranges[i][0];
        took += ff__clock_ns() - start;
    }
    return took;
}

static void time_faults(struct bench *bench, double *fault_ns, double *serve_ns) {
    unsigned turns = bench->size == FF_PAGE_SIZE ? PAGE_TURNS : 1;
    uint64_t took = 0;
    struct ff_stats before, after;
    ff_stats_read(bench->context, &before);
    for (unsigned turn = 0; turn < turns; turn++) {
        evict_all(bench);
        took += time_of_touches(bench);
    }
    ff_stats_read(bench->context, &after);
    keep_least(fault_ns, (double)took / (turns * BLOCKS));
    keep_least(serve_ns, (double)(after.fault_ns - before.fault_ns) / (turns * BLOCKS));
}

static void time_evictions(struct bench *bench, bool written, double *least_ns) {
    for (unsigned i = 0; i < BLOCKS; i++)
        for (uint64_t at = 0; at < bench->size; at += FF_PAGE_SIZE)
            bench->ranges[i][at] = (char)(bench->ranges[i][at] + written);
    uint64_t start = ff__clock_ns();
    evict_all(bench);
    keep_least(least_ns, (double)(ff__clock_ns() - start) / BLOCKS);
}

/* Of a fault that brings a page. */
static void time_waking(struct bench *bench, const struct ff_config *config,
                        struct ff__costs *out) {
    double rare_ns = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        evict_all(bench);
        keep_least(&rare_ns,
                   (double)time_of_rare_touches(bench, PAUSES * config->spin_ns + PAUSE_NS) /
                       BLOCKS);
    }
    out->wake_ns = rare_ns > out->fault_ns[0] ? rare_ns - out->fault_ns[0] : 0;
}

static int measure_size(const struct ff_config *config, unsigned size, struct ff__costs *out,
                        struct ff_error *error) {
    struct bench bench = {.context = NULL};
    out->clean_ns = out->dirty_ns = 0; /* what counts is the last size's */
    int status = open_bench(config, ff__cost_sizes[size], &bench, error);
    for (unsigned round = 0; round < ROUNDS && !status; round++) {
        time_faults(&bench, &out->fault_ns[size], &out->serve_ns[size]);
        time_evictions(&bench, false, &out->clean_ns);
        time_evictions(&bench, true, &out->dirty_ns);
    }
    if (!status && size == 0)
        time_waking(&bench, config, out);
    ff_close(bench.context);
    return status;
}

/* ---- launches ---- */

static void no_kernel(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
}

static int measure_launches(const struct ff_config *like, struct ff__costs *out,
                            struct ff_error *error) {
    struct bench bench = {.context = NULL};
    struct ff_stream *stream = NULL;
    int status = open_bench(like, FF_PAGE_SIZE, &bench, error);
    if (!status && ff_stream_create(bench.context, 0, &stream))
        status = ff__fail(error, -ENOMEM, "cannot make a stream");
    const struct ff_launch launch = {.name = "empty", .kernel = no_kernel, .grid = 1};
    uint64_t start = ff__clock_ns();
    for (unsigned i = 0; i < LAUNCHES && !status; i++) {
        ff_kernel_launch(stream, &launch);
        ff_stream_synchronize(stream);
    }
    out->launch_ns = (double)(ff__clock_ns() - start) / LAUNCHES;
    ff_stream_destroy(stream);
    ff_close(bench.context);
    return status;
}

int ff__costs_measure(const struct ff_config *config, struct ff__costs *out,
                      struct ff_error *error) {
    *out = (struct ff__costs){.copy_rate = 0};
    int status = ff__copy_rate(1, &out->copy_rate);
    if (status)
        return ff__fail(error, status, "cannot copy memory: %s", strerror(-status));
    for (unsigned size = 0; size < FF__COST_SIZES && !status; size++)
        status = measure_size(config, size, out, error);
    return status ? status : measure_launches(config, out, error);
}
