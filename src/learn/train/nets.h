/* The networks that farfault trains. */
#ifndef FF_LEARN_TRAIN_NETS_H
#define FF_LEARN_TRAIN_NETS_H

#include "learn/hlsh.h"

extern const struct ff__net_type ff__net_transformer;

/* hlsh, its variants, this one, and the baselines. */
extern const struct ff__net_type *const ff__all_nets[];

#endif
