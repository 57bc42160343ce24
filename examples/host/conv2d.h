/* The data and the check of 2dconv. */
#ifndef EXAMPLES_HOST_CONV2D_H
#define EXAMPLES_HOST_CONV2D_H

#include "work.h"

HOST_BEGIN

extern const struct problem conv2d_problem;

/* Powers of two times digits: every sum is exact in any order, so the check asks for equality. */
#define NORTH_WEST 0.25f
#define NORTH      0.5f
#define NORTH_EAST -0.125f
#define WEST       -0.5f
#define CENTER     2.0f
#define EAST       0.25f
#define SOUTH_WEST -0.25f
#define SOUTH      1.0f
#define SOUTH_EAST 0.125f

/* The side of the image. */
size_t conv2d_side(const struct work *work);
/* Puts the input into an array, and what the border of the output is to keep into another. */
void conv2d_start(const struct work *work, float *in, float *out);
void conv2d_check(struct work *work, const float *out);

HOST_END

#endif
