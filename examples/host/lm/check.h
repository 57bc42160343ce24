/* What --check does: keeps what the first steps gave, and compares it with the CPU reference. */
#ifndef EXAMPLES_HOST_LM_CHECK_H
#define EXAMPLES_HOST_LM_CHECK_H

#include "../work.h"
#include "network.h"
#include "text.h"

struct check {
    size_t steps; /* that the reference repeats; 0 without --check */
    double *losses;
    size_t tensors;
    float **gradients; /* of the last of these steps */
};

void check_open(struct check *check, const struct work *work, const struct shape *shape);

/* After each step of the training, `step` counting from 0. */
void check_step(struct check *check, const struct network *network, size_t step, double loss);

/* Runs the reference and tells `work` what it expects. */
void check_results(struct check *check, struct work *work, const struct shape *shape,
                   const struct text *text);

void check_close(struct check *check);

#endif
