#include "study/repro/scores.h"

json_t *ff__score_json(const char *subject, const struct ff__score *score) {
    json_t *run = ff__must(json_object());
    ff__json_set(run, "subject", ff__json_text(subject));
    ff__json_set(run, "top1", ff__json_number(score->top1));
    ff__json_set(run, "f1", ff__json_number(score->f1));
    ff__json_set(run, "top10", ff__json_number(score->top10));
    ff__json_set(run, "majority", ff__json_number(score->majority));
    ff__json_set(run, "unknown", ff__json_number(score->escape));
    ff__json_set(run, "no_page", ff__json_number(score->no_page));
    return run;
}

int ff__scores_write(const struct ff__outputs *outputs, const char *command, json_t *runs) {
    json_t *all = ff__results_new(command);
    ff__json_set(all, "runs", json_incref(runs));
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}
