/* What fuzzers of importers check of every event: times ascend, ranges are numbered as they come,
 * and nothing happens to one that has not come. */
#ifndef FF_TESTS_FUZZ_SEEN_H
#define FF_TESTS_FUZZ_SEEN_H

#include "fuzz/fuzz.h"

#include "trace/model/import.h"

struct seen {
    uint64_t last_ns;
    uint32_t ranges;
};

/* `names_range`: the event is about a range. */
static inline void see_event(struct seen *seen, const struct ff_trace_event *event,
                             bool names_range) {
    FUZZ_EXPECT(event->time_ns >= seen->last_ns);
    seen->last_ns = event->time_ns;
    if (event->kind == FF_TRACE_RANGE && event->range >= seen->ranges) {
        FUZZ_EXPECT(event->range == seen->ranges && event->bytes > 0);
        seen->ranges++;
    }
    FUZZ_EXPECT(!names_range || event->range < seen->ranges);
}

#endif
