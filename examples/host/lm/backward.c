#include "network.h"
#include "product.h"

/* Adds to d_residual what comes back through the normalization from d_normal. */
static void normalize_backward(struct network *network, enum tensor_kind gain, size_t layer,
                               memory in, memory moments) {
    const struct shape *shape = &network->shape;
    memory gains = network_value(network, gain, layer);
    memory d_gain = network_gradient(network, gain, layer);
    memory d_bias = network_gradient(network, gain + 1, layer);
    device_launch(network->device, LM_normalize_gradients, shape->width, 1,
                  ARGS(ARG(in), ARG(moments), ARG(network->d_normal), ARG(d_gain), ARG(d_bias),
                       ARG(shape->width), ARG(network->rows)));
    device_launch(network->device, LM_normalize_backward, network->rows, 1,
                  ARGS(ARG(in), ARG(moments), ARG(gains), ARG(network->d_normal),
                       ARG(network->d_residual), ARG(shape->width), ARG(network->rows)));
}

static void linear_backward(struct network *network, enum tensor_kind weight, size_t layer,
                            memory in, memory d_out, memory d_in) {
    const struct linear linear = linear_of(&network->shape, weight);
    memory d_bias = network_gradient(network, weight + 1, layer);
    device_launch(network->device, LM_bias_gradient, linear.outputs, 1,
                  ARGS(ARG(d_out), ARG(d_bias), ARG(linear.outputs), ARG(network->rows)));
    multiply_weight_gradient(network->device, linear, in, d_out,
                             network_gradient(network, weight, layer));
    multiply_input_gradient(network->device, linear, d_out, network_value(network, weight, layer),
                            d_in);
}

static void attend_backward(struct network *network, const struct layer *layer) {
    const struct shape *shape = &network->shape;
    const size_t count = network->rows * shape->heads;
    device_launch(network->device, LM_attend_backward, count, 1,
                  ARGS(ARG(layer->qkv), ARG(layer->weights), ARG(network->d_attended),
                       ARG(network->d_scores), ARG(shape->width), ARG(shape->heads),
                       ARG(shape->context), ARG(count)));
    device_launch(network->device, LM_gather_backward, shape->width, network->rows,
                  ARGS(ARG(layer->qkv), ARG(layer->weights), ARG(network->d_attended),
                       ARG(network->d_scores), ARG(network->d_qkv), ARG(shape->width),
                       ARG(network->rows), ARG(shape->heads), ARG(shape->context)));
}

static void activate_backward(struct network *network, const struct layer *layer) {
    const size_t count = network->rows * 4 * network->shape.width;
    device_launch(network->device, LM_activate_backward, count, 1,
                  ARGS(ARG(layer->wide), ARG(network->d_wide), ARG(count)));
}

/* d_residual comes in as the gradient of what the layer put out, and leaves as that of its input.
 */
static void backward_layer(struct network *network, size_t number) {
    const struct layer *layer = &network->layers[number];
    linear_backward(network, CONTRACT_WEIGHT, number, layer->active, network->d_residual,
                    network->d_wide);
    activate_backward(network, layer);
    linear_backward(network, EXPAND_WEIGHT, number, layer->normal2, network->d_wide,
                    network->d_normal);
    normalize_backward(network, NORM2_GAIN, number, layer->middle, layer->moments2);
    linear_backward(network, PROJECT_WEIGHT, number, layer->attended, network->d_residual,
                    network->d_attended);
    attend_backward(network, layer);
    linear_backward(network, QKV_WEIGHT, number, layer->normal1, network->d_qkv, network->d_normal);
    normalize_backward(network, NORM1_GAIN, number, network_stream(network, number),
                       layer->moments1);
}

/* The tokens are the head's weight, too; the embedding adds to this gradient at the end. */
static void head_backward(struct network *network) {
    const struct linear head = linear_of(&network->shape, TOKENS);
    multiply_weight_gradient(network->device, head, network->last, network->logits,
                             network_gradient(network, TOKENS, 0));
    multiply_input_gradient(network->device, head, network->logits,
                            network_value(network, TOKENS, 0), network->d_normal);
}

static void embed_backward(struct network *network) {
    const struct shape *shape = &network->shape;
    memory d_tokens = network_gradient(network, TOKENS, 0);
    memory d_positions = network_gradient(network, POSITIONS, 0);
    device_launch(network->device, LM_token_gradients, shape->width, LM_VOCABULARY,
                  ARGS(ARG(network->inputs), ARG(network->d_residual), ARG(d_tokens),
                       ARG(shape->width), ARG(network->rows)));
    device_launch(network->device, LM_position_gradients, shape->width, shape->context,
                  ARGS(ARG(network->d_residual), ARG(d_positions), ARG(shape->width),
                       ARG(network->rows), ARG(shape->context)));
}

void network_backward(struct network *network) {
    const size_t layers = network->shape.layers;
    head_backward(network);
    device_clear(network->device, network->d_residual,
                 network->rows * network->shape.width * sizeof(float));
    normalize_backward(network, LAST_GAIN, 0, network_stream(network, layers),
                       network->last_moments);
    for (size_t i = layers; i > 0; --i)
        backward_layer(network, i - 1);
    embed_backward(network);
}
