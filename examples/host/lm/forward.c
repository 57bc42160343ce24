#include "network.h"
#include "product.h"

static void normalize(struct network *network, enum tensor_kind gain, size_t layer, memory in,
                      memory out, memory moments) {
    memory gains = network_value(network, gain, layer);
    memory biases = network_value(network, gain + 1, layer);
    device_launch(network->device, LM_normalize_rows, network->rows, 1,
                  ARGS(ARG(in), ARG(gains), ARG(biases), ARG(out), ARG(moments),
                       ARG(network->shape.width), ARG(network->rows)));
}

/* out = in weight + bias, and + carried if there is that. */
static void linear(struct network *network, enum tensor_kind weight, size_t layer, memory in,
                   memory carried, memory out) {
    const struct linear linear = linear_of(&network->shape, weight);
    memory bias = network_value(network, weight + 1, layer);
    if (carried == NULL)
        device_launch(network->device, LM_start_linear, linear.outputs, network->rows,
                      ARGS(ARG(bias), ARG(out), ARG(linear.outputs), ARG(network->rows)));
    else
        device_launch(
            network->device, LM_start_residual, linear.outputs, network->rows,
            ARGS(ARG(bias), ARG(carried), ARG(out), ARG(linear.outputs), ARG(network->rows)));
    multiply_forward(network->device, linear, in, network_value(network, weight, layer), out);
}

static void attend(struct network *network, const struct layer *layer) {
    const struct shape *shape = &network->shape;
    const size_t count = network->rows * shape->heads;
    device_launch(network->device, LM_attend, count, 1,
                  ARGS(ARG(layer->qkv), ARG(layer->weights), ARG(shape->width), ARG(shape->heads),
                       ARG(shape->context), ARG(count)));
    device_launch(network->device, LM_gather_values, shape->width, network->rows,
                  ARGS(ARG(layer->qkv), ARG(layer->weights), ARG(layer->attended),
                       ARG(shape->width), ARG(network->rows), ARG(shape->heads),
                       ARG(shape->context)));
}

static void activate(struct network *network, const struct layer *layer) {
    const size_t count = network->rows * 4 * network->shape.width;
    device_launch(network->device, LM_activate, count, 1,
                  ARGS(ARG(layer->wide), ARG(layer->active), ARG(count)));
}

static void forward_layer(struct network *network, size_t number) {
    const struct layer *layer = &network->layers[number];
    memory in = network_stream(network, number);
    normalize(network, NORM1_GAIN, number, in, layer->normal1, layer->moments1);
    linear(network, QKV_WEIGHT, number, layer->normal1, NULL, layer->qkv);
    attend(network, layer);
    linear(network, PROJECT_WEIGHT, number, layer->attended, in, layer->middle);
    normalize(network, NORM2_GAIN, number, layer->middle, layer->normal2, layer->moments2);
    linear(network, EXPAND_WEIGHT, number, layer->normal2, NULL, layer->wide);
    activate(network, layer);
    linear(network, CONTRACT_WEIGHT, number, layer->active, layer->middle, layer->out);
}

static void embed(struct network *network) {
    const struct shape *shape = &network->shape;
    memory tokens = network_value(network, TOKENS, 0);
    memory positions = network_value(network, POSITIONS, 0);
    device_launch(network->device, LM_embed, shape->width, network->rows,
                  ARGS(ARG(network->inputs), ARG(tokens), ARG(positions), ARG(network->embedded),
                       ARG(shape->width), ARG(network->rows), ARG(shape->context)));
}

/* The head has no bias: its product is added to nothing. */
static void score(struct network *network) {
    device_clear(network->device, network->logits, network->rows * LM_VOCABULARY * sizeof(float));
    multiply_forward(network->device, linear_of(&network->shape, TOKENS), network->last,
                     network_value(network, TOKENS, 0), network->logits);
    device_launch(network->device, LM_cross_entropy, network->rows, 1,
                  ARGS(ARG(network->logits), ARG(network->targets), ARG(network->losses),
                       ARG(network->rows)));
}

static double mean_loss(struct network *network) {
    device_read(network->device, network->losses, network->rows * sizeof(float),
                network->host_losses);
    double sum = 0;
    for (size_t i = 0; i < network->rows; ++i)
        sum += (double)network->host_losses[i];
    return sum / (double)network->rows;
}

double network_forward(struct network *network, const uint8_t *inputs, const uint8_t *targets) {
    device_write(network->device, network->inputs, network->rows, inputs);
    device_write(network->device, network->targets, network->rows, targets);
    embed(network);
    for (size_t i = 0; i < network->shape.layers; ++i)
        forward_layer(network, i);
    normalize(network, LAST_GAIN, 0, network_stream(network, network->shape.layers), network->last,
              network->last_moments);
    score(network);
    return mean_loss(network);
}
