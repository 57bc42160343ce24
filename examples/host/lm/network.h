/*
 * The network on the device, being trained. As in a framework, every parameter, gradient, moment
 * and activation has memory of its own, and a step is some hundred launches that are the same in
 * every step, on the same memory.
 */
#ifndef EXAMPLES_HOST_LM_NETWORK_H
#define EXAMPLES_HOST_LM_NETWORK_H

#include "device.h"

struct parameter {
    memory value, gradient, first_moment, second_moment;
};

/* The activations of one layer, in the order in which forward.c makes them. */
struct layer {
    memory normal1, moments1, qkv, weights, attended, middle;
    memory normal2, moments2, wide, active, out;
};

struct network {
    struct device *device;
    struct shape shape;
    size_t rows, steps; /* rows: of every activation; steps: that have been taken */

    struct parameter *parameters; /* by number of tensor */
    struct layer *layers;
    memory inputs, targets;
    memory embedded, last, last_moments;
    memory logits; /* and then their gradient */
    memory losses;

    /* Gradients of activations, which one layer hands to the one below. */
    memory d_residual, d_normal, d_wide, d_qkv, d_attended, d_scores;

    memory rates; /* what AdamW needs anew in every step */
    float *host_losses;
};

/* ---- network.c ---- */

void network_open(struct network *network, struct device *device, const struct shape *shape);
/* Gives the parameters their first values. */
void network_start(struct network *network, uint64_t seed);
void network_close(struct network *network);

memory network_value(const struct network *network, enum tensor_kind kind, size_t layer);
memory network_gradient(const struct network *network, enum tensor_kind kind, size_t layer);

/* What layer `number` gets to see: the output of the one below it. */
memory network_stream(const struct network *network, size_t number);

/* ---- forward.c, backward.c, update.c: the three parts of a step ---- */

double network_forward(struct network *network, const uint8_t *inputs, const uint8_t *targets);
void network_backward(struct network *network);
void network_update(struct network *network);

#endif
