/* What the versions of lm have in common: options, and the training. */
#ifndef EXAMPLES_HOST_LM_TRAIN_H
#define EXAMPLES_HOST_LM_TRAIN_H

#include "../work.h"
#include "device.h"

HOST_BEGIN

extern const struct problem lm_problem;
extern const struct argp lm_extras;

/* Trains on the device, and tells `work`, which has been opened, what it expects of the results. */
void lm_train(struct work *work, struct device *device);

HOST_END

#endif
