#include "model.h"

static void normalize(struct model *model, enum tensor_kind gain, size_t layer, cl_mem in,
                      cl_mem out, cl_mem moments) {
    cl_mem gains = model_value(model, gain, layer);
    cl_mem biases = model_value(model, gain + 1, layer);
    app_launch(model->app, model->kernels.normalize_rows, over(model->rows), ARG(in), ARG(gains),
               ARG(biases), ARG(out), ARG(moments), ARG(model->shape.width), ARG(model->rows));
}

/* out = in weight + bias, and + carried if there is that. */
static void linear(struct model *model, enum tensor_kind weight, size_t layer, cl_mem in,
                   cl_mem carried, cl_mem out) {
    const struct linear linear = linear_of(model, weight);
    const struct range all = over_plane(linear.outputs, model->rows);
    cl_mem bias = model_value(model, weight + 1, layer);
    if (carried == NULL)
        app_launch(model->app, model->kernels.start_linear, all, ARG(bias), ARG(out),
                   ARG(linear.outputs), ARG(model->rows));
    else
        app_launch(model->app, model->kernels.start_residual, all, ARG(bias), ARG(carried),
                   ARG(out), ARG(linear.outputs), ARG(model->rows));
    product_forward(model, linear, in, model_value(model, weight, layer), out);
}

static void attend(struct model *model, const struct layer *layer) {
    const struct shape *shape = &model->shape;
    const size_t count = model->rows * shape->heads;
    app_launch(model->app, model->kernels.attend, over(count), ARG(layer->qkv), ARG(layer->weights),
               ARG(shape->width), ARG(shape->heads), ARG(shape->context), ARG(count));
    app_launch(model->app, model->kernels.gather_values, over_plane(shape->width, model->rows),
               ARG(layer->qkv), ARG(layer->weights), ARG(layer->attended), ARG(shape->width),
               ARG(model->rows), ARG(shape->heads), ARG(shape->context));
}

static void activate(struct model *model, const struct layer *layer) {
    const size_t count = model->rows * 4 * model->shape.width;
    app_launch(model->app, model->kernels.activate, over(count), ARG(layer->wide),
               ARG(layer->active), ARG(count));
}

static void forward_layer(struct model *model, size_t number) {
    const struct layer *layer = &model->layers[number];
    cl_mem in = model_stream(model, number);
    normalize(model, NORM1_GAIN, number, in, layer->normal1, layer->moments1);
    linear(model, QKV_WEIGHT, number, layer->normal1, NULL, layer->qkv);
    attend(model, layer);
    linear(model, PROJECT_WEIGHT, number, layer->attended, in, layer->middle);
    normalize(model, NORM2_GAIN, number, layer->middle, layer->normal2, layer->moments2);
    linear(model, EXPAND_WEIGHT, number, layer->normal2, NULL, layer->wide);
    activate(model, layer);
    linear(model, CONTRACT_WEIGHT, number, layer->active, layer->middle, layer->out);
}

static void embed(struct model *model) {
    const struct shape *shape = &model->shape;
    cl_mem tokens = model_value(model, TOKENS, 0);
    cl_mem positions = model_value(model, POSITIONS, 0);
    app_launch(model->app, model->kernels.embed, over_plane(shape->width, model->rows),
               ARG(model->inputs), ARG(tokens), ARG(positions), ARG(model->embedded),
               ARG(shape->width), ARG(model->rows), ARG(shape->context));
}

/* The head has no bias: its product is added to nothing. */
static void score(struct model *model) {
    const float zero = 0;
    app_fill(model->app, model->logits, model->rows * LM_VOCABULARY * sizeof(float), &zero);
    product_forward(model, linear_of(model, TOKENS), model->last, model_value(model, TOKENS, 0),
                    model->logits);
    app_launch(model->app, model->kernels.cross_entropy, over(model->rows), ARG(model->logits),
               ARG(model->targets), ARG(model->losses), ARG(model->rows));
}

static double mean_loss(struct model *model) {
    app_read(model->app, model->losses, model->rows * sizeof(float), model->host_losses);
    double sum = 0;
    for (size_t i = 0; i < model->rows; ++i)
        sum += (double)model->host_losses[i];
    return sum / (double)model->rows;
}

double model_forward(struct model *model, const uint8_t *inputs, const uint8_t *targets) {
    app_write(model->app, model->inputs, model->rows, inputs);
    app_write(model->app, model->targets, model->rows, targets);
    embed(model);
    for (size_t i = 0; i < model->shape.layers; ++i)
        forward_layer(model, i);
    normalize(model, LAST_GAIN, 0, model_stream(model, model->shape.layers), model->last,
              model->last_moments);
    score(model);
    return mean_loss(model);
}
