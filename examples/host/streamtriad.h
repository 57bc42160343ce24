/* The data and the check of streamtriad. */
#ifndef EXAMPLES_HOST_STREAMTRIAD_H
#define EXAMPLES_HOST_STREAMTRIAD_H

#include "work.h"

HOST_BEGIN

extern const struct problem streamtriad_problem;

/* The inputs are digits and the scalar is a power of two: every sum is exact, fused or not. */
#define SCALAR 0.5f

/* How long each of the three arrays is. */
size_t streamtriad_count(const struct work *work);
/* A fresh array: 'b' or 'c'. */
float *streamtriad_input(const struct work *work, char name);
void streamtriad_check(struct work *work, const float *a);

HOST_END

#endif
