/* Layers as PyTorch 1.8 runs them in eager mode and single precision: the kernels of the way there and
 * back, and which tensors are kept in between. None takes over its input: what made a tensor
 * drops it. All sizes are in elements. */
#ifndef FF_WORKLOAD_DNN_LAYERS_H
#define FF_WORKLOAD_DNN_LAYERS_H

#include "workload/dnn/tape.h"

/* What comes from the host each iteration. */
uint32_t ff__layer_data(struct ff__tape *tape, uint64_t bytes);

/* ---- dense ---- */

/* rows x in times in x out, and a bias. `data`: the input needs no gradient. */
uint32_t ff__layer_linear(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t in,
                          uint64_t out, bool bias, bool data);
/* The same with a parameter that another layer owns (tied weights), without a bias. */
uint32_t ff__layer_tied(struct ff__tape *tape, uint32_t x, uint32_t weight, uint64_t rows,
                        uint64_t in, uint64_t out);
/* `batch` products m x k times k x n of two activations. */
uint32_t ff__layer_bmm(struct ff__tape *tape, uint32_t a, uint32_t b, uint64_t batch, uint64_t m,
                       uint64_t k, uint64_t n);

/* ---- elementwise ---- */

enum ff__keeps { FF__KEEPS_NOTHING, FF__KEEPS_IN, FF__KEEPS_OUT, FF__KEEPS_BOTH };
/* `n` elements of x (0: all) into a new tensor. */
uint32_t ff__layer_map(struct ff__tape *tape, const char *name, uint32_t x, enum ff__keeps keeps,
                       uint64_t n);
/* Plus something without a gradient, into a new tensor. */
uint32_t ff__layer_shift(struct ff__tape *tape, const char *name, uint32_t x);
/* Some elements of it, and a constant for the others. */
uint32_t ff__layer_where(struct ff__tape *tape, uint32_t x);
/* Overwrites x and keeps it. */
void ff__layer_relu(struct ff__tape *tape, uint32_t x);
uint32_t ff__layer_add(struct ff__tape *tape, uint32_t a, uint32_t b);
/* a += b: the sum is a. */
void ff__layer_add_to(struct ff__tape *tape, uint32_t a, uint32_t b);
uint32_t ff__layer_mul(struct ff__tape *tape, uint32_t a, uint32_t b);
/* The input itself in evaluation mode. */
uint32_t ff__layer_dropout(struct ff__tape *tape, uint32_t x);
/* Of several tensors; their gradients are copies out of its own. */
uint32_t ff__layer_cat(struct ff__tape *tape, const uint32_t *x, uint32_t count);

#define FF__PARTS 3
/* Copies of the parts of x, one next to the other in each row. x gets the gradients that there are
 * when the first part's is taken. */
void ff__layer_split(struct ff__tape *tape, uint32_t x, uint32_t parts[FF__PARTS]);

/* ---- normalisation and losses ---- */

uint32_t ff__layer_norm(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t width);
uint32_t ff__layer_cross_entropy(struct ff__tape *tape, uint32_t logits, uint64_t rows);

/* ---- tables ---- */

/* Rows of a table, whose gradient is as large as the table. `indices`: which; FF__NO_TENSOR: all the same
 * few, of no account. */
uint32_t ff__layer_embedding(struct ff__tape *tape, uint32_t table, uint32_t indices,
                             uint64_t entries, uint64_t width, uint64_t rows);

/* Which rows: the `part`th `rows` indices, and offsets of bags, of two tensors with those of all tables. */
struct ff__lookups {
    uint32_t indices, offsets;
    uint64_t part, rows;
};

/* Sums of rows, one row each. The gradient is sparse: it has these rows only, and its tensor is smaller
 * than the table. */
uint32_t ff__layer_embedding_bag(struct ff__tape *tape, uint32_t table, uint64_t entries,
                                 uint64_t width, const struct ff__lookups *lookups);

/* ---- images, as n x c x h x w ---- */

struct ff__images {
    uint32_t tensor;
    uint64_t n, c, h, w;
};

/* A batch of square pictures of three colours, which comes from the host each time. */
struct ff__images ff__layer_pictures(struct ff__tape *tape, uint64_t count, uint64_t side);

struct ff__conv {
    uint64_t out, kernel, stride, pad, groups;
    bool transposed, bias, data; /* data: as for linear */
};

struct ff__images ff__layer_conv(struct ff__tape *tape, struct ff__images x,
                                 const struct ff__conv *conv);
/* In evaluation mode its moments are constants, which are left out. */
struct ff__images ff__layer_batch_norm(struct ff__tape *tape, struct ff__images x);
struct ff__images ff__layer_max_pool(struct ff__tape *tape, struct ff__images x, uint64_t kernel,
                                     uint64_t stride, uint64_t pad);
struct ff__images ff__layer_mean_pool(struct ff__tape *tape, struct ff__images x);

/* ---- optimizers: of all parameters that have a gradient ---- */

/* `states` has two tensors for each parameter, FF__NO_TENSOR before the first step. */
void ff__adam(struct ff__tape *tape, uint32_t *states);
void ff__zero_grad(struct ff__tape *tape);
void ff__grad_norm(struct ff__tape *tape);
/* With momentum and weight decay; `states` NULL: with neither, and sparse gradients are dropped. */
void ff__sgd(struct ff__tape *tape, uint32_t *states);

#endif
