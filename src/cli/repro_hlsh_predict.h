/* The part of farfault repro hlsh that is about prediction. */
#ifndef FF_CLI_REPRO_HLSH_PREDICT_H
#define FF_CLI_REPRO_HLSH_PREDICT_H

#include "cli/repro.h"

/* Tables 1 to 8 and Figure 9, into `tables`; what is published is in data/published/hlsh_predict.json.
 * With a folder in plan->models, all predictors are trained in full and kept there; without,
 * the Transformer for a fifth of its batches. 0 or, with one line on stderr, an exit status. */
int ff__repro_hlsh_predict(const struct ff__repro_plan *plan, json_t *tables);

#endif
