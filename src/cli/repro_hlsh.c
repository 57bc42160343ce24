/* Long, Gong, Zhou and Zhang, arXiv 2203.12672. */
#include "cli/repro_hlsh.h"

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    int status = ff__repro_hlsh_predict(plan, tables);
    return status ? status : ff__repro_hlsh_sim(plan, tables);
}

const struct ff__repro ff__repro_hlsh = {
    .name = "hlsh",
    .summary = "Long, Gong, Zhou and Zhang, arXiv 2203.12672",
    .run = run,
};
