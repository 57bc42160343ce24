/* What train and predict share. */
#ifndef FF_CLI_TRAIN_H
#define FF_CLI_TRAIN_H

#include "cli/options.h"
#include "study/repro/training_data.h"

/* Training data from the command line; returns 0 or, with one line on stderr, an exit status.
 * `list`: the workloads. To be freed in any case. */
int ff__training_data_read(const struct ff__options *options, const char *list,
                           struct ff__training_data *data);

#endif
