/* The steps of a prediction; no header of its own but text for predictor_code.c, which includes it once
 * for each kind of CPU, with
 *
 *   CODE(name)   the name with a suffix
 *   TARGET       the attribute that lets the compiler use the CPU
 *   CODE(products)(y, w, stride, x, pairs, outs)
 *                y[o] += sum over pairs p of x[2p] w[p][o][0] + x[2p + 1] w[p][o][1], for `outs`
 *                outputs, a multiple of 16; a row of w has `stride` of them */

/* q[i] = sums[i] * scale + bias[i], in steps. */
TARGET static inline void CODE(to_steps)(int16_t *q, const int32_t *sums, const float *bias,
                                         float scale, float step, uint32_t count, float least,
                                         float most) {
    float per_step = 1 / step;
    for (uint32_t i = 0; i < count; i++) {
        float x = ff__nearest(((float)sums[i] * scale + bias[i]) * per_step);
        x = x < least ? least : x > most ? most : x;
        q[i] = (int16_t)x;
    }
}

/* ---- a new token ---- */

/* Bucket numbers of 16 rounds: the direction that the key points along most. */
TARGET static inline uint64_t CODE(hash)(const struct ff__predictor *p, const int16_t *key) {
    int32_t along[FF__LSH_VECTORS * FF__LSH_ROUNDS] = {0};
    int32_t most[FF__LSH_ROUNDS], bucket[FF__LSH_ROUNDS];
    uint64_t hash = 0;
    CODE(products)
    (along, p->direction[0][0], FF__LSH_VECTORS * FF__LSH_ROUNDS, key, FF__WIDTH / 2,
     FF__LSH_VECTORS * FF__LSH_ROUNDS);
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++) {
        most[r] = -1;
        bucket[r] = 0;
    }
    for (uint32_t v = 0; v < FF__LSH_VECTORS; v++)
        for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++) {
            int32_t x = along[v * FF__LSH_ROUNDS + r], size = x < 0 ? -x : x;
            int32_t number = (int32_t)(2 * v) + (x < 0);
            bucket[r] = size > most[r] ? number : bucket[r];
            most[r] = size > most[r] ? size : most[r];
        }
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
        hash |= (uint64_t)bucket[r] << (4 * r);
    return hash;
}

/* Logarithms of the distances from one hash to all. */
TARGET static inline void CODE(distances)(int16_t *logs, const uint64_t *all, uint64_t hash) {
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        logs[i] = (int16_t)ff__lsh_log[ff__lsh_distance(all[i], hash)];
    logs[FF__WINDOW] = logs[FF__WINDOW + 1] = 0;
}

/* The sums of distances, with another hash in the slot. */
TARGET static inline void CODE(rehash)(const struct ff__predictor *p, struct ff__stream *s,
                                       uint32_t slot, uint64_t hash) {
    int16_t before[FF__SLOTS_WIDE], after[FF__SLOTS_WIDE];
    int16_t mine = 0, counts = p->chosen[slot];
    if (counts)
        CODE(distances)(before, s->hash, s->hash[slot]);
    s->hash[slot] = hash;
    CODE(distances)(after, s->hash, hash);
    if (counts)
        for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
            s->far[i] = (int16_t)(s->far[i] + after[i] - before[i]);
    for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
        mine = (int16_t)(mine + (after[i] & p->chosen[i]));
    s->far[slot] = mine; /* to itself: 0 */
}

TARGET static void CODE(push)(const struct ff__predictor *p, struct ff__stream *s,
                              const uint16_t ids[3]) {
    static const float no_bias[FF__WIDE];
    uint32_t slot = s->newest + 1 < FF__WINDOW ? s->newest + 1 : 0;
    int16_t *token = s->token[slot], placed[FF__WIDE], key[FF__WIDE], value[FF__WIDE];
    int32_t keys[FF__WIDE] = {0}, values[FF__WIDE] = {0};
    memcpy(token, p->page[ids[0]], sizeof p->page[0]);
    memcpy(token + FF__PART, p->delta[ids[1]], sizeof p->delta[0]);
    memcpy(token + 2 * FF__PART, p->pc[ids[2]], sizeof p->pc[0]);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        placed[d] = (int16_t)(token[d] + p->position[slot][d]);
    CODE(products)(keys, p->to_key[0][0], FF__WIDE, placed, FF__WIDTH / 2, FF__WIDE);
    CODE(products)(values, p->to_value[0][0], FF__WIDE, token, FF__WIDTH / 2, FF__WIDE);
    CODE(to_steps)
    (key, keys, no_bias, p->unit * p->step[FF__HLSH_KEY], FF__STEP_KEY, FF__WIDE, FF__Q_MIN,
     FF__Q_MAX);
    CODE(to_steps)
    (value, values, no_bias, p->unit * p->step[FF__HLSH_VALUE], FF__STEP_VALUE, FF__WIDE, FF__Q_MIN,
     FF__Q_MAX);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        s->key[d / 2][slot][d % 2] = key[d];
    for (uint32_t d = 0; d < FF__WIDE; d++)
        s->value[slot / 2][d][slot % 2] = value[d];
    CODE(rehash)(p, s, slot, CODE(hash)(p, key));
    s->delta[slot] = ids[1];
    s->newest = slot;
}

/* ---- a prediction ---- */

/* The indicator: if so many deltas are the same, one of the last few is one of them. */
TARGET static inline bool CODE(converged)(const struct ff__stream *s) {
    for (uint32_t i = 0, slot = s->newest; i <= FF__WINDOW - FF__CONVERGED; i++) {
        uint16_t same = 0, delta = s->delta[slot];
        for (uint32_t j = 0; j < FF__SLOTS_WIDE; j++)
            same = (uint16_t)(same + (s->delta[j] == delta));
        if (same >= FF__CONVERGED)
            return true;
        slot = slot > 0 ? slot - 1 : FF__WINDOW - 1;
    }
    return false;
}

/* Algorithm 1's two kinds of tokens, as sets of slots; mostly there are none. */
TARGET static inline void CODE(sort_out)(const struct ff__predictor *p, const struct ff__stream *s,
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

/* The oldest of a set of slots. */
static inline uint32_t CODE(oldest)(uint32_t set, uint32_t newest) {
    uint32_t old = set >> newest >> 1; /* slots after the newest hold the oldest tokens */
    return old ? newest + 1 + (uint32_t)__builtin_ctz(old) : (uint32_t)__builtin_ctz(set);
}

/* The newest token's scores for all slots. */
TARGET static inline void CODE(scores)(const struct ff__predictor *p, const struct ff__stream *s,
                                       float *scores) {
    int32_t keys[FF__SLOTS_WIDE] = {0}, ages[FF__SLOTS_WIDE] = {0};
    int16_t query[FF__WIDTH];
    uint32_t erased, alike, newest = s->newest, base = newest;
    CODE(sort_out)(p, s, &erased, &alike);
    if (alike)
        base = CODE(oldest)(alike, newest);
    uint32_t asks = alike >> newest & 1 ? base : newest;
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        query[d] = erased >> newest & 1 ? 0 : s->key[d / 2][asks][d % 2];
    CODE(products)(keys, s->key[0][0], FF__SLOTS_WIDE, query, FF__WIDTH / 2, FF__SLOTS_WIDE);
    CODE(products)
    (ages, p->age[0][FF__WINDOW - 1 - newest], 2 * FF__SLOTS_WIDE, query, FF__WIDTH / 2,
     FF__SLOTS_WIDE);
    int32_t shared = keys[base];
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        int32_t key = alike >> i & 1 ? shared : keys[i];
        key = erased >> i & 1 ? 0 : key;
        scores[i] = FF__SCORE_SCALE * FF__STEP_KEY *
                    ((float)key * FF__STEP_KEY + (float)ages[i] * p->step[FF__HLSH_AGE]);
    }
}

/* What attention adds to the newest token, in steps. */
TARGET static inline void CODE(attend)(const struct ff__predictor *p, const struct ff__stream *s,
                                       int16_t *answer) {
    static const float no_bias[FF__WIDE];
    float scores[FF__SLOTS_WIDE], most = -INFINITY;
    int16_t weights[FF__SLOTS_WIDE];
    int32_t sums[FF__WIDE] = {0}, all = 0;
    CODE(scores)(p, s, scores);
    scores[s->newest] = -INFINITY;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        most = scores[i] > most ? scores[i] : most;
    scores[s->newest] = most;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        weights[i] = (int16_t)ff__weight(scores[i] - most);
    weights[s->newest] = 0;
    for (uint32_t i = 0; i < FF__WINDOW; i++)
        all += weights[i];
    CODE(products)(sums, s->value[0][0], FF__WIDE, weights, FF__WINDOW / 2, FF__WIDE);
    CODE(to_steps)
    (answer, sums, no_bias, FF__STEP_VALUE / (float)all, FF__STEP_TOKEN, FF__WIDE, FF__Q_MIN,
     FF__Q_MAX);
}

/* The encoder layer's output for the newest token, in units of tokens. */
TARGET static inline void CODE(layer)(const struct ff__predictor *p, const struct ff__stream *s,
                                      int16_t *layer) {
    static const float no_bias[FF__WIDE];
    int16_t answer[FF__WIDE] = {0}, sum[FF__WIDE], inner[FF__INNER];
    int32_t raw[FF__WIDE] = {0}, inners[FF__INNER] = {0}, outers[FF__WIDE] = {0};
    float bias[FF__WIDE];
    int32_t units = (int32_t)(FF__STEP_TOKEN / p->unit);
    if (!CODE(converged)(s))
        CODE(attend)(p, s, answer);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        raw[d] = s->token[s->newest][d] + answer[d] * units;
    CODE(to_steps)(sum, raw, no_bias, p->unit, FF__STEP_TOKEN, FF__WIDE, FF__Q_MIN, FF__Q_MAX);
    CODE(products)(inners, p->to_inner[0][0], FF__INNER, sum, FF__WIDTH / 2, FF__INNER);
    CODE(to_steps)
    (inner, inners, p->inner_bias, FF__STEP_TOKEN * p->step[FF__HLSH_INNER], FF__STEP_INNER,
     FF__INNER, 0, FF__Q_MAX - FF__Q_MIN);
    CODE(products)(outers, p->to_outer[0][0], FF__WIDE, inner, FF__INNER / 2, FF__WIDE);
    for (uint32_t d = 0; d < FF__WIDE; d++)
        bias[d] = p->outer_bias[d] + (float)sum[d] * FF__STEP_TOKEN;
    CODE(to_steps)
    (layer, outers, bias, FF__STEP_INNER * p->step[FF__HLSH_OUTER], FF__STEP_TOKEN, FF__WIDE,
     FF__Q_MIN, FF__Q_MAX);
    for (uint32_t d = 0; d < FF__WIDE; d++)
        layer[d] = (int16_t)(layer[d] * units);
}

/* The hidden numbers: the window from its oldest token on, and the layer's output. */
TARGET static inline void CODE(hide)(const struct ff__predictor *p, const struct ff__stream *s,
                                     int16_t *hidden) {
    const uint32_t pairs = FF__WIDTH / 2;
    int16_t layer[FF__WIDE];
    int32_t sums[FF__HIDDEN] = {0};
    uint32_t first = s->newest + 1, old = FF__WINDOW - first; /* tokens before the ring's start */
    CODE(layer)(p, s, layer);
    CODE(products)
    (sums, p->mix[0][0], FF__HIDDEN, s->token[0] + (size_t)first * FF__WIDTH, old * pairs,
     FF__HIDDEN);
    CODE(products)
    (sums, p->mix[old * pairs][0], FF__HIDDEN, s->token[0], first * pairs, FF__HIDDEN);
    CODE(products)(sums, p->mix[FF__WINDOW * pairs][0], FF__HIDDEN, layer, pairs, FF__HIDDEN);
    CODE(to_steps)
    (hidden, sums, p->mix_bias, p->unit * p->step[FF__HLSH_MIX], FF__STEP_HIDDEN, FF__HIDDEN, 0,
     FF__Q_MAX - FF__Q_MIN);
}

/* Logits in steps of biases, each with its class below it, so that the largest one names its class,
 * the first of several equal ones. */
TARGET static uint32_t CODE(predict)(const struct ff__predictor *p, const struct ff__stream *s,
                                     float *margin) {
    int16_t hidden[FF__HIDDEN];
    int32_t sums[FF__CLASSES_MAX], best = INT32_MIN;
    CODE(hide)(p, s, hidden);
    memset(sums, 0, p->wide_classes * sizeof sums[0]);
    CODE(products)(sums, p->to_classes, p->wide_classes, hidden, FF__HIDDEN / 2, p->wide_classes);
    for (uint32_t c = 0; c < p->wide_classes; c++) {
        int32_t named = p->class_name[c] + sums[c] * p->class_scale;
        sums[c] = named;
        best = named > best ? named : best;
    }
    uint32_t name = (uint32_t)best % FF__CLASSES_MAX;
    uint32_t escape = (uint32_t)sums[FF__ESCAPE] % FF__CLASSES_MAX;
    if (margin)
        *margin = (float)((best - (int32_t)name - sums[FF__ESCAPE] + (int32_t)escape) /
                          (int32_t)FF__CLASSES_MAX) *
                  FF__STEP_BIAS;
    return FF__CLASSES_MAX - 1 - name;
}
