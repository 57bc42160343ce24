#include "shape.h"

#include "../data.h"

#include <math.h>

enum { HEAD_WIDTH = 32, LEAST_WIDTH_PER_LAYER = 24, MOST_WIDTH_PER_LAYER = 40 };

size_t shape_rows(const struct shape *shape) {
    return shape->batch * shape->context;
}

/* ---- Tensors ---- */

static const size_t kinds_per_layer = TENSOR_KINDS - NORM1_GAIN;

size_t shape_tensors(const struct shape *shape) {
    return NORM1_GAIN + shape->layers * kinds_per_layer;
}

size_t shape_number(enum tensor_kind kind, size_t layer) {
    return kind < NORM1_GAIN ? kind : kind + layer * kinds_per_layer;
}

static enum tensor_kind kind_of(size_t number) {
    const size_t kind =
        number < NORM1_GAIN ? number : NORM1_GAIN + (number - NORM1_GAIN) % kinds_per_layer;
    return (enum tensor_kind)kind;
}

struct tensor shape_tensor(const struct shape *shape, size_t number) {
    const size_t width = shape->width;
    /* Sums over a row stay as large as its elements are. */
    const float usual = 1 / sqrtf((float)width);
    /* And what all layers together add to the residual stream as large as what they find there. */
    const float residual = usual / sqrtf(2.0f * (float)shape->layers);
    const struct tensor tensors[TENSOR_KINDS] = {
        [TOKENS] = {"tokens", 0, LM_VOCABULARY, width, 0, usual, true},
        [POSITIONS] = {"positions", 0, shape->context, width, 0, usual, true},
        [LAST_GAIN] = {"last gain", 0, 1, width, 1, 0, false},
        [LAST_BIAS] = {"last bias", 0, 1, width, 0, 0, false},
        [NORM1_GAIN] = {"first gain", 0, 1, width, 1, 0, false},
        [NORM1_BIAS] = {"first bias", 0, 1, width, 0, 0, false},
        [QKV_WEIGHT] = {"attention weight", 0, width, 3 * width, 0, usual, true},
        [QKV_BIAS] = {"attention bias", 0, 1, 3 * width, 0, 0, false},
        [PROJECT_WEIGHT] = {"projection weight", 0, width, width, 0, residual, true},
        [PROJECT_BIAS] = {"projection bias", 0, 1, width, 0, 0, false},
        [NORM2_GAIN] = {"second gain", 0, 1, width, 1, 0, false},
        [NORM2_BIAS] = {"second bias", 0, 1, width, 0, 0, false},
        [EXPAND_WEIGHT] = {"expansion weight", 0, width, 4 * width, 0, usual, true},
        [EXPAND_BIAS] = {"expansion bias", 0, 1, 4 * width, 0, 0, false},
        [CONTRACT_WEIGHT] = {"contraction weight", 0, 4 * width, width, 0, residual / 2, true},
        [CONTRACT_BIAS] = {"contraction bias", 0, 1, width, 0, 0, false},
    };
    struct tensor tensor = tensors[kind_of(number)];
    if (number >= NORM1_GAIN)
        tensor.layer = (number - NORM1_GAIN) / kinds_per_layer;
    return tensor;
}

size_t tensor_count(const struct tensor *tensor) {
    return tensor->rows * tensor->columns;
}

void tensor_start(const struct shape *shape, size_t number, uint64_t seed, float *values) {
    const struct tensor tensor = shape_tensor(shape, number);
    const uint64_t key = random_key(seed, number);
    const float reach = sqrtf(3) * tensor.deviation; /* of a uniform distribution */
    for (size_t i = 0; i < tensor_count(&tensor); ++i)
        values[i] = tensor.mean + reach * (2 * random_unit(key, i) - 1);
}

/* ---- Sizes ---- */

size_t shape_parameters(const struct shape *shape) {
    size_t count = 0;
    for (size_t i = 0; i < shape_tensors(shape); ++i) {
        const struct tensor tensor = shape_tensor(shape, i);
        count += tensor_count(&tensor);
    }
    return count;
}

/* Of floats, in the buffers that network.c creates. */
static size_t activations(const struct shape *shape) {
    const size_t rows = shape_rows(shape);
    const size_t weights = rows * shape->heads * shape->context;
    const size_t in_layer = rows * (16 * shape->width + 4) + weights;
    const size_t around = rows * (2 * shape->width + 3 + LM_VOCABULARY);
    const size_t gradients = rows * 10 * shape->width + weights;
    return shape->layers * in_layer + around + gradients;
}

/* CLBlast copies the operands of the largest product: a weight and what comes in and goes out. */
static size_t workspace(const struct shape *shape) {
    return 4 * shape->width * shape->width + 5 * shape->width * shape_rows(shape);
}

size_t shape_bytes(const struct shape *shape) {
    const size_t copies = 4; /* value, gradient and two moments */
    return sizeof(float) *
           (copies * shape_parameters(shape) + activations(shape) + workspace(shape));
}

/* With as many layers as fit, up to what the width allows; 0 if that is too few. */
static size_t layers_that_fit(struct shape shape, size_t bytes) {
    const size_t fewest = divide_up(shape.width, MOST_WIDTH_PER_LAYER);
    for (size_t layers = shape.width / LEAST_WIDTH_PER_LAYER; layers >= fewest; --layers) {
        shape.layers = layers;
        if (shape_bytes(&shape) <= bytes)
            return layers;
    }
    return 0;
}

struct shape shape_for_bytes(size_t bytes, size_t context, size_t batch) {
    struct shape best = {0};
    size_t most = 0;
    for (size_t heads = 1;; ++heads) {
        struct shape shape = {0, heads * HEAD_WIDTH, heads, context, batch};
        shape.layers = layers_that_fit(shape, bytes);
        if (shape.layers == 0)
            return best;
        if (shape_bytes(&shape) > most) {
            most = shape_bytes(&shape);
            best = shape;
        }
    }
}

double shape_step_operations(const struct shape *shape) {
    const size_t weights_per_layer = 12 * shape->width * shape->width;
    const size_t weights = shape->layers * weights_per_layer + LM_VOCABULARY * shape->width;
    return 6.0 * (double)weights * (double)shape_rows(shape);
}

float shape_learning_rate(const struct shape *shape, size_t step) {
    const float rate = 0.1f / (float)shape->width;
    const size_t warm_up = 10;
    return step < warm_up ? rate * (float)step / (float)warm_up : rate;
}
