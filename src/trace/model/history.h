/* What happened in a recorded run, reduced to what a page can show: by slice of time, by block of
 * memory, by kernel and by buffer.
 *
 * A trace does not say whether a page that leaves a device is copied, so bytes are those of pages
 * that arrived and that left. A page comes *back* when it arrives, and a fault is a *refault*, if
 * the page has been on a device before and has left it since it was allocated. What happens counts
 * for the launch that has begun last on its device. Buffers are numbered as the trace's ranges are;
 * one that is allocated under the number of a freed one counts as the same. */
#ifndef FF_TRACE_MODEL_HISTORY_H
#define FF_TRACE_MODEL_HISTORY_H

#include <farfault/trace.h>

#define FF__HISTORY_SLICES   200u /* of time, all of the same length */
#define FF__HISTORY_ROWS     200u /* of blocks, all with the same number of them */
#define FF__HISTORY_STEPS    4u   /* distances have so many bins for each power of two */
#define FF__HISTORY_BINS     (33u * FF__HISTORY_STEPS)
#define FF__HISTORY_LANES    11u /* of bars: the kernels that took longest, and all others */
#define FF__HISTORY_NO_INDEX UINT32_MAX

/* Counted for the run, a kernel, a buffer or a slice. */
struct ff__history_counts {
    uint64_t faults, refaults;
    uint64_t pages_in, pages_back, pages_out;
    uint64_t pages_once; /* of pages_in, those that had not arrived in the same launch before */
};

struct ff__history_slice {
    struct ff__history_counts counts;
    uint64_t pages_held; /* on all devices, the most at a time */
    uint64_t pages_used; /* different ones that arrived, faulted or were accessed */
};

struct ff__history_kernel {
    char *name; /* the first is "(no launch)", for what happens outside of launches */
    uint64_t launches, time_ns;
    uint32_t lane;
    struct ff__history_counts counts;
};

struct ff__history_buffer {
    uint64_t bytes; /* of the largest allocation under this number */
    uint64_t live;  /* of the one that is there now; 0: none */
    uint64_t allocations, blocks_before, launches_in;
    uint32_t first_kernel; /* FF__HISTORY_NO_INDEX: never used */
    uint32_t last_launch;  /* in which pages of it arrived */
    struct ff__history_counts counts;
};

/* Launches of a lane that follow each other so closely that they are drawn as one. */
struct ff__history_bar {
    uint64_t begin_ns, end_ns, busy_ns, launches;
    uint32_t lane;
};

enum ff__history_map {
    FF__HISTORY_FAULTS,
    FF__HISTORY_PAGES_IN,
    FF__HISTORY_USES,
    FF__HISTORY_MAPS
};

struct ff__run_history {
    struct ff_trace_info info;
    uint64_t end_ns, slice_ns, events;
    uint64_t footprint; /* bytes of the allocations, the most at a time */
    uint64_t held_peak; /* pages */
    uint64_t arrivals;  /* how often pages arrived together */
    uint64_t launches;
    uint32_t devices;
    struct ff__history_counts counts;
    struct ff__history_slice slices[FF__HISTORY_SLICES];
    struct ff__history_kernel *kernels;
    struct ff__history_buffer *buffers; /* [range] */
    struct ff__history_bar *bars;
    size_t kernel_count, buffer_count, bar_count;
    uint64_t blocks, blocks_a_row; /* of all buffers, one after another */
    uint64_t maps[FF__HISTORY_MAPS][FF__HISTORY_ROWS][FF__HISTORY_SLICES];
    /* Pages that came back, by how many pages had left since they left, themselves included */
    uint64_t distances[FF__HISTORY_BINS];
};

/* Reads the trace twice. Errors of ff_trace_open(); -EBADMSG too where the events contradict each
 * other; -EFBIG; -ENOMEM. Freed with ff__history_free(), NULL after an error. */
int ff__history_read(const char *path, struct ff__run_history **out, struct ff_error *error);
void ff__history_free(struct ff__run_history *history);

/* The distances of bin `bin` are below this many pages. */
uint64_t ff__history_bin_end(unsigned bin);

#endif
