/* Long, Gong, Zhou and Zhang, arXiv 2203.12672. */
#include "study/repro/hlsh.h"

#include "report/complain.h"

#define DEFAULT "predictors,runs,window"

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    const char *parts = plan->parts ? plan->parts : DEFAULT;
    bool predictors =
             ff__repro_has_word(parts, "predictors") || ff__repro_has_word(parts, "features"),
         attention = ff__repro_has_word(parts, "attention"),
         runs = ff__repro_has_word(parts, "runs") || ff__repro_has_word(parts, "window");
    if (!predictors && !attention && !runs)
        return ff__complain(
            FF__EXIT_USAGE,
            "--parts: '%s' names no part; there are: " DEFAULT ",features,attention", parts);
    int status = predictors ? ff__repro_hlsh_predict(plan, tables) : 0;
    if (!status && attention)
        status = ff__repro_hlsh_attention(
            plan, json_object_get(plan->published, "attention_programs"), tables);
    return !status && runs ? ff__repro_hlsh_sim(plan, tables) : status;
}

const struct ff__repro ff__repro_hlsh = {
    .name = "hlsh",
    .summary = "Long, Gong, Zhou and Zhang, arXiv 2203.12672",
    .run = run,
};
