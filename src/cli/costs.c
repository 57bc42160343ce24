#include "cli/costs.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

/* All ours: enough for medians that repeat within some percent on an idle machine, in a second. */
#define ROUNDS     9u
#define BLOCKS     24u /* faults of a round, each of a block of its own */
#define PAGE_TURNS 20u /* as many times more of single pages, as they take a tenth of the time */
#define LAUNCHES   200u
#define COPY_SIZE  (UINT64_C(32) << 20)

const uint64_t ff__cost_sizes[FF__COST_SIZES] = {FF_PAGE_SIZE, FF_LEAF_SIZE, UINT64_C(256) << 10,
                                                 UINT64_C(1) << 20, FF_BLOCK_SIZE};

struct series {
    double of[ROUNDS];
    unsigned count;
};

static void add(struct series *series, double value) {
    series->of[series->count++] = value;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct series *series) {
    qsort(series->of, series->count, sizeof series->of[0], by_value);
    return series->of[series->count / 2];
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
        ff_mem_advise(bench->context, (const void *)bench->ranges[i], bench->size, FF_ADVISE_EVICT,
                      0);
}

static uint64_t time_of_touches(struct bench *bench) {
    char sum = 0;
    uint64_t start = ff__clock_ns();
    for (unsigned i = 0; i < BLOCKS; i++)
        sum ^= bench->ranges[i][0];
    uint64_t end = ff__clock_ns();
    return end - start + (sum == 99); /* so that the reads stay */
}

static void time_faults(struct bench *bench, struct series *fault, struct series *serve) {
    unsigned turns = bench->size == FF_PAGE_SIZE ? PAGE_TURNS : 1;
    uint64_t took = 0;
    struct ff_stats before, after;
    ff_stats_read(bench->context, &before);
    for (unsigned turn = 0; turn < turns; turn++) {
        evict_all(bench);
        took += time_of_touches(bench);
    }
    ff_stats_read(bench->context, &after);
    add(fault, (double)took / (turns * BLOCKS));
    add(serve, (double)(after.fault_ns - before.fault_ns) / (turns * BLOCKS));
}

static void time_evictions(struct bench *bench, bool written, struct series *series) {
    for (unsigned i = 0; i < BLOCKS; i++)
        for (uint64_t at = 0; at < bench->size; at += FF_PAGE_SIZE)
            bench->ranges[i][at] = (char)(bench->ranges[i][at] + written);
    uint64_t start = ff__clock_ns();
    evict_all(bench);
    add(series, (double)(ff__clock_ns() - start) / BLOCKS);
}

static int measure_size(const struct ff_config *config, unsigned size, struct ff__costs *out,
                        struct ff_error *error) {
    struct bench bench = {NULL};
    struct series fault = {.count = 0}, serve = fault, clean = fault, dirty = fault;
    int status = open_bench(config, ff__cost_sizes[size], &bench, error);
    for (unsigned round = 0; round < ROUNDS && !status; round++) {
        time_faults(&bench, &fault, &serve);
        time_evictions(&bench, false, &clean);
        time_evictions(&bench, true, &dirty);
    }
    ff_close(bench.context);
    if (status)
        return status;
    out->fault_ns[size] = median(&fault);
    out->serve_ns[size] = median(&serve);
    out->clean_ns = median(&clean);
    out->dirty_ns = median(&dirty);
    return 0;
}

/* ---- launches and copies ---- */

static void no_kernel(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
}

static int measure_launches(const struct ff_config *like, struct ff__costs *out,
                            struct ff_error *error) {
    struct bench bench = {NULL};
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

static int measure_copies(struct ff__costs *out, struct ff_error *error) {
    struct series series = {.count = 0};
    char *from = calloc(1, COPY_SIZE), *to = calloc(1, COPY_SIZE);
    int status = from && to ? 0 : ff__fail(error, -ENOMEM, "no memory to copy");
    for (unsigned round = 0; round < ROUNDS && !status; round++) {
        memset(from, (int)round, COPY_SIZE);
        uint64_t start = ff__clock_ns();
        memcpy(to, from, COPY_SIZE);
        add(&series, (double)COPY_SIZE * 1e9 / (double)(ff__clock_ns() - start));
    }
    if (!status)
        out->copy_rate = median(&series) + (double)(to[COPY_SIZE - 1] == 99); /* keeps the copies */
    free(from);
    free(to);
    return status;
}

int ff__costs_measure(const struct ff_config *config, struct ff__costs *out,
                      struct ff_error *error) {
    int status = measure_copies(out, error);
    for (unsigned size = 0; size < FF__COST_SIZES && !status; size++)
        status = measure_size(config, size, out, error);
    return status ? status : measure_launches(config, out, error);
}
