/* What the tables of a paper's experiments show of runs, by name. */
#ifndef FF_STUDY_REPRO_METRICS_H
#define FF_STUDY_REPRO_METRICS_H

#include "study/sim/simulate.h"

/* Of one subject: all that a value is made of. */
struct ff__measured {
    const struct ff__simulated *run, *base; /* the system's, the baseline's */
    const struct ff__simulated *alone;      /* all kernels, and nothing moves */
    const struct ff__gpu *gpu;
    unsigned iterations; /* of which the paper gives the time: more than were run; 0: the run */
};

struct ff__metric {
    const char *name;
    double (*of)(const struct ff__measured *measured); /* NaN: what it needs has failed */
    bool needs_base, needs_alone;
};

/* NULL: there is none of that name. */
const struct ff__metric *ff__metric_find(const char *name);

#endif
