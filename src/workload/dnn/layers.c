/* Elementwise layers, normalisation, losses and tables. */
#include "workload/dnn/layers.h"

#include "workload/dnn/nest.h"

#define NONE FF__NO_TENSOR

static uint64_t bytes_of(const struct ff__tape *tape, uint32_t tensor) {
    return tape->failed ? 1 : tape->tensors[tensor].bytes;
}

uint32_t ff__layer_data(struct ff__tape *tape, uint64_t bytes) {
    uint32_t tensor = ff__tensor_bytes(tape, bytes);
    ff__kernel_map(tape, "copy", NONE, NONE, NONE, tensor);
    return tensor;
}

/* ---- one input ---- */

static void map_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad, dx = ff__tensor_bytes(tape, bytes_of(tape, node->in[0]));
    ff__kernel_map(tape, node->name, grad, node->saved[0], NONE, dx);
    if (node->saved[1] != NONE)
        ff__kernel_unread(tape, node->saved[1]);
    ff__grad_give(tape, node->in[0], dx);
}

/* The backward pass reads `kept`. PyTorch also keeps `also`, which no kernel reads. */
static void add_map(struct ff__tape *tape, const char *name, uint32_t x, uint32_t y, uint32_t kept,
                    uint32_t also) {
    ff__tape_node(
        tape, &(struct ff__node){
                  .backward = map_back, .name = name, .in = {x}, .out = y, .saved = {kept, also}});
}

uint32_t ff__layer_map(struct ff__tape *tape, const char *name, uint32_t x, enum ff__keeps keeps,
                       uint64_t n) {
    uint32_t y = n ? ff__tensor_new(tape, n) : ff__tensor_bytes(tape, bytes_of(tape, x));
    ff__kernel_map(tape, name, x, NONE, NONE, y);
    bool in = keeps == FF__KEEPS_IN || keeps == FF__KEEPS_BOTH;
    bool out = keeps == FF__KEEPS_OUT || keeps == FF__KEEPS_BOTH;
    add_map(tape, name, x, y, out ? y : in ? x : NONE, in && out ? x : NONE);
    return y;
}

/* The gradient of each operand of a sum is the gradient of the sum. */
static void pass_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad;
    for (int i = 0; i < 2; i++) {
        if (node->in[i] == NONE)
            continue;
        ff__tensor_hold(tape, grad);
        ff__grad_give(tape, node->in[i], grad);
    }
}

uint32_t ff__layer_shift(struct ff__tape *tape, const char *name, uint32_t x) {
    uint32_t y = ff__tensor_bytes(tape, bytes_of(tape, x));
    ff__kernel_map(tape, name, x, NONE, NONE, y);
    ff__tape_node(tape, &(struct ff__node){.backward = pass_back, .in = {x}, .out = y});
    return y;
}

/* Zeros for what was masked, of which there is a tensor. */
static void where_back(struct ff__tape *tape, const struct ff__node *node) {
    uint64_t bytes = bytes_of(tape, tape->grad);
    uint32_t grad = tape->grad, zeros = ff__tensor_bytes(tape, bytes);
    ff__kernel_map(tape, "zeros_like", NONE, NONE, NONE, zeros);
    uint32_t dx = ff__tensor_bytes(tape, bytes);
    ff__kernel_map(tape, "where", grad, zeros, NONE, dx);
    ff__tensor_drop(tape, zeros);
    ff__grad_give(tape, node->in[0], dx);
}

uint32_t ff__layer_where(struct ff__tape *tape, uint32_t x) {
    uint32_t y = ff__tensor_bytes(tape, bytes_of(tape, x));
    ff__kernel_map(tape, "where", x, NONE, NONE, y);
    ff__tape_node(tape, &(struct ff__node){.backward = where_back, .in = {x}, .out = y});
    return y;
}

/* fused_dropout: a byte an element says what was kept. */
uint32_t ff__layer_dropout(struct ff__tape *tape, uint32_t x) {
    if (tape->infers) {
        ff__tensor_hold(tape, x);
        return x;
    }
    uint32_t y = ff__tensor_bytes(tape, bytes_of(tape, x));
    uint32_t mask = ff__tensor_bytes(tape, bytes_of(tape, x) / FF__FLOAT);
    ff__kernel_begin(tape, "dropout", 0);
    ff__kernel_uses(tape, x, false, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_uses(tape, mask, true, 1);
    ff__kernel_end(tape);
    add_map(tape, "masked_scale", x, y, mask, NONE);
    ff__tensor_drop(tape, mask);
    return y;
}

/* The tensor has one gradient as it is now, and another one as it was before. */
static void in_place_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, node->out));
    ff__kernel_map(tape, node->name, tape->grad, node->saved[0], NONE, dx);
    ff__grad_give(tape, node->out, dx);
}

void ff__layer_relu(struct ff__tape *tape, uint32_t x) {
    ff__kernel_map(tape, "relu_", x, NONE, NONE, x);
    ff__tape_node(
        tape, &(struct ff__node){
                  .backward = in_place_back, .name = "threshold_backward", .out = x, .saved = {x}});
}

/* ---- several inputs ---- */

uint32_t ff__layer_add(struct ff__tape *tape, uint32_t a, uint32_t b) {
    uint32_t y = ff__tensor_bytes(tape, bytes_of(tape, a));
    ff__kernel_map(tape, "add", a, b, NONE, y);
    ff__tape_node(tape, &(struct ff__node){.backward = pass_back, .in = {a, b}, .out = y});
    return y;
}

void ff__layer_add_to(struct ff__tape *tape, uint32_t a, uint32_t b) {
    ff__kernel_map(tape, "add_", a, b, NONE, a);
    ff__tape_node(tape, &(struct ff__node){.backward = pass_back, .in = {a, b}, .out = a});
}

static void mul_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad;
    for (int i = 0; i < 2; i++) {
        uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, node->in[i]));
        ff__kernel_map(tape, "mul_grad", grad, node->saved[1 - i], NONE, dx);
        ff__grad_give(tape, node->in[i], dx);
    }
}

uint32_t ff__layer_mul(struct ff__tape *tape, uint32_t a, uint32_t b) {
    uint32_t y = ff__tensor_bytes(tape, bytes_of(tape, a));
    ff__kernel_map(tape, "mul", a, b, NONE, y);
    ff__tape_node(
        tape, &(struct ff__node){.backward = mul_back, .in = {a, b}, .out = y, .saved = {a, b}});
    return y;
}

static void cat_back(struct ff__tape *tape, const struct ff__node *node) {
    uint64_t bytes = bytes_of(tape, node->in[0]);
    struct ff__operand part = ff__operand_of(0, bytes);
    uint32_t dx = ff__tensor_bytes(tape, bytes);
    part.offset = node->size[0];
    ff__kernel_begin(tape, "cat_grad", 0);
    ff__kernel_nest(tape, tape->grad, false, 1, &part);
    ff__kernel_uses(tape, dx, true, 1);
    ff__kernel_end(tape);
    ff__grad_give(tape, node->in[0], dx);
    if (node->size[1]) { /* other parts want theirs of the same gradient */
        ff__tensor_hold(tape, tape->grad);
        ff__grad_give(tape, node->out, tape->grad);
    }
}

uint32_t ff__layer_cat(struct ff__tape *tape, const uint32_t *x, uint32_t count) {
    uint64_t bytes = 0, offset = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += bytes_of(tape, x[i]);
    uint32_t y = ff__tensor_bytes(tape, bytes);
    ff__kernel_begin(tape, "cat", 0);
    for (uint32_t i = 0; i < count; i++)
        ff__kernel_uses(tape, x[i], false, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_end(tape);
    for (uint32_t i = 0; i < count; i++) {
        const struct ff__node node = {
            .backward = cat_back, .in = {x[i]}, .out = y, .size = {offset, i > 0}};
        ff__tape_node(tape, &node);
        offset += bytes_of(tape, x[i]);
    }
    return y;
}

/* The views' gradients are put together when the first one's is there: the others were used later. */
static void split_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, node->in[0]));
    ff__kernel_begin(tape, "cat", 0);
    ff__kernel_uses(tape, tape->grad, false, 1);
    for (uint64_t i = 1; i < FF__PARTS && !tape->failed; i++)
        if (tape->tensors[node->size[i]].grad != NONE)
            ff__kernel_uses(tape, tape->tensors[node->size[i]].grad, false, 1);
    ff__kernel_uses(tape, dx, true, 1);
    ff__kernel_end(tape);
    for (uint64_t i = 1; i < FF__PARTS && !tape->failed; i++) {
        uint32_t *part = &tape->tensors[node->size[i]].grad;
        if (*part != NONE)
            ff__tensor_drop(tape, *part);
        *part = NONE;
    }
    ff__grad_give(tape, node->in[0], dx);
}

void ff__layer_split(struct ff__tape *tape, uint32_t x, uint32_t parts[FF__PARTS]) {
    uint64_t bytes = bytes_of(tape, x) / FF__PARTS;
    struct ff__node node = {.backward = split_back, .in = {x}};
    for (uint64_t i = 0; i < FF__PARTS; i++) {
        struct ff__operand part = ff__operand_of(i * bytes, bytes);
        parts[i] = ff__tensor_bytes(tape, bytes);
        ff__kernel_begin(tape, "contiguous", 0);
        ff__kernel_nest(tape, x, false, 1, &part);
        ff__kernel_uses(tape, parts[i], true, 1);
        ff__kernel_end(tape);
        node.size[i] = parts[i];
    }
    node.out = parts[0];
    ff__tape_node(tape, &node);
}

/* ---- normalisation ---- */

enum { GAIN, SHIFT, WIDTH };

static void norm_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad, x = node->saved[0];
    uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, x));
    uint32_t dgain = ff__tensor_new(tape, node->size[WIDTH]);
    uint32_t dshift = ff__tensor_new(tape, node->size[WIDTH]);
    ff__kernel_map(tape, "layer_norm_grad_input", grad, x, NONE, dx);
    ff__kernel_map(tape, "layer_norm_grad_gamma_beta", grad, x, NONE, dgain);
    ff__kernel_goes_on(tape);
    ff__grad_give(tape, node->in[0], dx);
    ff__grad_give(tape, (uint32_t)node->size[GAIN], dgain);
    ff__grad_give(tape, (uint32_t)node->size[SHIFT], dshift);
}

uint32_t ff__layer_norm(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t width) {
    uint32_t gain = ff__tape_param(tape, width), shift = ff__tape_param(tape, width);
    uint32_t y = ff__tensor_new(tape, rows * width);
    uint32_t mean = ff__tensor_new(tape, rows), rstd = ff__tensor_new(tape, rows);
    ff__kernel_map(tape, "layer_norm_moments", x, NONE, NONE, mean);
    ff__kernel_map(tape, "layer_norm", x, mean, rstd, y);
    ff__kernel_goes_on(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = norm_back,
                                           .in = {x},
                                           .out = y,
                                           .saved = {x, mean, rstd},
                                           .size = {gain, shift, width}});
    ff__tensor_drop(tape, mean);
    ff__tensor_drop(tape, rstd);
    return y;
}

/* nll_loss hands zeros but for one element a row to log_softmax. */
static void cross_entropy_back(struct ff__tape *tape, const struct ff__node *node) {
    uint64_t bytes = bytes_of(tape, node->saved[0]);
    uint32_t nll = ff__tensor_bytes(tape, bytes);
    ff__kernel_map(tape, "nll_loss_backward", tape->grad, NONE, NONE, nll);
    ff__kernel_unread(tape, node->saved[0]);
    uint32_t dx = ff__tensor_bytes(tape, bytes);
    ff__kernel_map(tape, "log_softmax_backward", nll, node->saved[0], NONE, dx);
    ff__kernel_unread(tape, node->saved[1]);
    ff__tensor_drop(tape, nll);
    ff__grad_give(tape, node->in[0], dx);
}

/* Keeps the logits, too, as softmax does its input: derivatives.yaml of 1.8 hands `self` to both ways
 * back (only later versions hand its type). */
uint32_t ff__layer_cross_entropy(struct ff__tape *tape, uint32_t logits, uint64_t rows) {
    uint32_t likely = ff__tensor_bytes(tape, bytes_of(tape, logits));
    ff__kernel_map(tape, "log_softmax", logits, NONE, NONE, likely);
    uint32_t loss = ff__tensor_new(tape, 1);
    struct ff__operand one = ff__nest_gather(bytes_of(tape, logits) / FF__FLOAT, 1, rows);
    ff__kernel_begin(tape, "nll_loss", 0);
    ff__kernel_nest(tape, likely, false, 1, &one);
    ff__kernel_uses(tape, loss, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = cross_entropy_back,
                                           .in = {logits},
                                           .out = loss,
                                           .saved = {likely, logits}});
    ff__tensor_drop(tape, likely);
    return loss;
}

/* ---- tables ---- */

enum { TABLE, ENTRIES, ROW, ROWS };

static void embedding_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad, table = (uint32_t)node->size[TABLE];
    uint32_t dense = ff__tensor_bytes(tape, bytes_of(tape, table));
    struct ff__operand rows =
        ff__nest_gather(node->size[ENTRIES], node->size[ROW], node->size[ROWS]);
    ff__kernel_map(tape, "zeros", NONE, NONE, NONE, dense);
    ff__kernel_begin(tape, "embedding_backward", 0);
    ff__kernel_uses(tape, grad, false, 1);
    if (node->saved[0] != NONE)
        ff__kernel_uses(tape, node->saved[0], false, 1);
    ff__kernel_nest(tape, dense, true, 2, &rows);
    ff__kernel_end(tape);
    ff__kernel_goes_on(tape);
    ff__grad_give(tape, table, dense);
}

uint32_t ff__layer_embedding(struct ff__tape *tape, uint32_t table, uint32_t indices,
                             uint64_t entries, uint64_t width, uint64_t rows) {
    uint32_t y = ff__tensor_new(tape, rows * width);
    struct ff__operand some = ff__nest_gather(entries, width, rows);
    ff__kernel_begin(tape, "embedding", 0);
    ff__kernel_nest(tape, table, false, 1, &some);
    if (indices != NONE)
        ff__kernel_uses(tape, indices, false, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = embedding_back,
                                           .out = y,
                                           .saved = {indices},
                                           .size = {table, entries, width, rows}});
    return y;
}

/* ---- bags: sums of rows ---- */

enum { INDICES, OFFSETS, BAG_SIZES, BAG_OF_ROW };

static void use_part(struct ff__tape *tape, uint32_t tensor, uint64_t part, uint64_t rows) {
    struct ff__operand nest = ff__operand_of(part * rows * FF__INDEX, rows * FF__INDEX);
    ff__kernel_nest(tape, tensor, false, 1, &nest);
}

/* One row a look-up, in the order of the look-ups. */
static void bag_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t values = ff__tensor_bytes(tape, bytes_of(tape, tape->grad));
    ff__kernel_map(tape, "index_select", tape->grad, node->saved[BAG_OF_ROW], NONE, values);
    if (!tape->failed)
        tape->tensors[values].rows = node->size[1];
    ff__grad_give(tape, (uint32_t)node->size[TABLE], values);
}

/* _embedding_bag_cuda(): beside the sums it makes the size of each bag and the bag of each row, which only
 * the backward pass uses. */
uint32_t ff__layer_embedding_bag(struct ff__tape *tape, uint32_t table, uint64_t entries,
                                 uint64_t width, const struct ff__lookups *lookups) {
    uint64_t rows = lookups->rows;
    uint32_t sizes = ff__tensor_bytes(tape, rows * FF__INDEX);
    uint32_t bag_of_row = ff__tensor_bytes(tape, rows * FF__INDEX);
    uint32_t y = ff__tensor_new(tape, rows * width);
    struct ff__operand some = ff__nest_gather(entries, width, rows);
    ff__kernel_begin(tape, "embedding_bag", 0);
    ff__kernel_nest(tape, table, false, 1, &some);
    use_part(tape, lookups->indices, lookups->part, rows);
    use_part(tape, lookups->offsets, lookups->part, rows);
    ff__kernel_uses(tape, sizes, true, 1);
    ff__kernel_uses(tape, bag_of_row, true, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(
        tape, &(struct ff__node){.backward = bag_back,
                                 .out = y,
                                 .saved = {lookups->indices, lookups->offsets, sizes, bag_of_row},
                                 .size = {table, rows}});
    ff__tensor_drop(tape, sizes);
    ff__tensor_drop(tape, bag_of_row);
    return y;
}
