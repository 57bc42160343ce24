/* The pre-trained predictor of farfault repro hlsh: on five of the programs, at other sizes than
 * those that are then run, where it is fine-tuned. */
#ifndef FF_STUDY_REPRO_HLSH_H
#define FF_STUDY_REPRO_HLSH_H

#include "study/repro/repro.h"

#include <limits.h>

#define FF__HLSH_GPU "gtx1080ti" /* the paper's Table 9 */
/* Without a folder for models, the Transformer, which takes ten times as long as any other, is
 * trained with so many times fewer batches. */
#define FF__HLSH_SHORTER 5u

struct ff__pretrained {
    char file[PATH_MAX]; /* "": there is none yet */
    uint32_t checksum;
};

/* Trains it for the file's `pretraining_steps`, or takes what the store has kept; does nothing if
 * it is there. The caller removes it in any case. 0 or, with one line on stderr, an exit status. */
int ff__hlsh_pretrain(const struct ff__repro_plan *plan, struct ff__pretrained *model);
void ff__hlsh_pretrained_remove(const struct ff__pretrained *model);

#endif
