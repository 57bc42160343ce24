#include "trace/model/spans.h"

#include "base/grow.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

#define WIDE_BLOCKS 16u /* a piece of more blocks is not kept block by block */

static bool possible(uint32_t space, uint64_t address, uint64_t bytes) {
    return space < FF__SPAN_SPACES && bytes > 0 && address < FF__SPAN_ADDRESSES &&
           bytes <= FF__SPAN_ADDRESSES - address;
}

int ff__spans_know(struct ff__spans *spans, uint32_t space, uint64_t address, uint64_t bytes) {
    if (!possible(space, address, bytes))
        return -ERANGE;
    if (ff__grow(&spans->ranges, spans->known_count, sizeof *spans->ranges))
        return -ENOMEM;
    spans->ranges[spans->known_count++] =
        (struct ff__traced_span){address, address + bytes, space, 0, false};
    return 0;
}

static uint64_t key_of(uint32_t space, uint64_t block) {
    return (uint64_t)space << 36 | block;
}

static int touch_block(struct ff__spans *spans, uint64_t key) {
    if (spans->has_last && spans->last_key == key)
        return 0;
    spans->last_key = key;
    spans->has_last = true;
    return ff__map_put(&spans->touched, key, 0);
}

int ff__spans_touch(struct ff__spans *spans, uint32_t space, uint64_t address, uint64_t bytes) {
    if (!possible(space, address, bytes))
        return -ERANGE;
    uint64_t first = address >> FF_BLOCK_SHIFT, last = (address + bytes - 1) >> FF_BLOCK_SHIFT;
    if (last - first >= WIDE_BLOCKS) {
        if (ff__grow(&spans->wide, spans->wide_count, sizeof *spans->wide))
            return -ENOMEM;
        spans->wide[spans->wide_count++] = (struct ff__traced_span){
            first << FF_BLOCK_SHIFT, (last + 1) << FF_BLOCK_SHIFT, space, 0, false};
        return 0;
    }
    for (uint64_t block = first; block <= last; block++)
        if (touch_block(spans, key_of(space, block)))
            return -ENOMEM;
    return 0;
}

void ff__spans_fini(struct ff__spans *spans) {
    ff__map_fini(&spans->touched);
    free(spans->wide);
    free(spans->ranges);
    memset(spans, 0, sizeof *spans);
}

/* ---- settling ---- */

static int by_place(const void *a, const void *b) {
    const struct ff__traced_span *x = a, *y = b;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static void sort(struct ff__traced_span *spans, size_t count) {
    if (count > 1)
        qsort(spans, count, sizeof *spans, by_place);
}

/* Addresses are used again after a free, perhaps for an allocation of another size: the first that
 * reaches into another stands for both. */
static void drop_overlaps(struct ff__spans *spans) {
    size_t kept = 0;
    for (size_t i = 0; i < spans->known_count; i++) {
        const struct ff__traced_span *before = kept ? &spans->ranges[kept - 1] : NULL;
        if (before && before->space == spans->ranges[i].space &&
            spans->ranges[i].first < before->end)
            continue;
        spans->ranges[kept++] = spans->ranges[i];
    }
    spans->known_count = kept;
}

static int list_blocks(const struct ff__spans *spans, struct ff__traced_span **out, size_t *count) {
    size_t most = spans->touched.count + spans->touched.has_zero + spans->wide_count;
    struct ff__traced_span *pieces = malloc((most + 1) * sizeof *pieces);
    size_t used = 0;
    if (!pieces)
        return -ENOMEM;
    for (size_t i = 0; i <= spans->touched.capacity; i++) {
        bool zero = i == spans->touched.capacity;
        uint64_t key = zero ? 0 : spans->touched.keys[i];
        if (zero ? !spans->touched.has_zero : key == 0)
            continue;
        uint64_t first = (key & ((UINT64_C(1) << 36) - 1)) << FF_BLOCK_SHIFT;
        pieces[used++] =
            (struct ff__traced_span){first, first + FF_BLOCK_SIZE, (uint32_t)(key >> 36), 0, false};
    }
    if (spans->wide_count > 0)
        memcpy(pieces + used, spans->wide, spans->wide_count * sizeof *pieces);
    *out = pieces;
    *count = used + spans->wide_count;
    return 0;
}

/* The last of some sorted ranges that begins at or before an address; NULL if there is none. */
static struct ff__traced_span *last_before(struct ff__traced_span *ranges, size_t count,
                                           uint32_t space, uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ff__traced_span *at = &ranges[middle];
        if (at->space < space || (at->space == space && at->first <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ranges[low - 1].space == space ? &ranges[low - 1] : NULL;
}

static bool inside_known(const struct ff__spans *spans, const struct ff__traced_span *piece) {
    const struct ff__traced_span *known =
        last_before(spans->ranges, spans->known_count, piece->space, piece->first);
    return known && piece->end <= known->end;
}

static int derive(struct ff__spans *spans, const struct ff__traced_span *pieces, size_t count) {
    spans->range_count = spans->known_count;
    for (size_t i = 0; i < count; i++) {
        struct ff__traced_span *last =
            spans->range_count > spans->known_count ? &spans->ranges[spans->range_count - 1] : NULL;
        if (inside_known(spans, &pieces[i]))
            continue;
        if (last && last->space == pieces[i].space && pieces[i].first <= last->end) {
            last->end = pieces[i].end > last->end ? pieces[i].end : last->end;
            continue;
        }
        if (spans->range_count >= UINT32_MAX)
            return -EFBIG;
        spans->ranges[spans->range_count++] = pieces[i];
    }
    return 0;
}

int ff__spans_settle(struct ff__spans *spans) {
    struct ff__traced_span *pieces, *ranges;
    size_t count;
    sort(spans->ranges, spans->known_count);
    drop_overlaps(spans);
    int status = list_blocks(spans, &pieces, &count);
    if (status)
        return status;
    sort(pieces, count);
    ranges = realloc(spans->ranges, (spans->known_count + count + 1) * sizeof *ranges);
    if (ranges)
        spans->ranges = ranges;
    status = ranges ? derive(spans, pieces, count) : -ENOMEM;
    free(pieces);
    return status;
}

/* ---- using ---- */

static struct ff__traced_span *find(struct ff__spans *spans, uint32_t space, uint64_t address) {
    struct ff__traced_span *range = last_before(spans->ranges, spans->known_count, space, address);
    if (range && address < range->end)
        return range;
    range = last_before(spans->ranges + spans->known_count, spans->range_count - spans->known_count,
                        space, address);
    return range && address < range->end ? range : NULL;
}

/* Pages begin at page boundaries, wherever the allocation does. */
static uint64_t base_of(const struct ff__traced_span *span) {
    return span->first & ~(uint64_t)(FF_PAGE_SIZE - 1);
}

int ff__spans_use(struct ff__spans *spans, const struct ff__sink *sink,
                  const struct ff_trace_event *like, uint32_t space, uint64_t address,
                  uint32_t *range, uint64_t *page) {
    struct ff__traced_span *span = find(spans, space, address);
    if (!span)
        return -ERANGE;
    if (span->number == 0)
        span->number = ++spans->announced;
    *range = span->number - 1;
    *page = (address - base_of(span)) / FF_PAGE_SIZE;
    if (span->live)
        return 0;
    span->live = true;
    struct ff_trace_event event = {.kind = FF_TRACE_RANGE,
                                   .time_ns = like->time_ns,
                                   .device = like->device,
                                   .range = *range,
                                   .bytes = span->end - base_of(span)};
    return sink->put(sink->self, &event);
}

uint64_t ff__spans_left(struct ff__spans *spans, uint32_t space, uint64_t address) {
    const struct ff__traced_span *span = find(spans, space, address);
    uint64_t page = address & ~(uint64_t)(FF_PAGE_SIZE - 1);
    return span ? (span->end - page + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE : 0;
}

int ff__spans_free(struct ff__spans *spans, const struct ff__sink *sink, uint64_t time_ns,
                   uint32_t space, uint64_t address) {
    struct ff__traced_span *span = last_before(spans->ranges, spans->known_count, space, address);
    if (!span || span->first != address || !span->live)
        return 0;
    span->live = false;
    struct ff_trace_event event = {
        .kind = FF_TRACE_FREE, .time_ns = time_ns, .range = span->number - 1};
    return sink->put(sink->self, &event);
}
