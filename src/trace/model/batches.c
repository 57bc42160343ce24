#include "trace/model/batches.h"

#include "base/grow.h"
#include "trace/model/steps.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>

#define DEVICES_MAX 256u /* whose batches are told of */

/* The batch that a device's driver handles. */
struct ff__batch_open {
    bool under_way;
    struct ff__fault_batch batch;
    uint64_t *pages; /* range and page, of each fault */
    size_t count;
};

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void count_pages(struct ff__batch_open *open) {
    const uint64_t *pages = open->pages;
    if (open->count > 0)
        qsort(open->pages, open->count, sizeof *open->pages, by_number);
    for (size_t i = 0; i < open->count; i++) {
        open->batch.pages += i == 0 || pages[i] != pages[i - 1];
        open->batch.blocks += i == 0 || pages[i] / FF_BLOCK_PAGES != pages[i - 1] / FF_BLOCK_PAGES;
    }
}

static int add_fault(struct ff__batch_open *open, const struct ff_trace_event *event) {
    if (ff__grow(&open->pages, open->count, sizeof *open->pages))
        return -ENOMEM;
    open->pages[open->count++] = (uint64_t)event->range << FF__ACCESS_PAGE_BITS |
                                 (event->page & ((UINT64_C(1) << FF__ACCESS_PAGE_BITS) - 1));
    open->batch.entries += event->instances ? event->instances : 1;
    return 0;
}

static void begin(struct ff__batch_open *open, const struct ff_trace_event *event) {
    open->under_way = true;
    open->batch = (struct ff__fault_batch){
        .number = event->batch, .device = event->device, .began_ns = event->time_ns};
    free(open->pages);
    open->pages = NULL;
    open->count = 0;
}

static void end(const struct ff__batches *batches, struct ff__batch_open *open,
                const struct ff_trace_event *event) {
    if (!open->under_way)
        return;
    open->under_way = false;
    open->batch.took_ns = event->time_ns - open->batch.began_ns;
    count_pages(open);
    batches->ended(batches->self, &open->batch);
}

int ff__batches_take(struct ff__batches *batches, const struct ff_trace_event *event) {
    if (event->device >= DEVICES_MAX)
        return 0;
    struct ff__batch_open *open = &batches->open[event->device];
    switch (event->kind) {
    case FF_TRACE_BATCH:
        begin(open, event);
        return 0;
    case FF_TRACE_BATCH_END:
        end(batches, open, event);
        return 0;
    case FF_TRACE_FAULT:
        return open->under_way ? add_fault(open, event) : 0;
    case FF_TRACE_MIGRATE:
        open->batch.pages_in += event->pages;
        return 0;
    case FF_TRACE_EVICT:
        open->batch.pages_out += event->pages;
        return 0;
    default:
        return 0;
    }
}

int ff__batches_init(struct ff__batches *batches,
                     void (*ended)(void *self, const struct ff__fault_batch *batch), void *self) {
    *batches = (struct ff__batches){ended, self, calloc(DEVICES_MAX, sizeof *batches->open)};
    return batches->open ? 0 : -ENOMEM;
}

void ff__batches_fini(struct ff__batches *batches) {
    for (unsigned i = 0; i < DEVICES_MAX && batches->open; i++)
        free(batches->open[i].pages);
    free(batches->open);
    batches->open = NULL;
}
