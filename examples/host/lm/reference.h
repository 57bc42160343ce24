/*
 * The same training on the CPU, in plain C: what the device's results are compared with. One
 * function is one formula, and none is faster than it has to be. Its own gradients are compared
 * with finite differences in tests/programs/test_lm.c, where real is double.
 */
#ifndef EXAMPLES_HOST_LM_REFERENCE_H
#define EXAMPLES_HOST_LM_REFERENCE_H

#include "shape.h"

#ifndef LM_REAL
#define LM_REAL float
#endif
typedef LM_REAL real;

struct reference {
    struct shape shape;
    size_t steps; /* that have been taken */

    /* By number of tensor. */
    real **values, **gradients, **first_moments, **second_moments;

    struct reference_layer *layers;
    real *embedded, *last, *last_moments;
    real *logits; /* and then their gradient */

    /* Gradients of activations, which one layer hands to the one below. */
    real *d_residual, *d_normal, *d_wide, *d_qkv, *d_attended, *d_weights;
};

struct reference *reference_open(const struct shape *shape, uint64_t seed);
void reference_close(struct reference *reference);

/* The mean loss of a step's input; reference_backward() needs to come after it. */
double reference_forward(struct reference *reference, const uint8_t *inputs,
                         const uint8_t *targets);
void reference_backward(struct reference *reference, const uint8_t *inputs);
void reference_update(struct reference *reference);

#endif
