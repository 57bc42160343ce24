#include "study/paired.h"

#include <math.h>

/* The 97.5 % quantile of Student's t distribution: its expansion in powers of 1 / freedom around
 * that of the normal distribution (Abramowitz and Stegun, 26.7.5). From 4 degrees of freedom on it
 * is right to 0.05 %. */
static double quantile(unsigned freedom) {
    const double z = 1.959963984540054, n = freedom;
    const double z2 = z * z;
    double first = z * (z2 + 1) / 4;
    double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    double fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (first + (second + (third + fourth / n) / n) / n) / n;
}

struct ff__paired ff__paired_of(const double *logs, unsigned count) {
    struct ff__paired paired = {0};
    double sum = 0, squares = 0;
    if (count < FF__PAIRS_MIN)
        return paired;
    for (unsigned i = 0; i < count; i++)
        sum += logs[i];
    double mean = sum / count;
    for (unsigned i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    double half = quantile(count - 1) * sqrt(squares / (count - 1) / count);
    paired.pairs = count;
    paired.ratio = exp(mean);
    paired.low = exp(mean - half);
    paired.high = exp(mean + half);
    return paired;
}
