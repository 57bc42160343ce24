/* The data and the check of jacobi: a 3D Poisson problem. */
#ifndef EXAMPLES_HOST_JACOBI_H
#define EXAMPLES_HOST_JACOBI_H

#include "work.h"

HOST_BEGIN

extern const struct problem jacobi_problem;

#define SIXTH (1.0f / 6.0f)

/* A volume of depth planes of side x side cells, as near to a cube as the size allows. */
struct volume {
    size_t side, depth, cells, bytes;
};

struct volume jacobi_volume(const struct work *work);

/*
 * The source stays rough from cell to cell, so the solution does too: a stale page remains far
 * from the right one however many iterations run.
 */
/* A fresh array: the source 'f', or the start 'u'. */
float *jacobi_values(const struct work *work, char name);

void jacobi_check(struct work *work, const float *got);

HOST_END

#endif
