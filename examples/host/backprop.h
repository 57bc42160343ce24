/* The data and the check of backprop, and what its host does in each iteration. */
#ifndef EXAMPLES_HOST_BACKPROP_H
#define EXAMPLES_HOST_BACKPROP_H

#include "work.h"

HOST_BEGIN

extern const struct problem backprop_problem;

#define HIDDEN           16
#define INPUTS_PER_GROUP 16
#define MOMENTUM         0.3f

/* The small end of the network: the hidden units' weights to the one output. */
struct network_end {
    double weights[HIDDEN], changes[HIDDEN];
};

/* Of the input layer, whole groups. */
size_t backprop_groups(const struct work *work);
/* Fresh arrays: of inputs, and of HIDDEN weights for each of them. */
float *backprop_inputs(size_t inputs, uint64_t seed);
float *backprop_weights(size_t inputs, uint64_t seed);
struct network_end backprop_end(uint64_t seed);

/* Adds up what the groups have found for each hidden unit. */
void backprop_add_sums(const float *partial_sums, size_t groups, double *sums);

/*
 * Takes the hidden units' input sums, trains the weights to the output, and gives the factor by
 * which each input changes its weight to each hidden unit. The learning rate is relative to the
 * number of inputs, so that any size of input layer learns at the same pace.
 */
void backprop_train_end(struct network_end *end, const double *sums, size_t inputs, float *steps);

void backprop_check(struct work *work, const float *weights, const float *changes);

HOST_END

#endif
