/* Tables of a paper's file that have a row for each published run, with what that has counted. */
#ifndef FF_STUDY_REPRO_ROWS_H
#define FF_STUDY_REPRO_ROWS_H

#include "study/repro/repro.h"
#include "study/sim/simulations.h"

/* Whether the table is one. */
bool ff__rows_has(const json_t *table);

/* Adds the runs of its rows. 0 or, with one line on stderr, an exit status. */
int ff__rows_plan(const struct ff__repro_plan *plan, const json_t *table, const struct ff__gpu *gpu,
                  struct ff__simulations *runs);

/* Then adds to `tables` one for each of the file's `columns`. */
void ff__rows_fill(const struct ff__repro_plan *plan, const json_t *table,
                   const struct ff__gpu *gpu, struct ff__simulations *runs, json_t *tables);

#endif
