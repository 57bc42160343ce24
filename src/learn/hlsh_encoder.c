#include "learn/hlsh_parts.h"

#include "learn/weight.h"

#include <math.h>
#include <string.h>

/* ---- work space ---- */

/* By token: [batch][window][..]. A name with `raw` is the value before it was quantized. */
struct encoder_space {
    struct ff__hlsh_space own;
    float *tokens, *placed; /* with positions */
    float *raw_keys, *keys, *raw_queries, *queries, *raw_values, *values;
    float *scores;                /* [batch][window][window] after softmax, of each that asks */
    float *raw_answers, *answers; /* attention's */
    float *raw_sums, *sums;       /* token and answer */
    float *raw_inner, *inner;     /* [batch][window][inner] */
    float *outer, *raw_outputs, *outputs;
    int8_t *as;      /* [batch][window] */
    uint8_t *bypass; /* [batch] */
    /* gradients */
    float *dinner, *dsums, *doutputs, *dkeys, *dqueries, *dvalues, *dplaced, *dtokens;
    struct ff__lsh *lsh;
};

#define CELLS(bytes) (((bytes) + sizeof(float) - 1) / sizeof(float))

static size_t map_work(struct encoder_space *work, const struct ff__net_type *type,
                       const struct ff__shape *shape, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    size_t tokens = (size_t)capacity * FF__WINDOW;
    float **const wide[] = {
        &work->tokens,  &work->placed,      &work->raw_keys, &work->keys,     &work->raw_values,
        &work->values,  &work->raw_answers, &work->answers,  &work->raw_sums, &work->sums,
        &work->outer,   &work->raw_outputs, &work->outputs,  &work->dsums,    &work->doutputs,
        &work->dkeys,   &work->dvalues,     &work->dplaced,  &work->dtokens,  &work->raw_queries,
        &work->queries, &work->dqueries};
    ff__hlsh_space(&work->own, &pieces, type, shape);
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        *wide[i] = ff__piece(&pieces, tokens * FF__WIDTH);
    work->raw_inner = ff__piece(&pieces, tokens * FF__INNER);
    work->inner = ff__piece(&pieces, tokens * FF__INNER);
    work->dinner = ff__piece(&pieces, tokens * FF__INNER);
    work->scores = ff__piece(&pieces, tokens * FF__WINDOW);
    work->as = (int8_t *)ff__piece(&pieces, CELLS(tokens));
    work->bypass = (uint8_t *)ff__piece(&pieces, CELLS(capacity));
    work->lsh = (struct ff__lsh *)ff__piece(&pieces, CELLS(sizeof *work->lsh));
    return pieces.used;
}

size_t ff__encoder_work(const struct ff__net_type *type, const struct ff__shape *shape,
                        uint32_t capacity) {
    struct encoder_space work;
    return map_work(&work, type, shape, capacity, NULL);
}

void ff__encoder_init(struct ff__net *net, struct ff__random *random) {
    struct ff__hlsh_weights w;
    struct encoder_space work;
    ff__hlsh_map(&w, net->type, &net->shape, net->params);
    map_work(&work, net->type, &net->shape, net->capacity, net->work);
    ff__lsh_init(work.lsh);
    ff__hlsh_init_tables(&w, random);
    ff__net_fill(w.of[FF__HLSH_KEY], FF__WIDTH, FF__WIDTH, random);
    if (net->type->attends == FF__ATTENDS_FULL)
        ff__net_fill(w.of[FF__HLSH_QUERY], FF__WIDTH, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_VALUE], FF__WIDTH, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_INNER], FF__WIDTH, FF__INNER, random);
    ff__net_fill(w.of[FF__HLSH_OUTER], FF__INNER, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_CLASSES], FF__OUTPUTS, net->shape.classes, random);
}

/* Whether queries are not the keys. */
static bool has_queries(const struct ff__net *net) {
    return net->type->attends == FF__ATTENDS_FULL;
}

/* ---- the indicator ---- */

static bool converged(const uint16_t (*ids)[FF__FEATURES]) {
    for (uint32_t i = 0; i <= FF__WINDOW - FF__CONVERGED_WINDOW; i++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < FF__WINDOW; j++)
            same += ids[j][FF__FEATURE_DELTA] == ids[i][FF__FEATURE_DELTA];
        if (same >= FF__CONVERGED_WINDOW)
            return true;
    }
    return false;
}

static bool bypasses(const struct ff__net *net, const uint16_t (*ids)[FF__FEATURES]) {
    if (net->type->attends == FF__ATTENDS_NOT)
        return true;
    return net->type->bypass_by_window ? converged(ids) : net->shape.converged;
}

/* ---- attention ---- */

/* A sample's tokens side by side, which loops over tokens are fast on. */
#define ABREAST 32u /* the window, in whole vectors */
typedef float abreast[FF__WIDTH][ABREAST];

static void turn(abreast out, const float *rows) {
    memset(out, 0, sizeof(abreast));
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            out[d][i] = rows[(size_t)i * FF__WIDTH + d];
}

/* products[i]: of x and token i. */
static void dots(float products[ABREAST], const float *x, const abreast tokens) {
    memset(products, 0, ABREAST * sizeof *products);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        for (uint32_t i = 0; i < ABREAST; i++)
            products[i] += x[d] * tokens[d][i];
}

/* Algorithm 1: a token that is left out, or that shares and is not the first to, has a key of zero;
 * what comes out for the latter is copied from the first one, which is to ask with its query. NULL:
 * a query of zeros. */
static const float *query_of(const float *queries, const int8_t *as, uint32_t i) {
    return as[i] == FF__LSH_ERASED ? NULL : queries + (size_t)as[i] * FF__WIDTH;
}

static bool has_key(const int8_t *as, uint32_t i) {
    return as[i] == (int8_t)i;
}

/* Softmax over all tokens but the one that asks. Weights of the quantized net are whole numbers,
 * which add up exactly; their sum is returned. */
static float weigh(const struct ff__net *net, float *scores, uint32_t asks) {
    float most = -INFINITY, sum = 0;
    scores[asks] = -INFINITY;
    if (!net->quantized) {
        ff__softmax(scores, 1, FF__WINDOW);
        return 1;
    }
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        scores[i] = i == asks ? 0 : (float)ff__weight((most - scores[i]) * FF__WEIGHT_SCALE);
        sum += scores[i];
    }
    return sum;
}

static void share(const struct ff__net *net, const struct encoder_space *work, const float *keys,
                  uint32_t slot, int8_t *as) {
    uint64_t hash[FF__WINDOW];
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        as[i] = (int8_t)i;
    if (net->type->attends == FF__ATTENDS_FULL)
        return;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        hash[i] = ff__lsh_hash(work->lsh, keys + (size_t)i * FF__WIDTH);
    ff__lsh_share(work->lsh, hash, slot, as);
}

/* The answer to one token of a sample. */
static void ask(const struct ff__net *net, const struct encoder_space *work, size_t sample,
                const abreast keys, uint32_t asks) {
    static const float zeros[FF__WIDTH];
    size_t first = sample * FF__OUTPUTS;
    const float *values = work->values + first;
    const int8_t *as = work->as + sample * FF__WINDOW;
    float *scores = work->scores + (sample * FF__WINDOW + asks) * FF__WINDOW;
    float *out = work->raw_answers + first + (size_t)asks * FF__WIDTH;
    const float *query = query_of(work->queries + first, as, asks);
    float products[ABREAST];
    dots(products, query ? query : zeros, keys);
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        scores[i] = has_key(as, i) ? FF__SCORE_SCALE * products[i] : 0;
    float part = 1 / weigh(net, scores, asks);
    memset(out, 0, FF__WIDTH * sizeof *out);
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            out[d] += scores[i] * values[(size_t)i * FF__WIDTH + d];
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        out[d] *= part;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        scores[i] *= part;
}

static void attend(const struct ff__net *net, const struct encoder_space *work, size_t sample,
                   uint32_t slot) {
    share(net, work, work->keys + sample * FF__OUTPUTS, slot, work->as + sample * FF__WINDOW);
    abreast keys;
    turn(keys, work->keys + sample * FF__OUTPUTS);
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        ask(net, work, sample, keys, i);
}

static void ask_backward(const struct encoder_space *work, size_t sample, const abreast values,
                         uint32_t asks, const float *dout) {
    size_t first = sample * FF__OUTPUTS;
    const float *keys = work->keys + first;
    const float *scores = work->scores + (sample * FF__WINDOW + asks) * FF__WINDOW;
    float *dkeys = work->dkeys + first, *dqueries = work->dqueries + first;
    float *dvalues = work->dvalues + first;
    const int8_t *as = work->as + sample * FF__WINDOW;
    const float *query = query_of(work->queries + first, as, asks);
    float dscore[ABREAST], mean = 0;
    dots(dscore, dout, values);
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        mean += dscore[i] * scores[i];
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            dvalues[(size_t)i * FF__WIDTH + d] += scores[i] * dout[d];
    }
    if (!query)
        return;
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        const float *key = keys + (size_t)i * FF__WIDTH;
        float by_score = FF__SCORE_SCALE * scores[i] * (dscore[i] - mean);
        if (!has_key(as, i) || i == asks)
            continue;
        for (uint32_t d = 0; d < FF__WIDTH; d++) {
            dqueries[(size_t)as[asks] * FF__WIDTH + d] += by_score * key[d];
            dkeys[(size_t)i * FF__WIDTH + d] += by_score * query[d];
        }
    }
}

/* ---- forward ---- */

static void place_tokens(const struct encoder_space *work, const struct ff__batch *batch) {
    float position[FF__WINDOW][FF__WIDTH];
    for (uint32_t slot = 0; slot < FF__WINDOW; slot++)
        ff__hlsh_position(slot, position[slot]);
    for (size_t s = 0; s < batch->count; s++)
        for (uint32_t i = 0; i < FF__WINDOW; i++) {
            const float *at = position[ff__slot_of(batch->slot[s], i)];
            size_t first = (s * FF__WINDOW + i) * FF__WIDTH;
            for (uint32_t d = 0; d < FF__WIDTH; d++)
                work->placed[first + d] = work->tokens[first + d] + at[d];
        }
}

static void project(const struct ff__net *net, const struct encoder_space *work,
                    const struct ff__hlsh_weights *w, uint32_t rows) {
    static const float no_bias[FF__WIDTH];
    const struct ff__linear square = {rows, FF__WIDTH, FF__WIDTH};
    size_t wide = (size_t)rows * FF__WIDTH;
    ff__linear_forward(&square, work->raw_keys, work->placed, w->of[FF__HLSH_KEY], no_bias);
    ff__linear_forward(&square, work->raw_values, work->tokens, w->of[FF__HLSH_VALUE], no_bias);
    ff__clamp(net, work->keys, work->raw_keys, wide, FF__STEP_KEY);
    if (has_queries(net))
        ff__linear_forward(&square, work->raw_queries, work->placed, w->of[FF__HLSH_QUERY],
                           no_bias);
    else
        memcpy(work->raw_queries, work->raw_keys, wide * sizeof(float));
    ff__clamp(net, work->queries, work->raw_queries, wide, FF__STEP_KEY);
    ff__clamp(net, work->values, work->raw_values, wide, FF__STEP_VALUE);
}

/* Each token plus what attention says. */
static void add_answers(const struct ff__net *net, const struct encoder_space *work,
                        const struct ff__batch *batch) {
    size_t wide = (size_t)batch->count * FF__OUTPUTS;
    for (size_t s = 0; s < batch->count; s++) {
        work->bypass[s] = bypasses(net, batch->ids[s]);
        if (work->bypass[s])
            memset(work->raw_answers + s * FF__OUTPUTS, 0, FF__OUTPUTS * sizeof(float));
        else
            attend(net, work, s, batch->slot[s]);
    }
    ff__clamp(net, work->answers, work->raw_answers, wide, FF__STEP_TOKEN);
    for (size_t i = 0; i < wide; i++)
        work->raw_sums[i] = work->tokens[i] + work->answers[i];
    ff__clamp(net, work->sums, work->raw_sums, wide, FF__STEP_TOKEN);
}

static void feed_forward(const struct ff__net *net, const struct encoder_space *work,
                         const struct ff__hlsh_weights *w, uint32_t rows) {
    const struct ff__linear in = {rows, FF__WIDTH, FF__INNER}, out = {rows, FF__INNER, FF__WIDTH};
    size_t wide = (size_t)rows * FF__WIDTH;
    ff__linear_forward(&in, work->raw_inner, work->sums, w->of[FF__HLSH_INNER],
                       w->of[FF__HLSH_INNER_BIAS]);
    ff__clamp_positive(net, work->inner, work->raw_inner, (size_t)rows * FF__INNER, FF__STEP_INNER);
    ff__linear_forward(&out, work->outer, work->inner, w->of[FF__HLSH_OUTER],
                       w->of[FF__HLSH_OUTER_BIAS]);
    for (size_t i = 0; i < wide; i++)
        work->raw_outputs[i] = work->sums[i] + work->outer[i];
    ff__clamp(net, work->outputs, work->raw_outputs, wide, FF__STEP_TOKEN);
}

void ff__encoder_forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct encoder_space work;
    struct ff__hlsh_weights w;
    struct ff__embedding embedding = ff__hlsh_embedding(&net->shape);
    const struct ff__linear classes = {batch->count, FF__OUTPUTS, net->shape.classes};
    uint32_t rows = batch->count * FF__WINDOW;
    map_work(&work, net->type, &net->shape, net->capacity, net->work);
    ff__hlsh_current(&w, net, &work.own);
    if (net->quantized)
        ff__hlsh_quantize(net, work.own.weights, work.own.steps);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], rows, w.of[FF__HLSH_PAGE]);
    place_tokens(&work, batch);
    project(net, &work, &w, rows);
    add_answers(net, &work, batch);
    feed_forward(net, &work, &w, rows);
    ff__linear_forward(&classes, logits, work.outputs, w.of[FF__HLSH_CLASSES],
                       w.of[FF__HLSH_CLASSES_BIAS]);
}

/* ---- backward ---- */

/* Leaves in dsums the gradient by token plus answer. */
static void feed_backward(const struct ff__net *net, const struct encoder_space *work,
                          const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                          uint32_t rows) {
    const struct ff__linear in = {rows, FF__WIDTH, FF__INNER}, out = {rows, FF__INNER, FF__WIDTH};
    size_t wide = (size_t)rows * FF__WIDTH;
    ff__clamp_backward(net, work->doutputs, work->raw_outputs, wide, FF__STEP_TOKEN);
    ff__linear_backward(&out, work->dinner, d->of[FF__HLSH_OUTER], d->of[FF__HLSH_OUTER_BIAS],
                        work->doutputs, work->inner, w->of[FF__HLSH_OUTER]);
    ff__clamp_positive_backward(net, work->dinner, work->raw_inner, (size_t)rows * FF__INNER,
                                FF__STEP_INNER);
    ff__linear_backward(&in, work->dsums, d->of[FF__HLSH_INNER], d->of[FF__HLSH_INNER_BIAS],
                        work->dinner, work->sums, w->of[FF__HLSH_INNER]);
    ff__add_to(work->dsums, work->doutputs, wide);
    ff__clamp_backward(net, work->dsums, work->raw_sums, wide, FF__STEP_TOKEN);
}

/* The tokens' share, then attention's. */
static void answers_backward(const struct ff__net *net, const struct encoder_space *work,
                             uint32_t samples) {
    size_t wide = (size_t)samples * FF__OUTPUTS;
    memcpy(work->dtokens, work->dsums, wide * sizeof(float));
    memset(work->dkeys, 0, wide * sizeof(float));
    memset(work->dqueries, 0, wide * sizeof(float));
    memset(work->dvalues, 0, wide * sizeof(float));
    ff__clamp_backward(net, work->dsums, work->raw_answers, wide, FF__STEP_TOKEN);
    for (size_t s = 0; s < samples; s++) {
        abreast values;
        if (work->bypass[s])
            continue;
        turn(values, work->values + s * FF__OUTPUTS);
        for (uint32_t i = 0; i < FF__WINDOW; i++)
            ask_backward(work, s, values, i, work->dsums + s * FF__OUTPUTS + (size_t)i * FF__WIDTH);
    }
}

static void project_backward(const struct ff__net *net, const struct encoder_space *work,
                             const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                             uint32_t rows) {
    const struct ff__linear square = {rows, FF__WIDTH, FF__WIDTH};
    size_t wide = (size_t)rows * FF__WIDTH;
    float none[FF__WIDTH] = {0};
    ff__clamp_backward(net, work->dqueries, work->raw_queries, wide, FF__STEP_KEY);
    if (has_queries(net)) {
        ff__linear_backward(&square, work->dplaced, d->of[FF__HLSH_QUERY], none, work->dqueries,
                            work->placed, w->of[FF__HLSH_QUERY]);
        ff__add_to(work->dtokens, work->dplaced, wide);
    } else {
        ff__add_to(work->dkeys, work->dqueries, wide);
    }
    ff__clamp_backward(net, work->dkeys, work->raw_keys, wide, FF__STEP_KEY);
    ff__clamp_backward(net, work->dvalues, work->raw_values, wide, FF__STEP_VALUE);
    ff__linear_backward(&square, work->dplaced, d->of[FF__HLSH_KEY], none, work->dkeys,
                        work->placed, w->of[FF__HLSH_KEY]);
    ff__add_to(work->dtokens, work->dplaced, wide);
    ff__linear_backward(&square, work->dplaced, d->of[FF__HLSH_VALUE], none, work->dvalues,
                        work->tokens, w->of[FF__HLSH_VALUE]);
    ff__add_to(work->dtokens, work->dplaced, wide);
}

void ff__encoder_backward(struct ff__net *net, const struct ff__batch *batch,
                          const float *dlogits) {
    struct encoder_space work;
    struct ff__hlsh_weights w, d;
    struct ff__embedding embedding = ff__hlsh_embedding(&net->shape);
    const struct ff__linear classes = {batch->count, FF__OUTPUTS, net->shape.classes};
    uint32_t rows = batch->count * FF__WINDOW;
    map_work(&work, net->type, &net->shape, net->capacity, net->work);
    ff__hlsh_current(&w, net, &work.own);
    ff__hlsh_map(&d, net->type, &net->shape, net->grads);
    ff__linear_backward(&classes, work.doutputs, d.of[FF__HLSH_CLASSES],
                        d.of[FF__HLSH_CLASSES_BIAS], dlogits, work.outputs, w.of[FF__HLSH_CLASSES]);
    feed_backward(net, &work, &w, &d, rows);
    answers_backward(net, &work, batch->count);
    project_backward(net, &work, &w, &d, rows);
    ff__embedding_backward(&embedding, d.of[FF__HLSH_PAGE], work.dtokens, batch->ids[0], rows);
}
