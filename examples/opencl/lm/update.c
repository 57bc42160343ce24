#include "model.h"

#include <math.h>

/*
 * What changes from step to step goes through a buffer: as arguments, these numbers would make the
 * launches of every step look new to a runtime that recognizes launches by their arguments.
 */
static void write_rates(struct model *model) {
    const float steps = (float)model->steps;
    const float rates[] = {shape_learning_rate(&model->shape, model->steps),
                           1 / (1 - powf(LM_BETA1, steps)), 1 / (1 - powf(LM_BETA2, steps))};
    app_write(model->app, model->rates, sizeof(rates), rates);
}

void model_update(struct model *model) {
    ++model->steps;
    write_rates(model);
    for (size_t i = 0; i < shape_tensors(&model->shape); ++i) {
        const struct tensor tensor = shape_tensor(&model->shape, i);
        const struct parameter *parameter = &model->parameters[i];
        const float decay = tensor.decays ? LM_DECAY : 0;
        const size_t count = tensor_count(&tensor);
        app_launch(model->app, model->kernels.adamw, over(count), ARG(parameter->value),
                   ARG(parameter->gradient), ARG(parameter->first_moment),
                   ARG(parameter->second_moment), ARG(model->rates), ARG(decay), ARG(count));
    }
}
