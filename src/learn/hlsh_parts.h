/* What the networks of hlsh.h are made of. */
#ifndef FF_LEARN_HLSH_PARTS_H
#define FF_LEARN_HLSH_PARTS_H

#include "learn/hlsh.h"

/* Functions of struct ff__net_type: hlsh_encoder.c, hlsh_window.c. */
size_t ff__encoder_work(const struct ff__net_type *type, const struct ff__shape *shape,
                        uint32_t capacity);
void ff__encoder_init(struct ff__net *net, struct ff__random *random);
void ff__encoder_forward(struct ff__net *net, const struct ff__batch *batch, float *logits);
void ff__encoder_backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits);

size_t ff__window_work(const struct ff__net_type *type, const struct ff__shape *shape,
                       uint32_t capacity);
void ff__window_init(struct ff__net *net, struct ff__random *random);
void ff__window_forward(struct ff__net *net, const struct ff__batch *batch, float *logits);
void ff__window_backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits);

/* The tables of the three features. */
struct ff__embedding ff__hlsh_embedding(const struct ff__shape *shape);
void ff__hlsh_init_tables(const struct ff__hlsh_weights *weights, struct ff__random *random);

/* The parameters that are computed with: the net's own, or, quantized, in steps: in `space`, which
 * begins the work space. */
struct ff__hlsh_space {
    float *weights, *steps;
};
void ff__hlsh_space(struct ff__hlsh_space *space, struct ff__pieces *pieces,
                    const struct ff__net_type *type, const struct ff__shape *shape);
void ff__hlsh_current(struct ff__hlsh_weights *weights, const struct ff__net *net,
                      const struct ff__hlsh_space *space);

/* Quantizers, which networks of floats, and checks of gradients, go without. `raw`: before. */
void ff__clamp(const struct ff__net *net, float *y, const float *raw, size_t count, float step);
void ff__clamp_backward(const struct ff__net *net, float *d, const float *raw, size_t count,
                        float step);
/* The same after a ReLU. */
void ff__clamp_positive(const struct ff__net *net, float *y, const float *raw, size_t count,
                        float step);
void ff__clamp_positive_backward(const struct ff__net *net, float *d, const float *raw,
                                 size_t count, float step);

void ff__add_to(float *to, const float *from, size_t count);

#endif
