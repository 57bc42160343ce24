/* The statements of a network, as calls of layers. */
#include "workload/dnn/network.h"

#include "workload/model.h"

#define ELEMENTS_MAX (UINT64_C(1) << 40) /* of a tensor */
#define WINDOW_MAX   (UINT64_C(1) << 16)

/* ---- what they are called with ---- */

static bool has(const struct ff__call *call, unsigned option) {
    return call->given >> option & 1;
}

static uint64_t option_of(const struct ff__call *call, unsigned option, uint64_t initial) {
    return has(call, option) ? call->option[option] : initial;
}

static uint64_t width_of(const struct ff__value *value) {
    return value->is.c * value->is.h * value->is.w;
}

static uint32_t tensor_of(const struct ff__call *call, unsigned i) {
    return i < call->in_count ? call->in[i]->is.tensor : FF__NO_TENSOR;
}

/* Whether a tensor may have a x b elements. */
static bool fits(struct ff__tape *tape, uint64_t a, uint64_t b) {
    if (a == 0 || b == 0)
        tape->wrong = "a size of zero";
    else if (a > ELEMENTS_MAX / b)
        tape->wrong = "a tensor of more than 2^40 elements";
    return !tape->wrong;
}

static void give(struct ff__call *call, uint32_t tensor, uint64_t rows, uint64_t width) {
    call->out[0].is = (struct ff__images){tensor, rows, width, 1, 1};
}

/* As the first one. */
static void give_alike(struct ff__call *call, uint32_t tensor) {
    call->out[0].is = call->in[0]->is;
    call->out[0].is.tensor = tensor;
}

/* ---- from nothing ---- */

static void pictures(struct ff__call *call) {
    call->out[0].is =
        ff__layer_pictures(call->tape, call->iteration->batch, call->iteration->length);
    call->out[0].data = true;
}

static void data(struct ff__call *call) {
    if (!fits(call->tape, call->number[0], call->number[1]))
        return;
    give(call, ff__layer_data(call->tape, call->number[0] * call->number[1] * FF__FLOAT),
         call->number[0], call->number[1]);
    call->out[0].data = true;
}

static void indices(struct ff__call *call) {
    give(call, ff__layer_data(call->tape, call->number[0] * FF__INDEX), call->number[0], 1);
}

static void new (struct ff__call *call) {
    if (!fits(call->tape, call->number[0], call->number[1]))
        return;
    give(call, ff__tensor_new(call->tape, call->number[0] * call->number[1]), call->number[0],
         call->number[1]);
    call->out[0].data = true;
}

/* The tape holds it, too. */
static void param(struct ff__call *call) {
    if (!fits(call->tape, call->number[0], call->number[1]))
        return;
    uint32_t tensor = ff__tape_param(call->tape, call->number[0] * call->number[1]);
    ff__tensor_hold(call->tape, tensor);
    give(call, tensor, call->number[0], call->number[1]);
}

static void weights(struct ff__call *call) {
    give(call, FF__NO_TENSOR, call->tape->param_next, 1);
}

static void again(struct ff__call *call) {
    call->tape->param_next = (uint32_t)call->in[0]->is.n;
}

/* ---- images ---- */

enum { KERNEL, STRIDE, PAD, GROUPS, BIAS, TRANSPOSED };

static bool is_window(struct ff__call *call) {
    uint64_t kernel = option_of(call, KERNEL, 1), stride = option_of(call, STRIDE, 1);
    if (kernel - 1 >= WINDOW_MAX || stride - 1 >= WINDOW_MAX ||
        option_of(call, PAD, 0) > WINDOW_MAX)
        call->tape->wrong = "kernel and stride must be 1 to 65536, pad up to 65536";
    return !call->tape->wrong;
}

static void conv(struct ff__call *call) {
    const struct ff__images *x = &call->in[0]->is;
    const struct ff__conv conv = {.out = call->number[0],
                                  .kernel = option_of(call, KERNEL, 1),
                                  .stride = option_of(call, STRIDE, 1),
                                  .pad = option_of(call, PAD, 0),
                                  .groups = option_of(call, GROUPS, 1),
                                  .bias = has(call, BIAS),
                                  .transposed = has(call, TRANSPOSED),
                                  .data = call->in[0]->data};
    if (!is_window(call))
        return;
    if (conv.groups == 0 || x->c % conv.groups || conv.out % conv.groups)
        call->tape->wrong = "groups must divide the channels before and after";
    else if (fits(call->tape, conv.out, x->c / conv.groups) &&
             fits(call->tape, conv.out * (x->c / conv.groups), conv.kernel * conv.kernel))
        call->out[0].is = ff__layer_conv(call->tape, *x, &conv);
}

static void max_pool(struct ff__call *call) {
    if (is_window(call))
        call->out[0].is =
            ff__layer_max_pool(call->tape, call->in[0]->is, option_of(call, KERNEL, 1),
                               option_of(call, STRIDE, 1), option_of(call, PAD, 0));
}

static void mean_pool(struct ff__call *call) {
    call->out[0].is = ff__layer_mean_pool(call->tape, call->in[0]->is);
}

static void batch_norm(struct ff__call *call) {
    call->out[0].is = ff__layer_batch_norm(call->tape, call->in[0]->is);
}

/* ---- dense ---- */

enum { IN, NO_BIAS };

static void linear(struct ff__call *call) {
    const struct ff__value *x = call->in[0];
    uint64_t in = option_of(call, IN, width_of(x)), out = call->number[0];
    uint64_t rows = in ? x->is.n * width_of(x) / in : 0;
    if (fits(call->tape, rows, out) && fits(call->tape, in, out))
        give(
            call,
            ff__layer_linear(call->tape, x->is.tensor, rows, in, out, !has(call, NO_BIAS), x->data),
            rows, out);
}

static void tied(struct ff__call *call) {
    const struct ff__value *x = call->in[0];
    uint64_t rows = x->is.n, in = width_of(x), out = call->in[1]->is.n;
    if (fits(call->tape, rows, out) && fits(call->tape, in, out))
        give(call, ff__layer_tied(call->tape, x->is.tensor, tensor_of(call, 1), rows, in, out),
             rows, out);
}

static void bmm(struct ff__call *call) {
    uint64_t batch = call->number[0], m = call->number[1], k = call->number[2];
    uint64_t n = call->number[3];
    struct ff__tape *tape = call->tape;
    if (fits(tape, batch, m) && fits(tape, batch * m, k) && fits(tape, batch * m, n) &&
        fits(tape, batch, k) && fits(tape, batch * k, n))
        give(call, ff__layer_bmm(tape, tensor_of(call, 0), tensor_of(call, 1), batch, m, k, n),
             batch * m, n);
}

static void norm(struct ff__call *call) {
    give_alike(call, ff__layer_norm(call->tape, tensor_of(call, 0), call->in[0]->is.n,
                                    width_of(call->in[0])));
}

static void cross_entropy(struct ff__call *call) {
    give(call, ff__layer_cross_entropy(call->tape, tensor_of(call, 0), call->in[0]->is.n), 1, 1);
}

static void embedding(struct ff__call *call) {
    const struct ff__value *table = call->in[0];
    uint64_t rows = call->number[0], width = width_of(table);
    if (fits(call->tape, rows, width))
        give(call,
             ff__layer_embedding(call->tape, table->is.tensor, tensor_of(call, 1), table->is.n,
                                 width, rows),
             rows, width);
}

static void embedding_bag(struct ff__call *call) {
    const struct ff__value *table = call->in[0];
    const struct ff__lookups lookups = {tensor_of(call, 1), tensor_of(call, 2), call->option[0],
                                        call->number[0]};
    if (fits(call->tape, lookups.rows, width_of(table)) &&
        fits(call->tape, lookups.part + 1, lookups.rows))
        give(call,
             ff__layer_embedding_bag(call->tape, table->is.tensor, table->is.n, width_of(table),
                                     &lookups),
             lookups.rows, width_of(table));
}

/* ---- elementwise ---- */

enum { KEEPS_IN, KEEPS_OUT, ROWS, WIDTH };

static void map(struct ff__call *call) {
    unsigned keeps = (has(call, KEEPS_IN) ? FF__KEEPS_IN : FF__KEEPS_NOTHING) |
                     (has(call, KEEPS_OUT) ? FF__KEEPS_OUT : FF__KEEPS_NOTHING);
    bool shaped = has(call, ROWS) || has(call, WIDTH);
    uint64_t rows = option_of(call, ROWS, call->in[0]->is.n);
    uint64_t width = option_of(call, WIDTH, width_of(call->in[0]));
    if (shaped && !fits(call->tape, rows, width))
        return;
    give_alike(call, ff__layer_map(call->tape, call->name, tensor_of(call, 0),
                                   (enum ff__keeps)keeps, shaped ? rows * width : 0));
    if (shaped)
        give(call, call->out[0].is.tensor, rows, width);
}

static void shift(struct ff__call *call) {
    give_alike(call, ff__layer_shift(call->tape, call->name, tensor_of(call, 0)));
}

static void where(struct ff__call *call) {
    give_alike(call, ff__layer_where(call->tape, tensor_of(call, 0)));
}

static void dropout(struct ff__call *call) {
    give_alike(call, ff__layer_dropout(call->tape, tensor_of(call, 0)));
}

static void add(struct ff__call *call) {
    give_alike(call, ff__layer_add(call->tape, tensor_of(call, 0), tensor_of(call, 1)));
}

static void mul(struct ff__call *call) {
    give_alike(call, ff__layer_mul(call->tape, tensor_of(call, 0), tensor_of(call, 1)));
}

static void relu(struct ff__call *call) {
    ff__layer_relu(call->tape, tensor_of(call, 0));
}

static void add_to(struct ff__call *call) {
    ff__layer_add_to(call->tape, tensor_of(call, 0), tensor_of(call, 1));
}

static void kernel(struct ff__call *call) {
    ff__kernel_map(call->tape, call->name, tensor_of(call, 1), tensor_of(call, 2),
                   tensor_of(call, 3), tensor_of(call, 0));
}

/* Side by side along the channels. */
static void cat(struct ff__call *call) {
    uint32_t tensors[FF__NETWORK_WORDS];
    uint64_t width = 0;
    for (unsigned i = 0; i < call->in_count; i++) {
        tensors[i] = tensor_of(call, i);
        width += call->in[i]->is.c;
    }
    const struct ff__images *first = &call->in[0]->is;
    if (!fits(call->tape, first->n * first->h * first->w, width))
        return;
    give_alike(call, ff__layer_cat(call->tape, tensors, call->in_count));
    call->out[0].is.c = width;
}

static void split(struct ff__call *call) {
    uint32_t parts[FF__PARTS];
    if (call->in[0]->is.c % FF__PARTS) {
        call->tape->wrong = "three must divide the width";
        return;
    }
    ff__layer_split(call->tape, tensor_of(call, 0), parts);
    for (unsigned i = 0; i < FF__PARTS; i++) {
        call->out[i].is = call->in[0]->is;
        call->out[i].is.tensor = parts[i];
        call->out[i].is.c /= FF__PARTS;
    }
}

/* ---- training ---- */

static void backward(struct ff__call *call) {
    ff__tape_backward(call->tape, tensor_of(call, 0));
}

static void zero_grad(struct ff__call *call) {
    ff__zero_grad(call->tape);
}

static void grad_norm(struct ff__call *call) {
    ff__grad_norm(call->tape);
}

static void adam(struct ff__call *call) {
    ff__adam(call->tape, call->iteration->states);
}

static void sgd(struct ff__call *call) {
    ff__sgd(call->tape, has(call, 0) ? call->iteration->states : NULL);
}

static void work(struct ff__call *call) {
    ff__tape_work(call->tape, call->number[0]);
}

/* Until it is attached, what was made so far gets no gradient. */
static void detach(struct ff__call *call) {
    call->in[0]->data = true;
    call->tape->first_node = call->tape->node_count;
}

static void attach(struct ff__call *call) {
    call->in[0]->data = false;
    call->tape->first_node = 0;
}

/* ---- all of them ---- */

#define MANY   (FF__NETWORK_WORDS - 1)
#define WINDOW "[kernel=N] [stride=N] [pad=N]"

/* name, tensors made, taken at least and at most, numbers, a kernel's name, a place of weights */
static const struct ff__operation operations[] = {
    {"pictures", 1, 0, 0, 0, false, false, pictures, "X = pictures"},
    {"data", 1, 0, 0, 2, false, false, data, "X = data ROWS WIDTH"},
    {"indices", 1, 0, 0, 1, false, false, indices, "X = indices COUNT"},
    {"new", 1, 0, 0, 2, false, false, new, "X = new ROWS WIDTH"},
    {"param", 1, 0, 0, 2, false, false, param, "W = param ROWS WIDTH"},
    {"weights", 1, 0, 0, 0, false, false, weights, "PLACE = weights"},
    {"again", 0, 1, 1, 0, false, true, again, "again PLACE"},
    {"conv", 1, 1, 1, 1, false, false, conv,
     "Y = conv X CHANNELS " WINDOW " [groups=N] [bias] [transposed]"},
    {"max_pool", 1, 1, 1, 0, false, false, max_pool, "Y = max_pool X " WINDOW},
    {"mean_pool", 1, 1, 1, 0, false, false, mean_pool, "Y = mean_pool X"},
    {"batch_norm", 1, 1, 1, 0, false, false, batch_norm, "Y = batch_norm X"},
    {"linear", 1, 1, 1, 1, false, false, linear, "Y = linear X WIDTH [in=WIDTH] [no_bias]"},
    {"tied", 1, 2, 2, 0, false, false, tied, "Y = tied X TABLE"},
    {"bmm", 1, 2, 2, 4, false, false, bmm, "Y = bmm A B BATCH M K N"},
    {"norm", 1, 1, 1, 0, false, false, norm, "Y = norm X"},
    {"cross_entropy", 1, 1, 1, 0, false, false, cross_entropy, "LOSS = cross_entropy X"},
    {"embedding", 1, 1, 2, 1, false, false, embedding, "Y = embedding TABLE INDICES ROWS"},
    {"embedding_bag", 1, 3, 3, 1, false, false, embedding_bag,
     "Y = embedding_bag TABLE INDICES OFFSETS ROWS [part=N]"},
    {"map", 1, 1, 1, 0, true, false, map,
     "Y = map NAME X [keeps_in] [keeps_out] [rows=N] [width=N]"},
    {"shift", 1, 1, 1, 0, true, false, shift, "Y = shift NAME X"},
    {"where", 1, 1, 1, 0, false, false, where, "Y = where X"},
    {"dropout", 1, 1, 1, 0, false, false, dropout, "Y = dropout X"},
    {"add", 1, 2, 2, 0, false, false, add, "Y = add A B"},
    {"mul", 1, 2, 2, 0, false, false, mul, "Y = mul A B"},
    {"relu", 0, 1, 1, 0, false, false, relu, "relu X"},
    {"add_to", 0, 2, 2, 0, false, false, add_to, "add_to A B"},
    {"kernel", 0, 1, 4, 0, true, false, kernel, "kernel NAME OUT IN..."},
    {"cat", 1, 1, MANY, 0, false, false, cat, "Y = cat X..."},
    {"split", 3, 1, 1, 0, false, false, split, "Q K V = split X"},
    {"move", 1, 1, 1, 0, false, false, NULL, "Y = move X"},
    {"drop", 0, 1, MANY, 0, false, false, NULL, "drop X..."},
    {"backward", 0, 1, 1, 0, false, false, backward, "backward LOSS"},
    {"zero_grad", 0, 0, 0, 0, false, false, zero_grad, "zero_grad"},
    {"grad_norm", 0, 0, 0, 0, false, false, grad_norm, "grad_norm"},
    {"adam", 0, 0, 0, 0, false, false, adam, "adam"},
    {"sgd", 0, 0, 0, 0, false, false, sgd, "sgd [momentum]"},
    {"work", 0, 0, 0, 1, false, false, work, "work NS"},
    {"detach", 0, 1, 1, 0, false, false, detach, "detach X"},
    {"attach", 0, 1, 1, 0, false, false, attach, "attach X"},
};

const struct ff__operation *ff__operation_at(unsigned index) {
    return index < sizeof operations / sizeof operations[0] ? &operations[index] : NULL;
}

const struct ff__operation *ff__operation_find(const char *name) {
    const struct ff__operation *operation = operations;
    for (unsigned i = 0; (operation = ff__operation_at(i)); i++)
        if (strcmp(operation->name, name) == 0)
            return operation;
    return NULL;
}
