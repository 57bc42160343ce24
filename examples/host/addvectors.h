/* The data and the check of addvectors. */
#ifndef EXAMPLES_HOST_ADDVECTORS_H
#define EXAMPLES_HOST_ADDVECTORS_H

#include "work.h"

HOST_BEGIN

extern const struct problem addvectors_problem;

/* How long each of the three vectors is. */
size_t addvectors_count(const struct work *work);
/* A fresh array: the addend 'a' or 'b'. */
float *addvectors_input(const struct work *work, char name);
void addvectors_check(struct work *work, const float *sums);

HOST_END

#endif
