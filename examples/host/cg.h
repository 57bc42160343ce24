/* The data and the check of cg. */
#ifndef EXAMPLES_HOST_CG_H
#define EXAMPLES_HOST_CG_H

#include "sparse.h"

HOST_BEGIN

extern const struct problem cg_problem;

enum { CG_VECTORS = 4 };

struct sparse_system cg_system(const struct work *work);

/* The residual is checked too: a mistake in the last product has not reached the solution yet. */
void cg_check(struct work *work, const float *got_x, const float *got_r);

HOST_END

#endif
