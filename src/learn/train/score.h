/* How well a network predicts. */
#ifndef FF_LEARN_TRAIN_SCORE_H
#define FF_LEARN_TRAIN_SCORE_H

#include "learn/net.h"
#include "learn/train/tally.h"

/* Scores at most `limit` samples for testing. 0 or -ENOMEM. */
int ff__net_score(struct ff__net *net, const struct ff__dataset *dataset, uint32_t limit,
                  struct ff__score *score);

#endif
