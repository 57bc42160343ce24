#include "learn/layers.h"

#include "learn/matrix.h"

#include <math.h>
#include <string.h>

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
