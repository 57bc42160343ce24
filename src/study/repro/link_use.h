/* How a run uses the link from the host, over time: HLSH's Figure 11, of which the text has the
 * range alone, 1 to 15 GB/s. */
#ifndef FF_STUDY_REPRO_LINK_USE_H
#define FF_STUDY_REPRO_LINK_USE_H

#include "study/sim/simulate.h"

#include <jansson.h>

/* Runs the simulation again and adds a row for each 20 000 cycles from the launch on: GB/s, named
 * for the system. Pages that arrive at the same time were one request, which held the link until
 * then for as long as its size takes. 0 or, with one line on stderr, an exit status. */
int ff__link_use_rows(const struct ff__simulation *simulation, const char *system, json_t *table);

#endif
