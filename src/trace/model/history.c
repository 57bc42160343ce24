#include "trace/model/history.h"

#include "base/error.h"
#include "base/grow.h"
#include "trace/model/history_extent.h"
#include "trace/model/history_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAPS_DRAWN 1000u /* gaps between bars that are a smaller part of the run are not drawn */

/* The second reading. */
struct second_reading {
    struct ff__run_history *history;
    const char *path;
    struct ff_error *error;
    struct ff__map kernels;
    struct ff__open_launches running;
    struct ff__history_pages pages;
    uint64_t held, left;                /* pages: on the devices now; that have left so far */
    size_t last_bar[FF__HISTORY_LANES]; /* and one; 0: none */
};

/* ---- bars ---- */

static int end_launch(struct second_reading *reading, const struct ff__open_launch *launch,
                      uint64_t end_ns) {
    struct ff__run_history *history = reading->history;
    uint32_t lane = history->kernels[launch->kernel].lane;
    size_t *last = &reading->last_bar[lane];
    struct ff__history_bar *bar = *last ? &history->bars[*last - 1] : NULL;
    uint64_t took = end_ns - launch->began_ns;
    if (bar && launch->began_ns <= bar->end_ns + history->end_ns / GAPS_DRAWN) {
        if (launch->began_ns < bar->begin_ns)
            bar->begin_ns = launch->began_ns;
        bar->end_ns = end_ns;
        bar->busy_ns += took;
        bar->launches++;
        return 0;
    }
    if (ff__grow(&history->bars, history->bar_count, sizeof *history->bars))
        return -ENOMEM;
    history->bars[history->bar_count++] =
        (struct ff__history_bar){launch->began_ns, end_ns, took, 1, lane};
    *last = history->bar_count;
    return 0;
}

static int begin_launch(struct second_reading *reading, const struct ff_trace_event *event) {
    struct ff__open_launch ended;
    uint32_t kernel = ff__history_kernel_of(&reading->kernels, event->name);
    return ff__open_begin(&reading->running, event, kernel, &ended)
               ? end_launch(reading, &ended, event->time_ns)
               : 0;
}

static int end_all(struct second_reading *reading) {
    int status = 0;
    for (size_t i = 0; i < reading->running.count && !status; i++)
        status = end_launch(reading, &reading->running.launches[i], reading->history->end_ns);
    return status;
}

/* ---- pages ---- */

/* What an event is about. */
struct event_place {
    struct ff__history_slice *slice;
    struct ff__history_kernel *kernel;
    struct ff__history_buffer *buffer;
    uint32_t launch; /* 0: outside of launches */
    unsigned column;
};

static int find_place(struct second_reading *reading, const struct ff_trace_event *event,
                      uint64_t pages, struct event_place *out) {
    struct ff__run_history *history = reading->history;
    const struct ff__open_launch *launch = ff__open_on(&reading->running, event->device);
    uint64_t room = event->range < history->buffer_count
                        ? (history->buffers[event->range].live + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE
                        : 0;
    if (pages > room || event->page > room - pages)
        return ff__fail(reading->error, -EBADMSG,
                        "%s: at %llu ns: page %llu is outside of range %u", reading->path,
                        (unsigned long long)event->time_ns, (unsigned long long)event->page,
                        event->range);
    out->column = (unsigned)(event->time_ns / history->slice_ns);
    out->slice = &history->slices[out->column];
    out->kernel = &history->kernels[launch ? launch->kernel : 0];
    out->buffer = &history->buffers[event->range];
    out->launch = launch ? launch->number : 0;
    if (launch && out->buffer->first_kernel == FF__HISTORY_NO_INDEX)
        out->buffer->first_kernel = launch->kernel;
    if (event->device >= history->devices)
        history->devices = event->device + 1;
    return 0;
}

static void count_on_map(struct second_reading *reading, enum ff__history_map map,
                         const struct event_place *place, uint64_t page) {
    struct ff__run_history *history = reading->history;
    uint64_t block = place->buffer->blocks_before + page / FF_BLOCK_PAGES;
    history->maps[map][block / history->blocks_a_row][place->column]++;
}

static void use(const struct event_place *place, struct ff__history_page *page) {
    if (page->used_in != place->column + 1)
        place->slice->pages_used++;
    page->used_in = (uint16_t)(place->column + 1);
}

static unsigned bin_of(uint64_t pages) {
    unsigned bin = 0;
    while (bin + 1 < FF__HISTORY_BINS && ff__history_bin_end(bin) <= pages)
        bin++;
    return bin;
}

uint64_t ff__history_bin_end(unsigned bin) {
    uint64_t power = UINT64_C(1) << bin / FF__HISTORY_STEPS;
    return power + power * (bin % FF__HISTORY_STEPS + 1) / FF__HISTORY_STEPS;
}

/* Adds to what is counted for the run, and the slice, the kernel and the buffer of a place. */
#define COUNT(reading, place, member)                                                              \
    ((reading)->history->counts.member++, (place)->slice->counts.member++,                         \
     (place)->kernel->counts.member++, (place)->buffer->counts.member++)

static void fault(struct second_reading *reading, const struct event_place *place, uint64_t number,
                  struct ff__history_page *page) {
    COUNT(reading, place, faults);
    if (page->left)
        COUNT(reading, place, refaults);
    count_on_map(reading, FF__HISTORY_FAULTS, place, number);
    use(place, page);
}

static void arrive(struct second_reading *reading, const struct event_place *place, uint64_t number,
                   struct ff__history_page *page) {
    COUNT(reading, place, pages_in);
    if (page->left) {
        COUNT(reading, place, pages_back);
        reading->history->distances[bin_of((uint32_t)(reading->left - page->left_at) + 1ull)]++;
    }
    if (!place->launch || page->arrived_in != place->launch)
        COUNT(reading, place, pages_once);
    page->arrived_in = place->launch;
    reading->held += !page->held;
    page->held = true;
    page->left = false;
    count_on_map(reading, FF__HISTORY_PAGES_IN, place, number);
    use(place, page);
}

static void leave(struct second_reading *reading, const struct event_place *place, uint64_t number,
                  struct ff__history_page *page) {
    (void)number;
    COUNT(reading, place, pages_out);
    reading->held -= page->held;
    page->held = false;
    page->left = true;
    page->left_at = (uint32_t)++reading->left;
}

static void access_page(struct second_reading *reading, const struct event_place *place,
                        uint64_t number, struct ff__history_page *page) {
    count_on_map(reading, FF__HISTORY_USES, place, number);
    use(place, page);
}

static void note_held(struct second_reading *reading, struct ff__history_slice *slice) {
    if (slice->pages_held < reading->held)
        slice->pages_held = reading->held;
    if (reading->history->held_peak < reading->held)
        reading->history->held_peak = reading->held;
}

static int for_each_page(struct second_reading *reading, const struct ff_trace_event *event,
                         uint64_t pages,
                         void (*act)(struct second_reading *, const struct event_place *, uint64_t,
                                     struct ff__history_page *)) {
    struct event_place place;
    int status = find_place(reading, event, pages, &place);
    for (uint64_t i = event->page; !status && i < event->page + pages; i++) {
        struct ff__history_page *page = ff__history_page(&reading->pages, event->range, i);
        if (page)
            act(reading, &place, i, page);
        else
            status = -ENOMEM;
    }
    if (!status)
        note_held(reading, place.slice);
    return status;
}

static int move(struct second_reading *reading, const struct ff_trace_event *event) {
    bool in = event->kind == FF_TRACE_MIGRATE;
    struct ff__history_buffer *buffer = event->range < reading->history->buffer_count
                                            ? &reading->history->buffers[event->range]
                                            : NULL;
    const struct ff__open_launch *launch = ff__open_on(&reading->running, event->device);
    reading->history->arrivals += in;
    if (in && buffer && launch && buffer->last_launch != launch->number) {
        buffer->last_launch = launch->number;
        buffer->launches_in++;
    }
    return for_each_page(reading, event, event->pages, in ? arrive : leave);
}

/* ---- the two readings ---- */

static void forget(struct second_reading *reading, uint32_t range) {
    if (range >= reading->history->buffer_count)
        return;
    struct ff__history_buffer *buffer = &reading->history->buffers[range];
    reading->held -= ff__history_pages_forget(&reading->pages, range, buffer->live);
    buffer->live = 0;
}

/* Slices in which nothing arrives or leaves hold what the one before them did. */
static void carry(struct second_reading *reading, uint64_t before_ns, uint64_t now_ns) {
    struct ff__run_history *history = reading->history;
    for (uint64_t i = before_ns / history->slice_ns + 1; i <= now_ns / history->slice_ns; i++)
        history->slices[i].pages_held = reading->held;
}

static int take(struct second_reading *reading, const struct ff_trace_event *event) {
    struct ff__open_launch ended;
    if (event->time_ns > reading->history->end_ns ||
        (event->kind == FF_TRACE_RANGE && event->range >= reading->history->buffer_count))
        return ff__fail(reading->error, -EBADMSG, "%s: has changed while it was read",
                        reading->path);
    switch (event->kind) {
    case FF_TRACE_RANGE:
        forget(reading, event->range);
        reading->history->buffers[event->range].live = event->bytes;
        return 0;
    case FF_TRACE_FREE:
        forget(reading, event->range);
        return 0;
    case FF_TRACE_LAUNCH:
        return begin_launch(reading, event);
    case FF_TRACE_LAUNCH_END:
        return ff__open_end(&reading->running, event, &ended)
                   ? end_launch(reading, &ended, event->time_ns)
                   : 0;
    case FF_TRACE_FAULT:
        return for_each_page(reading, event, 1, fault);
    case FF_TRACE_ACCESS:
        return for_each_page(reading, event, 1, access_page);
    case FF_TRACE_MIGRATE:
    case FF_TRACE_EVICT:
        return move(reading, event);
    default:
        return 0;
    }
}

static int read_extent(const char *path, struct ff__history_extent *extent,
                       struct ff_error *error) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    int status = ff_trace_open(path, &reader, &extent->history->info, error);
    if (status)
        return status;
    status = ff__history_extent_begin(extent);
    while (!status && (status = ff_trace_read(reader, &event, error)) > 0)
        status = ff__history_extent_take(extent, &event, error);
    ff_trace_close(reader);
    return status ? status : ff__history_extent_end(extent, error);
}

static int read_all(struct second_reading *reading) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    uint64_t before_ns = 0, left = reading->history->events;
    int status = ff_trace_open(reading->path, &reader, NULL, reading->error);
    if (status)
        return status;
    while (!status && left-- > 0 && (status = ff_trace_read(reader, &event, reading->error)) > 0) {
        if (event.time_ns <= reading->history->end_ns)
            carry(reading, before_ns, event.time_ns);
        before_ns = event.time_ns;
        status = take(reading, &event);
    }
    ff_trace_close(reader);
    return status ? status : end_all(reading);
}

static int read_both(const char *path, struct ff__run_history *history, struct ff_error *error) {
    struct ff__history_extent extent = {.history = history, .path = path};
    struct second_reading reading = {.history = history, .path = path, .error = error};
    int status = read_extent(path, &extent, error);
    reading.kernels = extent.kernels;
    if (!status)
        status = read_all(&reading);
    ff__history_pages_fini(&reading.pages);
    ff__map_fini(&extent.kernels);
    return status;
}

int ff__history_read(const char *path, struct ff__run_history **out, struct ff_error *error) {
    struct ff__run_history *history = calloc(1, sizeof *history);
    *out = NULL;
    error->message[0] = '\0';
    int status = history ? read_both(path, history, error) : -ENOMEM;
    if (!status) {
        *out = history;
        return 0;
    }
    ff__history_free(history);
    return error->message[0] ? status : ff__fail(error, status, "%s: %s", path, strerror(-status));
}

void ff__history_free(struct ff__run_history *history) {
    if (!history)
        return;
    for (size_t i = 0; i < history->kernel_count; i++)
        free(history->kernels[i].name);
    free(history->kernels);
    free(history->buffers);
    free(history->bars);
    free(history);
}
