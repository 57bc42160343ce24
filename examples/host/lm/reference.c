#include "reference.h"

#include "../data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The activations of one layer, which backward() needs again; see forward_layer(). */
struct reference_layer {
    real *normal1, *moments1, *qkv, *weights, *attended, *middle;
    real *normal2, *moments2, *wide, *active, *out;
};

/* ---- Life ---- */

static real *reals(size_t count) {
    return host_array(count, sizeof(real));
}

static void open_tensors(struct reference *reference, uint64_t seed) {
    const size_t count = shape_tensors(&reference->shape);
    real ***const sets[] = {&reference->values, &reference->gradients, &reference->first_moments,
                            &reference->second_moments};
    for (size_t i = 0; i < 4; ++i) {
        *sets[i] = host_array(count, sizeof(real *));
        for (size_t number = 0; number < count; ++number) {
            const struct tensor tensor = shape_tensor(&reference->shape, number);
            (*sets[i])[number] = reals(tensor_count(&tensor));
        }
    }
    for (size_t number = 0; number < count; ++number) {
        const struct tensor tensor = shape_tensor(&reference->shape, number);
        float *start = host_array(tensor_count(&tensor), sizeof(float));
        tensor_start(&reference->shape, number, seed, start);
        for (size_t i = 0; i < tensor_count(&tensor); ++i)
            reference->values[number][i] = (real)start[i];
        free(start);
    }
}

static struct reference_layer open_layer(const struct shape *shape) {
    const size_t rows = shape_rows(shape);
    const size_t plane = rows * shape->width;
    return (struct reference_layer){
        .normal1 = reals(plane),
        .moments1 = reals(2 * rows),
        .qkv = reals(3 * plane),
        .weights = reals(rows * shape->heads * shape->context),
        .attended = reals(plane),
        .middle = reals(plane),
        .normal2 = reals(plane),
        .moments2 = reals(2 * rows),
        .wide = reals(4 * plane),
        .active = reals(4 * plane),
        .out = reals(plane),
    };
}

struct reference *reference_open(const struct shape *shape, uint64_t seed) {
    struct reference *reference = host_array(1, sizeof(*reference));
    const size_t rows = shape_rows(shape);
    const size_t plane = rows * shape->width;
    *reference = (struct reference){
        .shape = *shape,
        .layers = host_array(shape->layers, sizeof(struct reference_layer)),
        .embedded = reals(plane),
        .last = reals(plane),
        .last_moments = reals(2 * rows),
        .logits = reals(rows * LM_VOCABULARY),
        .d_residual = reals(plane),
        .d_normal = reals(plane),
        .d_wide = reals(4 * plane),
        .d_qkv = reals(3 * plane),
        .d_attended = reals(plane),
        .d_weights = reals(rows * shape->heads * shape->context),
    };
    open_tensors(reference, seed);
    for (size_t i = 0; i < shape->layers; ++i)
        reference->layers[i] = open_layer(shape);
    return reference;
}

static void free_all(real *const *arrays, size_t count) {
    for (size_t i = 0; i < count; ++i)
        free(arrays[i]);
}

static void close_layer(struct reference_layer *layer) {
    real *const arrays[] = {layer->normal1,  layer->moments1, layer->qkv,     layer->weights,
                            layer->attended, layer->middle,   layer->normal2, layer->moments2,
                            layer->wide,     layer->active,   layer->out};
    free_all(arrays, sizeof(arrays) / sizeof(arrays[0]));
}

void reference_close(struct reference *reference) {
    real **const sets[] = {reference->values, reference->gradients, reference->first_moments,
                           reference->second_moments};
    for (size_t i = 0; i < 4; ++i) {
        free_all(sets[i], shape_tensors(&reference->shape));
        free(sets[i]);
    }
    for (size_t i = 0; i < reference->shape.layers; ++i)
        close_layer(&reference->layers[i]);
    free(reference->layers);
    real *const arrays[] = {reference->embedded, reference->last,       reference->last_moments,
                            reference->logits,   reference->d_residual, reference->d_normal,
                            reference->d_wide,   reference->d_qkv,      reference->d_attended,
                            reference->d_weights};
    free_all(arrays, sizeof(arrays) / sizeof(arrays[0]));
    free(reference);
}

/* ---- Products of matrices ---- */

/* c += a b, where a is rows x inner and b is inner x columns. */
static void add_product(const real *restrict a, const real *restrict b, real *restrict c,
                        size_t rows, size_t inner, size_t columns) {
    for (size_t k = 0; k < inner; ++k)
        for (size_t row = 0; row < rows; ++row)
            for (size_t column = 0; column < columns; ++column)
                c[row * columns + column] += a[row * inner + k] * b[k * columns + column];
}

/* c += a^T b, where a is inner x rows and b is inner x columns. */
static void add_product_of_transposed(const real *restrict a, const real *restrict b,
                                      real *restrict c, size_t rows, size_t inner, size_t columns) {
    for (size_t row = 0; row < rows; ++row)
        for (size_t k = 0; k < inner; ++k)
            for (size_t column = 0; column < columns; ++column)
                c[row * columns + column] += a[k * rows + row] * b[k * columns + column];
}

/* c += a b^T, where a is rows x inner and b is columns x inner. */
static void add_product_with_transposed(const real *restrict a, const real *restrict b,
                                        real *restrict c, size_t rows, size_t inner,
                                        size_t columns) {
    real *turned = reals(inner * columns);
    for (size_t column = 0; column < columns; ++column)
        for (size_t k = 0; k < inner; ++k)
            turned[k * columns + column] = b[column * inner + k];
    add_product(a, turned, c, rows, inner, columns);
    free(turned);
}

static void clear(real *values, size_t count) {
    memset(values, 0, count * sizeof(real));
}

/* ---- Parts of a layer, forward and backward ---- */

static void normalize(const struct reference *reference, const real *in, size_t gain, size_t bias,
                      real *out, real *moments) {
    const size_t width = reference->shape.width;
    for (size_t row = 0; row < shape_rows(&reference->shape); ++row) {
        const real *x = in + row * width;
        real mean = 0, variance = 0;
        for (size_t i = 0; i < width; ++i)
            mean += x[i] / (real)width;
        for (size_t i = 0; i < width; ++i)
            variance += (x[i] - mean) * (x[i] - mean) / (real)width;
        const real scale = 1 / (real)sqrt(variance + (real)LM_EPSILON);
        for (size_t i = 0; i < width; ++i)
            out[row * width + i] =
                (x[i] - mean) * scale * reference->values[gain][i] + reference->values[bias][i];
        moments[2 * row] = mean;
        moments[2 * row + 1] = scale;
    }
}

/* Adds to d_residual what comes back through the normalization from d_normal. */
static void normalize_backward(struct reference *reference, const real *in, const real *moments,
                               size_t gain, size_t bias) {
    const size_t width = reference->shape.width;
    real *d_gain = reference->gradients[gain];
    real *d_bias = reference->gradients[bias];
    clear(d_gain, width);
    clear(d_bias, width);
    for (size_t row = 0; row < shape_rows(&reference->shape); ++row) {
        const real mean = moments[2 * row], scale = moments[2 * row + 1];
        const real *d_out = reference->d_normal + row * width;
        real sum = 0, sum_along = 0; /* of the gradient, and of it along the normalized row */
        for (size_t i = 0; i < width; ++i) {
            const real normal = (in[row * width + i] - mean) * scale;
            d_gain[i] += d_out[i] * normal;
            d_bias[i] += d_out[i];
            sum += d_out[i] * reference->values[gain][i];
            sum_along += d_out[i] * reference->values[gain][i] * normal;
        }
        for (size_t i = 0; i < width; ++i) {
            const real normal = (in[row * width + i] - mean) * scale;
            const real straight = d_out[i] * reference->values[gain][i];
            reference->d_residual[row * width + i] +=
                scale * (straight - (sum + normal * sum_along) / (real)width);
        }
    }
}

/* out = in weight + bias, and + carried if that is not NULL. */
static void linear(const struct reference *reference, const real *in, size_t weight,
                   const real *carried, real *out) {
    const struct tensor tensor = shape_tensor(&reference->shape, weight);
    const size_t rows = shape_rows(&reference->shape);
    const real *bias = reference->values[weight + 1];
    for (size_t i = 0; i < rows * tensor.columns; ++i)
        out[i] = bias[i % tensor.columns] + (carried == NULL ? 0 : carried[i]);
    add_product(in, reference->values[weight], out, rows, tensor.rows, tensor.columns);
}

static void linear_backward(struct reference *reference, const real *in, size_t weight,
                            const real *d_out, real *d_in) {
    const struct tensor tensor = shape_tensor(&reference->shape, weight);
    const size_t rows = shape_rows(&reference->shape);
    real *d_weight = reference->gradients[weight];
    real *d_bias = reference->gradients[weight + 1];
    clear(d_bias, tensor.columns);
    for (size_t i = 0; i < rows * tensor.columns; ++i)
        d_bias[i % tensor.columns] += d_out[i];
    clear(d_weight, tensor_count(&tensor));
    add_product_of_transposed(in, d_out, d_weight, tensor.rows, rows, tensor.columns);
    clear(d_in, rows * tensor.rows);
    add_product_with_transposed(d_out, reference->values[weight], d_in, rows, tensor.columns,
                                tensor.rows);
}

static real dot(const real *a, const real *b, size_t count) {
    real sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(real *to, real factor, const real *from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] += factor * from[i];
}

/* Where the attention of one head in one text finds its numbers. */
struct head {
    size_t first_row, weights, width, pitch;
    size_t query, key, value, out; /* columns */
    real scale;
};

static struct head find_head(const struct shape *shape, size_t text, size_t number) {
    const size_t width = shape->width / shape->heads;
    return (struct head){
        .first_row = text * shape->context,
        .weights = (text * shape->heads + number) * shape->context * shape->context,
        .width = width,
        .pitch = 3 * shape->width,
        .query = number * width,
        .key = shape->width + number * width,
        .value = 2 * shape->width + number * width,
        .out = number * width,
        .scale = 1 / (real)sqrt((real)width),
    };
}

static void softmax(real *values, size_t count) {
    real largest = values[0], sum = 0;
    for (size_t i = 1; i < count; ++i)
        largest = values[i] > largest ? values[i] : largest;
    for (size_t i = 0; i < count; ++i)
        sum += values[i] = (real)exp(values[i] - largest);
    for (size_t i = 0; i < count; ++i)
        values[i] /= sum;
}

static void attend_with(const struct reference *reference, struct reference_layer *layer,
                        const struct head *head) {
    const size_t context = reference->shape.context;
    const size_t width = reference->shape.width;
    for (size_t t = 0; t < context; ++t) {
        const real *query = layer->qkv + (head->first_row + t) * head->pitch + head->query;
        real *weights = layer->weights + head->weights + t * context;
        real *out = layer->attended + (head->first_row + t) * width + head->out;
        for (size_t s = 0; s <= t; ++s)
            weights[s] = head->scale *
                         dot(query, layer->qkv + (head->first_row + s) * head->pitch + head->key,
                             head->width);
        softmax(weights, t + 1);
        clear(out, head->width);
        for (size_t s = 0; s <= t; ++s)
            add_scaled(out, weights[s],
                       layer->qkv + (head->first_row + s) * head->pitch + head->value, head->width);
    }
}

static void attend_with_backward(struct reference *reference, const struct reference_layer *layer,
                                 const struct head *head) {
    const size_t context = reference->shape.context;
    const size_t width = reference->shape.width;
    for (size_t t = 0; t < context; ++t) {
        const size_t row_t = (head->first_row + t) * head->pitch;
        const real *weights = layer->weights + head->weights + t * context;
        const real *d_out = reference->d_attended + (head->first_row + t) * width + head->out;
        real *d_weights = reference->d_weights + head->weights + t * context;
        for (size_t s = 0; s <= t; ++s) {
            const size_t row_s = (head->first_row + s) * head->pitch;
            d_weights[s] = dot(d_out, layer->qkv + row_s + head->value, head->width);
            add_scaled(reference->d_qkv + row_s + head->value, weights[s], d_out, head->width);
        }
        const real mean = dot(weights, d_weights, t + 1);
        for (size_t s = 0; s <= t; ++s) {
            const size_t row_s = (head->first_row + s) * head->pitch;
            const real d_score = weights[s] * (d_weights[s] - mean) * head->scale;
            add_scaled(reference->d_qkv + row_t + head->query, d_score,
                       layer->qkv + row_s + head->key, head->width);
            add_scaled(reference->d_qkv + row_s + head->key, d_score,
                       layer->qkv + row_t + head->query, head->width);
        }
    }
}

static void attend(const struct reference *reference, struct reference_layer *layer) {
    for (size_t text = 0; text < reference->shape.batch; ++text)
        for (size_t i = 0; i < reference->shape.heads; ++i) {
            const struct head head = find_head(&reference->shape, text, i);
            attend_with(reference, layer, &head);
        }
}

static void attend_backward(struct reference *reference, const struct reference_layer *layer) {
    clear(reference->d_qkv, shape_rows(&reference->shape) * 3 * reference->shape.width);
    for (size_t text = 0; text < reference->shape.batch; ++text)
        for (size_t i = 0; i < reference->shape.heads; ++i) {
            const struct head head = find_head(&reference->shape, text, i);
            attend_with_backward(reference, layer, &head);
        }
}

/* GELU in its tanh form: x * gate / 2. */
static const real slope = (real)0.7978845608028654, bend = (real)0.044715;

static void activate(const real *in, real *out, size_t count) {
    for (size_t i = 0; i < count; ++i)
        out[i] = in[i] / 2 * (1 + (real)tanh(slope * (in[i] + bend * in[i] * in[i] * in[i])));
}

static void activate_backward(const real *in, real *d, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const real x = in[i];
        const real bent = (real)tanh(slope * (x + bend * x * x * x));
        d[i] *= (1 + bent) / 2 + x / 2 * (1 - bent * bent) * slope * (1 + 3 * bend * x * x);
    }
}

/* ---- Forward ---- */

static void embed(const struct reference *reference, const uint8_t *inputs) {
    const size_t width = reference->shape.width;
    for (size_t row = 0; row < shape_rows(&reference->shape); ++row) {
        const real *token = reference->values[TOKENS] + inputs[row] * width;
        const size_t position = row % reference->shape.context;
        for (size_t i = 0; i < width; ++i)
            reference->embedded[row * width + i] =
                token[i] + reference->values[POSITIONS][position * width + i];
    }
}

static const real *forward_layer(struct reference *reference, size_t number, const real *in) {
    struct reference_layer *layer = &reference->layers[number];
    normalize(reference, in, shape_number(NORM1_GAIN, number), shape_number(NORM1_BIAS, number),
              layer->normal1, layer->moments1);
    linear(reference, layer->normal1, shape_number(QKV_WEIGHT, number), NULL, layer->qkv);
    attend(reference, layer);
    linear(reference, layer->attended, shape_number(PROJECT_WEIGHT, number), in, layer->middle);
    normalize(reference, layer->middle, shape_number(NORM2_GAIN, number),
              shape_number(NORM2_BIAS, number), layer->normal2, layer->moments2);
    linear(reference, layer->normal2, shape_number(EXPAND_WEIGHT, number), NULL, layer->wide);
    activate(layer->wide, layer->active,
             shape_rows(&reference->shape) * 4 * reference->shape.width);
    linear(reference, layer->active, shape_number(CONTRACT_WEIGHT, number), layer->middle,
           layer->out);
    return layer->out;
}

/* Leaves the loss's gradient where the logits were. */
static double cross_entropy(const struct reference *reference, const uint8_t *targets) {
    const size_t rows = shape_rows(&reference->shape);
    double loss = 0;
    for (size_t row = 0; row < rows; ++row) {
        real *chances = reference->logits + row * LM_VOCABULARY;
        softmax(chances, LM_VOCABULARY);
        loss -= log((double)chances[targets[row]]) / (double)rows;
        chances[targets[row]] -= 1;
        for (size_t i = 0; i < LM_VOCABULARY; ++i)
            chances[i] /= (real)rows;
    }
    return loss;
}

/* What the last layer left behind, or what it began with if there is no layer below `count`. */
static const real *output_of_layers(const struct reference *reference, size_t count) {
    return count == 0 ? reference->embedded : reference->layers[count - 1].out;
}

double reference_forward(struct reference *reference, const uint8_t *inputs,
                         const uint8_t *targets) {
    const struct shape *shape = &reference->shape;
    embed(reference, inputs);
    const real *stream = reference->embedded;
    for (size_t i = 0; i < shape->layers; ++i)
        stream = forward_layer(reference, i, stream);
    normalize(reference, stream, LAST_GAIN, LAST_BIAS, reference->last, reference->last_moments);
    clear(reference->logits, shape_rows(shape) * LM_VOCABULARY);
    add_product_with_transposed(reference->last, reference->values[TOKENS], reference->logits,
                                shape_rows(shape), shape->width, LM_VOCABULARY);
    return cross_entropy(reference, targets);
}

/* ---- Backward ---- */

/* From the logits' gradient to the normalized stream and to the tokens, which serve as head. */
static void head_backward(struct reference *reference) {
    const size_t rows = shape_rows(&reference->shape);
    const size_t width = reference->shape.width;
    clear(reference->d_normal, rows * width);
    add_product(reference->logits, reference->values[TOKENS], reference->d_normal, rows,
                LM_VOCABULARY, width);
    clear(reference->gradients[TOKENS], LM_VOCABULARY * width);
    add_product_of_transposed(reference->logits, reference->last, reference->gradients[TOKENS],
                              LM_VOCABULARY, rows, width);
}

/* d_residual comes in as the gradient of what the layer put out, and leaves as that of its input.
 */
static void backward_layer(struct reference *reference, size_t number) {
    const struct reference_layer *layer = &reference->layers[number];
    linear_backward(reference, layer->active, shape_number(CONTRACT_WEIGHT, number),
                    reference->d_residual, reference->d_wide);
    activate_backward(layer->wide, reference->d_wide,
                      shape_rows(&reference->shape) * 4 * reference->shape.width);
    linear_backward(reference, layer->normal2, shape_number(EXPAND_WEIGHT, number),
                    reference->d_wide, reference->d_normal);
    normalize_backward(reference, layer->middle, layer->moments2, shape_number(NORM2_GAIN, number),
                       shape_number(NORM2_BIAS, number));
    linear_backward(reference, layer->attended, shape_number(PROJECT_WEIGHT, number),
                    reference->d_residual, reference->d_attended);
    attend_backward(reference, layer);
    linear_backward(reference, layer->normal1, shape_number(QKV_WEIGHT, number), reference->d_qkv,
                    reference->d_normal);
    normalize_backward(reference, output_of_layers(reference, number), layer->moments1,
                       shape_number(NORM1_GAIN, number), shape_number(NORM1_BIAS, number));
}

static void embed_backward(struct reference *reference, const uint8_t *inputs) {
    const size_t width = reference->shape.width;
    clear(reference->gradients[POSITIONS], reference->shape.context * width);
    for (size_t row = 0; row < shape_rows(&reference->shape); ++row) {
        const real *d_row = reference->d_residual + row * width;
        const size_t position = row % reference->shape.context;
        add_scaled(reference->gradients[TOKENS] + inputs[row] * width, 1, d_row, width);
        add_scaled(reference->gradients[POSITIONS] + position * width, 1, d_row, width);
    }
}

void reference_backward(struct reference *reference, const uint8_t *inputs) {
    const struct shape *shape = &reference->shape;
    head_backward(reference);
    clear(reference->d_residual, shape_rows(shape) * shape->width);
    normalize_backward(reference, output_of_layers(reference, shape->layers),
                       reference->last_moments, LAST_GAIN, LAST_BIAS);
    for (size_t i = shape->layers; i > 0; --i)
        backward_layer(reference, i - 1);
    embed_backward(reference, inputs);
}

/* ---- AdamW ---- */

static void update_tensor(struct reference *reference, size_t number) {
    const struct tensor tensor = shape_tensor(&reference->shape, number);
    const real beta1 = (real)LM_BETA1, beta2 = (real)LM_BETA2;
    const real rate = (real)shape_learning_rate(&reference->shape, reference->steps);
    const real decay = tensor.decays ? (real)LM_DECAY : 0;
    const real correction1 = 1 / (1 - (real)pow(beta1, (real)reference->steps));
    const real correction2 = 1 / (1 - (real)pow(beta2, (real)reference->steps));
    real *value = reference->values[number];
    real *first = reference->first_moments[number];
    real *second = reference->second_moments[number];
    for (size_t i = 0; i < tensor_count(&tensor); ++i) {
        const real gradient = reference->gradients[number][i];
        first[i] = beta1 * first[i] + (1 - beta1) * gradient;
        second[i] = beta2 * second[i] + (1 - beta2) * gradient * gradient;
        const real root = (real)sqrt(correction2 * second[i]);
        value[i] -=
            rate * (correction1 * first[i] / (root + (real)LM_ADAM_EPSILON) + decay * value[i]);
    }
}

void reference_update(struct reference *reference) {
    ++reference->steps;
    for (size_t i = 0; i < shape_tensors(&reference->shape); ++i)
        update_tensor(reference, i);
}
