#include "study/repro/link_use.h"

#include "base/error.h"
#include "base/new_file.h"
#include "report/complain.h"
#include "study/repro/repro.h"

#include <farfault/trace.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_CYCLES 20000u
#define INTERVALS       28u /* up to 560 000 cycles, where the slower of the two ends */

struct link_use {
    double interval_ns;
    double *bytes; /* [INTERVALS]: that cross the link in each, from the start of the run on */
};

/* Pages that have arrived at the same time. */
struct request {
    uint64_t time_ns, bytes;
};

/* The part of [start, end) that is in each interval has its share of the bytes. */
static void add(struct link_use *use, const struct request *request, double ns) {
    double end = (double)request->time_ns, start = end - ns;
    if (request->bytes == 0 || ns <= 0)
        return;
    for (unsigned i = start > 0 ? (unsigned)(start / use->interval_ns) : 0; i < INTERVALS; i++) {
        double from = fmax(start, i * use->interval_ns), to = fmin(end, (i + 1) * use->interval_ns);
        if (from >= to)
            break;
        use->bytes[i] += (double)request->bytes * (to - from) / ns;
    }
}

static int read_trace(const struct ff__gpu *gpu, const char *trace, struct link_use *use,
                      struct ff_error *error) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct request request = {0, 0};
    int status = ff_trace_open(trace, &reader, NULL, error);
    if (status)
        return status;
    while ((status = ff_trace_read(reader, &event, error)) > 0) {
        if (event.kind != FF_TRACE_MIGRATE)
            continue;
        if (event.time_ns != request.time_ns) {
            add(use, &request, (double)ff__link_ns(&gpu->in, request.bytes));
            request = (struct request){event.time_ns, 0};
        }
        request.bytes += event.pages * FF_PAGE_SIZE;
    }
    add(use, &request, (double)ff__link_ns(&gpu->in, request.bytes));
    ff_trace_close(reader);
    return status;
}

/* Runs the simulation again, with a trace. */
static int find(const struct ff__simulation *simulation, struct link_use *use,
                struct ff_error *error) {
    struct ff__simulation traced = *simulation;
    struct ff__simulated simulated;
    char name[PATH_MAX];
    int status = ff__file_temporary(name);
    if (status)
        return ff__fail(error, status, "cannot make a temporary file: %s", strerror(-status));
    traced.trace = name;
    ff__simulate(&traced, &simulated);
    status = simulated.good ? read_trace(simulation->gpu, name, use, error)
                            : ff__fail(error, -EIO, "%s", simulated.reason);
    remove(name);
    return status;
}

int ff__link_use_rows(const struct ff__simulation *simulation, const char *system, json_t *table) {
    const struct ff__gpu *gpu = simulation->gpu;
    double bytes[INTERVALS] = {0};
    struct link_use use = {INTERVAL_CYCLES * 1e9 / gpu->clock_hz, bytes};
    struct ff_error error;
    if (find(simulation, &use, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", system, error.message);
    /* nothing crosses it before the kernel begins */
    for (unsigned i = (unsigned)((double)gpu->launch_ns / use.interval_ns); i < INTERVALS; i++) {
        char *name = ff__text("%u000, %.*s", (i + 1) * INTERVAL_CYCLES / 1000,
                              (int)strcspn(system, ":"), system);
        ff__repro_row(table, name, (double)NAN, bytes[i] / use.interval_ns);
        free(name);
    }
    return 0;
}
