/* The steps of a prediction in plain C, for any CPU. */
#include "learn/predictor_code.h"

#include "learn/quant.h"
#include "learn/weight.h"

#include <string.h>

/* y[c][o] += sum over every `chains`-th quad q from c on, and over its bytes i, of x[q][i] w[q][o][i], for `blocks` times 16
 * outputs; a row of w has `stride` of them; `chains` divides `quads`. Sums side by side do not wait for each other. */
static inline void products(int32_t *y, const int8_t *w, uint32_t stride, const uint8_t *x,
                            uint32_t quads, uint32_t blocks, uint32_t chains) {
    const uint32_t outs = blocks * FF__WIDE;
    for (uint32_t q = 0; q < quads; q++) {
        const int8_t *row = w + (size_t)q * stride * FF__QUAD;
        const uint8_t *with = x + (size_t)q * FF__QUAD;
        int32_t *sums = y + (size_t)(q % chains) * outs;
        for (uint32_t o = 0; o < outs; o++)
            for (uint32_t i = 0; i < FF__QUAD; i++)
                sums[o] += with[i] * row[FF__QUAD * o + i];
    }
}

/* q = sums * scale + bias: in steps. */
static inline void to_steps(int8_t *q, const int32_t *sums, float scale, const float *bias,
                            uint32_t count, float least, float most) {
    for (uint32_t i = 0; i < count; i++) {
        float x = ff__nearest((float)sums[i] * scale + bias[i]);
        x = x < least ? least : x > most ? most : x;
        q[i] = (int8_t)x;
    }
}

static inline void raise(uint8_t *x, const int8_t *q, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        x[i] = (uint8_t)(q[i] + (int8_t)FF__OFFSET);
}

/* sums += those of each feature, in the common unit. */
static inline void join(const struct ff__predictor *p, int32_t *sums, int32_t (*parts)[FF__WIDE]) {
    for (uint32_t f = 0; f < FF__TOKEN_QUADS; f++)
        for (uint32_t o = 0; o < FF__WIDE; o++)
            sums[o] += parts[f][o] * (1 << p->shift[f]);
}

/* ---- a new token ---- */

static inline void project(const struct ff__predictor *p, int8_t *q, const int8_t *w,
                           const int32_t *start, float scale, const uint8_t *token) {
    static const float no_bias[FF__WIDE];
    int32_t sums[FF__WIDE], parts[FF__TOKEN_QUADS][FF__WIDE] = {{0}};
    memcpy(sums, start, sizeof sums);
    products(parts[0], w, FF__WIDE, token, FF__TOKEN_QUADS, 1, FF__TOKEN_QUADS);
    join(p, sums, parts);
    to_steps(q, sums, scale, no_bias, FF__WIDE, FF__Q_MIN, FF__Q_MAX);
}

/* Bucket numbers of 16 rounds: the direction that the key points along most. */
static inline uint64_t hash(const struct ff__predictor *p, const int8_t *key) {
    int32_t along[FF__LSH_ALONG], most[FF__LSH_ROUNDS], bucket[FF__LSH_ROUNDS];
    uint8_t x[FF__WIDTH];
    uint64_t hash = 0;
    raise(x, key, FF__WIDTH);
    memcpy(along, p->direction_start, sizeof along);
    products(along, p->direction[0][0], FF__LSH_ALONG, x, FF__TOKEN_QUADS, FF__LSH_VECTORS, 1);
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++) {
        most[r] = -1;
        bucket[r] = 0;
    }
    for (uint32_t v = 0; v < FF__LSH_VECTORS; v++)
        for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++) {
            int32_t x_along = along[v * FF__LSH_ROUNDS + r],
                    size = x_along < 0 ? -x_along : x_along;
            int32_t number = (int32_t)(2 * v) + (x_along < 0);
            bucket[r] = size > most[r] ? number : bucket[r];
            most[r] = size > most[r] ? size : most[r];
        }
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
        hash |= (uint64_t)bucket[r] << (4 * r);
    return hash;
}

/* Logarithms of the distances from one hash to all. */
static inline void distances(int16_t *logs, const uint64_t *all, uint64_t hash) {
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        logs[i] = (int16_t)ff__lsh_log[ff__lsh_distance(all[ff__hash_at(i)], hash)];
    logs[FF__WINDOW] = logs[FF__WINDOW + 1] = 0;
}

/* The sums of distances, with another hash in the slot. */
static inline void rehash(const struct ff__predictor *p, struct ff__stream *s, uint32_t slot,
                          uint64_t hash) {
    int16_t before[FF__SLOTS_WIDE] = {0}, after[FF__SLOTS_WIDE], mine = 0;
    uint64_t *place = &s->hash[ff__hash_at(slot)];
    if (p->chosen[slot])
        distances(before, s->hash, *place);
    *place = hash;
    distances(after, s->hash, hash);
    if (p->chosen[slot])
        for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
            s->far[i] = (int16_t)(s->far[i] + after[i] - before[i]);
    for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
        mine = (int16_t)(mine + (after[i] & p->chosen[i]));
    s->far[slot] = mine; /* to itself: 0 */
}

static void push(const struct ff__predictor *p, struct ff__stream *s, const uint16_t ids[3]) {
    uint32_t slot = s->newest + 1 < FF__WINDOW ? s->newest + 1 : 0;
    int8_t key[FF__WIDE], value[FF__WIDE];
    int16_t lean = 0;
    memcpy(s->last, p->page[ids[0]], FF__PART);
    memcpy(s->last + FF__PART, p->delta[ids[1]], FF__PART);
    memcpy(s->last + 2 * FF__PART, p->pc[ids[2]], FF__PART);
    memcpy(s->token[slot], s->last, FF__WIDTH);
    memcpy(s->token[slot + FF__WINDOW], s->last, FF__WIDTH);
    project(p, key, p->to_key[0][0], p->key_start[slot], p->key_scale, s->last);
    project(p, value, p->to_value[0][0], p->value_start, p->value_scale, s->last);
    for (uint32_t d = 0; d < FF__WIDTH; d++) {
        s->key[d / FF__QUAD][slot][d % FF__QUAD] = key[d];
        lean = (int16_t)(lean + key[d]);
    }
    for (uint32_t d = 0; d < FF__WIDE; d++)
        s->value[slot / FF__QUAD][d][slot % FF__QUAD] = value[d];
    rehash(p, s, slot, hash(p, key));
    s->lean[slot] = (int16_t)(lean * (int16_t)FF__OFFSET);
    s->delta[slot] = ids[1];
    s->newest = slot;
}

/* ---- a prediction ---- */

/* The indicator: if so many deltas are the same, one of the last few is one of them. */
static inline bool converged(const struct ff__predictor *p, const struct ff__stream *s) {
    for (uint32_t i = 0, slot = s->newest; i <= FF__WINDOW - FF__CONVERGED; i++) {
        uint16_t same = 0, delta = s->delta[slot];
        for (uint32_t j = 0; j < FF__SLOTS_WIDE; j++)
            same = (uint16_t)(same + (s->delta[j] == delta));
        if (same >= p->converged)
            return true;
        slot = slot > 0 ? slot - 1 : FF__WINDOW - 1;
    }
    return false;
}

/* Algorithm 1's two kinds of tokens, as sets of slots; mostly there are none. */
static inline void sort_out(const struct ff__predictor *p, const struct ff__stream *s,
                            uint32_t *erased, uint32_t *alike) {
    int16_t any = 0;
    *erased = *alike = 0;
    for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
        any = (int16_t)(any | (s->far[i] >= p->far[i]) | (s->far[i] <= p->close[i]));
    if (!any)
        return;
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        *erased |= (uint32_t)(s->far[i] >= p->far[i]) << i;
        *alike |= (uint32_t)(s->far[i] <= p->close[i]) << i;
    }
}

/* The newest token's scores for all slots. */
static inline void score(const struct ff__predictor *p, const struct ff__stream *s,
                         int32_t *scores) {
    int32_t keys[FF__SLOTS_WIDE], ages[FF__SLOTS_WIDE];
    int8_t query[FF__WIDTH];
    uint8_t x[FF__WIDTH];
    uint32_t erased, alike, newest = s->newest, base = newest, turn = FF__WINDOW - 1 - newest;
    sort_out(p, s, &erased, &alike);
    if (alike)
        base = ff__oldest(alike, newest);
    uint32_t asks = alike >> newest & 1 ? base : newest;
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        query[d] = erased >> newest & 1 ? 0 : s->key[d / FF__QUAD][asks][d % FF__QUAD];
    raise(x, query, FF__WIDTH);
    for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
        keys[i] = -s->lean[i];
    memcpy(ages, p->age_start + turn, sizeof ages);
    products(keys, s->key[0][0], FF__SLOTS_WIDE, x, FF__TOKEN_QUADS, 2, 1);
    products(ages, p->age[0][turn], 2 * FF__SLOTS_WIDE, x, FF__TOKEN_QUADS, 2, 1);
    int32_t shared = keys[base];
    erased = ff__without_key(p, erased, alike, base, newest);
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        int32_t key = alike >> i & 1 ? shared : keys[i];
        key = erased >> i & 1 ? 0 : key;
        scores[i] = key * (1 << p->key_shift) + ages[i] * (1 << p->age_shift);
    }
}

/* What attention adds to the newest token, in steps. Weights go up to 4096: their upper and lower six
 * bits are multiplied on their own. */
static inline void attend(const struct ff__predictor *p, const struct ff__stream *s,
                          int8_t *answer) {
    static const float no_bias[FF__WIDE];
    const uint32_t quads = FF__SLOTS_WIDE / FF__QUAD;
    uint8_t high[FF__SLOTS_WIDE] = {0}, low[FF__SLOTS_WIDE] = {0};
    int32_t scores[FF__WINDOW], most = INT32_MIN, weights[FF__WINDOW], all = 0;
    int32_t highs[2][FF__WIDE] = {{0}}, lows[2][FF__WIDE] = {{0}};
    score(p, s, scores);
    scores[s->newest] = INT32_MIN;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        most = scores[i] > most ? scores[i] : most;
    scores[s->newest] = most;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        weights[i] = ff__weight((float)(most - scores[i]) * p->weight_scale);
    weights[s->newest] = 0;
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        all += weights[i];
        high[i] = (uint8_t)(weights[i] >> 6);
        low[i] = (uint8_t)(weights[i] & 63);
    }
    products(highs[0], s->value[0][0], FF__WIDE, high, quads, 1, 2);
    products(lows[0], s->value[0][0], FF__WIDE, low, quads, 1, 2);
    for (uint32_t d = 0; d < FF__WIDE; d++)
        highs[0][d] = (highs[0][d] + highs[1][d]) * 64 + lows[0][d] + lows[1][d];
    to_steps(answer, highs[0], FF__STEP_VALUE / FF__STEP_TOKEN / (float)all, no_bias, FF__WIDE,
             FF__Q_MIN, FF__Q_MAX);
}

/* The encoder layer's output for the newest token, in steps, raised. */
static inline void add_layer(const struct ff__predictor *p, const struct ff__stream *s,
                             uint8_t *layer) {
    static const float no_bias[FF__WIDE];
    int8_t answer[FF__WIDE] = {0}, sum[FF__WIDE], inner[FF__INNER], out[FF__WIDE];
    int32_t raw[FF__WIDE] = {0}, inners[FF__INNER], outers[4][FF__WIDE] = {{0}};
    uint8_t raised[FF__WIDTH];
    float bias[FF__WIDE];
    if (!converged(p, s))
        attend(p, s, answer);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        raw[d] = ((int32_t)s->last[d] - (int32_t)FF__OFFSET) * (1 << p->shift[d / FF__PART]) +
                 answer[d] * (1 << p->answer_shift);
    to_steps(sum, raw, 1 / (float)(1 << p->answer_shift), no_bias, FF__WIDE, FF__Q_MIN, FF__Q_MAX);
    raise(raised, sum, FF__WIDTH);
    memcpy(inners, p->inner_start, sizeof inners);
    products(inners, p->to_inner[0][0], FF__INNER, raised, FF__TOKEN_QUADS, 3, 1);
    to_steps(inner, inners, p->inner_scale, p->inner_bias, FF__INNER, 0, FF__Q_MAX - FF__Q_MIN);
    products(outers[0], p->to_outer[0][0], FF__WIDE, (const uint8_t *)inner, FF__INNER / FF__QUAD,
             1, 4);
    for (uint32_t d = 0; d < FF__WIDE; d++) {
        outers[0][d] += outers[1][d] + outers[2][d] + outers[3][d];
        bias[d] = p->outer_bias[d] + (float)sum[d];
    }
    to_steps(out, outers[0], p->outer_scale, bias, FF__WIDE, FF__Q_MIN, FF__Q_MAX);
    raise(layer, out, FF__WIDE);
}

/* The hidden numbers: the window from its oldest token on, and the layer's output. */
static inline void hide(const struct ff__predictor *p, const struct ff__stream *s, int8_t *hidden) {
    const uint32_t window = FF__WINDOW * FF__TOKEN_QUADS;
    uint8_t layer[FF__WIDE];
    int32_t parts[FF__TOKEN_QUADS][FF__WIDE] = {{0}}, last[FF__TOKEN_QUADS][FF__WIDE] = {{0}};
    int32_t sums[FF__WIDE];
    products(parts[0], p->mix[0][0], FF__HIDDEN, s->token[s->newest + 1], window, 1,
             FF__TOKEN_QUADS);
    add_layer(p, s, layer);
    products(last[0], p->mix[window][0], FF__HIDDEN, layer, FF__TOKEN_QUADS, 1, FF__TOKEN_QUADS);
    for (uint32_t o = 0; o < FF__HIDDEN; o++)
        sums[o] = p->mix_start[o] + (last[0][o] + last[1][o] + last[2][o]) * (1 << p->answer_shift);
    join(p, sums, parts);
    to_steps(hidden, sums, p->mix_scale, p->mix_bias, FF__HIDDEN, 0, FF__Q_MAX - FF__Q_MIN);
}

static uint32_t predict(const struct ff__predictor *p, const struct ff__stream *s, float *margin) {
    const uint32_t block = FF__HIDDEN * FF__WIDE, classes = p->class_blocks * FF__WIDE;
    int8_t hidden[FF__HIDDEN];
    int32_t sums[FF__CLASSES_MAX], best = INT32_MIN;
    hide(p, s, hidden);
    memset(sums, 0, classes * sizeof sums[0]);
    for (uint32_t b = 0; b < p->class_blocks; b++)
        products(sums + b * FF__WIDE, p->to_classes + (size_t)b * block, FF__WIDE,
                 (const uint8_t *)hidden, FF__HIDDEN / FF__QUAD, 1, 1);
    for (uint32_t c = 0; c < classes; c++) {
        sums[c] = p->class_name[c] + sums[c] * (1 << p->class_shift);
        best = sums[c] > best ? sums[c] : best;
    }
    return ff__class_named(best, sums[FF__ESCAPE], margin);
}

static bool works(void) {
    return true;
}

const struct ff__predictor_code ff__predictor_portable = {"portable", works, push, predict};
