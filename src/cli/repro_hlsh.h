/* The parts of farfault repro hlsh: each adds its tables; 0 or, with one line on stderr, an exit
 * status. */
#ifndef FF_CLI_REPRO_HLSH_H
#define FF_CLI_REPRO_HLSH_H

#include "cli/repro.h"

/* Tables 10 and 11, Figures 10 and 12: the simulator. */
int ff__repro_hlsh_sim(const struct ff__repro_plan *plan, json_t *tables);

#endif
