#include "learn/hlsh.h"

#include "learn/quant.h"
#include "learn/weight.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- parameters ---- */

static const enum ff__feature features[] = {FF__FEATURE_PAGE, FF__FEATURE_DELTA, FF__FEATURE_PC};

static void counts(const struct ff__shape *shape, size_t count[FF__HLSH_PARAMS]) {
    const size_t all[FF__HLSH_PARAMS] = {
        [FF__HLSH_PAGE] = (size_t)shape->ids[FF__FEATURE_PAGE] * FF__PART,
        [FF__HLSH_DELTA] = (size_t)shape->ids[FF__FEATURE_DELTA] * FF__PART,
        [FF__HLSH_PC] = (size_t)shape->ids[FF__FEATURE_PC] * FF__PART,
        [FF__HLSH_KEY] = FF__WIDTH * FF__WIDTH,
        [FF__HLSH_VALUE] = FF__WIDTH * FF__WIDTH,
        [FF__HLSH_AGE] = FF__WINDOW * FF__WIDTH,
        [FF__HLSH_INNER] = FF__WIDTH * FF__INNER,
        [FF__HLSH_OUTER] = FF__INNER * FF__WIDTH,
        [FF__HLSH_MIX] = FF__MIX * FF__HIDDEN,
        [FF__HLSH_CLASSES] = (size_t)FF__HIDDEN * shape->classes,
        [FF__HLSH_INNER_BIAS] = FF__INNER,
        [FF__HLSH_OUTER_BIAS] = FF__WIDTH,
        [FF__HLSH_MIX_BIAS] = FF__HIDDEN,
        [FF__HLSH_CLASSES_BIAS] = shape->classes,
    };
    memcpy(count, all, sizeof all);
}

size_t ff__hlsh_map(struct ff__hlsh_weights *weights, const struct ff__shape *shape,
                    float *params) {
    size_t used = 0; /* tables of features lie one after the other, as ff__embedding wants them */
    counts(shape, weights->count);
    for (int i = 0; i < FF__HLSH_PARAMS; i++) {
        weights->of[i] = params ? params + used : NULL;
        used += weights->count[i];
    }
    return used;
}

static struct ff__embedding embedding_of(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = features[f];
        embedding.part[f] = FF__PART;
        embedding.ids[f] = shape->ids[features[f]];
    }
    return embedding;
}

static void quantize_bias(float *y, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] = rintf(x[i] / FF__STEP_BIAS) * FF__STEP_BIAS;
}

void ff__hlsh_quantize(const struct ff__shape *shape, float *params, float *y,
                       float steps[FF__HLSH_MATRICES]) {
    struct ff__hlsh_weights from, to;
    ff__hlsh_map(&from, shape, params);
    ff__hlsh_map(&to, shape, y);
    for (int i = 0; i < FF__HLSH_MATRICES; i++) {
        steps[i] = ff__quantize_step(from.of[i], from.count[i]);
        ff__quantize_all(to.of[i], from.of[i], from.count[i], steps[i]);
    }
    for (int i = FF__HLSH_MATRICES; i < FF__HLSH_PARAMS; i++)
        quantize_bias(to.of[i], from.of[i], from.count[i]);
}

void ff__hlsh_position(uint32_t slot, float position[FF__WIDTH]) {
    for (uint32_t i = 0; i < FF__WIDTH / 2; i++) {
        double angle = 2 * PI * (i + 1) * slot / FF__WINDOW;
        position[2 * i] = ff__quantize((float)sin(angle), FF__STEP_POSITION);
        position[2 * i + 1] = ff__quantize((float)cos(angle), FF__STEP_POSITION);
    }
}

/* ---- work space ---- */

/* A name with `raw` is the value before it was quantized. */
struct hlsh_space {
    float *weights, *steps; /* the parameters in steps */
    float *tokens, *placed; /* [batch][window][width]; with positions */
    float *raw_keys, *keys, *raw_values, *values;
    float *scores;                    /* [batch][window] after softmax */
    float *raw_answer, *answer;       /* [batch][width]: attention's */
    float *raw_sum, *sum;             /* [batch][width]: newest token and answer */
    float *raw_inner, *inner;         /* [batch][inner] */
    float *outer, *raw_layer, *layer; /* [batch][width] */
    float *mix;                       /* [batch][mix] */
    float *raw_hidden, *hidden;       /* [batch][hidden] */
    int8_t *as;                       /* [batch][window] */
    uint8_t *bypass;                  /* [batch] */
    /* gradients */
    float *dhidden, *dmix, *dsum, *dinner, *dlayer, *dkeys, *dvalues, *dplaced, *dtokens;
    struct ff__lsh *lsh;
};

#define CELLS(bytes) (((bytes) + sizeof(float) - 1) / sizeof(float))

static size_t map_work(struct hlsh_space *work, const struct ff__shape *shape, uint32_t capacity,
                       float *base) {
    struct ff__hlsh_weights weights;
    struct ff__pieces pieces = {base, 0};
    size_t n = capacity, wide = n * FF__WIDTH, tokens = wide * FF__WINDOW;
    work->weights = ff__piece(&pieces, ff__hlsh_map(&weights, shape, NULL));
    work->steps = ff__piece(&pieces, FF__HLSH_MATRICES);
    float **const by_token[] = {&work->tokens,     &work->placed, &work->raw_keys, &work->keys,
                                &work->raw_values, &work->values, &work->dkeys,    &work->dvalues,
                                &work->dplaced,    &work->dtokens};
    float **const by_sample[] = {&work->raw_answer, &work->answer, &work->raw_sum,
                                 &work->sum,        &work->outer,  &work->raw_layer,
                                 &work->layer,      &work->dsum,   &work->dlayer};
    float **const by_inner[] = {&work->raw_inner, &work->inner, &work->dinner};
    float **const by_hidden[] = {&work->raw_hidden, &work->hidden, &work->dhidden};
    for (size_t i = 0; i < sizeof by_token / sizeof by_token[0]; i++)
        *by_token[i] = ff__piece(&pieces, tokens);
    for (size_t i = 0; i < sizeof by_sample / sizeof by_sample[0]; i++)
        *by_sample[i] = ff__piece(&pieces, wide);
    for (size_t i = 0; i < 3; i++) {
        *by_inner[i] = ff__piece(&pieces, n * FF__INNER);
        *by_hidden[i] = ff__piece(&pieces, n * FF__HIDDEN);
    }
    work->scores = ff__piece(&pieces, n * FF__WINDOW);
    work->mix = ff__piece(&pieces, n * FF__MIX);
    work->dmix = ff__piece(&pieces, n * FF__MIX);
    work->as = (int8_t *)ff__piece(&pieces, CELLS(n * FF__WINDOW));
    work->bypass = (uint8_t *)ff__piece(&pieces, CELLS(n));
    work->lsh = (struct ff__lsh *)ff__piece(&pieces, CELLS(sizeof *work->lsh));
    return pieces.used;
}

static size_t param_count(const struct ff__net_type *type, const struct ff__shape *shape) {
    (void)type;
    struct ff__hlsh_weights weights;
    return ff__hlsh_map(&weights, shape, NULL);
}

static size_t work_size(const struct ff__net_type *type, const struct ff__shape *shape,
                        uint32_t capacity) {
    (void)type;
    struct hlsh_space work;
    return map_work(&work, shape, capacity, NULL);
}

static void init(struct ff__net *net, struct ff__random *random) {
    struct ff__hlsh_weights w;
    struct hlsh_space work;
    ff__hlsh_map(&w, &net->shape, net->params);
    map_work(&work, &net->shape, net->capacity, net->work);
    ff__lsh_init(work.lsh);
    for (int i = FF__HLSH_PAGE; i <= FF__HLSH_PC; i++)
        ff__net_uniform(w.of[i], w.count[i], 1, random);
    ff__net_fill(w.of[FF__HLSH_KEY], FF__WIDTH, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_VALUE], FF__WIDTH, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_AGE], FF__WINDOW, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_INNER], FF__WIDTH, FF__INNER, random);
    ff__net_fill(w.of[FF__HLSH_OUTER], FF__INNER, FF__WIDTH, random);
    ff__net_fill(w.of[FF__HLSH_MIX], FF__MIX, FF__HIDDEN, random);
    ff__net_fill(w.of[FF__HLSH_CLASSES], FF__HIDDEN, net->shape.classes, random);
}

/* ---- quantizers that can be switched off, for checking gradients ---- */

static void clamp(const struct ff__net *net, float *y, const float *raw, size_t count, float step) {
    if (net->quantized)
        ff__quantize_all(y, raw, count, step);
    else
        memcpy(y, raw, count * sizeof *y);
}

static void clamp_backward(const struct ff__net *net, float *d, const float *raw, size_t count,
                           float step) {
    if (net->quantized)
        ff__quantize_backward(d, raw, count, step);
}

static void clamp_positive(const struct ff__net *net, float *y, const float *raw, size_t count,
                           float step) {
    for (size_t i = 0; i < count; i++) {
        float positive = raw[i] > 0 ? raw[i] : 0;
        y[i] = net->quantized ? ff__quantize_positive(raw[i], step) : positive;
    }
}

static void clamp_positive_backward(const struct ff__net *net, float *d, const float *raw,
                                    size_t count, float step) {
    float most = net->quantized ? (FF__Q_MAX - FF__Q_MIN + 0.5f) * step : INFINITY;
    for (size_t i = 0; i < count; i++)
        d[i] = raw[i] > 0 && raw[i] < most ? d[i] : 0;
}

/* ---- attention of the newest token ---- */

#define NEWEST (FF__WINDOW - 1)

static bool converged(const uint16_t (*ids)[FF__FEATURES]) {
    for (uint32_t i = 0; i <= FF__WINDOW - FF__CONVERGED; i++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < FF__WINDOW; j++)
            same += ids[j][FF__FEATURE_DELTA] == ids[NEWEST - i][FF__FEATURE_DELTA];
        if (same >= FF__CONVERGED)
            return true;
    }
    return false;
}

static float dot(const float *a, const float *b) {
    float sum = 0;
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        sum += a[d] * b[d];
    return sum;
}

/* A token's query or key, after sharing. */
static const float *shared(const float *keys, const int8_t *as, uint32_t i) {
    static const float zeros[FF__WIDTH];
    return as[i] == FF__LSH_ERASED ? zeros : keys + (size_t)as[i] * FF__WIDTH;
}

/* Softmax over all tokens but the newest: it does not attend to itself, as it is added anyway.
 * Weights of the quantized net are whole numbers, which add up exactly; their sum is returned. */
static float weigh(const struct ff__net *net, float *scores) {
    float most = scores[0], sum = 0;
    if (!net->quantized) {
        ff__softmax(scores, 1, NEWEST);
        return 1;
    }
    for (uint32_t i = 1; i < NEWEST; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < NEWEST; i++) {
        scores[i] = (float)ff__weight((most - scores[i]) * FF__WEIGHT_SCALE);
        sum += scores[i];
    }
    return sum;
}

/* Whose key each token uses. In the paper's print, a token that shares has a key of zero, and what
 * comes out for it is copied from the first one: for the newest token, which alone asks here, that
 * is to ask with the first one's key. */
static void share(const struct ff__net *net, const struct hlsh_space *work, const uint64_t *hash,
                  uint32_t slot, int8_t *as) {
    ff__lsh_share(work->lsh, hash, slot, as);
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        if (net->type->attends == FF__ATTENDS_FULL)
            as[i] = (int8_t)i;
        else if (net->type->attends == FF__ATTENDS_PRINTED && i < NEWEST && as[i] != (int8_t)i)
            as[i] = FF__LSH_ERASED;
    }
}

static void attend(const struct ff__net *net, const struct hlsh_space *work, const float *age,
                   size_t sample, uint32_t slot) {
    const float *keys = work->keys + sample * FF__WINDOW * FF__WIDTH;
    const float *values = work->values + sample * FF__WINDOW * FF__WIDTH;
    float *scores = work->scores + sample * FF__WINDOW,
          *out = work->raw_answer + sample * FF__WIDTH;
    int8_t *as = work->as + sample * FF__WINDOW;
    uint64_t hash[FF__WINDOW];
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        hash[i] = ff__lsh_hash(work->lsh, keys + (size_t)i * FF__WIDTH);
    share(net, work, hash, slot, as);
    const float *query = shared(keys, as, NEWEST);
    for (uint32_t i = 0; i < NEWEST; i++)
        scores[i] = FF__SCORE_SCALE * (dot(query, shared(keys, as, i)) +
                                       dot(query, age + (size_t)(NEWEST - i) * FF__WIDTH));
    float share = 1 / weigh(net, scores);
    memset(out, 0, FF__WIDTH * sizeof *out);
    for (uint32_t i = 0; i < NEWEST; i++)
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            out[d] += scores[i] * values[(size_t)i * FF__WIDTH + d];
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        out[d] *= share;
    for (uint32_t i = 0; i < NEWEST; i++)
        scores[i] *= share;
}

static void attend_backward(const struct hlsh_space *work, const float *age, float *dage,
                            size_t sample, const float *dout) {
    size_t first = sample * FF__WINDOW * FF__WIDTH;
    const float *keys = work->keys + first, *values = work->values + first;
    const float *scores = work->scores + sample * FF__WINDOW;
    float *dkeys = work->dkeys + first, *dvalues = work->dvalues + first;
    const int8_t *as = work->as + sample * FF__WINDOW;
    const float *query = shared(keys, as, NEWEST);
    float dscore[FF__WINDOW], mean = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        dscore[i] = dot(dout, values + (size_t)i * FF__WIDTH);
        mean += dscore[i] * scores[i];
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            dvalues[(size_t)i * FF__WIDTH + d] += scores[i] * dout[d];
    }
    if (as[NEWEST] == FF__LSH_ERASED)
        return;
    for (uint32_t i = 0; i < NEWEST; i++) {
        float by_score = FF__SCORE_SCALE * scores[i] * (dscore[i] - mean);
        const float *key = shared(keys, as, i), *old = age + (size_t)(NEWEST - i) * FF__WIDTH;
        for (uint32_t d = 0; d < FF__WIDTH; d++) {
            dkeys[(size_t)as[NEWEST] * FF__WIDTH + d] += by_score * (key[d] + old[d]);
            dage[(size_t)(NEWEST - i) * FF__WIDTH + d] += by_score * query[d];
            if (as[i] != FF__LSH_ERASED)
                dkeys[(size_t)as[i] * FF__WIDTH + d] += by_score * query[d];
        }
    }
}

/* ---- forward ---- */

static void place_tokens(const struct hlsh_space *work, const struct ff__batch *batch) {
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

static void project(const struct ff__net *net, const struct hlsh_space *work,
                    const struct ff__hlsh_weights *w, size_t rows) {
    static const float no_bias[FF__WIDTH];
    const struct ff__linear square = {(uint32_t)rows, FF__WIDTH, FF__WIDTH};
    ff__linear_forward(&square, work->raw_keys, work->placed, w->of[FF__HLSH_KEY], no_bias);
    ff__linear_forward(&square, work->raw_values, work->tokens, w->of[FF__HLSH_VALUE], no_bias);
    clamp(net, work->keys, work->raw_keys, rows * FF__WIDTH, FF__STEP_KEY);
    clamp(net, work->values, work->raw_values, rows * FF__WIDTH, FF__STEP_VALUE);
}

/* The newest token plus what attention says. */
static void add_answers(const struct ff__net *net, const struct hlsh_space *work,
                        const struct ff__batch *batch) {
    size_t wide = (size_t)batch->count * FF__WIDTH;
    clamp(net, work->answer, work->raw_answer, wide, FF__STEP_TOKEN);
    for (size_t s = 0; s < batch->count; s++)
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            work->raw_sum[s * FF__WIDTH + d] =
                work->tokens[(s * FF__WINDOW + NEWEST) * FF__WIDTH + d] +
                work->answer[s * FF__WIDTH + d];
    clamp(net, work->sum, work->raw_sum, wide, FF__STEP_TOKEN);
}

static void feed_forward(const struct ff__net *net, const struct hlsh_space *work,
                         const struct ff__hlsh_weights *w, uint32_t n) {
    const struct ff__linear in = {n, FF__WIDTH, FF__INNER}, out = {n, FF__INNER, FF__WIDTH};
    size_t wide = (size_t)n * FF__WIDTH;
    ff__linear_forward(&in, work->raw_inner, work->sum, w->of[FF__HLSH_INNER],
                       w->of[FF__HLSH_INNER_BIAS]);
    clamp_positive(net, work->inner, work->raw_inner, (size_t)n * FF__INNER, FF__STEP_INNER);
    ff__linear_forward(&out, work->outer, work->inner, w->of[FF__HLSH_OUTER],
                       w->of[FF__HLSH_OUTER_BIAS]);
    for (size_t i = 0; i < wide; i++)
        work->raw_layer[i] = work->sum[i] + work->outer[i];
    clamp(net, work->layer, work->raw_layer, wide, FF__STEP_TOKEN);
}

static void classify(const struct ff__net *net, const struct hlsh_space *work,
                     const struct ff__hlsh_weights *w, uint32_t n, float *logits) {
    const struct ff__linear mix = {n, FF__MIX, FF__HIDDEN};
    const struct ff__linear classes = {n, FF__HIDDEN, net->shape.classes};
    size_t window = FF__WINDOW * FF__WIDTH;
    for (size_t s = 0; s < n; s++) {
        memcpy(work->mix + s * FF__MIX, work->tokens + s * window, window * sizeof(float));
        memcpy(work->mix + s * FF__MIX + window, work->layer + s * FF__WIDTH,
               FF__WIDTH * sizeof(float));
    }
    ff__linear_forward(&mix, work->raw_hidden, work->mix, w->of[FF__HLSH_MIX],
                       w->of[FF__HLSH_MIX_BIAS]);
    clamp_positive(net, work->hidden, work->raw_hidden, (size_t)n * FF__HIDDEN, FF__STEP_HIDDEN);
    ff__linear_forward(&classes, logits, work->hidden, w->of[FF__HLSH_CLASSES],
                       w->of[FF__HLSH_CLASSES_BIAS]);
}

static void forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct hlsh_space work;
    struct ff__hlsh_weights w;
    struct ff__embedding embedding = embedding_of(&net->shape);
    size_t rows = (size_t)batch->count * FF__WINDOW;
    map_work(&work, &net->shape, net->capacity, net->work);
    ff__hlsh_map(&w, &net->shape, net->quantized ? work.weights : net->params);
    if (net->quantized)
        ff__hlsh_quantize(&net->shape, net->params, work.weights, work.steps);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], rows, w.of[FF__HLSH_PAGE]);
    place_tokens(&work, batch);
    project(net, &work, &w, rows);
    for (size_t s = 0; s < batch->count; s++) {
        work.bypass[s] = net->type->attends != FF__ATTENDS_ALWAYS && converged(batch->ids[s]);
        if (work.bypass[s])
            memset(work.raw_answer + s * FF__WIDTH, 0, FF__WIDTH * sizeof(float));
        else
            attend(net, &work, w.of[FF__HLSH_AGE], s, batch->slot[s]);
    }
    add_answers(net, &work, batch);
    feed_forward(net, &work, &w, batch->count);
    classify(net, &work, &w, batch->count, logits);
}

/* ---- backward ---- */

/* From the classes to the tokens and the layer's output. */
static void classify_backward(const struct ff__net *net, const struct hlsh_space *work,
                              const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                              uint32_t n, const float *dlogits) {
    const struct ff__linear mix = {n, FF__MIX, FF__HIDDEN};
    const struct ff__linear classes = {n, FF__HIDDEN, net->shape.classes};
    size_t window = FF__WINDOW * FF__WIDTH;
    ff__linear_backward(&classes, work->dhidden, d->of[FF__HLSH_CLASSES],
                        d->of[FF__HLSH_CLASSES_BIAS], dlogits, work->hidden,
                        w->of[FF__HLSH_CLASSES]);
    clamp_positive_backward(net, work->dhidden, work->raw_hidden, (size_t)n * FF__HIDDEN,
                            FF__STEP_HIDDEN);
    ff__linear_backward(&mix, work->dmix, d->of[FF__HLSH_MIX], d->of[FF__HLSH_MIX_BIAS],
                        work->dhidden, work->mix, w->of[FF__HLSH_MIX]);
    for (size_t s = 0; s < n; s++) {
        memcpy(work->dtokens + s * window, work->dmix + s * FF__MIX, window * sizeof(float));
        memcpy(work->dlayer + s * FF__WIDTH, work->dmix + s * FF__MIX + window,
               FF__WIDTH * sizeof(float));
    }
}

/* Leaves in dsum the gradient by the newest token plus answer. */
static void feed_backward(const struct ff__net *net, const struct hlsh_space *work,
                          const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                          uint32_t n) {
    const struct ff__linear in = {n, FF__WIDTH, FF__INNER}, out = {n, FF__INNER, FF__WIDTH};
    size_t wide = (size_t)n * FF__WIDTH;
    clamp_backward(net, work->dlayer, work->raw_layer, wide, FF__STEP_TOKEN);
    ff__linear_backward(&out, work->dinner, d->of[FF__HLSH_OUTER], d->of[FF__HLSH_OUTER_BIAS],
                        work->dlayer, work->inner, w->of[FF__HLSH_OUTER]);
    clamp_positive_backward(net, work->dinner, work->raw_inner, (size_t)n * FF__INNER,
                            FF__STEP_INNER);
    ff__linear_backward(&in, work->dsum, d->of[FF__HLSH_INNER], d->of[FF__HLSH_INNER_BIAS],
                        work->dinner, work->sum, w->of[FF__HLSH_INNER]);
    for (size_t i = 0; i < wide; i++)
        work->dsum[i] += work->dlayer[i];
    clamp_backward(net, work->dsum, work->raw_sum, wide, FF__STEP_TOKEN);
}

static void add_to(float *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* The newest token's share, then attention's. */
static void answers_backward(const struct ff__net *net, const struct hlsh_space *work,
                             const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                             uint32_t n) {
    size_t tokens = (size_t)n * FF__WINDOW * FF__WIDTH;
    memset(work->dkeys, 0, tokens * sizeof(float));
    memset(work->dvalues, 0, tokens * sizeof(float));
    for (size_t s = 0; s < n; s++) {
        float *dout = work->dsum + s * FF__WIDTH;
        add_to(work->dtokens + (s * FF__WINDOW + NEWEST) * FF__WIDTH, dout, FF__WIDTH);
        if (work->bypass[s])
            continue;
        clamp_backward(net, dout, work->raw_answer + s * FF__WIDTH, FF__WIDTH, FF__STEP_TOKEN);
        attend_backward(work, w->of[FF__HLSH_AGE], d->of[FF__HLSH_AGE], s, dout);
    }
}

static void project_backward(const struct ff__net *net, const struct hlsh_space *work,
                             const struct ff__hlsh_weights *w, const struct ff__hlsh_weights *d,
                             uint32_t n) {
    const struct ff__linear square = {n * FF__WINDOW, FF__WIDTH, FF__WIDTH};
    size_t tokens = (size_t)n * FF__WINDOW * FF__WIDTH;
    float none[FF__WIDTH];
    clamp_backward(net, work->dkeys, work->raw_keys, tokens, FF__STEP_KEY);
    clamp_backward(net, work->dvalues, work->raw_values, tokens, FF__STEP_VALUE);
    memset(none, 0, sizeof none);
    ff__linear_backward(&square, work->dplaced, d->of[FF__HLSH_KEY], none, work->dkeys,
                        work->placed, w->of[FF__HLSH_KEY]);
    add_to(work->dtokens, work->dplaced, tokens);
    ff__linear_backward(&square, work->dplaced, d->of[FF__HLSH_VALUE], none, work->dvalues,
                        work->tokens, w->of[FF__HLSH_VALUE]);
    add_to(work->dtokens, work->dplaced, tokens);
}

static void backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct hlsh_space work;
    struct ff__hlsh_weights w, d;
    struct ff__embedding embedding = embedding_of(&net->shape);
    map_work(&work, &net->shape, net->capacity, net->work);
    ff__hlsh_map(&w, &net->shape, net->quantized ? work.weights : net->params);
    ff__hlsh_map(&d, &net->shape, net->grads);
    classify_backward(net, &work, &w, &d, batch->count, dlogits);
    feed_backward(net, &work, &w, &d, batch->count);
    answers_backward(net, &work, &w, &d, batch->count);
    project_backward(net, &work, &w, &d, batch->count);
    ff__embedding_backward(&embedding, d.of[FF__HLSH_PAGE], work.dtokens, batch->ids[0],
                           (size_t)batch->count * FF__WINDOW);
}

#define TRAINED                                                                                    \
    .batch = 128, .steps = 1500, .rate = 0.003f, .params = param_count, .work = work_size,         \
    .init = init, .forward = forward, .backward = backward

const struct ff__net_type ff__net_hlsh = {
    .name = "hlsh",
    .summary = "the paper's revised predictor: 12 wide, HLSH attention, four bits",
    .quantized = true,
    TRAINED,
};

const struct ff__net_type ff__net_hlsh_float = {
    .name = "hlsh-float",
    .summary = "the same without quantization",
    TRAINED,
};

bool ff__is_hlsh(const struct ff__net_type *type) {
    return type->forward == forward;
}

/* What the parts are worth: the same network without them. */
#define VARIANT(id, called, how, says)                                                             \
    const struct ff__net_type ff__net_hlsh_##id = {                                                \
        .name = called, .summary = says, .quantized = true, .attends = how, TRAINED}

VARIANT(printed, "hlsh-printed", FF__ATTENDS_PRINTED,
        "hlsh with Algorithm 1 as the paper prints it");
VARIANT(full, "hlsh-full", FF__ATTENDS_FULL, "hlsh with full attention");
VARIANT(always, "hlsh-always", FF__ATTENDS_ALWAYS, "hlsh without the indicator's bypass");

const struct ff__net_type *const ff__hlsh_types[] = {&ff__net_hlsh,         &ff__net_hlsh_float,
                                                     &ff__net_hlsh_printed, &ff__net_hlsh_full,
                                                     &ff__net_hlsh_always,  NULL};
