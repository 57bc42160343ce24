/* Whisper (Radford et al., 2022), its base size as Hugging Face has it, transcribing: the encoder reads 30 s of sound, then
 * the decoder makes one token after another. What was decoded before is kept, the keys and values of the sound are made
 * once. A convolution over time is a product with a copy of its windows (ours). */
#include "workload/dnn/transformer.h"

#define MELS   80u
#define FRAMES 3000u
#define SOUND  1500u /* what the encoder makes of them */
#define WINDOW 3u

struct whisper {
    struct ff__tape *tape;
    uint64_t batch, width, heads, layers;
};

/* ---- pieces; each drops x ---- */

static uint32_t linear(const struct whisper *w, uint32_t x, uint64_t rows, uint64_t in,
                       uint64_t out) {
    return ff__then(w->tape, x, ff__layer_linear(w->tape, x, rows, in, out, true, false));
}

static uint32_t gelu(const struct whisper *w, uint32_t x) {
    return ff__then(w->tape, x, ff__layer_map(w->tape, "gelu", x, FF__KEEPS_NOTHING, 0));
}

static uint32_t convolve(const struct whisper *w, uint32_t x, uint64_t in, uint64_t out_rows) {
    uint64_t rows = w->batch * out_rows;
    uint32_t windows = ff__tensor_new(w->tape, rows * in * WINDOW);
    ff__kernel_map(w->tape, "unfold", x, FF__NO_TENSOR, FF__NO_TENSOR, windows);
    ff__tensor_drop(w->tape, x);
    return gelu(w, linear(w, windows, rows, in * WINDOW, w->width));
}

static uint32_t add(const struct whisper *w, uint32_t x, uint32_t y) {
    uint32_t sum = ff__layer_add(w->tape, x, y);
    ff__tensor_drop(w->tape, x);
    ff__tensor_drop(w->tape, y);
    return sum;
}

static uint32_t feed_forward(const struct whisper *w, uint32_t x, uint64_t tokens) {
    uint64_t rows = w->batch * tokens;
    uint32_t y = ff__layer_norm(w->tape, x, rows, w->width);
    y = gelu(w, linear(w, y, rows, w->width, 4 * w->width));
    return add(w, x, linear(w, y, rows, 4 * w->width, w->width));
}

/* ---- attention ---- */

/* Of `tokens` queries to so many keys; the projections of y, which is dropped, are the queries. */
static uint32_t attend(const struct whisper *w, uint32_t q, uint64_t tokens, uint32_t keys,
                       uint32_t values, uint64_t key_count) {
    uint64_t products = w->batch * w->heads, size = w->width / w->heads;
    uint32_t scores =
        ff__then(w->tape, q, ff__layer_bmm(w->tape, q, keys, products, tokens, size, key_count));
    scores =
        ff__then(w->tape, scores, ff__layer_map(w->tape, "softmax", scores, FF__KEEPS_NOTHING, 0));
    uint32_t y = ff__then(
        w->tape, scores, ff__layer_bmm(w->tape, scores, values, products, tokens, key_count, size));
    return linear(w, y, w->batch * tokens, w->width, w->width);
}

/* Keys have no bias. */
static void make_keys(const struct whisper *w, uint32_t x, uint64_t tokens, uint32_t out[2]) {
    for (int i = 0; i < 2; i++)
        out[i] = ff__layer_linear(w->tape, x, w->batch * tokens, w->width, w->width, i == 1, false);
}

static void drop_keys(const struct whisper *w, const uint32_t keys[2]) {
    ff__tensor_drop(w->tape, keys[0]);
    ff__tensor_drop(w->tape, keys[1]);
}

/* To all of x. Drops x. */
static uint32_t attend_self(const struct whisper *w, uint32_t x, uint64_t tokens) {
    uint32_t y = ff__layer_norm(w->tape, x, w->batch * tokens, w->width), keys[2];
    make_keys(w, y, tokens, keys);
    y = attend(w, linear(w, y, w->batch * tokens, w->width, w->width), tokens, keys[0], keys[1],
               tokens);
    drop_keys(w, keys);
    return add(w, x, y);
}

/* ---- encoder ---- */

static uint32_t encode(const struct whisper *w) {
    uint32_t x = ff__layer_data(w->tape, w->batch * MELS * FRAMES * FF__FLOAT);
    uint32_t places = ff__tape_param(w->tape, SOUND * w->width);
    x = convolve(w, convolve(w, x, MELS, FRAMES), w->width, SOUND);
    ff__kernel_map(w->tape, "add_positions", places, FF__NO_TENSOR, FF__NO_TENSOR, x);
    for (uint64_t i = 0; i < w->layers; i++)
        x = feed_forward(w, attend_self(w, x, SOUND), SOUND);
    return ff__then(w->tape, x, ff__layer_norm(w->tape, x, w->batch * SOUND, w->width));
}

/* ---- decoder ---- */

/* What is kept of a layer: keys and values of the sound, and of the tokens so far. */
struct cache {
    uint32_t sound[2], tokens[2];
};

#define LAYERS_MAX 32u

/* The keys of a token are written to where they are kept. Drops x. */
static uint32_t attend_tokens(const struct whisper *w, uint32_t x, const struct cache *cache,
                              uint64_t length) {
    uint32_t y = ff__layer_norm(w->tape, x, w->batch, w->width), keys[2];
    make_keys(w, y, 1, keys);
    for (int i = 0; i < 2; i++)
        ff__kernel_map(w->tape, "keep", keys[i], FF__NO_TENSOR, FF__NO_TENSOR, cache->tokens[i]);
    drop_keys(w, keys);
    y = attend(w, linear(w, y, w->batch, w->width, w->width), 1, cache->tokens[0], cache->tokens[1],
               length);
    return add(w, x, y);
}

static uint32_t attend_sound(const struct whisper *w, uint32_t x, const struct cache *cache) {
    uint32_t y = ff__layer_norm(w->tape, x, w->batch, w->width);
    y = attend(w, linear(w, y, w->batch, w->width, w->width), 1, cache->sound[0], cache->sound[1],
               SOUND);
    return add(w, x, y);
}

static void decode(const struct whisper *w, const struct cache *caches, uint64_t words,
                   uint64_t length, uint32_t table) {
    uint32_t id = ff__layer_data(w->tape, w->batch * FF__INDEX);
    uint32_t x = ff__layer_embedding(w->tape, table, id, words, w->width, w->batch);
    ff__tensor_drop(w->tape, id);
    for (uint64_t i = 0; i < w->layers; i++) {
        x = attend_tokens(w, x, &caches[i], length);
        x = attend_sound(w, x, &caches[i]);
        x = feed_forward(w, x, 1);
    }
    x = ff__then(w->tape, x, ff__layer_norm(w->tape, x, w->batch, w->width));
    ff__tensor_drop(w->tape, ff__layer_tied(w->tape, x, table, w->batch, w->width, words));
    ff__tensor_drop(w->tape, x);
}

static void infer(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    const struct whisper w = {tape, iteration->batch, network->shape[FF__WIDTH],
                              network->shape[FF__HEADS], network->shape[FF__LAYERS]};
    const uint64_t words = network->shape[FF__VOCABULARY], length = iteration->length;
    struct cache caches[LAYERS_MAX];
    uint32_t sound = encode(&w);
    uint32_t table = ff__tape_param(tape, words * w.width);
    ff__tape_param(tape, network->shape[FF__POSITIONS] * w.width);
    for (uint64_t i = 0; i < w.layers; i++) {
        make_keys(&w, sound, SOUND, caches[i].sound);
        for (int k = 0; k < 2; k++)
            caches[i].tokens[k] = ff__tensor_new(tape, w.batch * length * w.width);
    }
    ff__tensor_drop(tape, sound);
    const uint32_t first = tape->param_next; /* each token meets the same parameters */
    for (uint64_t i = 0; i < length; i++) {
        tape->param_next = first;
        decode(&w, caches, words, length, table);
    }
    for (uint64_t i = 0; i < w.layers; i++) {
        drop_keys(&w, caches[i].sound);
        drop_keys(&w, caches[i].tokens);
    }
}

const struct ff__network ff__whisper = {
    .shape = {6, 512, 8, 51865, 448},
    .run = infer,
    .infers = true,
};
