/* The simulator: one workload on modelled devices, in virtual time, under the same engine and
 * policies as on the software device. Deterministic for its inputs; any number of simulations may
 * run at the same time, each on one thread. */
#ifndef FF_BACKEND_SIM_SIM_H
#define FF_BACKEND_SIM_SIM_H

#include <farfault/farfault.h>
#include <farfault/trace.h>

#include "backend/sim/machine/machine.h"
#include "policy/registry.h"
#include "workload/workload.h"

/* A device has more or less memory from then on, at most what it began with. */
struct ff__sim_capacity {
    uint64_t time_ns, memory; /* bytes */
    uint32_t device;
};

struct ff__sim_config {
    const struct ff__gpu *gpu;
    /* What links the devices; its `gpu` is not looked at. NULL: each has its own way to the host,
     * and one port for all other devices. */
    const struct ff__machine *machine;
    uint64_t memory; /* bytes of each device; 0: enough for everything */
    uint32_t devices;
    /* Of these, bytes that other devices' evictions may use, if a place policy sends them there */
    uint64_t lend;
    uint32_t lenders;                          /* which devices do so, a bit each; 0: all */
    const struct ff__sim_capacity *capacities; /* changes; NULL: none */
    uint32_t capacity_count;
    uint64_t seed;
    struct ff__system system;
    bool check; /* verify the engine's invariants after every event */
    /* Of warps: a timed run ends when so many have been issued, with the kernels that run then
     * counted as far as they are. 0: it runs to its end. Kernels in bulk issue none. */
    uint64_t instructions;
    /* Every access is answered at once: counts, but no times, and every access is a demand. */
    bool untimed;
    /* Extrapolates iterations that are like those before (iterations.c) instead of running them;
     * not when observed. Fully resident iterations, in which nothing moves, are always
     * extrapolated. */
    bool extrapolates;
    /* Called for everything that happens, in order; `seen`: an access as policies see it, NULL with
     * other events. NULL: not wanted. */
    void (*observe)(void *self, const struct ff_trace_event *event, const struct ff_access *seen);
    void *observer;
    /* Called for each finding of a policy, at the end. A kernel or array that is not known is "".
     * NULL: not wanted. */
    void (*explain)(void *self, const char *kernel, const char *array,
                    const struct ff_finding *finding);
    void *explain_self;
    /* Called now and then with the share of the launches done; NULL. */
    void (*progress)(void *self, double share);
    void *progress_self;
};

/* One iteration of the program. */
struct ff__sim_iteration {
    uint64_t time_ns, time_ps, faults, duplicates, pages_in, pages_out;
};

/* All times are virtual. All members are 64-bit counters. */
struct ff__sim_result {
    uint64_t time_ns;   /* the whole program, with everything below; this and all _ns: timed runs */
    uint64_t time_ps;   /* the same, so that iterations add up */
    uint64_t kernel_ns; /* some kernel ran */
    uint64_t fault_ns;  /* fault handling: the driver's time (batch), or its latencies (flat) */
    /* links from the host to devices, back, and between devices were busy */
    uint64_t link_in_ns, link_out_ns, link_peer_ns;
    uint64_t stall_ns;     /* no warp of a running kernel could go on; all devices' */
    uint64_t instructions; /* of warps */
    uint64_t accesses;     /* of warps to pages */
    uint64_t hits;         /* of these, to resident pages */
    uint64_t remote;       /* of these, over a link */
    uint64_t walks;        /* TLB misses */
    uint64_t faults;       /* far faults as the device counts them: pages, merged ones left out */
    uint64_t duplicates;   /* faults on these pages of further SMs at the same time; in bulk */
    uint64_t batches;
    uint64_t pages_in, pages_out, pages_dropped;
    uint64_t bytes_in, bytes_out, bytes_peer;
    uint64_t evicted_dirty, evicted_clean; /* pages */
    uint64_t thrashed;                     /* pages that came back after an eviction */
    uint64_t demanded, demanded_hits; /* pages that kernels wanted: first accesses of each launch to
                                         each page, and how many of these were resident */
    uint64_t prefetched, prefetched_used, prefetched_useless;
    uint64_t sample_rounds, sample_ns; /* rounds of samples; the driver's time for them */
    uint64_t tracker_bytes;            /* of hardware of access time trackers, all devices' */
    uint64_t table_bytes; /* pages of the prefetch policy's arena that it has written to */
    uint64_t kernels, kernels_faulted; /* execution IDs: all; that had a fault; timed runs */
    /* Of a job that repeats: its iterations, or if it has none its runs. They are counted from
     * repetitions_from_ps on: the end of the first that ended when all jobs had started. */
    uint64_t repetitions, repetitions_ps, repetitions_from_ps;
    uint64_t iterations;     /* of the program, if it has iterations */
    uint64_t iterations_run; /* of these, simulated and not extrapolated */
    struct ff__sim_iteration last_iteration;
    struct ff_stats stats; /* the engine's */
};

/* Result structures add up as words. */
#define FF__RESULT_WORDS (sizeof(struct ff__sim_result) / sizeof(uint64_t))
_Static_assert(sizeof(struct ff__sim_result) % sizeof(uint64_t) == 0, "counters only");

/* Runs the whole workload. -EINVAL, -ENOMEM, -ENOTSUP (visibility), -EUCLEAN (an invariant broke).
 */
int ff__sim_run(const struct ff__sim_config *config, struct ff__workload *workload,
                struct ff__sim_result *result, struct ff_error *error);

/* A program that runs beside others. */
struct ff__sim_job {
    struct ff__workload *workload;  /* no other job's */
    uint32_t first_device, devices; /* that it runs on, and no other job */
    uint64_t start_ns;              /* it starts later than the others */
    /* The job begins anew whenever it ends, until all jobs that do not repeat have ended. Its time
     * ends then, too. */
    bool repeats;
    struct ff__sim_result result;
};

/* Runs several programs at the same time, on devices of their own, but with one host, engine and
 * policies. Jobs are in the order of their devices. Each gets its own counters; `kernels`,
 * `table_bytes` and `stats`, which only the engine has, are those of all. `all` has the sums; its
 * time is that of the last job to end. Iterations are not extrapolated (`extrapolates`) if there
 * are several jobs. Errors as above. */
int ff__sim_run_jobs(const struct ff__sim_config *config, struct ff__sim_job *jobs, uint32_t count,
                     struct ff__sim_result *all, struct ff_error *error);

/* hit rate, accuracy, coverage (needs the misses of a run without prefetching), unity: design
 * section
 * 10. NaN where undefined. */
double ff__sim_hit_rate(const struct ff__sim_result *result);
double ff__sim_accuracy(const struct ff__sim_result *result);
double ff__sim_coverage(const struct ff__sim_result *result, const struct ff__sim_result *without);
double ff__sim_ipc(const struct ff__sim_result *result, const struct ff__gpu *gpu);

#endif
