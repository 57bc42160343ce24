/* Elementwise layers, normalisation, losses and tables. */
#include "workload/dnn/operation.h"

#include "workload/dnn/nest.h"

#define NONE FF__NO_TENSOR

static uint64_t bytes_of(const struct ff__tape *tape, uint32_t tensor) {
    return tape->failed ? 1 : tape->tensors[tensor].bytes;
}

/* ---- from the host, and from nothing ---- */

static void copy_in(struct ff__operation_call *call, uint64_t rows, uint64_t width,
                    uint64_t bytes) {
    uint32_t tensor = ff__tensor_bytes(call->tape, rows * width * bytes);
    ff__kernel_map(call->tape, "copy", NONE, NONE, NONE, tensor);
    ff__give(call, tensor, rows, width);
    call->out[0].data = true;
}

void ff__op_data(struct ff__operation_call *call) {
    if (ff__fits(call->tape, call->number[0], call->number[1]))
        copy_in(call, call->number[0], call->number[1], FF__FLOAT);
}

void ff__op_indices(struct ff__operation_call *call) {
    copy_in(call, call->number[0], 1, FF__INDEX);
}

void ff__op_new(struct ff__operation_call *call) {
    uint64_t rows = call->number[0], width = call->number[1];
    if (ff__fits(call->tape, rows, width))
        ff__give(call, ff__tensor_new(call->tape, rows * width), rows, width);
    call->out[0].data = true;
}

/* The tape holds it, too. */
void ff__op_param(struct ff__operation_call *call) {
    uint64_t rows = call->number[0], width = call->number[1];
    if (!ff__fits(call->tape, rows, width))
        return;
    ff__give(call, ff__tape_param(call->tape, rows * width), rows, width);
    ff__tensor_hold(call->tape, call->out[0].is.tensor);
}

void ff__op_weights(struct ff__operation_call *call) {
    ff__give(call, NONE, call->tape->param_next, 1);
}

void ff__op_again(struct ff__operation_call *call) {
    call->tape->param_next = (uint32_t)call->in[0]->is.n;
}

void ff__op_work(struct ff__operation_call *call) {
    ff__tape_work(call->tape, call->number[0]);
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

enum { KEEPS_IN, KEEPS_OUT, MAP_ROWS, MAP_WIDTH };

void ff__op_map(struct ff__operation_call *call) {
    uint64_t rows = ff__option(call, MAP_ROWS, call->in[0]->is.n);
    uint64_t width = ff__option(call, MAP_WIDTH, ff__width(call->in[0]));
    bool shaped = ff__has(call, MAP_ROWS) || ff__has(call, MAP_WIDTH);
    bool in = ff__has(call, KEEPS_IN), out = ff__has(call, KEEPS_OUT);
    uint32_t x = ff__in(call, 0);
    if (shaped && !ff__fits(call->tape, rows, width))
        return;
    uint32_t y =
        ff__tensor_bytes(call->tape, shaped ? rows * width * FF__FLOAT : bytes_of(call->tape, x));
    ff__kernel_map(call->tape, call->name, x, NONE, NONE, y);
    add_map(call->tape, call->name, x, y, out ? y : in ? x : NONE, in && out ? x : NONE);
    ff__give_alike(call, y);
    if (shaped)
        ff__give(call, y, rows, width);
}

/* A kernel over one tensor or two, into a new one as large as the first. */
static void elementwise(struct ff__operation_call *call, const char *name, ff__backward backward,
                        bool keeps) {
    uint32_t a = ff__in(call, 0), b = ff__in(call, 1);
    struct ff__node node = {.backward = backward, .in = {a, b}};
    if (keeps)
        memcpy(node.saved, node.in, sizeof node.in);
    node.out = ff__tensor_bytes(call->tape, bytes_of(call->tape, a));
    ff__kernel_map(call->tape, name, a, b, NONE, node.out);
    ff__tape_node(call->tape, &node);
    ff__give_alike(call, node.out);
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

/* Plus something without a gradient. */
void ff__op_shift(struct ff__operation_call *call) {
    elementwise(call, call->name, pass_back, false);
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

/* Some elements, and a constant for the others. */
void ff__op_where(struct ff__operation_call *call) {
    elementwise(call, "where", where_back, false);
}

/* fused_dropout: a byte an element says what was kept. The input itself in evaluation mode. */
void ff__op_dropout(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint32_t x = ff__in(call, 0);
    if (tape->infers) {
        ff__tensor_hold(tape, x);
        ff__give_alike(call, x);
        return;
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
    ff__give_alike(call, y);
}

/* The tensor has one gradient as it is now, and another one as it was before. */
static void in_place_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, node->out));
    ff__kernel_map(tape, node->name, tape->grad, node->saved[0], NONE, dx);
    ff__grad_give(tape, node->out, dx);
}

void ff__op_relu(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint32_t x = ff__in(call, 0);
    ff__kernel_map(tape, "relu_", x, NONE, NONE, x);
    ff__tape_node(
        tape, &(struct ff__node){
                  .backward = in_place_back, .name = "threshold_backward", .out = x, .saved = {x}});
}

/* ---- several inputs ---- */

void ff__op_add(struct ff__operation_call *call) {
    elementwise(call, "add", pass_back, false);
}

/* a += b: the sum is a. */
void ff__op_add_to(struct ff__operation_call *call) {
    uint32_t a = ff__in(call, 0), b = ff__in(call, 1);
    ff__kernel_map(call->tape, "add_", a, b, NONE, a);
    ff__tape_node(call->tape, &(struct ff__node){.backward = pass_back, .in = {a, b}, .out = a});
}

static void mul_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t grad = tape->grad;
    for (int i = 0; i < 2; i++) {
        uint32_t dx = ff__tensor_bytes(tape, bytes_of(tape, node->in[i]));
        ff__kernel_map(tape, "mul_grad", grad, node->saved[1 - i], NONE, dx);
        ff__grad_give(tape, node->in[i], dx);
    }
}

void ff__op_mul(struct ff__operation_call *call) {
    elementwise(call, "mul", mul_back, true);
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

/* Side by side along the channels; the gradients are copies out of the result's. */
void ff__op_cat(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    const struct ff__images *first = &call->in[0]->is;
    uint64_t bytes = 0, offset = 0, width = 0;
    for (unsigned i = 0; i < call->in_count; i++) {
        bytes += bytes_of(tape, ff__in(call, i));
        width += call->in[i]->is.c;
    }
    if (!ff__fits(tape, first->n * first->h * first->w, width))
        return;
    uint32_t y = ff__tensor_bytes(tape, bytes);
    ff__kernel_begin(tape, "cat", 0);
    for (unsigned i = 0; i < call->in_count; i++)
        ff__kernel_uses(tape, ff__in(call, i), false, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_end(tape);
    for (unsigned i = 0; i < call->in_count; i++) {
        uint32_t x = ff__in(call, i);
        ff__tape_node(
            tape,
            &(struct ff__node){.backward = cat_back, .in = {x}, .out = y, .size = {offset, i > 0}});
        offset += bytes_of(tape, x);
    }
    ff__give_alike(call, y);
    call->out[0].is.c = width;
}

#define FF__PARTS 3

/* The views' gradients are put together when the first one's is there: the others were used later.
 */
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

/* Copies of the parts of x, one next to the other in each row. x gets the gradients that there are
 * when the first part's is taken. */
void ff__op_split(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint32_t x = ff__in(call, 0);
    uint64_t bytes = bytes_of(tape, x) / FF__PARTS;
    struct ff__node node = {.backward = split_back, .in = {x}};
    if (call->in[0]->is.c % FF__PARTS)
        tape->wrong = "three must divide the width";
    for (uint64_t i = 0; i < FF__PARTS; i++) {
        struct ff__operand part = ff__operand_of(i * bytes, bytes);
        uint32_t y = ff__tensor_bytes(tape, bytes);
        ff__kernel_begin(tape, "contiguous", 0);
        ff__kernel_nest(tape, x, false, 1, &part);
        ff__kernel_uses(tape, y, true, 1);
        ff__kernel_end(tape);
        call->out[i].is = call->in[0]->is;
        call->out[i].is.c /= FF__PARTS;
        call->out[i].is.tensor = y;
        node.size[i] = y;
    }
    node.out = call->out[0].is.tensor;
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

void ff__op_norm(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint64_t rows = call->in[0]->is.n, width = ff__width(call->in[0]);
    uint32_t x = ff__in(call, 0);
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
    ff__give_alike(call, y);
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

/* Keeps the logits, too, as softmax does its input: derivatives.yaml of 1.8 hands `self` to both
 * ways back (only later versions hand its type). */
void ff__op_cross_entropy(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint32_t logits = ff__in(call, 0);
    uint32_t likely = ff__tensor_bytes(tape, bytes_of(tape, logits));
    ff__kernel_map(tape, "log_softmax", logits, NONE, NONE, likely);
    uint32_t loss = ff__tensor_new(tape, 1);
    struct ff__operand one =
        ff__nest_gather(bytes_of(tape, logits) / FF__FLOAT, 1, call->in[0]->is.n);
    ff__kernel_begin(tape, "nll_loss", 0);
    ff__kernel_nest(tape, likely, false, 1, &one);
    ff__kernel_uses(tape, loss, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = cross_entropy_back,
                                           .in = {logits},
                                           .out = loss,
                                           .saved = {likely, logits}});
    ff__tensor_drop(tape, likely);
    ff__give(call, loss, 1, 1);
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

/* Rows of a table, whose gradient is as large as the table. Without indices: all the same few, of
 * no account. */
void ff__op_embedding(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint64_t entries = call->in[0]->is.n, width = ff__width(call->in[0]), rows = call->number[0];
    uint32_t table = ff__in(call, 0), indices = ff__in(call, 1);
    if (!ff__fits(tape, rows, width))
        return;
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
    ff__give(call, y, rows, width);
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

/* Sums of rows of a table, one row each: the `part`th `rows` indices, and offsets of bags, of two
 * tensors with those of all tables. The gradient is sparse: it has these rows only, and its tensor
 * is smaller than the table. _embedding_bag_cuda() makes beside the sums the size of each bag and
 * the bag of each row, which only the backward pass uses. */
void ff__op_embedding_bag(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    uint64_t entries = call->in[0]->is.n, width = ff__width(call->in[0]), rows = call->number[0];
    uint64_t part = ff__option(call, 0, 0);
    uint32_t table = ff__in(call, 0), indices = ff__in(call, 1), offsets = ff__in(call, 2);
    if (!ff__fits(tape, rows, width) || !ff__fits(tape, part + 1, rows))
        return;
    uint32_t sizes = ff__tensor_bytes(tape, rows * FF__INDEX);
    uint32_t bag_of_row = ff__tensor_bytes(tape, rows * FF__INDEX);
    uint32_t y = ff__tensor_new(tape, rows * width);
    struct ff__operand some = ff__nest_gather(entries, width, rows);
    ff__kernel_begin(tape, "embedding_bag", 0);
    ff__kernel_nest(tape, table, false, 1, &some);
    use_part(tape, indices, part, rows);
    use_part(tape, offsets, part, rows);
    ff__kernel_uses(tape, sizes, true, 1);
    ff__kernel_uses(tape, bag_of_row, true, 1);
    ff__kernel_uses(tape, y, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = bag_back,
                                           .out = y,
                                           .saved = {indices, offsets, sizes, bag_of_row},
                                           .size = {table, rows}});
    ff__tensor_drop(tape, sizes);
    ff__tensor_drop(tape, bag_of_row);
    ff__give(call, y, rows, width);
}
