/* What --check does: keeps what the first steps gave, and compares it with the CPU reference. */
#ifndef OPENCL_EXAMPLES_LM_CHECK_H
#define OPENCL_EXAMPLES_LM_CHECK_H

#include "model.h"
#include "text.h"

struct check {
    size_t steps; /* that the reference repeats; 0 without --check */
    double *losses;
    float **gradients; /* of the last of these steps */
};

void check_open(struct check *check, const struct app *app, const struct shape *shape);

/* After each step of the training, `step` counting from 0. */
void check_step(struct check *check, const struct model *model, size_t step, double loss);

/* Runs the reference and tells the app what it expects. */
void check_results(struct check *check, struct app *app, const struct shape *shape,
                   const struct text *text);

void check_close(struct check *check);

#endif
