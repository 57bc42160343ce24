/* Training goes on with what a program is doing now.
 *
 * The paper fine-tunes a pre-trained predictor every 50 million instructions and says no more
 * (section 7.1). Ours: vocabularies take in the values of the new accesses, the most frequent
 * first, and then as many of the old ones as there is room for; the network is one of that shape,
 * in which a value that was known before keeps its parameters; a new one begins with a random row,
 * and a new class near the most frequent one. Nothing is left out for testing. */
#ifndef FF_LEARN_FINETUNE_H
#define FF_LEARN_FINETUNE_H

#include "learn/model.h"

#define FF__FINETUNE_BATCH 128u

/* Trains `model`, hlsh or a variant of it (ff__is_hlsh()), or an empty one (then it becomes hlsh),
 * on a closed corpus for `steps` batches. 0; -ENODATA: too little to learn from, nothing has
 * changed; or -ENOMEM: the model is as it was. */
int ff__finetune(struct ff__model *model, const struct ff__corpus *corpus, uint32_t steps);

#endif
