/* Several runs of the same thing, and means over many of them. */
#ifndef FF_STUDY_LIVE_RESULT_H
#define FF_STUDY_LIVE_RESULT_H

#include "runtime/options.h"
#include "study/live/trial.h"

struct ff__result {
    unsigned count;                        /* runs that were good */
    struct ff__summary runs[FF__RUNS_MAX]; /* in the order of their times */
    double turns[FF__RUNS_MAX];            /* seconds, in the order in which they ran */
    bool failed;                           /* one run was not; then nothing else here counts */
    char reason[FF__REASON];
};

/* Takes over the trial's summary. */
void ff__result_add(struct ff__result *result, struct ff__trial *trial);

/* For when it was not even tried. */
void ff__result_fail(struct ff__result *result, const char *reason);
void ff__result_free(struct ff__result *result);

/* All of these are for results that did not fail and have at least one run. */
double ff__result_median(const struct ff__result *result);
double ff__result_min(const struct ff__result *result);
double ff__result_max(const struct ff__result *result);

/* The run with the median time, or the faster of the two in the middle: its counters stand for all.
 */
const struct ff__summary *ff__result_typical(const struct ff__result *result);

/* Whether it can be the top or the bottom of a ratio. */
bool ff__result_usable(const struct ff__result *result);

#endif
