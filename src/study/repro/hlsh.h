/* The parts of farfault repro hlsh: each adds its tables; 0 or, with one line on stderr, an exit
 * status. */
#ifndef FF_STUDY_REPRO_HLSH_H
#define FF_STUDY_REPRO_HLSH_H

#include "study/repro/repro.h"

#define FF__HLSH_GPU "gtx1080ti" /* the paper's Table 9 */
/* Without a folder for models, the Transformer, which takes ten times as long as any other, is
 * trained with so many times fewer batches. */
#define FF__HLSH_SHORTER 5u

/* Tables 1 to 8 and Figure 9; what is published is in data/published/hlsh_predict.json. With a
 * folder in plan->models, predictors are trained in full and kept there; without, the Transformer
 * has a fifth of its batches. */
int ff__repro_hlsh_predict(const struct ff__repro_plan *plan, json_t *tables);

/* Figure 7 (part `attention`), of each of `programs`, an array of names. */
int ff__repro_hlsh_attention(const struct ff__repro_plan *plan, const json_t *programs,
                             json_t *tables);

/* Tables 10 and 11, Figures 10 and 12 (part `runs`) and 11 (`window`): the simulator. */
int ff__repro_hlsh_sim(const struct ff__repro_plan *plan, json_t *tables);

#endif
