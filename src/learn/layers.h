/* Layers, forward and backward: the plain float reference that everything faster is checked
 * against.
 *
 * x, y: activations, a row each; w, b: parameters; a name with d before it: the gradient of the
 * loss by that. Backward functions add to gradients of parameters and set gradients of activations.
 */
#ifndef FF_LEARN_LAYERS_H
#define FF_LEARN_LAYERS_H

#include "learn/features.h"

#include <stddef.h>

/* Cuts pieces off one array. With a NULL base it only measures. */
struct ff__pieces {
    float *base;
    size_t used;
};
float *ff__piece(struct ff__pieces *pieces, size_t count);

/* y [rows][out] = x [rows][in] w [in][out] + b [out] */
struct ff__linear {
    uint32_t rows, in, out;
};
void ff__linear_forward(const struct ff__linear *linear, float *y, const float *x, const float *w,
                        const float *b);
/* `dx` may be NULL. */
void ff__linear_backward(const struct ff__linear *linear, float *dx, float *dw, float *db,
                         const float *dy, const float *x, const float *w);

/* One row of y for each token: its features' table rows beside each other. Tables lie one after the
 * other in w, [ids of the feature][its width]. */
struct ff__embedding {
    uint32_t features, width;
    enum ff__feature feature[FF__FEATURES];
    uint32_t part[FF__FEATURES]; /* of the width */
    uint32_t ids[FF__FEATURES];
};
size_t ff__embedding_params(const struct ff__embedding *embedding);
void ff__embedding_forward(const struct ff__embedding *embedding, float *y,
                           const uint16_t (*ids)[FF__FEATURES], size_t rows, const float *w);
void ff__embedding_backward(const struct ff__embedding *embedding, float *dw, const float *dy,
                            const uint16_t (*ids)[FF__FEATURES], size_t rows);

/* In place; the backward one looks at the output. */
void ff__relu_forward(float *y, size_t count);
void ff__relu_backward(float *dy, const float *y, size_t count);

/* In place, every row. */
void ff__softmax(float *x, size_t rows, size_t width);

/* Mean cross-entropy of the rows; sets dlogits. */
double ff__loss(float *dlogits, const float *logits, const uint16_t *label, size_t rows,
                size_t classes);

#endif
