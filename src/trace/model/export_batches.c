/* Batches of faults, as a driver has handled them, as CSV. */
#include "trace/model/export.h"

#include "base/error.h"
#include "trace/model/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 256u /* whose batches are written */

/* The batch that a device's driver handles. */
struct batch {
    bool under_way;
    uint64_t number, began_ns, entries, pages_in, pages_out;
    uint64_t *pages; /* range and page, of each fault */
    size_t count;
};

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many different ones there are, after the lowest `bits` have been dropped. Sorted. */
static uint64_t count_distinct(const struct batch *batch, unsigned bits) {
    uint64_t distinct = 0;
    for (size_t i = 0; i < batch->count; i++)
        distinct += i == 0 || batch->pages[i] >> bits != batch->pages[i - 1] >> bits;
    return distinct;
}

static void begin(struct batch *batch, const struct ff_trace_event *event) {
    batch->under_way = true;
    batch->number = event->batch;
    batch->began_ns = event->time_ns;
    batch->entries = batch->pages_in = batch->pages_out = 0;
    batch->count = 0;
}

static int add(struct batch *batch, const struct ff_trace_event *event) {
    if (ff__grow(&batch->pages, batch->count, sizeof *batch->pages))
        return -ENOMEM;
    batch->pages[batch->count++] = (uint64_t)event->range << FF__ACCESS_PAGE_BITS |
                                   (event->page & ((UINT64_C(1) << FF__ACCESS_PAGE_BITS) - 1));
    batch->entries += event->instances ? event->instances : 1;
    return 0;
}

static void end(struct batch *batch, const struct ff_trace_event *event, FILE *out) {
    if (!batch->under_way)
        return;
    batch->under_way = false;
    if (batch->count > 0)
        qsort(batch->pages, batch->count, sizeof *batch->pages, by_number);
    uint64_t distinct = count_distinct(batch, 0);
    fprintf(out,
            "%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",%" PRIu64 "\n",
            batch->number, event->device, batch->began_ns, event->time_ns - batch->began_ns,
            batch->entries, distinct, count_distinct(batch, 9), batch->entries - distinct,
            batch->pages_in, batch->pages_out);
}

static int take(struct batch *batches, const struct ff_trace_event *event, FILE *out) {
    if (event->device >= DEVICES_MAX)
        return 0;
    struct batch *batch = &batches[event->device];
    switch (event->kind) {
    case FF_TRACE_BATCH:
        begin(batch, event);
        return 0;
    case FF_TRACE_BATCH_END:
        end(batch, event, out);
        return 0;
    case FF_TRACE_FAULT:
        return batch->under_way ? add(batch, event) : 0;
    case FF_TRACE_MIGRATE:
        batch->pages_in += event->pages;
        return 0;
    case FF_TRACE_EVICT:
        batch->pages_out += event->pages;
        return 0;
    default:
        return 0;
    }
}

int ff__trace_export_batches(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                             FILE *out, struct ff_error *error) {
    struct batch *batches = calloc(DEVICES_MAX, sizeof *batches);
    struct ff_trace_event event;
    int status = batches ? 0 : -ENOMEM;
    (void)info;
    fputs("batch,device,began_ns,took_ns,entries,pages,blocks,duplicates,pages_in,pages_out\n",
          out);
    while (!status) {
        int got = ff_trace_read(reader, &event, error);
        if (got <= 0) {
            status = got;
            break;
        }
        status = take(batches, &event, out);
        if (status)
            ff__fail(error, status, "no memory to export");
    }
    for (unsigned i = 0; i < DEVICES_MAX && batches; i++)
        free(batches[i].pages);
    free(batches);
    if (!status && (fflush(out) || ferror(out)))
        status = ff__fail(error, errno ? -errno : -EIO, "cannot export: %s", strerror(errno));
    return status;
}
