/* The data and the check of integral. */
#ifndef EXAMPLES_HOST_INTEGRAL_H
#define EXAMPLES_HOST_INTEGRAL_H

#include "work.h"

HOST_BEGIN

extern const struct problem integral_problem;

#define COLUMNS_PER_ITEM 4

/* The side of the image, whole vectors of columns. */
size_t integral_side(const struct work *work);
uint32_t *integral_image(const struct work *work);
void integral_check(struct work *work, const uint32_t *got);

HOST_END

#endif
