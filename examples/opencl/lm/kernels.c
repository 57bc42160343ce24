#include "device.h"

/*
 * Everything but the products of matrices. Activations are planes of `rows` rows (positions of all
 * texts); sums along a row are one work-item's, as are sums down a column, so results do not depend
 * on the order in which work-items run.
 */
const char lm_kernels[] = OPENCL_SOURCE(
    __kernel void embed(__global const uchar *inputs, __global const float *tokens,
                        __global const float *positions, __global float *out, ulong width,
                        ulong rows, ulong context) {
        const ulong column = get_global_id(0);
        const ulong row = get_global_id(1);
        if (column < width && row < rows)
            out[row * width + column] =
                tokens[inputs[row] * width + column] + positions[row % context * width + column];
    }

    __kernel void normalize_rows(__global const float *in, __global const float *gain,
                                 __global const float *bias, __global float *out,
                                 __global float2 *moments, ulong width, ulong rows) {
        const ulong row = get_global_id(0);
        if (row >= rows)
            return;
        in += row * width;
        float mean = 0.0f;
        for (ulong i = 0; i < width; ++i)
            mean += in[i];
        mean /= width;
        float variance = 0.0f;
        for (ulong i = 0; i < width; ++i)
            variance += (in[i] - mean) * (in[i] - mean);
        const float scale = 1.0f / sqrt(variance / width + LM_EPSILON);
        for (ulong i = 0; i < width; ++i)
            out[row * width + i] = (in[i] - mean) * scale * gain[i] + bias[i];
        moments[row] = (float2)(mean, scale);
    }

    __kernel void start_linear(__global const float *bias, __global float *out, ulong width,
                               ulong rows) {
        const ulong column = get_global_id(0);
        const ulong row = get_global_id(1);
        if (column < width && row < rows)
            out[row * width + column] = bias[column];
    }

    __kernel void start_residual(__global const float *bias, __global const float *carried,
                                 __global float *out, ulong width, ulong rows) {
        const ulong column = get_global_id(0);
        const ulong row = get_global_id(1);
        if (column < width && row < rows)
            out[row * width + column] = carried[row * width + column] + bias[column];
    }

    /* One work-item a (text, head, position): how much that position attends to those before it. */
    __kernel void attend(__global const float *qkv, __global float *weights, ulong width,
                         ulong heads, ulong context, ulong count) {
        const ulong item = get_global_id(0);
        if (item >= count)
            return;
        const ulong position = item % context;
        const ulong head = item / context % heads;
        const ulong first_row = item / context / heads * context;
        const ulong size = width / heads;
        __global const float *query = qkv + (first_row + position) * 3 * width + head * size;
        __global const float *keys = qkv + first_row * 3 * width + width + head * size;
        weights += item * context;
        float largest = -INFINITY;
        for (ulong i = 0; i <= position; ++i) {
            float score = 0.0f;
            for (ulong k = 0; k < size; ++k)
                score += query[k] * keys[i * 3 * width + k];
            weights[i] = score / sqrt((float)size);
            largest = max(largest, weights[i]);
        }
        float sum = 0.0f;
        for (ulong i = 0; i <= position; ++i)
            sum += weights[i] = exp(weights[i] - largest);
        for (ulong i = 0; i < context; ++i)
            weights[i] = i <= position ? weights[i] / sum : 0.0f;
    }

    __kernel void gather_values(__global const float *qkv, __global const float *weights,
                                __global float *out, ulong width, ulong rows, ulong heads,
                                ulong context) {
        const ulong column = get_global_id(0);
        const ulong row = get_global_id(1);
        if (column >= width || row >= rows)
            return;
        const ulong position = row % context;
        const ulong head = column / (width / heads);
        weights += ((row / context * heads + head) * context + position) * context;
        __global const float *values = qkv + (row - position) * 3 * width + 2 * width + column;
        float sum = 0.0f;
        for (ulong i = 0; i <= position; ++i)
            sum += weights[i] * values[i * 3 * width];
        out[row * width + column] = sum;
    }

    /* GELU in its tanh form. */
    __kernel void activate(__global const float *in, __global float *out, ulong count) {
        const ulong i = get_global_id(0);
        if (i >= count)
            return;
        const float x = in[i];
        out[i] = 0.5f * x * (1.0f + tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    }

    /* One work-item a row. Leaves the gradient of the mean loss where the logits were. */
    __kernel void cross_entropy(__global float *logits, __global const uchar *targets,
                                __global float *losses, ulong rows) {
        const ulong row = get_global_id(0);
        if (row >= rows)
            return;
        logits += row * LM_VOCABULARY;
        float largest = -INFINITY;
        for (uint i = 0; i < LM_VOCABULARY; ++i)
            largest = max(largest, logits[i]);
        float sum = 0.0f;
        for (uint i = 0; i < LM_VOCABULARY; ++i)
            sum += exp(logits[i] - largest);
        losses[row] = log(sum) + largest - logits[targets[row]];
        for (uint i = 0; i < LM_VOCABULARY; ++i)
            logits[i] = (exp(logits[i] - largest) / sum - (i == targets[row])) / rows;
    }

    __kernel void normalize_backward(__global const float *in, __global const float2 *moments,
                                     __global const float *gain, __global const float *d_out,
                                     __global float *d_in, ulong width, ulong rows) {
        const ulong row = get_global_id(0);
        if (row >= rows)
            return;
        in += row * width;
        d_out += row * width;
        const float mean = moments[row].x;
        const float scale = moments[row].y;
        float sum = 0.0f;
        float sum_along = 0.0f; /* along the normalized row */
        for (ulong i = 0; i < width; ++i) {
            sum += d_out[i] * gain[i];
            sum_along += d_out[i] * gain[i] * (in[i] - mean) * scale;
        }
        for (ulong i = 0; i < width; ++i)
            d_in[row * width + i] +=
                scale * (d_out[i] * gain[i] - (sum + (in[i] - mean) * scale * sum_along) / width);
    }

    __kernel void normalize_gradients(__global const float *in, __global const float2 *moments,
                                      __global const float *d_out, __global float *d_gain,
                                      __global float *d_bias, ulong width, ulong rows) {
        const ulong column = get_global_id(0);
        if (column >= width)
            return;
        float gain_sum = 0.0f;
        float bias_sum = 0.0f;
        for (ulong row = 0; row < rows; ++row) {
            const float2 moment = moments[row];
            const ulong i = row * width + column;
            gain_sum += d_out[i] * (in[i] - moment.x) * moment.y;
            bias_sum += d_out[i];
        }
        d_gain[column] = gain_sum;
        d_bias[column] = bias_sum;
    }

    __kernel void bias_gradient(__global const float *d_out, __global float *d_bias, ulong width,
                                ulong rows) {
        const ulong column = get_global_id(0);
        if (column >= width)
            return;
        float sum = 0.0f;
        for (ulong row = 0; row < rows; ++row)
            sum += d_out[row * width + column];
        d_bias[column] = sum;
    }

    __kernel void activate_backward(__global const float *in, __global float *d, ulong count) {
        const ulong i = get_global_id(0);
        if (i >= count)
            return;
        const float x = in[i];
        const float bent = tanh(0.7978845608f * (x + 0.044715f * x * x * x));
        d[i] *= 0.5f * (1.0f + bent) +
                0.5f * x * (1.0f - bent * bent) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
    }

    /* Back to the scores, before the softmax; work-items as in attend. */
    __kernel void attend_backward(__global const float *qkv, __global const float *weights,
                                  __global const float *d_attended, __global float *d_scores,
                                  ulong width, ulong heads, ulong context, ulong count) {
        const ulong item = get_global_id(0);
        if (item >= count)
            return;
        const ulong position = item % context;
        const ulong head = item / context % heads;
        const ulong first_row = item / context / heads * context;
        const ulong size = width / heads;
        __global const float *values = qkv + first_row * 3 * width + 2 * width + head * size;
        d_attended += (first_row + position) * width + head * size;
        weights += item * context;
        d_scores += item * context;
        float mean = 0.0f;
        for (ulong i = 0; i <= position; ++i) {
            float d_weight = 0.0f;
            for (ulong k = 0; k < size; ++k)
                d_weight += d_attended[k] * values[i * 3 * width + k];
            d_scores[i] = d_weight;
            mean += weights[i] * d_weight;
        }
        for (ulong i = 0; i < context; ++i)
            d_scores[i] =
                i <= position ? weights[i] * (d_scores[i] - mean) / sqrt((float)size) : 0.0f;
    }

    /* One column of a query, a key and a value each: what all positions that used them hand back.
     */
    __kernel void gather_backward(__global const float *qkv, __global const float *weights,
                                  __global const float *d_attended, __global const float *d_scores,
                                  __global float *d_qkv, ulong width, ulong rows, ulong heads,
                                  ulong context) {
        const ulong column = get_global_id(0);
        const ulong row = get_global_id(1);
        if (column >= width || row >= rows)
            return;
        const ulong position = row % context;
        const ulong first_row = row - position;
        const ulong head = column / (width / heads);
        const ulong square = (row / context * heads + head) * context * context;
        __global const float *queries = qkv + first_row * 3 * width + column;
        __global const float *keys = queries + width;
        float d_query = 0.0f;
        float d_key = 0.0f;
        float d_value = 0.0f;
        for (ulong i = 0; i <= position; ++i)
            d_query += d_scores[square + position * context + i] * keys[i * 3 * width];
        for (ulong i = position; i < context; ++i) {
            const ulong edge = square + i * context + position;
            d_key += d_scores[edge] * queries[i * 3 * width];
            d_value += weights[edge] * d_attended[(first_row + i) * width + column];
        }
        d_qkv += row * 3 * width + column;
        d_qkv[0] = d_query;
        d_qkv[width] = d_key;
        d_qkv[2 * width] = d_value;
    }

    /* Adds to what the tokens got as the head. */
    __kernel void token_gradients(__global const uchar *inputs, __global const float *d_embedded,
                                  __global float *d_tokens, ulong width, ulong rows) {
        const ulong column = get_global_id(0);
        const ulong token = get_global_id(1);
        if (column >= width || token >= LM_VOCABULARY)
            return;
        float sum = 0.0f;
        for (ulong row = 0; row < rows; ++row)
            if (inputs[row] == token)
                sum += d_embedded[row * width + column];
        d_tokens[token * width + column] += sum;
    }

    __kernel void position_gradients(__global const float *d_embedded, __global float *d_positions,
                                     ulong width, ulong rows, ulong context) {
        const ulong column = get_global_id(0);
        const ulong position = get_global_id(1);
        if (column >= width || position >= context)
            return;
        float sum = 0.0f;
        for (ulong row = position; row < rows; row += context)
            sum += d_embedded[row * width + column];
        d_positions[position * width + column] = sum;
    }

    /* rates: of learning, and the corrections of the two moments. */
    __kernel void adamw(__global float *values, __global const float *gradients,
                        __global float *first, __global float *second, __global const float *rates,
                        float decay, ulong count) {
        const ulong i = get_global_id(0);
        if (i >= count)
            return;
        const float gradient = gradients[i];
        first[i] = LM_BETA1 * first[i] + (1.0f - LM_BETA1) * gradient;
        second[i] = LM_BETA2 * second[i] + (1.0f - LM_BETA2) * gradient * gradient;
        const float direction =
            rates[1] * first[i] / (sqrt(rates[2] * second[i]) + LM_ADAM_EPSILON);
        values[i] -= rates[0] * (direction + decay * values[i]);
    });
