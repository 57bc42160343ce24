/*
 * The shape of a language model, and its parameter tensors: which there are, how they are numbered
 * and what they hold before the first step. The model on the device and the CPU reference both go
 * by this list.
 */
#ifndef EXAMPLES_HOST_LM_SHAPE_H
#define EXAMPLES_HOST_LM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every byte is a token. */
#define LM_VOCABULARY 256

/* What layer normalization adds to a variance. */
#define LM_EPSILON 1e-5f

/* AdamW. */
#define LM_BETA1        0.9f
#define LM_BETA2        0.99f
#define LM_ADAM_EPSILON 1e-8f
#define LM_DECAY        0.1f

struct shape {
    size_t layers, width, heads;
    size_t context, batch; /* bytes that a prediction sees; texts in one step */
};

enum tensor_kind {
    TOKENS, /* one row a byte: what it is turned into at the bottom, and compared with at the top */
    POSITIONS,
    LAST_GAIN,
    LAST_BIAS,
    NORM1_GAIN, /* from here on: one of each for every layer */
    NORM1_BIAS,
    QKV_WEIGHT, /* queries, keys and values of all heads, side by side */
    QKV_BIAS,
    PROJECT_WEIGHT,
    PROJECT_BIAS,
    NORM2_GAIN,
    NORM2_BIAS,
    EXPAND_WEIGHT,
    EXPAND_BIAS,
    CONTRACT_WEIGHT,
    CONTRACT_BIAS,
    TENSOR_KINDS,
};

struct tensor {
    const char *name;
    size_t layer; /* 0 for those outside the layers */
    size_t rows, columns;
    float mean, deviation; /* before the first step: uniform around the mean */
    bool decays;           /* AdamW draws it towards zero */
};

/* A position in a step's input: what the rows of all activations are. */
size_t shape_rows(const struct shape *shape);

size_t shape_tensors(const struct shape *shape);
size_t shape_number(enum tensor_kind kind, size_t layer);
struct tensor shape_tensor(const struct shape *shape, size_t number);
size_t tensor_count(const struct tensor *tensor);
size_t shape_parameters(const struct shape *shape);

/* The bytes of all device buffers of a model being trained, but for rounding in the workspace. */
size_t shape_bytes(const struct shape *shape);

/*
 * Layers, width and heads for about `bytes` in all: heads are 32 wide, there is a layer for every
 * 24 to 40 of the width, and of such shapes it is the largest that fits. No layers: none fits.
 */
struct shape shape_for_bytes(size_t bytes, size_t context, size_t batch);

/* Floating-point operations of the matrix products of one step. */
double shape_step_operations(const struct shape *shape);

/* Of step `step`, from 1. Wider models take smaller steps, and the first few are smaller still. */
float shape_learning_rate(const struct shape *shape, size_t step);

/* Fills in what tensor `number` holds before the first step. */
void tensor_start(const struct shape *shape, size_t number, uint64_t seed, float *values);

#endif
