#include "learn/train/layers.h"

#include <math.h>
#include <string.h>

#define NORM_EPSILON 1e-5f

/* ---- normalization (Ba, Kiros, Hinton 2016) ---- */

static void norm_row(float *y, float *stats, const float *x, const float *w, const float *b,
                     size_t width) {
    float mean = 0, variance = 0;
    for (size_t i = 0; i < width; i++)
        mean += x[i];
    mean /= (float)width;
    for (size_t i = 0; i < width; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(variance / (float)width + NORM_EPSILON);
    for (size_t i = 0; i < width; i++)
        y[i] = (x[i] - mean) * scale * w[i] + b[i];
    stats[0] = mean;
    stats[1] = scale;
}

void ff__norm_forward(float *y, float *stats, const float *x, const float *w, const float *b,
                      size_t rows, size_t width) {
    for (size_t row = 0; row < rows; row++)
        norm_row(y + row * width, stats + 2 * row, x + row * width, w, b, width);
}

static void norm_row_backward(float *dx, float *dw, float *db, const float *dy, const float *stats,
                              const float *x, const float *w, size_t width) {
    float sum = 0, along = 0, mean = stats[0], scale = stats[1];
    for (size_t i = 0; i < width; i++) {
        float unit = (x[i] - mean) * scale;
        dw[i] += dy[i] * unit;
        db[i] += dy[i];
        sum += dy[i] * w[i];
        along += dy[i] * w[i] * unit;
    }
    for (size_t i = 0; i < width; i++) {
        float unit = (x[i] - mean) * scale;
        dx[i] = scale * (dy[i] * w[i] - (sum + unit * along) / (float)width);
    }
}

void ff__norm_backward(float *dx, float *dw, float *db, const float *dy, const float *stats,
                       const float *x, const float *w, size_t rows, size_t width) {
    for (size_t row = 0; row < rows; row++)
        norm_row_backward(dx + row * width, dw, db, dy + row * width, stats + 2 * row,
                          x + row * width, w, width);
}

/* ---- attention ---- */

/* Where a head's part of a sequence begins. */
struct head {
    uint32_t tokens, asking, size, stride;
    float scale;
    size_t in, out, weights; /* offsets */
};

static struct head find_head(const struct ff__attention *attention, uint32_t sequence,
                             uint32_t which) {
    uint32_t tokens = attention->tokens, asking = attention->asking;
    uint32_t width = attention->width, size = width / attention->heads;
    return (struct head){
        .tokens = tokens,
        .asking = asking,
        .size = size,
        .stride = 3 * width,
        .scale = 1 / sqrtf((float)size),
        .in = (size_t)sequence * tokens * 3 * width + (size_t)which * size,
        .out = (size_t)sequence * asking * width + (size_t)which * size,
        .weights = ((size_t)sequence * attention->heads + which) * asking * tokens,
    };
}

/* A head's keys or values with tokens along memory, so that sums over the head's size become sums
 * of rows, which compilers make vectors of. */
static void turn(const struct head *head, float out[FF__HEAD_MAX][FF__WINDOW], const float *in) {
    for (size_t j = 0; j < head->tokens; j++)
        for (size_t d = 0; d < head->size; d++)
            out[d][j] = in[j * head->stride + d];
}

/* Where the query of the i-th asking token is. */
static size_t query_at(const struct head *head, size_t i) {
    return (head->tokens - head->asking + i) * head->stride;
}

/* row[j] = scale * sum of x[d] * turned[d][j] */
static void dot_all(const struct head *head, float *row, const float *x,
                    const float turned[FF__HEAD_MAX][FF__WINDOW], float scale) {
    float sum[FF__WINDOW] = {0};
    for (size_t d = 0; d < head->size; d++)
        for (size_t j = 0; j < FF__WINDOW; j++)
            sum[j] += x[d] * turned[d][j];
    for (size_t j = 0; j < head->tokens; j++)
        row[j] = sum[j] * scale;
}

static void attend(const struct ff__attention *attention, const struct head *head, float *y,
                   float *weights, const float *qkv) {
    uint32_t width = attention->width;
    float keys[FF__HEAD_MAX][FF__WINDOW] = {{0}};
    turn(head, keys, qkv + width);
    for (size_t i = 0; i < head->asking; i++) {
        float *row = weights + i * head->tokens, *out = y + i * width;
        dot_all(head, row, qkv + query_at(head, i), keys, head->scale);
        ff__softmax(row, 1, head->tokens);
        memset(out, 0, head->size * sizeof *out);
        for (size_t j = 0; j < head->tokens; j++)
            for (size_t d = 0; d < head->size; d++)
                out[d] += row[j] * qkv[j * head->stride + 2 * width + d];
    }
}

void ff__attention_forward(const struct ff__attention *attention, float *y, float *weights,
                           const float *qkv) {
    for (uint32_t s = 0; s < attention->sequences; s++)
        for (uint32_t h = 0; h < attention->heads; h++) {
            struct head head = find_head(attention, s, h);
            attend(attention, &head, y + head.out, weights + head.weights, qkv + head.in);
        }
}

/* Row i: the gradient by its weights, then by the scores, then by q, k and v. */
static void attend_backward(const struct ff__attention *attention, const struct head *head,
                            float *dqkv, const float *dy, const float *weights, const float *qkv) {
    uint32_t width = attention->width;
    float values[FF__HEAD_MAX][FF__WINDOW] = {{0}};
    turn(head, values, qkv + 2 * width);
    for (size_t i = 0; i < head->asking; i++) {
        const float *row = weights + i * head->tokens, *out = dy + i * width;
        const float *q = qkv + query_at(head, i);
        float *dq = dqkv + query_at(head, i);
        float dweight[FF__WINDOW], sum = 0;
        dot_all(head, dweight, out, values, 1);
        for (size_t j = 0; j < head->tokens; j++) {
            float *dv = dqkv + j * head->stride + 2 * width;
            for (size_t d = 0; d < head->size; d++)
                dv[d] += row[j] * out[d];
            sum += dweight[j] * row[j];
        }
        for (size_t j = 0; j < head->tokens; j++) {
            float dscore = row[j] * (dweight[j] - sum) * head->scale;
            const float *k = qkv + j * head->stride + width;
            for (size_t d = 0; d < head->size; d++) {
                dq[d] += dscore * k[d];
                dqkv[j * head->stride + width + d] += dscore * q[d];
            }
        }
    }
}

void ff__attention_backward(const struct ff__attention *attention, float *dqkv, const float *dy,
                            const float *weights, const float *qkv) {
    size_t count = (size_t)attention->sequences * attention->tokens * 3 * attention->width;
    memset(dqkv, 0, count * sizeof *dqkv);
    for (uint32_t s = 0; s < attention->sequences; s++)
        for (uint32_t h = 0; h < attention->heads; h++) {
            struct head head = find_head(attention, s, h);
            attend_backward(attention, &head, dqkv + head.in, dy + head.out, weights + head.weights,
                            qkv + head.in);
        }
}

/* ---- LSTM (Hochreiter, Schmidhuber 1997; with a forget gate) ---- */

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

/* tanh, several times faster than the C library's. */
static float squash(float x) {
    return 2 * sigmoid(2 * x) - 1;
}

void ff__lstm_forward(float *y, float *cell, float *gates, const float *cell_before, size_t rows,
                      size_t width) {
    for (size_t row = 0; row < rows; row++) {
        float *g = gates + row * 4 * width;
        for (size_t i = 0; i < width; i++) {
            g[i] = sigmoid(g[i]);
            g[width + i] = sigmoid(g[width + i]);
            g[2 * width + i] = squash(g[2 * width + i]);
            g[3 * width + i] = sigmoid(g[3 * width + i]);
            size_t at = row * width + i;
            cell[at] = g[width + i] * cell_before[at] + g[i] * g[2 * width + i];
            y[at] = g[3 * width + i] * squash(cell[at]);
        }
    }
}

void ff__lstm_backward(float *dgates, float *dcell, const float *dy, const float *gates,
                       const float *cell, const float *cell_before, size_t rows, size_t width) {
    for (size_t row = 0; row < rows; row++) {
        const float *g = gates + row * 4 * width;
        float *d = dgates + row * 4 * width;
        for (size_t i = 0; i < width; i++) {
            size_t at = row * width + i;
            float in = g[i], forget = g[width + i], new = g[2 * width + i], out = g[3 * width + i];
            float shown = squash(cell[at]);
            float dc = dcell[at] + dy[at] * out * (1 - shown * shown);
            d[i] = dc * new *in *(1 - in);
            d[width + i] = dc * cell_before[at] * forget * (1 - forget);
            d[2 * width + i] = dc * in * (1 - new *new);
            d[3 * width + i] = dy[at] * shown * out * (1 - out);
            dcell[at] = dc * forget;
        }
    }
}
