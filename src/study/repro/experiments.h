/* A paper whose file lists experiments (docs/simulation.md, "Experiments"): each runs systems on
 * the subjects of a set, and tables show what metrics make of the runs. Where that is not enough,
 * an experiment is a step in C. */
#ifndef FF_STUDY_REPRO_EXPERIMENTS_H
#define FF_STUDY_REPRO_EXPERIMENTS_H

#include "study/repro/repro.h"

/* Runs what --parts asks for, or else the file's `parts`, and fills `tables`. 0 or, with one line
 * on stderr, an exit status. */
int ff__experiments_run(const struct ff__repro_plan *plan, json_t *tables);

/* ---- steps: 0 or, with one line on stderr, an exit status ---- */

/* DeepUM's Tables 3 and 7: the largest batches. */
int ff__repro_deepum_batches(const struct ff__repro_plan *plan, json_t *tables);

/* HLSH's Tables 1 to 8 and Figure 9 (parts `predictors` and `features`); what is published is in
 * data/published/hlsh_predict.json. With a folder in plan->models, predictors are trained in full
 * and kept there; without, the Transformer has a fifth of its batches. */
int ff__repro_hlsh_predict(const struct ff__repro_plan *plan, json_t *tables);

/* HLSH's Figure 7, of each of the file's `attention_programs`. */
int ff__repro_hlsh_attention(const struct ff__repro_plan *plan, json_t *tables);

#endif
