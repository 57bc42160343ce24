/* The data and the check of srad. */
#ifndef EXAMPLES_HOST_SRAD_H
#define EXAMPLES_HOST_SRAD_H

#include "work.h"

HOST_BEGIN

extern const struct problem srad_problem;

#define LAMBDA 0.5f

/* The part of the image which is taken to show speckle and nothing else: its upper left corner. */
enum { REGION_SIDE = 32 };

size_t srad_side(const struct work *work);
float *srad_image(const struct work *work);

/* The squared coefficient of variation of the region, kept above 0 because we divide by it. */
float srad_speckle(const float region[REGION_SIDE * REGION_SIDE]);

void srad_check(struct work *work, const float *got);

HOST_END

#endif
