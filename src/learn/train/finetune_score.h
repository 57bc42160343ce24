/* How good a predictor is that is fine-tuned while it is used. */
#ifndef FF_LEARN_TRAIN_FINETUNE_SCORE_H
#define FF_LEARN_TRAIN_FINETUNE_SCORE_H

#include "learn/finetune.h"
#include "learn/train/tally.h"

#define FF__FINETUNE_PERIOD 16384u /* accesses between two fine-tuning steps; ours */
#define FF__FINETUNE_ACCESSES                                                                      \
    65536u                     /* the latest ones, from which a step learns; ours, as in tuner.h */
#define FF__FINETUNE_STEPS 25u /* batches of a step; ours, as the policy's default */

/* Walks through the corpus in the order of the program. The samples for testing of each period are
 * predicted, at most `limit` in all and the same as without fine-tuning; then the model is
 * fine-tuned (ff__finetune()) as while a program runs (tuner.h). 0 or -ENOMEM. */
int ff__finetune_score(struct ff__model *model, const struct ff__corpus *corpus, uint32_t limit,
                       struct ff__score *score);

#endif
