#include "study/repro/link_use.h"

#include "base/error.h"

#include <farfault/trace.h>

#include <errno.h>
#include <math.h>

/* Pages that have arrived at the same time. */
struct request {
    uint64_t time_ns, bytes;
};

/* The part of [start, end) that is in each interval has its share of the bytes. */
static void add(struct ff__link_use *use, const struct request *request, double ns) {
    double end = (double)request->time_ns, start = end - ns;
    if (request->bytes == 0 || ns <= 0)
        return;
    for (unsigned i = start > 0 ? (unsigned)(start / use->interval_ns) : 0; i < use->count; i++) {
        double from = fmax(start, i * use->interval_ns), to = fmin(end, (i + 1) * use->interval_ns);
        if (from >= to)
            break;
        use->bytes[i] += (double)request->bytes * (to - from) / ns;
    }
}

static int read_trace(const struct ff__gpu *gpu, const char *trace, struct ff__link_use *use,
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

int ff__link_use_find(const struct ff__simulation *simulation, const char *trace,
                      struct ff__link_use *use, struct ff_error *error) {
    struct ff__simulation traced = *simulation;
    struct ff__simulated simulated;
    traced.trace = trace;
    ff__simulate(&traced, &simulated);
    if (!simulated.good)
        return ff__fail(error, -EIO, "%s", simulated.reason);
    for (unsigned i = 0; i < use->count; i++)
        use->bytes[i] = 0;
    return read_trace(simulation->gpu, trace, use, error);
}
