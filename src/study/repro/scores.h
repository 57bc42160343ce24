/* Scores of predictors, for programs. */
#ifndef FF_STUDY_REPRO_SCORES_H
#define FF_STUDY_REPRO_SCORES_H

#include "learn/train/score.h"
#include "report/table.h"
#include "study/outputs.h"

/* {"subject", "top1", "f1", "top10", "majority", "unknown", "no_page"}; the caller owns it. */
json_t *ff__score_json(const char *subject, const struct ff__score *score);

/* Six cells of a table: top-1, F1, top-10, majority, unknown, no page. */
void ff__score_cells(struct ff__table *table, const struct ff__score *score);

/* Adds so much of a score to a sum, for a mean. */
void ff__score_add(struct ff__score *sum, const struct ff__score *score, double part);

/* Writes them as the runs of a command. Returns 0 or an exit status. */
int ff__scores_write(const struct ff__outputs *outputs, const char *command, json_t *runs);

#endif
