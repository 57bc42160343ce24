/* One run of a program, from which only measurements are wanted. */
#ifndef FF_STUDY_LIVE_TRIAL_H
#define FF_STUDY_LIVE_TRIAL_H

#include "study/live/child.h"
#include "study/live/program.h"
#include "study/live/summary.h"

#define FF__REASON 200

struct ff__trial_plan {
    const struct ff__program *program;
    const char *preload;
    unsigned devices;
    const char *system; /* NULL: unmanaged, only measured */
    uint64_t memory;
    uint64_t limit_ns; /* 0: none */
    /* NULL, or the trace to write of what the run touches; it is then a slow one, with the system
     * demand */
    const char *touches;
    /* Where the standard output of another run is kept: it must be the same; -1: it need not */
    int expected_output;
    bool keeps_output;
};

struct ff__trial {
    bool good;               /* it succeeded, verified what it can, and left a summary */
    char reason[FF__REASON]; /* why not */
    int start_status;        /* 0, or the negative errno for which it could not start */
    struct ff__child_end end;
    struct ff__summary summary; /* empty if there is none */
    int output;                 /* with keeps_output, a file with its standard output; else -1 */
};

/* The caller frees the summary and closes the output. */
void ff__trial_run(const struct ff__trial_plan *plan, struct ff__trial *out);

#endif
