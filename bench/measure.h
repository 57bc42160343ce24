/* Repeated measurements of an operation and its bound, in turn, so that a noisy machine disturbs
 * both alike. */
#ifndef FF_BENCH_MEASURE_H
#define FF_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#define RUNS_MAX 64

/* Values of one benchmark over several runs; the bound's beside them, taken right before or
 * after. */
struct series {
    double value[RUNS_MAX], bound[RUNS_MAX];
    int count;
};

void series_add(struct series *series, double value, double bound);

double median(const double *values, int count);
double smallest(const double *values, int count);
double largest(const double *values, int count);

/* The median of the ratios value / bound of each run. */
double series_ratio(const struct series *series);

#endif
