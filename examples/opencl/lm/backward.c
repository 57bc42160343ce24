#include "model.h"

/* Adds to d_residual what comes back through the normalization from d_normal. */
static void normalize_backward(struct model *model, enum tensor_kind gain, size_t layer, cl_mem in,
                               cl_mem moments) {
    const struct shape *shape = &model->shape;
    cl_mem gains = model_value(model, gain, layer);
    cl_mem d_gain = model_gradient(model, gain, layer);
    cl_mem d_bias = model_gradient(model, gain + 1, layer);
    app_launch(model->app, model->kernels.normalize_gradients, over(shape->width), ARG(in),
               ARG(moments), ARG(model->d_normal), ARG(d_gain), ARG(d_bias), ARG(shape->width),
               ARG(model->rows));
    app_launch(model->app, model->kernels.normalize_backward, over(model->rows), ARG(in),
               ARG(moments), ARG(gains), ARG(model->d_normal), ARG(model->d_residual),
               ARG(shape->width), ARG(model->rows));
}

static void linear_backward(struct model *model, enum tensor_kind weight, size_t layer, cl_mem in,
                            cl_mem d_out, cl_mem d_in) {
    const struct linear linear = linear_of(model, weight);
    cl_mem d_bias = model_gradient(model, weight + 1, layer);
    app_launch(model->app, model->kernels.bias_gradient, over(linear.outputs), ARG(d_out),
               ARG(d_bias), ARG(linear.outputs), ARG(model->rows));
    product_weight_gradient(model, linear, in, d_out, model_gradient(model, weight, layer));
    product_input_gradient(model, linear, d_out, model_value(model, weight, layer), d_in);
}

static void attend_backward(struct model *model, const struct layer *layer) {
    const struct shape *shape = &model->shape;
    const size_t count = model->rows * shape->heads;
    app_launch(model->app, model->kernels.attend_backward, over(count), ARG(layer->qkv),
               ARG(layer->weights), ARG(model->d_attended), ARG(model->d_scores), ARG(shape->width),
               ARG(shape->heads), ARG(shape->context), ARG(count));
    app_launch(model->app, model->kernels.gather_backward, over_plane(shape->width, model->rows),
               ARG(layer->qkv), ARG(layer->weights), ARG(model->d_attended), ARG(model->d_scores),
               ARG(model->d_qkv), ARG(shape->width), ARG(model->rows), ARG(shape->heads),
               ARG(shape->context));
}

static void activate_backward(struct model *model, const struct layer *layer) {
    const size_t count = model->rows * 4 * model->shape.width;
    app_launch(model->app, model->kernels.activate_backward, over(count), ARG(layer->wide),
               ARG(model->d_wide), ARG(count));
}

/* d_residual comes in as the gradient of what the layer put out, and leaves as that of its input.
 */
static void backward_layer(struct model *model, size_t number) {
    const struct layer *layer = &model->layers[number];
    linear_backward(model, CONTRACT_WEIGHT, number, layer->active, model->d_residual,
                    model->d_wide);
    activate_backward(model, layer);
    linear_backward(model, EXPAND_WEIGHT, number, layer->normal2, model->d_wide, model->d_normal);
    normalize_backward(model, NORM2_GAIN, number, layer->middle, layer->moments2);
    linear_backward(model, PROJECT_WEIGHT, number, layer->attended, model->d_residual,
                    model->d_attended);
    attend_backward(model, layer);
    linear_backward(model, QKV_WEIGHT, number, layer->normal1, model->d_qkv, model->d_normal);
    normalize_backward(model, NORM1_GAIN, number, model_stream(model, number), layer->moments1);
}

/* The tokens are the head's weight, too; the embedding adds to this gradient at the end. */
static void head_backward(struct model *model) {
    const struct linear head = linear_of(model, TOKENS);
    product_weight_gradient(model, head, model->last, model->logits,
                            model_gradient(model, TOKENS, 0));
    product_input_gradient(model, head, model->logits, model_value(model, TOKENS, 0),
                           model->d_normal);
}

static void embed_backward(struct model *model) {
    const struct shape *shape = &model->shape;
    cl_mem d_tokens = model_gradient(model, TOKENS, 0);
    cl_mem d_positions = model_gradient(model, POSITIONS, 0);
    app_launch(model->app, model->kernels.token_gradients, over_plane(shape->width, LM_VOCABULARY),
               ARG(model->inputs), ARG(model->d_residual), ARG(d_tokens), ARG(shape->width),
               ARG(model->rows));
    app_launch(model->app, model->kernels.position_gradients,
               over_plane(shape->width, shape->context), ARG(model->d_residual), ARG(d_positions),
               ARG(shape->width), ARG(model->rows), ARG(shape->context));
}

void model_backward(struct model *model) {
    const float zero = 0;
    const size_t layers = model->shape.layers;
    head_backward(model);
    app_fill(model->app, model->d_residual, model->rows * model->shape.width * sizeof(float),
             &zero);
    normalize_backward(model, LAST_GAIN, 0, model_stream(model, layers), model->last_moments);
    for (size_t i = layers; i > 0; --i)
        backward_layer(model, i - 1);
    embed_backward(model);
}
