/* The data and the check of pathfinder. */
#ifndef EXAMPLES_HOST_PATHFINDER_H
#define EXAMPLES_HOST_PATHFINDER_H

#include "work.h"

HOST_BEGIN

extern const struct problem pathfinder_problem;

#define ROWS_PER_LAUNCH 8
#define LANES           256

enum { ROWS = 257 };

size_t pathfinder_columns(const struct work *work);
/* A fresh array of ROWS rows. */
int32_t *pathfinder_wall(const struct work *work);
void pathfinder_check(struct work *work, const int32_t *got);

HOST_END

#endif
