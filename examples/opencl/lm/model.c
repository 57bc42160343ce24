#include "model.h"

#include <stdlib.h>

static cl_mem floats(struct model *model, size_t count) {
    return app_buffer(model->app, CL_MEM_READ_WRITE, count * sizeof(float), NULL);
}

static cl_mem plane(struct model *model, size_t columns) {
    return floats(model, model->rows * columns);
}

static cl_mem attention_weights(struct model *model) {
    return plane(model, model->shape.heads * model->shape.context);
}

static void open_kernels(struct model *model) {
#define KERNEL(name) model->kernels.name = app_kernel(model->app, #name);
    LM_KERNELS(KERNEL)
#undef KERNEL
}

static void open_parameters(struct model *model) {
    const size_t count = shape_tensors(&model->shape);
    model->parameters = host_array(count, sizeof(struct parameter));
    for (size_t i = 0; i < count; ++i) {
        const struct tensor tensor = shape_tensor(&model->shape, i);
        const size_t size = tensor_count(&tensor);
        struct parameter *parameter = &model->parameters[i];
        parameter->value = floats(model, size);
        parameter->gradient = floats(model, size);
        parameter->first_moment = floats(model, size);
        parameter->second_moment = floats(model, size);
    }
}

static struct layer open_layer(struct model *model) {
    const size_t width = model->shape.width;
    return (struct layer){
        .normal1 = plane(model, width),
        .moments1 = plane(model, 2),
        .qkv = plane(model, 3 * width),
        .weights = attention_weights(model),
        .attended = plane(model, width),
        .middle = plane(model, width),
        .normal2 = plane(model, width),
        .moments2 = plane(model, 2),
        .wide = plane(model, 4 * width),
        .active = plane(model, 4 * width),
        .out = plane(model, width),
    };
}

static void open_activations(struct model *model) {
    const size_t width = model->shape.width;
    model->inputs = app_buffer(model->app, CL_MEM_READ_ONLY, model->rows, NULL);
    model->targets = app_buffer(model->app, CL_MEM_READ_ONLY, model->rows, NULL);
    model->embedded = plane(model, width);
    model->layers = host_array(model->shape.layers, sizeof(struct layer));
    for (size_t i = 0; i < model->shape.layers; ++i)
        model->layers[i] = open_layer(model);
    model->last = plane(model, width);
    model->last_moments = plane(model, 2);
    model->logits = plane(model, LM_VOCABULARY);
    model->losses = plane(model, 1);
    model->host_losses = host_array(model->rows, sizeof(float));
}

static void open_gradients(struct model *model) {
    const size_t width = model->shape.width;
    model->d_residual = plane(model, width);
    model->d_normal = plane(model, width);
    model->d_wide = plane(model, 4 * width);
    model->d_qkv = plane(model, 3 * width);
    model->d_attended = plane(model, width);
    model->d_scores = attention_weights(model);
}

void model_open(struct model *model, struct app *app, const struct shape *shape) {
    *model = (struct model){.app = app, .shape = *shape, .rows = shape_rows(shape)};
    open_kernels(model);
    open_parameters(model);
    open_activations(model);
    open_gradients(model);
    model->rates = floats(model, 3);
    /* Left to itself, CLBlast would create and release a buffer in every product. */
    const size_t workspace = product_workspace(model);
    if (workspace > 0)
        model->workspace = app_buffer(app, CL_MEM_READ_WRITE, workspace, NULL);
}

void model_start(struct model *model) {
    const float zero = 0;
    for (size_t i = 0; i < shape_tensors(&model->shape); ++i) {
        const struct tensor tensor = shape_tensor(&model->shape, i);
        const size_t bytes = tensor_count(&tensor) * sizeof(float);
        float *values = host_pages(bytes);
        tensor_start(&model->shape, i, model->app->work.seed, values);
        app_write(model->app, model->parameters[i].value, bytes, values);
        free(values);
        app_fill(model->app, model->parameters[i].first_moment, bytes, &zero);
        app_fill(model->app, model->parameters[i].second_moment, bytes, &zero);
    }
}

void model_close(struct model *model) {
    free(model->host_losses);
    free(model->layers);
    free(model->parameters);
}

cl_mem model_value(const struct model *model, enum tensor_kind kind, size_t layer) {
    return model->parameters[shape_number(kind, layer)].value;
}

cl_mem model_gradient(const struct model *model, enum tensor_kind kind, size_t layer) {
    return model->parameters[shape_number(kind, layer)].gradient;
}

cl_mem model_stream(const struct model *model, size_t number) {
    return number == 0 ? model->embedded : model->layers[number - 1].out;
}
