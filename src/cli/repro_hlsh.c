/* Long, Gong, Zhou and Zhang, arXiv 2203.12672. */
#include "cli/repro_hlsh.h"

#include "cli/cli.h"

#define ALL "predictors,runs"

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    const char *parts = plan->parts ? plan->parts : ALL;
    bool predictors = ff__repro_has_word(parts, "predictors"),
         runs = ff__repro_has_word(parts, "runs");
    if (!predictors && !runs)
        return ff__complain(FF__EXIT_USAGE, "--parts: '%s' names no part; there are: " ALL, parts);
    int status = predictors ? ff__repro_hlsh_predict(plan, tables) : 0;
    return !status && runs ? ff__repro_hlsh_sim(plan, tables) : status;
}

const struct ff__repro ff__repro_hlsh = {
    .name = "hlsh",
    .summary = "Long, Gong, Zhou and Zhang, arXiv 2203.12672",
    .run = run,
};
