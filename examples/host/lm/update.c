#include "network.h"

#include <math.h>

/*
 * What changes from step to step goes through a buffer: as arguments, these numbers would make the
 * launches of every step look new to a runtime that recognizes launches by their arguments.
 */
static void write_rates(struct network *network) {
    const float steps = (float)network->steps;
    const float rates[] = {shape_learning_rate(&network->shape, network->steps),
                           1 / (1 - powf(LM_BETA1, steps)), 1 / (1 - powf(LM_BETA2, steps))};
    device_write(network->device, network->rates, sizeof(rates), rates);
}

void network_update(struct network *network) {
    ++network->steps;
    write_rates(network);
    for (size_t i = 0; i < shape_tensors(&network->shape); ++i) {
        const struct tensor tensor = shape_tensor(&network->shape, i);
        const struct parameter *parameter = &network->parameters[i];
        const float decay = tensor.decays ? LM_DECAY : 0;
        const size_t count = tensor_count(&tensor);
        device_launch(network->device, LM_adamw, count, 1,
                      ARGS(ARG(parameter->value), ARG(parameter->gradient),
                           ARG(parameter->first_moment), ARG(parameter->second_moment),
                           ARG(network->rates), ARG(decay), ARG(count)));
    }
}
