/* The parts of farfault run. */
#ifndef FF_CLI_RUN_H
#define FF_CLI_RUN_H

#include "cli/options.h"

/* --device gpu. Returns an exit status. */
int ff__run_on_gpu(struct ff__options *options);

/* Whether the CUDA driver at this path finds a GPU. */
bool ff__gpu_is_usable(const char *path);

#endif
