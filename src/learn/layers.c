#include "learn/layers.h"

#include "learn/matrix.h"

#include <math.h>
#include <string.h>

#define NORM_EPSILON 1e-5f

float *ff__piece(struct ff__pieces *pieces, size_t count) {
    float *piece = pieces->base ? pieces->base + pieces->used : NULL;
    pieces->used += (count + 15) / 16 * 16; /* cache lines */
    return piece;
}

/* ---- linear ---- */

void ff__linear_forward(const struct ff__linear *linear, float *y, const float *x, const float *w,
                        const float *b) {
    for (size_t row = 0; row < linear->rows; row++)
        memcpy(y + row * linear->out, b, linear->out * sizeof *y);
    const struct ff__product product = {linear->rows, linear->out, linear->in, false, false, true};
    ff__multiply(&product, x, w, y);
}

void ff__linear_backward(const struct ff__linear *linear, float *dx, float *dw, float *db,
                         const float *dy, const float *x, const float *w) {
    const struct ff__product by_w = {linear->in, linear->out, linear->rows, true, false, true};
    const struct ff__product by_x = {linear->rows, linear->in, linear->out, false, true, false};
    for (size_t row = 0; row < linear->rows; row++)
        for (size_t i = 0; i < linear->out; i++)
            db[i] += dy[row * linear->out + i];
    ff__multiply(&by_w, x, dy, dw);
    if (dx)
        ff__multiply(&by_x, dy, w, dx);
}

/* ---- embedding ---- */

size_t ff__embedding_params(const struct ff__embedding *embedding) {
    size_t params = 0;
    for (uint32_t f = 0; f < embedding->features; f++)
        params += (size_t)embedding->ids[f] * embedding->part[f];
    return params;
}

void ff__embedding_forward(const struct ff__embedding *embedding, float *y,
                           const uint16_t (*ids)[FF__FEATURES], size_t rows, const float *w) {
    for (uint32_t f = 0; f < embedding->features; f++) {
        uint32_t part = embedding->part[f];
        for (size_t row = 0; row < rows; row++)
            memcpy(y + row * embedding->width, w + (size_t)ids[row][embedding->feature[f]] * part,
                   part * sizeof *y);
        w += (size_t)embedding->ids[f] * part;
        y += part;
    }
}

void ff__embedding_backward(const struct ff__embedding *embedding, float *dw, const float *dy,
                            const uint16_t (*ids)[FF__FEATURES], size_t rows) {
    for (uint32_t f = 0; f < embedding->features; f++) {
        uint32_t part = embedding->part[f];
        for (size_t row = 0; row < rows; row++) {
            float *to = dw + (size_t)ids[row][embedding->feature[f]] * part;
            for (uint32_t i = 0; i < part; i++)
                to[i] += dy[row * embedding->width + i];
        }
        dw += (size_t)embedding->ids[f] * part;
        dy += part;
    }
}

/* ---- element by element ---- */

void ff__relu_forward(float *y, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

void ff__relu_backward(float *dy, const float *y, size_t count) {
    for (size_t i = 0; i < count; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}

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

/* ---- softmax ---- */

static void softmax_row(float *x, size_t width) {
    float most = x[0], sum = 0;
    for (size_t i = 1; i < width; i++)
        most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < width; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (size_t i = 0; i < width; i++)
        x[i] /= sum;
}

void ff__softmax(float *x, size_t rows, size_t width) {
    for (size_t row = 0; row < rows; row++)
        softmax_row(x + row * width, width);
}

double ff__loss(float *dlogits, const float *logits, const uint16_t *label, size_t rows,
                size_t classes) {
    double loss = 0;
    memcpy(dlogits, logits, rows * classes * sizeof *dlogits);
    ff__softmax(dlogits, rows, classes);
    for (size_t row = 0; row < rows; row++) {
        float *p = dlogits + row * classes;
        loss -= log((double)p[label[row]] + 1e-30);
        p[label[row]] -= 1;
        for (size_t i = 0; i < classes; i++)
            p[i] /= (float)rows;
    }
    return loss / (double)rows;
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

/* A head's keys or values with tokens along memory, so that sums over the head's size become sums of
 * rows, which compilers make vectors of. */
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
        softmax_row(row, head->tokens);
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
