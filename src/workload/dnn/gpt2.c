/* GPT-2 (Radford et al., 2019) as Hugging Face's GPT2LMHeadModel of early 2021 trains it: pre-norm,
 * gelu_new of single operations, the output tied to the input's embedding, AdamW, by Trainer, as the
 * example run_clm.py has it. Sizes: the config.json of gpt2-xl and gpt2-large. */
#include "workload/dnn/transformer.h"

#define LAYERS_MAX 48u

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), one operation after the other. */
static uint32_t gelu_new(struct ff__tape *tape, uint32_t x) {
    uint32_t half = ff__layer_map(tape, "mul", x, FF__KEEPS_NOTHING, 0);
    uint32_t t = ff__layer_map(tape, "pow", x, FF__KEEPS_IN, 0);
    t = ff__then(tape, t, ff__layer_map(tape, "mul", t, FF__KEEPS_NOTHING, 0));
    t = ff__then(tape, t, ff__layer_add(tape, x, t));
    t = ff__then(tape, t, ff__layer_map(tape, "mul", t, FF__KEEPS_NOTHING, 0));
    t = ff__then(tape, t, ff__layer_map(tape, "tanh", t, FF__KEEPS_OUT, 0));
    t = ff__then(tape, t, ff__layer_shift(tape, "add", t));
    uint32_t y = ff__layer_mul(tape, half, t);
    ff__tensor_drop(tape, half);
    ff__tensor_drop(tape, t);
    return y;
}

/* One product makes q, k and v; they are views of its result until they are copied. The model returns k
 * and v, so the result stays until then: use_cache is on by default. */
static uint32_t attend(struct ff__tape *tape, const struct ff__network *network,
                       const struct ff__iteration *iteration, uint32_t x, uint32_t *past) {
    uint64_t rows = iteration->batch * iteration->length, width = network->shape[FF__WIDTH];
    uint32_t all = ff__layer_linear(tape, x, rows, width, 3 * width, true, false), qkv[3];
    *past = all;
    ff__layer_split(tape, all, qkv);
    uint32_t y = ff__attention(tape, network, iteration->batch, iteration->length, qkv, true);
    y = ff__then(tape, y, ff__layer_linear(tape, y, rows, width, width, true, false));
    return ff__then(tape, y, ff__layer_dropout(tape, y));
}

static uint32_t feed_forward(struct ff__tape *tape, uint64_t rows, uint64_t width, uint32_t x) {
    uint32_t y = ff__layer_linear(tape, x, rows, width, 4 * width, true, false);
    y = ff__then(tape, y, gelu_new(tape, y));
    y = ff__then(tape, y, ff__layer_linear(tape, y, rows, 4 * width, width, true, false));
    return ff__then(tape, y, ff__layer_dropout(tape, y));
}

static uint32_t add_residual(struct ff__tape *tape, uint32_t x, uint32_t y) {
    uint32_t sum = ff__layer_add(tape, x, y);
    ff__tensor_drop(tape, y);
    return ff__then(tape, x, sum);
}

static uint32_t block(struct ff__tape *tape, const struct ff__network *network,
                      const struct ff__iteration *iteration, uint32_t x, uint32_t *past) {
    uint64_t rows = iteration->batch * iteration->length, width = network->shape[FF__WIDTH];
    uint32_t norm = ff__layer_norm(tape, x, rows, width);
    uint32_t y = attend(tape, network, iteration, norm, past);
    ff__tensor_drop(tape, norm);
    x = add_residual(tape, x, y);
    norm = ff__layer_norm(tape, x, rows, width);
    y = feed_forward(tape, rows, width, norm);
    ff__tensor_drop(tape, norm);
    return add_residual(tape, x, y);
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    uint64_t rows = iteration->batch * iteration->length, width = network->shape[FF__WIDTH];
    uint64_t words = network->shape[FF__VOCABULARY], positions = network->shape[FF__POSITIONS];
    uint32_t past[LAYERS_MAX], ids = ff__layer_data(tape, rows * FF__INDEX);
    uint32_t table = ff__tape_param(tape, words * width);
    uint32_t places = ff__tape_param(tape, positions * width);
    uint32_t x = ff__layer_embedding(tape, table, ids, words, width, rows);
    uint32_t p =
        ff__layer_embedding(tape, places, FF__NO_TENSOR, positions, width, iteration->length);
    ff__tensor_drop(tape, ids);
    x = add_residual(tape, x, p);
    x = ff__then(tape, x, ff__layer_dropout(tape, x));
    for (uint64_t i = 0; i < network->shape[FF__LAYERS]; i++)
        x = block(tape, network, iteration, x, &past[i]);
    x = ff__then(tape, x, ff__layer_norm(tape, x, rows, width));
    uint32_t logits = ff__layer_tied(tape, x, table, rows, width, words);
    ff__tensor_drop(tape, x);
    uint32_t shifted = ff__layer_map(tape, "contiguous", logits, FF__KEEPS_NOTHING, 0);
    uint32_t loss = ff__layer_cross_entropy(tape, shifted, rows);
    ff__tensor_drop(tape, shifted);
    ff__tensor_drop(tape, logits); /* Trainer keeps the loss only */
    for (uint64_t i = 0; i < network->shape[FF__LAYERS]; i++)
        ff__tensor_drop(tape, past[i]);
    ff__tape_backward(tape, loss);
    ff__tensor_drop(tape, loss);
    ff__grad_norm(tape);
    ff__adam(tape, iteration->states);
    ff__zero_grad(tape);
}

const struct ff__network ff__gpt2_xl = {
    .shape = {48, 1600, 25, 50257, 1024},
    .run = train,
};

const struct ff__network ff__gpt2_l = {
    .shape = {36, 1280, 20, 50257, 1024},
    .run = train,
};
