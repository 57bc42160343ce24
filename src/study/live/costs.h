/* What this machine's software device costs, measured: faults, migrations, evictions. */
#ifndef FF_STUDY_LIVE_COSTS_H
#define FF_STUDY_LIVE_COSTS_H

#include <farfault/farfault.h>

#define FF__COST_SIZES 5u

/* Bytes that a fault brings, from a page to a whole block. */
extern const uint64_t ff__cost_sizes[FF__COST_SIZES];

/* All in nanoseconds; each the least of several rounds. */
struct ff__costs {
    /* [size] a fault that brings so many bytes: to the thread that waits, and of that, to the one
     * that serves it */
    double fault_ns[FF__COST_SIZES], serve_ns[FF__COST_SIZES];
    /* How much longer a fault that brings a page takes after a pause in which the thread that
     * serves it has fallen asleep. */
    double wake_ns;
    double clean_ns, dirty_ns; /* an eviction of a whole block, not written to and written to */
    double launch_ns;          /* an empty kernel */
    double copy_rate;          /* bytes per second that one thread copies in memory */
};

/* Opens devices as configured, but for their memory and system. Negative errno, with a line. */
int ff__costs_measure(const struct ff_config *config, struct ff__costs *out,
                      struct ff_error *error);

#endif
