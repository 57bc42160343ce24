/* How a run uses the link from the host, over time. */
#ifndef FF_STUDY_REPRO_LINK_USE_H
#define FF_STUDY_REPRO_LINK_USE_H

#include "study/sim/simulate.h"

struct ff__link_use {
    double interval_ns;
    unsigned count;
    double *bytes; /* [count]: that cross the link in each interval, from the start of the run on */
};

/* Runs the simulation again, with its trace in the file `trace`, which it leaves. Pages that arrive
 * at the same time were one request, which held the link until then for as long as its size takes;
 * what is behind the last interval is left out. 0 or negative errno with one line. */
int ff__link_use_find(const struct ff__simulation *simulation, const char *trace,
                      struct ff__link_use *use, struct ff_error *error);

#endif
