/* The options and the check of ra. */
#ifndef EXAMPLES_HOST_RA_H
#define EXAMPLES_HOST_RA_H

#include "work.h"

HOST_BEGIN

extern const struct problem ra_problem;

extern const struct argp ra_extras;

/* Each item makes this many updates, one after another. */
#define UPDATES 8

extern uint64_t ra_updates; /* in an iteration, which has random_key(seed, iteration) */
void ra_check(struct work *work, const uint32_t *got);

HOST_END

#endif
