#include "network.h"

#include <stdlib.h>

static memory floats(struct network *network, size_t count) {
    return device_memory(network->device, count * sizeof(float));
}

static memory plane(struct network *network, size_t columns) {
    return floats(network, network->rows * columns);
}

static memory attention_weights(struct network *network) {
    return plane(network, network->shape.heads * network->shape.context);
}

static void open_parameters(struct network *network) {
    const size_t count = shape_tensors(&network->shape);
    network->parameters = host_array(count, sizeof(struct parameter));
    for (size_t i = 0; i < count; ++i) {
        const struct tensor tensor = shape_tensor(&network->shape, i);
        const size_t size = tensor_count(&tensor);
        struct parameter *parameter = &network->parameters[i];
        parameter->value = floats(network, size);
        parameter->gradient = floats(network, size);
        parameter->first_moment = floats(network, size);
        parameter->second_moment = floats(network, size);
    }
}

static struct layer open_layer(struct network *network) {
    const size_t width = network->shape.width;
    return (struct layer){
        .normal1 = plane(network, width),
        .moments1 = plane(network, 2),
        .qkv = plane(network, 3 * width),
        .weights = attention_weights(network),
        .attended = plane(network, width),
        .middle = plane(network, width),
        .normal2 = plane(network, width),
        .moments2 = plane(network, 2),
        .wide = plane(network, 4 * width),
        .active = plane(network, 4 * width),
        .out = plane(network, width),
    };
}

static void open_activations(struct network *network) {
    const size_t width = network->shape.width;
    network->inputs = device_memory(network->device, network->rows);
    network->targets = device_memory(network->device, network->rows);
    network->embedded = plane(network, width);
    network->layers = host_array(network->shape.layers, sizeof(struct layer));
    for (size_t i = 0; i < network->shape.layers; ++i)
        network->layers[i] = open_layer(network);
    network->last = plane(network, width);
    network->last_moments = plane(network, 2);
    network->logits = plane(network, LM_VOCABULARY);
    network->losses = plane(network, 1);
    network->host_losses = host_array(network->rows, sizeof(float));
}

static void open_gradients(struct network *network) {
    const size_t width = network->shape.width;
    network->d_residual = plane(network, width);
    network->d_normal = plane(network, width);
    network->d_wide = plane(network, 4 * width);
    network->d_qkv = plane(network, 3 * width);
    network->d_attended = plane(network, width);
    network->d_scores = attention_weights(network);
}

void network_open(struct network *network, struct device *device, const struct shape *shape) {
    *network = (struct network){.device = device, .shape = *shape, .rows = shape_rows(shape)};
    device_prepare(device, shape);
    open_parameters(network);
    open_activations(network);
    open_gradients(network);
    network->rates = floats(network, 3);
}

void network_start(struct network *network, uint64_t seed) {
    for (size_t i = 0; i < shape_tensors(&network->shape); ++i) {
        const struct tensor tensor = shape_tensor(&network->shape, i);
        const size_t bytes = tensor_count(&tensor) * sizeof(float);
        float *values = host_pages(bytes);
        tensor_start(&network->shape, i, seed, values);
        device_write(network->device, network->parameters[i].value, bytes, values);
        free(values);
        device_clear(network->device, network->parameters[i].first_moment, bytes);
        device_clear(network->device, network->parameters[i].second_moment, bytes);
    }
}

void network_close(struct network *network) {
    free(network->host_losses);
    free(network->layers);
    free(network->parameters);
}

memory network_value(const struct network *network, enum tensor_kind kind, size_t layer) {
    return network->parameters[shape_number(kind, layer)].value;
}

memory network_gradient(const struct network *network, enum tensor_kind kind, size_t layer) {
    return network->parameters[shape_number(kind, layer)].gradient;
}

memory network_stream(const struct network *network, size_t number) {
    return number == 0 ? network->embedded : network->layers[number - 1].out;
}
