#include "measure.h"

#include <stdlib.h>
#include <string.h>

void series_add(struct series *series, double value, double bound) {
    if (series->count == RUNS_MAX)
        return;
    series->value[series->count] = value;
    series->bound[series->count++] = bound;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *values, int count) {
    double sorted[RUNS_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double smallest(const double *values, int count) {
    double least = values[0];
    for (int i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

double largest(const double *values, int count) {
    double most = values[0];
    for (int i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

double series_ratio(const struct series *series) {
    double ratios[RUNS_MAX];
    for (int i = 0; i < series->count; i++)
        ratios[i] = series->value[i] / series->bound[i];
    return median(ratios, series->count);
}
