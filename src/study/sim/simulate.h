/* One simulation, from names to numbers. */
#ifndef FF_STUDY_SIM_SIMULATE_H
#define FF_STUDY_SIM_SIMULATE_H

#include "backend/sim/sim.h"
#include "report/text.h"

#define FF__IDLE_DEVICE "idle" /* beside the subject: a device without a program */

/* In place of systems; see `iterations`. */
#define FF__LMS      "lms"
#define FF__LMS_MOD  "lms-mod"
#define FF__RESIDENT "resident" /* all kernels, and nothing moves */

/* A workload by its specification, or recorded in a trace. */
struct ff__subject {
    const char *name; /* the specification, or the path of the trace */
    bool trace;
    uint64_t seed;
};

/* Opens it; the caller closes it with ff__workload_close(). */
int ff__subject_open(const struct ff__subject *subject, struct ff__workload **out,
                     struct ff_error *error);

struct ff__simulation {
    struct ff__subject subject;
    const struct ff__gpu *gpu;
    const char *system;                /* "nvidia:threshold=25" */
    const char *known_as;              /* what to call it, if that names a file; or NULL */
    uint64_t memory;                   /* bytes of each device; 0: enough for everything */
    uint32_t devices;                  /* of the subject */
    const struct ff__machine *machine; /* what links the devices; NULL: all alike */
    /* Programs, each on a device of its own, which begin anew until the subject ends; all devices
     * lend each other what they do not need then */
    const struct ff__words *beside;
    bool check, untimed, extrapolates, explains;
    uint64_t instructions; /* of warps: the run ends after so many; 0: at its end */
    /* What swaps tensors in place of a system (lms, lms-mod), or nothing (resident): how many
     * iterations; else 0 */
    uint64_t iterations;
    const char *trace; /* a file to be written; NULL: none */
};

/* What a policy has found of a kernel and an array; "": of none in particular. */
struct ff__finding_text {
    char kernel[64], range[32], text[sizeof((struct ff_finding *)0)->text];
};

struct ff__simulated {
    bool good, cannot; /* cannot: the system can run no such program; then it is not good */
    char reason[sizeof((struct ff_error *)0)->message]; /* why not */
    uint64_t footprint;                                 /* bytes that the subject needs */
    struct ff__sim_result result;
    struct ff__sim_result *beside; /* of each program beside the subject; to be freed */
    unsigned beside_count;
    struct ff__finding_text *findings; /* to be freed */
    unsigned finding_count;
};

/* Opens the workload and runs it; may be called from any thread. */
void ff__simulate(const struct ff__simulation *simulation, struct ff__simulated *out);

#endif
