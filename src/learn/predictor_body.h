/* The steps of a prediction, for vectors of any size. A file for one kind of CPU includes
 * predictor_vector.h, defines what CPUs have instructions of their own for, and includes this:
 *
 *   sums           what products of bytes are added up in: 16 bits for two of them, or 32 for four.
 *                  Two products are at most 1024 (attention's weights, of 7 bits, by values of four
 *                  bits), elsewhere at most 240, so that 30 of them fit in 16 bits.
 *   dot            adds the products of a quad and a row of quads to sums
 *   joined         sums as numbers of 32 bits
 *   CHAINS         of sums that hide() adds up side by side
 *   QUAD           four of 16 bytes, in all lanes
 *   narrow         16 numbers as bytes
 *   smaller, larger
 *   sum_of, most_of   of all lanes
 *   rounded        the nearest whole number to x scale + bias, ties to even; scale is a power of
 *                  two, or bias is 0, so that it does not matter whether the product is rounded
 *   sum_bytes      of each 64 bits
 *   count_equal    how many slots' numbers are equal to one
 *   not_greater    the slots, as a set, where a number is not greater than another
 *   look_up_logs   entries of the table of logarithms, which has 17
 *   weigh          ff__weight(); for what is below 0 anything
 *
 * Stores are as wide as the loads that follow them, because a CPU waits where a load must be put
 * together from several stores. */

#define QUADS3(x)                                                                                  \
    { QUAD(x, 0), QUAD(x, 1), QUAD(x, 2) }
#define QUADS4(x)                                                                                  \
    { QUAD(x, 0), QUAD(x, 1), QUAD(x, 2), QUAD(x, 3) }

static const int32_t lane_numbers[FF__WIDE] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
static const int16_t slot_numbers[FF__SLOTS_WIDE] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                     22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* The products of `count` quads of x with rows of w, so many bytes apart. */
INLINE vector product(const vector *x, const void *w, size_t apart, uint32_t count) {
    const char *row = w;
    sums sum = dot((sums){0}, x[0], row);
    for (uint32_t q = 1; q < count; q++)
        sum += dot((sums){0}, x[q], row + q * apart);
    return joined(sum);
}

/* The same for 16 numbers, and where they start. */
INLINE struct wide product_wide(const int32_t *start, const vector *x, const void *w, size_t apart,
                                uint32_t count) {
    struct wide y;
    for (uint32_t i = 0; i < PARTS; i++)
        y.at[i] = load(start + LANES * i) + product(x, (const char *)w + VECTOR * i, apart, count);
    return y;
}

INLINE vector to_steps(vector x, float scale, const float *bias, int32_t least, int32_t most) {
    vector q = rounded(x, scale, bias ? (floats)load(bias) : (floats){0});
    return smaller(larger(q, all(least)), all(most));
}

INLINE struct wide to_steps_wide(struct wide x, float scale, const float *bias, int32_t least,
                                 int32_t most) {
    for (uint32_t i = 0; i < PARTS; i++)
        x.at[i] = to_steps(x.at[i], scale, bias ? bias + LANES * i : NULL, least, most);
    return x;
}

INLINE vector blend(vector x, vector y, vector where) {
    return (x & ~where) | (y & where);
}

/* All ones in lane `which`, of lanes numbered from `first` on. */
INLINE vector only(uint32_t which, uint32_t first) {
    return load(lane_numbers) == all((int32_t)(which - first));
}

INLINE shorts only_slot(uint32_t slot, uint32_t first) {
    return (shorts)load(slot_numbers + first) == all_shorts((int16_t)slot);
}

/* All ones in lanes whose bit of a set is set. */
INLINE vector lanes_of(uint32_t set) {
    const vector bits = 1 << load(lane_numbers);
    return (all((int32_t)set) & bits) == bits;
}

/* Without its sign, for products. */
INLINE sixteen raised(sixteen q) {
    return q + (int8_t)FF__OFFSET;
}

/* ---- a new token ---- */

/* A token times a matrix, in the common unit. */
INLINE struct wide times(const struct ff__predictor *p, sixteen token,
                         const int8_t (*w)[FF__WIDE][FF__QUAD], const int32_t *start) {
    const vector x[] = QUADS3(token);
    struct wide y;
    for (uint32_t i = 0; i < PARTS; i++) {
        y.at[i] = load(start + LANES * i);
        for (uint32_t f = 0; f < FF__TOKEN_QUADS; f++)
            y.at[i] += product(&x[f], w[f][LANES * i], 0, 1) << (int32_t)p->shift[f];
    }
    return y;
}

/* The half bytes that 16 bytes hold, next to each other. */
INLINE uint64_t half_bytes(sixteen numbers) {
    uint64_t x OF(16) = (uint64_t OF(16))numbers;
    x = (x | x >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    x = (x | x >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    x = (x | x >> 16) & UINT32_MAX;
    return x[0] | x[1] << 32;
}

/* Bucket numbers of 16 rounds: the direction, or its opposite, that the key points along most, the
 * first of several. How far it goes along one has the number below it, counted down, so that the
 * largest one names it. */
INLINE uint64_t hash_of(const struct ff__predictor *p, sixteen key) {
    const int32_t last = 2 * FF__LSH_VECTORS - 1; /* a power of two, less one */
    const vector x[] = QUADS3(key);
    struct wide buckets;
    for (uint32_t i = 0; i < PARTS; i++) {
        vector most = all(-1);
        for (uint32_t v = 0; v < FF__LSH_VECTORS; v++) {
            uint32_t first = v * FF__LSH_ROUNDS + LANES * i;
            vector along =
                product(x, p->direction[0][first], sizeof p->direction[0], FF__TOKEN_QUADS) +
                load(p->direction_start + first);
            along *= last + 1;
            int32_t number = last - 2 * (int32_t)v;
            most = larger(most, larger(along + number, number - 1 - along));
        }
        buckets.at[i] = ~most & last;
    }
    return half_bytes(narrow(buckets));
}

/* In how many rounds hashes differ from one. */
INLINE hashes differ(hashes x, uint64_t hash) {
    x ^= hash;
    x |= x >> 2;
    x = (x | x >> 1) & UINT64_C(0x1111111111111111);
    return sum_bytes((x + (x >> 4)) & UINT64_C(0x0303030303030303));
}

/* Logarithms of the distances from one hash to all, in the order of slots. */
INLINE void distances(const struct ff__predictor *p, const struct ff__stream *s, uint64_t hash,
                      shorts logs[SLOT_PARTS]) {
    for (uint32_t i = 0; i < SLOT_PARTS; i++) {
        hashes numbers = {0};
        for (uint32_t group = 0; group < 4; group++) {
            const uint64_t *at = s->hash + 8 * group + VECTOR / 8 * i;
            numbers |= differ((hashes)load(at), hash) << (int32_t)(16 * group);
        }
        logs[i] = look_up_logs(p, (shorts)numbers);
    }
    logs[SLOT_PARTS - 1] &=
        (shorts)load(slot_numbers + FF__SLOTS_WIDE - SHORTS) < (int16_t)FF__WINDOW;
}

/* The sums of distances, with another hash in the slot. */
INLINE void rehash(const struct ff__predictor *p, struct ff__stream *s, uint32_t slot,
                   uint64_t hash) {
    uint64_t *place = &s->hash[ff__hash_at(slot)];
    shorts before[SLOT_PARTS] = {{0}}, after[SLOT_PARTS], sum = {0};
    if (p->chosen[slot])
        distances(p, s, *place, before);
    distances(p, s, hash, after);
    for (uint32_t i = 0; i < SLOT_PARTS; i++) {
        after[i] &= ~only_slot(slot, SHORTS * i);
        sum += after[i] & (shorts)load(p->chosen + SHORTS * i);
    }
    int32_t mine = sum_of(((vector)sum << 16 >> 16) + ((vector)sum >> 16));
    for (uint32_t i = 0; i < SLOT_PARTS; i++) {
        shorts far = (shorts)load(s->far + SHORTS * i), own = only_slot(slot, SHORTS * i);
        if (p->chosen[slot])
            far += after[i] - before[i];
        far = (far & ~own) | (all_shorts((int16_t)mine) & own);
        store(s->far + SHORTS * i, (vector)far);
    }
    *place = hash;
}

INLINE void put_short(void *to, uint32_t slot, int16_t x) {
    uint32_t first = slot / SHORTS * SHORTS;
    int16_t *at = (int16_t *)to + first;
    store(at, blend(load(at), (vector)all_shorts(x), (vector)only_slot(slot, first)));
}

INLINE void put_key(struct ff__stream *s, uint32_t slot, sixteen key, int32_t sum) {
    uint32_t first = slot / LANES * LANES;
    const vector here = only(slot, first), x[] = QUADS3(key);
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        store(s->key[q][first], blend(load(s->key[q][first]), x[q], here));
    put_short(s->lean, slot, (int16_t)(sum * (int32_t)FF__OFFSET));
}

INLINE void put_value(struct ff__stream *s, uint32_t slot, struct wide value) {
    int32_t bits = (int32_t)(slot % FF__QUAD * 8);
    for (uint32_t i = 0; i < PARTS; i++) {
        int8_t *row = s->value[slot / FF__QUAD][LANES * i];
        store(row, blend(load(row), value.at[i] << bits, all(0xFF) << bits));
    }
}

INLINE void put_token(struct ff__stream *s, uint32_t slot, sixteen token) {
    memcpy(s->token[slot], &token, FF__WIDTH);
    memcpy(s->token[slot + FF__WINDOW], &token, FF__WIDTH);
}

TARGET static void push(const struct ff__predictor *p, struct ff__stream *s,
                        const uint16_t ids[3]) {
    uint32_t slot = s->newest + 1 < FF__WINDOW ? s->newest + 1 : 0;
    int32_t page, delta, pc;
    memcpy(&page, p->page[ids[0]], sizeof page);
    memcpy(&delta, p->delta[ids[1]], sizeof delta);
    memcpy(&pc, p->pc[ids[2]], sizeof pc);
    sixteen token = (sixteen)(int32_t OF(16)){page, delta, pc, 0};
    put_token(s, slot, token);
    s->newest = slot;
    if (!p->encodes)
        return;
    struct wide key = to_steps_wide(times(p, token, p->to_key, p->key_start[slot]), p->key_scale,
                                    NULL, FF__Q_MIN, FF__Q_MAX);
    struct wide value = to_steps_wide(times(p, token, p->to_value, p->value_start), p->value_scale,
                                      NULL, FF__Q_MIN, FF__Q_MAX);
    vector sum = key.at[0];
    for (uint32_t i = 1; i < PARTS; i++)
        sum += key.at[i];
    sixteen narrow_key = narrow(key), query = narrow_key;
    if (p->has_queries)
        query = narrow(to_steps_wide(times(p, token, p->to_query, p->query_start[slot]),
                                     p->query_scale, NULL, FF__Q_MIN, FF__Q_MAX));
    query = raised(query);
    memcpy(s->query[slot], &query, sizeof query);
    put_key(s, slot, narrow_key, sum_of(sum));
    put_value(s, slot, value);
    put_short(s->delta, slot, (int16_t)ids[1]);
    rehash(p, s, slot, hash_of(p, raised(narrow_key)));
}

/* ---- the encoder ---- */

/* The indicator by window: if so many deltas are the same, one of the last few is one of them. */
INLINE bool converged(const struct ff__predictor *p, const struct ff__stream *s) {
    uint32_t most = 0;
    for (uint32_t i = 0, slot = s->newest; i <= FF__WINDOW - FF__CONVERGED_WINDOW; i++) {
        uint32_t same = count_equal(s->delta, s->delta[slot]);
        most = same > most ? same : most;
        slot = slot > 0 ? slot - 1 : FF__WINDOW - 1;
    }
    return most >= p->converged;
}

/* Algorithm 1: which slots have neither query nor key, and which share what comes out for `base`;
 * of these only that one has a key. */
struct sharing {
    uint32_t erased, alike, base;
};

INLINE struct sharing find_sharing(const struct ff__predictor *p, const struct ff__stream *s) {
    struct sharing found = {.erased = not_greater(p->far, s->far) & SLOTS,
                            .alike = not_greater(s->far, p->close) & SLOTS};
    found.base = found.alike ? ff__oldest(found.alike, s->newest) : 0;
    return found;
}

/* The scores of all slots, for the one that asks. */
INLINE void score(const struct ff__stream *s, const struct sharing *sharing, uint32_t asks,
                  vector scores[2 * PARTS]) {
    uint32_t keyless = sharing->erased | (sharing->alike & ~(UINT32_C(1) << sharing->base));
    sixteen own = (sixteen){0} + (int8_t)FF__OFFSET;
    if (!(sharing->erased >> asks & 1))
        memcpy(&own, s->query[sharing->alike >> asks & 1 ? sharing->base : asks], sizeof own);
    const vector query[] = QUADS3(own);
    for (uint32_t i = 0; i < 2 * PARTS; i++) {
        int16_t lean OF(SHORTS);
        memcpy(&lean, s->lean + LANES * i, sizeof lean);
        scores[i] = product(query, s->key[0][LANES * i], sizeof s->key[0], FF__TOKEN_QUADS) -
                    __builtin_convertvector(lean, vector);
        if (keyless)
            scores[i] &= ~lanes_of(keyless >> LANES * i);
    }
}

/* The weights of all slots but the one that asks; their sum is returned. */
INLINE int32_t weigh_all(const struct ff__predictor *p, const struct ff__stream *s,
                         const struct sharing *sharing, uint32_t asks, vector weights[2 * PARTS]) {
    uint32_t others = SLOTS & ~(UINT32_C(1) << asks);
    vector scores[2 * PARTS], most = all(INT32_MIN), sum = {0};
    score(s, sharing, asks, scores);
    for (uint32_t i = 0; i < 2 * PARTS; i++)
        most = larger(most, blend(all(INT32_MIN), scores[i], lanes_of(others >> LANES * i)));
    most = all(most_of(most));
    for (uint32_t i = 0; i < 2 * PARTS; i++) {
        weights[i] = weigh(p, most - scores[i]) & lanes_of(others >> LANES * i);
        sum += weights[i];
    }
    return sum_of(sum);
}

/* What attention adds to a token, in steps. Weights go up to 4096: their upper and lower six bits
 * are multiplied on their own. */
INLINE struct wide attend(const struct ff__predictor *p, const struct ff__stream *s,
                          const struct sharing *sharing, uint32_t asks) {
    vector weights[2 * PARTS];
    int32_t total = weigh_all(p, s, sharing, asks, weights);
    struct wide y = {{{0}}};
    for (uint32_t lower = 0; lower < 2; lower++) {
        sums sum[PARTS] = {{0}};
        for (uint32_t half = 0; half < 2; half++) {
            struct wide six;
            for (uint32_t i = 0; i < PARTS; i++)
                six.at[i] = lower ? weights[PARTS * half + i] & 63 : weights[PARTS * half + i] >> 6;
            sixteen narrowed = narrow(six);
            const vector x[] = QUADS4(narrowed);
            for (uint32_t q = 0; q < 4; q++)
                for (uint32_t i = 0; i < PARTS; i++)
                    sum[i] += dot((sums){0}, x[q], s->value[4 * half + q][LANES * i]);
        }
        for (uint32_t i = 0; i < PARTS; i++)
            y.at[i] = (y.at[i] << 6) + joined(sum[i]);
    }
    return to_steps_wide(y, FF__STEP_VALUE / FF__STEP_TOKEN / (float)total, NULL, FF__Q_MIN,
                         FF__Q_MAX);
}

#define UNIT(q)                                                                                    \
    [q] = {[FF__QUAD * (q)] = {1, 0, 0, 0},                                                        \
           [FF__QUAD * (q) + 1] = {0, 1, 0, 0},                                                    \
           [FF__QUAD * (q) + 2] = {0, 0, 1, 0},                                                    \
           [FF__QUAD * (q) + 3] = {0, 0, 0, 1}}
static const int8_t unit_matrix[FF__TOKEN_QUADS][FF__WIDE][FF__QUAD] = {UNIT(0), UNIT(1), UNIT(2)};

/* A token with what attention says (`answer` may be NULL), in steps. */
INLINE struct wide add_answer(const struct ff__predictor *p, const uint8_t *of,
                              const struct wide *answer) {
    sixteen token;
    memcpy(&token, of, sizeof token);
    struct wide y = times(p, token, unit_matrix, p->token_start);
    for (uint32_t i = 0; answer && i < PARTS; i++)
        y.at[i] += answer->at[i] << (int32_t)p->answer_shift;
    return to_steps_wide(y, 1 / (float)(1 << p->answer_shift), NULL, FF__Q_MIN, FF__Q_MAX);
}

/* The feed-forward layer, in steps. */
INLINE sixteen feed(const struct ff__predictor *p, struct wide token) {
    struct wide y;
    sixteen narrowed = raised(narrow(token));
    const vector x[] = QUADS3(narrowed);
    sums sum[PARTS] = {{0}};
    for (uint32_t b = 0; b < 3; b++) {
        uint32_t first = b * FF__WIDE;
        struct wide inner = product_wide(p->inner_start + first, x, p->to_inner[0][first],
                                         sizeof p->to_inner[0], FF__TOKEN_QUADS);
        narrowed = narrow(
            to_steps_wide(inner, p->inner_scale, p->inner_bias + first, 0, FF__Q_MAX - FF__Q_MIN));
        const vector z[] = QUADS4(narrowed);
        for (uint32_t q = 0; q < 4; q++)
            for (uint32_t i = 0; i < PARTS; i++)
                sum[i] += dot((sums){0}, z[q], p->to_outer[4 * b + q][LANES * i]);
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        floats bias =
            (floats)load(p->outer_bias + LANES * i) + __builtin_convertvector(token.at[i], floats);
        y.at[i] =
            to_steps(joined(sum[i]), p->outer_scale, (const float *)&bias, FF__Q_MIN, FF__Q_MAX);
    }
    return narrow(y);
}

/* What the classes see: the outputs for all tokens, the oldest first, without their signs. */
INLINE void encode(const struct ff__predictor *p, const struct ff__stream *s, uint8_t *seen) {
    const bool bypasses = converged(p, s);
    const struct sharing sharing = find_sharing(p, s);
    for (uint32_t i = 0, slot = s->newest; i < FF__WINDOW; i++) {
        slot = slot + 1 < FF__WINDOW ? slot + 1 : 0;
        struct wide answer;
        if (!bypasses)
            answer = attend(p, s, &sharing, slot);
        sixteen output = raised(feed(p, add_answer(p, s->token[slot], bypasses ? NULL : &answer)));
        memcpy(seen + (size_t)i * FF__WIDTH, &output, FF__WIDTH);
    }
}

/* ---- without an encoder ---- */

/* What the classes of `window` see: its tokens' hidden numbers. Chains of sums for each feature. */
INLINE void hide(const struct ff__predictor *p, const struct ff__stream *s, uint8_t *seen) {
    const uint8_t *x = s->token[s->newest + 1];
    sums sum[CHAINS][FF__TOKEN_QUADS][PARTS] = {{{{0}}}};
    struct wide y;
    for (uint32_t t = 0; t < FF__WINDOW; t += CHAINS)
        for (uint32_t c = 0; c < CHAINS; c++)
            for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++) {
                uint32_t at = (t + c) * FF__TOKEN_QUADS + q;
                int32_t quad;
                memcpy(&quad, x + (size_t)at * FF__QUAD, sizeof quad);
                for (uint32_t i = 0; i < PARTS; i++)
                    sum[c][q][i] = dot(sum[c][q][i], all(quad), p->mix[at][LANES * i]);
            }
    for (uint32_t i = 0; i < PARTS; i++) {
        y.at[i] = load(p->mix_start + LANES * i);
        for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++) {
            for (uint32_t c = 1; c < CHAINS; c++)
                sum[0][q][i] += sum[c][q][i];
            y.at[i] += joined(sum[0][q][i]) << (int32_t)p->shift[q];
        }
    }
    sixteen hidden = narrow(to_steps_wide(y, p->mix_scale, p->mix_bias, 0, FF__Q_MAX - FF__Q_MIN));
    memcpy(seen, &hidden, sizeof hidden);
}

/* ---- a prediction ---- */

TARGET static uint32_t predict(const struct ff__predictor *p, const struct ff__stream *s,
                               float *margin) {
    uint8_t seen[FF__OUTPUTS + FF__WIDE];
    vector best = all(INT32_MIN), first = best;
    if (p->encodes)
        encode(p, s, seen);
    else
        hide(p, s, seen);
    for (uint32_t i = PARTS * p->class_blocks; i-- > 0;) {
        const int8_t *w = p->to_classes +
                          (size_t)(i / PARTS) * p->class_quads * FF__QUAD * FF__WIDE +
                          i % PARTS * VECTOR;
        sums even = {0}, odd = {0}; /* which do not wait for each other */
        for (uint32_t q = 0; q < p->class_quads; q += 2) {
            int32_t quads[2];
            memcpy(quads, seen + (size_t)q * FF__QUAD, sizeof quads);
            even = dot(even, all(quads[0]), w + (size_t)q * FF__WIDE * FF__QUAD);
            odd = dot(odd, all(quads[1]), w + ((size_t)q + 1) * FF__WIDE * FF__QUAD);
        }
        vector logits = (joined(even) + joined(odd)) << (int32_t)p->class_shift;
        first = load(p->class_name + (size_t)i * LANES) + logits;
        best = larger(best, first);
    }
    return ff__class_named(most_of(best), first[0], margin);
}
