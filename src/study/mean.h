/* Geometric mean of ratios: add them one by one. */
#ifndef FF_STUDY_MEAN_H
#define FF_STUDY_MEAN_H

#include <math.h>

struct ff__mean {
    double logs;
    unsigned count;
};

static inline void ff__mean_add(struct ff__mean *mean, double ratio) {
    mean->logs += log(ratio);
    mean->count++;
}

/* NaN: nothing was added. */
static inline double ff__mean_value(const struct ff__mean *mean) {
    return mean->count ? exp(mean->logs / mean->count) : (double)NAN;
}

#endif
