#include "trace/model/bound.h"

#include "base/error.h"
#include "base/grow.h"
#include "trace/model/least.h"
#include "trace/model/steps.h"

#include <errno.h>
#include <farfault/mask.h>
#include <farfault/trace.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- reading ---- */

struct traced_range {
    uint64_t pages; /* 0: not allocated */
    uint32_t first; /* dense number of its first page */
};

struct page {
    uint32_t last; /* its last touch, or NONE */
    bool content;
};

struct reading {
    const char *path;
    struct ff_error *error;
    struct ff_trace_info info;
    struct ff__touches *touches;
    struct traced_range *ranges;
    size_t range_count;
    struct page *pages;
    uint32_t group, running; /* launches that run */
};

static int contradiction(const struct reading *reading, const struct ff_trace_event *event) {
    return ff__fail(reading->error, -EBADMSG,
                    "%s: at %llu ns: page %llu of range %u does not exist", reading->path,
                    (unsigned long long)event->time_ns, (unsigned long long)event->page,
                    event->range);
}

static int add_range(struct reading *reading, const struct ff_trace_event *event) {
    struct ff__touches *touches = reading->touches;
    uint64_t pages = event->bytes / FF_PAGE_SIZE + (event->bytes % FF_PAGE_SIZE > 0);
    if (pages >= NONE - touches->page_count || event->range >= FF__ACCESS_ARRAY_MAX)
        return -EFBIG;
    for (; reading->range_count <= event->range; reading->range_count++) {
        if (ff__grow(&reading->ranges, reading->range_count, sizeof *reading->ranges))
            return -ENOMEM;
        reading->ranges[reading->range_count] = (struct traced_range){0, 0};
    }
    reading->ranges[event->range] = (struct traced_range){pages, touches->page_count};
    for (uint64_t i = 0; i < pages; i++) {
        if (ff__grow(&reading->pages, touches->page_count, sizeof *reading->pages))
            return -ENOMEM;
        reading->pages[touches->page_count++] = (struct page){NONE, false};
    }
    return 0;
}

/* The dense number of a page, from which on there are as many as the event is about. */
static bool find_pages(const struct reading *reading, const struct ff_trace_event *event,
                       uint64_t count, uint32_t *first) {
    if (event->range >= reading->range_count)
        return false;
    const struct traced_range *range = &reading->ranges[event->range];
    if (event->page >= range->pages || count > range->pages - event->page)
        return false;
    *first = range->first + (uint32_t)event->page;
    return true;
}

static int free_range(struct reading *reading, const struct ff_trace_event *event) {
    uint32_t first;
    if (!find_pages(reading, event, 1, &first))
        return contradiction(reading, event);
    reading->ranges[event->range].pages = 0;
    return 0;
}

static int add_touch(struct reading *reading, const struct ff_trace_event *event) {
    struct ff__touches *touches = reading->touches;
    uint32_t number;
    if (!find_pages(reading, event, 1, &number))
        return contradiction(reading, event);
    if (event->device > 0)
        return ff__fail(reading->error, -EINVAL, "%s: more than one device is in use",
                        reading->path);
    if (touches->count >= NONE - 1)
        return -EFBIG;
    if (ff__grow(&touches->items, touches->count, sizeof *touches->items))
        return -ENOMEM;
    bool outside = reading->running == 0;
    struct page *page = &reading->pages[number];
    reading->group += outside;
    touches->parallel = touches->parallel || (!outside && (event->cta > 0 || event->warp > 0));
    touches->items[touches->count] = (struct ff__touch){
        .page = number,
        .group = reading->group,
        .needs = page->content && !(outside && event->write),
        .writes = reading->info.accesses && event->write,
    };
    page->content = page->content || touches->items[touches->count].writes;
    page->last = (uint32_t)touches->count++;
    return 0;
}

static int note_written(struct reading *reading, const struct ff_trace_event *event) {
    uint32_t first;
    if (!find_pages(reading, event, event->pages, &first))
        return contradiction(reading, event);
    for (uint32_t i = first; i < first + event->pages; i++) {
        reading->pages[i].content = true;
        if (reading->pages[i].last != NONE)
            reading->touches->items[reading->pages[i].last].writes = true;
    }
    return 0;
}

/* What the host replaces on its side need not have been written back. */
static int note_host_write(struct reading *reading, const struct ff_trace_event *event) {
    uint32_t first;
    uint64_t pages = event->bytes / FF_PAGE_SIZE + (event->bytes % FF_PAGE_SIZE > 0);
    if (pages == 0)
        return 0;
    if (!find_pages(reading, event, pages, &first))
        return contradiction(reading, event);
    for (uint32_t i = first; i < first + pages; i++) {
        reading->pages[i].content = true;
        if (reading->pages[i].last != NONE)
            reading->touches->items[reading->pages[i].last].writes = false;
    }
    return 0;
}

static int take(struct reading *reading, const struct ff_trace_event *event) {
    switch (event->kind) {
    case FF_TRACE_RANGE:
        return add_range(reading, event);
    case FF_TRACE_FREE:
        return free_range(reading, event);
    case FF_TRACE_LAUNCH:
        reading->group += reading->running++ == 0;
        return 0;
    case FF_TRACE_LAUNCH_END:
        reading->running -= reading->running > 0; /* its begin may be missing */
        return 0;
    case FF_TRACE_ACCESS:
        return add_touch(reading, event);
    case FF_TRACE_WRITTEN:
        return note_written(reading, event);
    case FF_TRACE_HOST_WRITE:
        return note_host_write(reading, event);
    default:
        return 0;
    }
}

static int read_events(struct reading *reading, struct ff_trace_reader *reader) {
    struct ff_trace_event event;
    int status;
    while ((status = ff_trace_read(reader, &event, reading->error)) > 0) {
        status = take(reading, &event);
        if (status == -ENOMEM || status == -EFBIG)
            ff__fail(reading->error, status, "%s: %s", reading->path, strerror(-status));
        if (status)
            break;
    }
    return status;
}

int ff__touches_read(const char *path, struct ff__touches *out, struct ff_error *error) {
    struct reading reading = {.path = path, .error = error, .touches = out};
    struct ff_trace_reader *reader;
    *out = (struct ff__touches){0};
    int status = ff_trace_open(path, &reader, &reading.info, error);
    if (status)
        return status;
    if (reading.info.touches || reading.info.accesses)
        status = read_events(&reading, reader);
    else
        status = ff__fail(error, -EINVAL, "%s has faults alone, not what is touched", path);
    ff_trace_close(reader);
    free(reading.ranges);
    free(reading.pages);
    return status;
}

void ff__touches_free(struct ff__touches *touches) {
    free(touches->items);
    *touches = (struct ff__touches){0};
}

/* ---- the least ---- */

/* What moving a page is for. */
enum motive { FETCH, WRITE_BACK };

/* What has been seen of a page in an order. */
struct page_seen {
    uint32_t use; /* the latest, or NONE */
    bool wrote;   /* it did */
};

/* Uses of an order, each page once in a group. Whether one counts as a fetch is known at once; as a
 * write-back, by whether the page was written to when it was last used. */
static size_t order_uses(const struct ff__touches *touches, enum ff__touch_order order,
                         enum motive motive, struct page_seen *pages, struct ff__page_use *uses) {
    size_t count = 0;
    for (uint32_t page = 0; page < touches->page_count; page++)
        pages[page] = (struct page_seen){NONE, false};
    for (size_t i = 0; i < touches->count; i++) {
        const struct ff__touch *touch = &touches->items[i];
        struct page_seen *seen = &pages[touch->page];
        uint32_t group = order == FF__ORDER_ANY ? touch->group : (uint32_t)i;
        bool again = seen->use != NONE && uses[seen->use].group == group;
        if (!again) {
            bool counts = touch->needs && (motive == FETCH || seen->wrote);
            seen->use = (uint32_t)count;
            uses[count++] = (struct ff__page_use){touch->page, group, counts};
        }
        seen->wrote = touch->writes || (again && seen->wrote);
    }
    return count;
}

static int find_least(const struct ff__touches *touches, enum ff__touch_order order,
                      uint64_t memory, enum motive motive, uint64_t *bytes) {
    struct page_seen *pages = malloc(((size_t)touches->page_count + 1) * sizeof *pages);
    struct ff__page_use *uses = malloc((touches->count + 1) * sizeof *uses);
    uint64_t misses = 0;
    int status = -ENOMEM;
    if (pages && uses)
        status = ff__least_misses(uses, order_uses(touches, order, motive, pages, uses),
                                  touches->page_count, memory / FF_PAGE_SIZE, &misses);
    *bytes = misses * FF_PAGE_SIZE;
    free(pages);
    free(uses);
    return status;
}

int ff__bound_find(const struct ff__touches *touches, enum ff__touch_order order, uint64_t memory,
                   struct ff__bound *out) {
    uint64_t any_order;
    int status = find_least(touches, order, memory, FETCH, &out->fetched);
    if (!status)
        status = find_least(touches, order, memory, WRITE_BACK, &out->written_back);
    if (!status)
        status = find_least(touches, FF__ORDER_ANY, memory, WRITE_BACK, &any_order);
    /* which may be more: a page that a launch has written to and only reads after that still has to
     * leave by a copy */
    if (!status && any_order > out->written_back)
        out->written_back = any_order;
    return status;
}
