/* What the tables of a paper's experiments show of runs, by name. */
#ifndef FF_STUDY_REPRO_METRICS_H
#define FF_STUDY_REPRO_METRICS_H

#include "study/sim/simulate.h"

#include <math.h>

/* Of one subject: all that a value is made of. */
struct ff__measured {
    const struct ff__simulated *run, *base; /* the system's, the baseline's */
    const struct ff__simulated *alone;      /* all kernels, and nothing moves */
    const struct ff__gpu *gpu;
    unsigned iterations; /* of which the paper gives the time: more than were run; 0: the run */
};

/* Of one subject, or summed over several; a value that is none has the whole 1. */
struct ff__ratio {
    double part, whole;
};

/* NaN: what it needs has failed, or there is nothing to compare it with. */
static inline double ff__ratio_value(struct ff__ratio ratio) {
    return ratio.whole > 0 ? ratio.part / ratio.whole : (double)NAN;
}

enum ff__metric_trait {
    FF__METRIC_BASE = 1,  /* it needs a baseline */
    FF__METRIC_ALONE = 2, /* and the kernels alone */
    FF__METRIC_SUMS = 4,  /* of all subjects together it is that of the sums, no geometric mean */
};

struct ff__metric {
    const char *name;
    struct ff__ratio (*of)(const struct ff__measured *measured);
    unsigned traits;
};

/* NULL: there is none of that name. */
const struct ff__metric *ff__metric_find(const char *name);

#endif
