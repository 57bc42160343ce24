/* Ratios of times by pairs of the same turn, with the interval in which their geometric mean lies.
 * What slows the machine down for a while slows both of a pair, so that ratios of pairs vary less
 * than those of medians. */
#ifndef FF_STUDY_PAIRED_H
#define FF_STUDY_PAIRED_H

#define FF__PAIRS_MIN 5u /* fewer say too little */

/* A geometric mean, and its 95 % interval: Student's t distribution, on logarithms. */
struct ff__paired {
    unsigned pairs;
    double ratio, low, high;
};

/* Of so many logarithms of ratios; with fewer than FF__PAIRS_MIN, `pairs` is 0 and nothing else
 * counts. */
struct ff__paired ff__paired_of(const double *logs, unsigned count);

#endif
