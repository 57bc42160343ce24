/*
 * The model on the device, being trained. As in a framework, every parameter, gradient, moment and
 * activation is a buffer of its own, and a step is some hundred launches that are the same in every
 * step, on the same buffers.
 */
#ifndef OPENCL_EXAMPLES_LM_MODEL_H
#define OPENCL_EXAMPLES_LM_MODEL_H

#include "../common.h"
#include "shape.h"

extern const char lm_kernels[];

#define LM_KERNELS(KERNEL)                                                                         \
    KERNEL(embed)                                                                                  \
    KERNEL(normalize_rows)                                                                         \
    KERNEL(start_linear)                                                                           \
    KERNEL(start_residual)                                                                         \
    KERNEL(attend)                                                                                 \
    KERNEL(gather_values)                                                                          \
    KERNEL(activate)                                                                               \
    KERNEL(cross_entropy)                                                                          \
    KERNEL(normalize_backward)                                                                     \
    KERNEL(normalize_gradients)                                                                    \
    KERNEL(bias_gradient)                                                                          \
    KERNEL(activate_backward)                                                                      \
    KERNEL(attend_backward)                                                                        \
    KERNEL(gather_backward)                                                                        \
    KERNEL(token_gradients)                                                                        \
    KERNEL(position_gradients)                                                                     \
    KERNEL(adamw)

struct kernels {
#define KERNEL(name) cl_kernel name;
    LM_KERNELS(KERNEL)
#undef KERNEL
};

struct parameter {
    cl_mem value, gradient, first_moment, second_moment;
};

/* The activations of one layer, in the order in which forward.c makes them. */
struct layer {
    cl_mem normal1, moments1, qkv, weights, attended, middle;
    cl_mem normal2, moments2, wide, active, out;
};

struct model {
    struct app *app;
    struct shape shape;
    struct kernels kernels;
    size_t rows, steps; /* rows: of every activation; steps: that have been taken */

    struct parameter *parameters; /* by number of tensor */
    struct layer *layers;
    cl_mem inputs, targets;
    cl_mem embedded, last, last_moments;
    cl_mem logits; /* and then their gradient */
    cl_mem losses;

    /* Gradients of activations, which one layer hands to the one below. */
    cl_mem d_residual, d_normal, d_wide, d_qkv, d_attended, d_scores;

    cl_mem rates;     /* what AdamW needs anew in every step */
    cl_mem workspace; /* CLBlast's */
    float *host_losses;
};

/* ---- model.c ---- */

void model_open(struct model *model, struct app *app, const struct shape *shape);
void model_start(struct model *model); /* gives the parameters their first values */
void model_close(struct model *model);

cl_mem model_value(const struct model *model, enum tensor_kind kind, size_t layer);
cl_mem model_gradient(const struct model *model, enum tensor_kind kind, size_t layer);

/* What layer `number` gets to see: the output of the one below it. */
cl_mem model_stream(const struct model *model, size_t number);

/* ---- forward.c, backward.c, update.c: the three parts of a step ---- */

double model_forward(struct model *model, const uint8_t *inputs, const uint8_t *targets);
void model_backward(struct model *model);
void model_update(struct model *model);

/* ---- product.c: matrix products, by CLBlast ---- */

/* A fully connected layer's matrices: in is rows x inputs, weight inputs x outputs. The head's
 * weight is stored the other way around, because it is the table of tokens. */
struct linear {
    size_t rows, inputs, outputs;
    bool turned;
};

struct linear linear_of(const struct model *model, enum tensor_kind kind);

/* out += in weight; d_weight = in^T d_out; d_in = d_out weight^T */
void product_forward(struct model *model, struct linear linear, cl_mem in, cl_mem weight,
                     cl_mem out);
void product_weight_gradient(struct model *model, struct linear linear, cl_mem in, cl_mem d_out,
                             cl_mem d_weight);
void product_input_gradient(struct model *model, struct linear linear, cl_mem d_out, cl_mem weight,
                            cl_mem d_in);

/* The bytes that the largest of them needs for a while. */
size_t product_workspace(const struct model *model);

#endif
