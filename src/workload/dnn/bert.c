/* BERT (Devlin et al., 2018) as Hugging Face's BertForMaskedLM of early 2021 trains it: post-norm, gelu
 * in one kernel, AdamW, by Trainer, as the example run_mlm.py has it. Sizes: the config.json of bert-large-uncased and bert-base-uncased. */
#include "workload/dnn/transformer.h"

#define SEGMENTS 2u

/* dense, dropout, LayerNorm(x + y); drops both. */
static uint32_t output(struct ff__tape *tape, uint32_t x, uint32_t y, uint64_t rows, uint64_t in,
                       uint64_t width) {
    y = ff__then(tape, y, ff__layer_linear(tape, y, rows, in, width, true, false));
    y = ff__then(tape, y, ff__layer_dropout(tape, y));
    uint32_t sum = ff__layer_add(tape, y, x);
    ff__tensor_drop(tape, y);
    ff__tensor_drop(tape, x);
    return ff__then(tape, sum, ff__layer_norm(tape, sum, rows, width));
}

static uint32_t gelu_linear(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t in,
                            uint64_t out) {
    uint32_t y = ff__layer_linear(tape, x, rows, in, out, true, false);
    return ff__then(tape, y, ff__layer_map(tape, "gelu", y, FF__KEEPS_IN, 0));
}

static uint32_t layer(struct ff__tape *tape, const struct ff__network *network,
                      const struct ff__iteration *iteration, uint32_t x) {
    uint64_t rows = iteration->batch * iteration->length, width = network->shape[FF__WIDTH];
    uint32_t qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = ff__layer_linear(tape, x, rows, width, width, true, false);
    for (int i = 0; i < 3; i++)
        qkv[i] =
            ff__then(tape, qkv[i], ff__layer_map(tape, "contiguous", qkv[i], FF__KEEPS_NOTHING, 0));
    uint32_t y = ff__attention(tape, network, iteration->batch, iteration->length, qkv, false);
    x = output(tape, x, y, rows, width, width);
    y = gelu_linear(tape, x, rows, width, 4 * width);
    return output(tape, x, y, rows, 4 * width, width);
}

/* Of words, positions and segments. */
static uint32_t embed(struct ff__tape *tape, const struct ff__network *network, uint64_t rows,
                      uint64_t length, uint32_t *table) {
    uint32_t ids = ff__layer_data(tape, rows * FF__INDEX);
    uint32_t kinds = ff__layer_data(tape, rows * FF__INDEX);
    uint64_t width = network->shape[FF__WIDTH], words = network->shape[FF__VOCABULARY];
    uint64_t positions = network->shape[FF__POSITIONS];
    *table = ff__tape_param(tape, words * width);
    uint32_t places = ff__tape_param(tape, positions * width);
    uint32_t segments = ff__tape_param(tape, SEGMENTS * width);
    uint32_t x = ff__layer_embedding(tape, *table, ids, words, width, rows);
    uint32_t s = ff__layer_embedding(tape, segments, kinds, SEGMENTS, width, rows);
    uint32_t p = ff__layer_embedding(tape, places, FF__NO_TENSOR, positions, width, length);
    x = ff__then(tape, x, ff__layer_add(tape, x, s));
    x = ff__then(tape, x, ff__layer_add(tape, x, p));
    ff__tensor_drop(tape, s);
    ff__tensor_drop(tape, p);
    ff__tensor_drop(tape, ids);
    ff__tensor_drop(tape, kinds);
    x = ff__then(tape, x, ff__layer_norm(tape, x, rows, width));
    return ff__then(tape, x, ff__layer_dropout(tape, x));
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    uint64_t rows = iteration->batch * iteration->length, width = network->shape[FF__WIDTH];
    uint64_t words = network->shape[FF__VOCABULARY];
    uint32_t table, x = embed(tape, network, rows, iteration->length, &table);
    for (uint64_t i = 0; i < network->shape[FF__LAYERS]; i++)
        x = layer(tape, network, iteration, x);
    x = ff__then(tape, x, gelu_linear(tape, x, rows, width, width));
    x = ff__then(tape, x, ff__layer_norm(tape, x, rows, width));
    uint32_t logits = ff__layer_tied(tape, x, table, rows, width, words);
    ff__tensor_drop(tape, x);
    uint32_t bias = ff__tape_param(tape, words);
    ff__kernel_map(tape, "add_bias", bias, FF__NO_TENSOR, FF__NO_TENSOR, logits);
    if (tape->infers) {
        ff__tensor_drop(tape, logits);
        return;
    }
    uint32_t loss = ff__layer_cross_entropy(tape, logits, rows);
    ff__tensor_drop(tape, logits); /* Trainer keeps the loss only */
    ff__tape_backward(tape, loss);
    ff__tensor_drop(tape, loss);
    ff__grad_norm(tape);
    ff__adam(tape, iteration->states);
    ff__zero_grad(tape);
}

const struct ff__network ff__bert_large = {
    .shape = {24, 1024, 16, 30522, 512},
    .run = train,
};

const struct ff__network ff__bert_inference = {
    .shape = {12, 768, 12, 30522, 512},
    .run = train,
    .infers = true,
};

const struct ff__network ff__bert_base = {
    .shape = {12, 768, 12, 30522, 512},
    .run = train,
};
