/* Layers that only networks for comparison have; in the words of learn/layers.h. */
#ifndef FF_LEARN_TRAIN_LAYERS_H
#define FF_LEARN_TRAIN_LAYERS_H

#include "learn/layers.h"

/* Rows of `width` with mean 0 and variance 1, times w, plus b. `stats` [rows][2] is kept for
 * backward. */
void ff__norm_forward(float *y, float *stats, const float *x, const float *w, const float *b,
                      size_t rows, size_t width);
void ff__norm_backward(float *dx, float *dw, float *db, const float *dy, const float *stats,
                       const float *x, const float *w, size_t rows, size_t width);

/* Attention of the last `asking` tokens of each sequence to all of its `tokens`. qkv
 * [sequences][tokens][3 width], y [sequences][asking][width]; `weights`
 * [sequence][head][asking][tokens] is kept for backward. At most FF__WINDOW tokens, and
 * FF__HEAD_MAX numbers a head. */
#define FF__HEAD_MAX 64u
struct ff__attention {
    uint32_t sequences, tokens, asking, width, heads;
};
void ff__attention_forward(const struct ff__attention *attention, float *y, float *weights,
                           const float *qkv);
void ff__attention_backward(const struct ff__attention *attention, float *dqkv, const float *dy,
                            const float *weights, const float *qkv);

/* One step of an LSTM: `gates` [rows][4 width] are the sums for input, forget, cell and output gate
 * before and after the step; `cell` and y are new. */
void ff__lstm_forward(float *y, float *cell, float *gates, const float *cell_before, size_t rows,
                      size_t width);
/* dcell is that of `cell` and becomes that of `cell_before`. */
void ff__lstm_backward(float *dgates, float *dcell, const float *dy, const float *gates,
                       const float *cell, const float *cell_before, size_t rows, size_t width);

#endif
