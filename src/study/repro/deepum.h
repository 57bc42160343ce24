/* The parts of farfault repro deepum. Each fills `tables`; 0 or an exit status. */
#ifndef FF_STUDY_REPRO_DEEPUM_H
#define FF_STUDY_REPRO_DEEPUM_H

#include "study/repro/repro.h"

/* Figures 11 and 12: N and the shape of the tables, over Figure 9(b)'s programs. */
int ff__repro_deepum_sweeps(const struct ff__repro_plan *plan, json_t *tables);

/* Tables 3 and 7: the largest batches. */
int ff__repro_deepum_batches(const struct ff__repro_plan *plan, json_t *tables);

/* Figure 13: the networks of the approaches that are based on TensorFlow. */
int ff__repro_deepum_tensorflow(const struct ff__repro_plan *plan, json_t *tables);

/* What each part of deepum-plus does, over Figure 9(b)'s programs and small ones. */
int ff__repro_deepum_ablation(const struct ff__repro_plan *plan, json_t *tables);

#endif
