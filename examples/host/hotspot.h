/* The data and the check of hotspot. */
#ifndef EXAMPLES_HOST_HOTSPOT_H
#define EXAMPLES_HOST_HOTSPOT_H

#include "work.h"

HOST_BEGIN

extern const struct problem hotspot_problem;

/* Shares of a temperature difference that flow in one step, and degrees that one unit heats. */
#define FLOW_VERTICAL   0.12f
#define FLOW_HORIZONTAL 0.10f
#define FLOW_AMBIENT    0.01f
#define HEAT_PER_POWER  0.5f
#define AMBIENT         80.0f

/* The side of the square of cells. */
size_t hotspot_side(const struct work *work);
/* Fresh arrays of a value for each cell. */
float *hotspot_power(const struct work *work);
float *hotspot_start(const struct work *work);
void hotspot_check(struct work *work, const float *got);

HOST_END

#endif
