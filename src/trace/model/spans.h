/* Ranges for addresses whose allocations were not recorded.
 *
 * First every address that occurs is added, and every allocation that is known. Ranges are made of
 * them then: the known allocations as they are, and outside of them one range for every run of
 * touched 2 MiB blocks that lie side by side. A range begins to exist when it is first used.
 */
#ifndef FF_TRACE_MODEL_SPANS_H
#define FF_TRACE_MODEL_SPANS_H

#include "base/map.h"
#include "trace/model/import.h"

struct ff__traced_span {
    uint64_t first, end; /* bytes, end > first */
    uint32_t space;      /* which process's addresses */
    uint32_t number;     /* of its range, and one; 0: never announced */
    bool live;           /* its range has been announced and not been freed */
};

struct ff__spans {
    struct ff__map touched;         /* space and block */
    struct ff__traced_span *wide;   /* touched pieces of many blocks */
    struct ff__traced_span *ranges; /* known ones, then derived ones, each in order */
    size_t wide_count, known_count, range_count;
    uint32_t announced; /* numbers are dense, in the order of first use */
    uint64_t last_key;
    bool has_last;
};

#define FF__SPAN_SPACES (1u << 20)
#define FF__SPAN_ADDRESSES                                                                         \
    (UINT64_C(1) << 57) /* user addresses are below, with five-level tables */

/* 0; -ENOMEM; -ERANGE: no such addresses. */
int ff__spans_know(struct ff__spans *spans, uint32_t space, uint64_t address, uint64_t bytes);
int ff__spans_touch(struct ff__spans *spans, uint32_t space, uint64_t address, uint64_t bytes);
int ff__spans_settle(struct ff__spans *spans);
void ff__spans_fini(struct ff__spans *spans);

/* The range an address lies in, announced to the sink if it was not, and the page of it. `like`
 * says when, and on which device. -ERANGE: never touched. */
int ff__spans_use(struct ff__spans *spans, const struct ff__sink *sink,
                  const struct ff_trace_event *like, uint32_t space, uint64_t address,
                  uint32_t *range, uint64_t *page);

/* Pages from an address to the end of the range it lies in. */
uint64_t ff__spans_left(struct ff__spans *spans, uint32_t space, uint64_t address);

/* The allocation at this address has ended; if it was one that is known, and used. */
int ff__spans_free(struct ff__spans *spans, const struct ff__sink *sink, uint64_t time_ns,
                   uint32_t space, uint64_t address);

#endif
