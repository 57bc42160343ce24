/* The steps of predictor_portable.c with AVX2. What is 16 long is two vectors here, what is 32 long four; otherwise as in
 * predictor_avx512.c. A product of four bytes by four is two instructions: sums of two products fit in 16 bits, as weights
 * have four. */
#include "learn/predictor_code.h"

#include "learn/quant.h"
#include "learn/weight.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))

#define SLOTS  ((UINT32_C(1) << FF__WINDOW) - 1)
#define LANES  8u /* of 32 bits, in a vector */

/* 16 numbers of 32 bits. */
struct wide {
    __m256i low, high;
};

INLINE __m256i load(const void *at) {
    return _mm256_loadu_si256(at);
}

INLINE struct wide load_wide(const void *at) {
    return (struct wide){load(at), load((const char *)at + sizeof(__m256i))};
}

/* Four bytes of memory in all lanes; quad `which` of 16 bytes in all lanes. */
INLINE __m256i spread(const void *quad) {
    int32_t bytes;
    memcpy(&bytes, quad, sizeof bytes);
    return _mm256_set1_epi32(bytes);
}

#define QUAD(bytes, which) _mm256_broadcastd_epi32(_mm_shuffle_epi32(bytes, (which)*0x55))
#define QUADS3(bytes)                                                                              \
    { QUAD(bytes, 0), QUAD(bytes, 1), QUAD(bytes, 2) }
#define QUADS4(bytes)                                                                              \
    { QUAD(bytes, 0), QUAD(bytes, 1), QUAD(bytes, 2), QUAD(bytes, 3) }

/* Products of bytes, sums of two. They are at most 1024 (attention's weights, of 7 bits, by values of four), elsewhere at most 240,
 * so that 30 of them still fit in 16 bits. */
INLINE __m256i pairs(__m256i x, const void *w) {
    return _mm256_maddubs_epi16(x, load(w));
}

/* Sums of two sums, in 32 bits. */
INLINE __m256i join(__m256i sums) {
    return _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
}

/* The products of `count` quads of x with rows of w, so many bytes apart. */
INLINE __m256i dot(const __m256i *x, const void *w, size_t apart, uint32_t count) {
    const char *row = w;
    __m256i sum = pairs(x[0], row);
    for (uint32_t q = 1; q < count; q++)
        sum = _mm256_add_epi16(sum, pairs(x[q], row + q * apart));
    return join(sum);
}

INLINE struct wide dot_wide(const __m256i *x, const void *w, size_t apart, uint32_t count) {
    return (struct wide){dot(x, w, apart, count),
                         dot(x, (const char *)w + sizeof(__m256i), apart, count)};
}

INLINE struct wide add(struct wide a, struct wide b) {
    return (struct wide){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

INLINE __m256i shift_left(__m256i x, uint32_t by) {
    return _mm256_sll_epi32(x, _mm_cvtsi32_si128((int32_t)by));
}

INLINE struct wide shifted(struct wide x, uint32_t by) {
    return (struct wide){shift_left(x.low, by), shift_left(x.high, by)};
}

/* To steps, ties to even. */
INLINE __m256i to_steps(__m256i sums, __m256 scale, __m256 bias, int32_t least, int32_t most) {
    __m256 x = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale), bias);
    __m256i q = _mm256_cvtps_epi32(x);
    return _mm256_min_epi32(_mm256_max_epi32(q, _mm256_set1_epi32(least)), _mm256_set1_epi32(most));
}

INLINE struct wide to_steps_wide(struct wide sums, float scale, const float *bias, int32_t least,
                                 int32_t most) {
    const __m256 by = _mm256_set1_ps(scale), zero = _mm256_setzero_ps();
    return (struct wide){
        to_steps(sums.low, by, bias ? _mm256_loadu_ps(bias) : zero, least, most),
        to_steps(sums.high, by, bias ? _mm256_loadu_ps(bias + LANES) : zero, least, most)};
}

/* 16 numbers as 16 bits each, in order; as bytes. */
INLINE __m256i halves(struct wide x) {
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(x.low, x.high), 0xD8);
}

INLINE __m128i bytes_of(struct wide x) {
    __m256i all = halves(x);
    return _mm_packs_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

/* Without its sign, for products. */
INLINE __m128i raised(__m128i q) {
    return _mm_add_epi8(q, _mm_set1_epi8(FF__OFFSET));
}

INLINE __m128i lower(__m256i x) {
    return _mm256_castsi256_si128(x);
}

INLINE int32_t sum_of(__m256i x) {
    __m128i sums = _mm_add_epi32(lower(x), _mm256_extracti128_si256(x, 1));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xB1)));
}

INLINE int32_t most_of(__m256i x) {
    __m128i most = _mm_max_epi32(lower(x), _mm256_extracti128_si256(x, 1));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(most, _mm_shuffle_epi32(most, 0xB1)));
}

/* All ones in lane `which`, of lanes numbered from `first` on. */
INLINE __m256i only32(uint32_t which, uint32_t first) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpeq_epi32(lanes, _mm256_set1_epi32((int32_t)(which - first)));
}

INLINE __m256i only16(uint32_t which, uint32_t first) {
    const __m256i lanes = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_cmpeq_epi16(lanes, _mm256_set1_epi16((int16_t)(which - first)));
}

/* All ones in lanes whose bit of a set is set. */
INLINE __m256i lanes_of(uint32_t set) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int32_t)set), bits), bits);
}

/* ---- a new token ---- */

INLINE __m128i project(const struct ff__predictor *p, int8_t (*w)[FF__WIDE][FF__QUAD],
                       const int32_t *start, float scale, __m128i token) {
    const __m256i x[] = QUADS3(token);
    struct wide sums = load_wide(start);
    for (uint32_t f = 0; f < FF__TOKEN_QUADS; f++)
        sums = add(sums, shifted(dot_wide(&x[f], w[f], 0, 1), p->shift[f]));
    return bytes_of(to_steps_wide(sums, scale, NULL, FF__Q_MIN, FF__Q_MAX));
}

/* Of eight rounds: the numbers of the directions that the key points along most. */
INLINE __m256i buckets(const struct ff__predictor *p, const __m256i *x, uint32_t round) {
    __m256i most = _mm256_set1_epi32(-1), bucket = _mm256_setzero_si256();
    for (uint32_t v = 0; v < FF__LSH_VECTORS; v++) {
        uint32_t first = v * FF__LSH_ROUNDS + round;
        __m256i along = dot(x, p->direction[0][first], sizeof p->direction[0], FF__TOKEN_QUADS);
        along = _mm256_add_epi32(along, load(p->direction_start + first));
        __m256i size = _mm256_abs_epi32(along), more = _mm256_cmpgt_epi32(size, most);
        __m256i number =
            _mm256_add_epi32(_mm256_set1_epi32(2 * (int32_t)v), _mm256_srli_epi32(along, 31));
        bucket = _mm256_blendv_epi8(bucket, number, more);
        most = _mm256_max_epi32(most, size);
    }
    return bucket;
}

INLINE uint64_t hash_of(const struct ff__predictor *p, __m128i key) {
    const __m256i x[] = QUADS3(key);
    struct wide bucket = {buckets(p, x, 0), buckets(p, x, LANES)};
    /* bytes, then two of them in one */
    __m128i both = _mm_maddubs_epi16(bytes_of(bucket), _mm_set1_epi16(0x1001));
    return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(both, both));
}

/* How many of the rounds of four hashes differ from one. */
INLINE __m256i differ(__m256i hashes, __m256i hash) {
    __m256i x = _mm256_xor_si256(hashes, hash);
    x = _mm256_or_si256(x, _mm256_srli_epi64(x, 2));
    x = _mm256_and_si256(_mm256_or_si256(x, _mm256_srli_epi64(x, 1)), _mm256_set1_epi8(0x11));
    x = _mm256_and_si256(_mm256_add_epi64(x, _mm256_srli_epi64(x, 4)), _mm256_set1_epi8(0x03));
    return _mm256_sad_epu8(x, _mm256_setzero_si256());
}

/* Entries of the table of logarithms, by 16 bits; it has 17. */
INLINE __m256i logs_of(const struct ff__predictor *p, __m256i numbers) {
    __m256i logs = load(p->logs), high = _mm256_set1_epi16((int16_t)0x8000);
    __m256i bytes = _mm256_packus_epi16(_mm256_and_si256(logs, _mm256_set1_epi16(0xFF)),
                                        _mm256_srli_epi16(logs, 8));
    /* low bytes of the first eight, high ones of these; then of the other eight */
    __m256i lows = _mm256_permute4x64_epi64(bytes, 0x88),
            highs = _mm256_permute4x64_epi64(bytes, 0xDD);
    __m256i where = _mm256_or_si256(numbers, high); /* the upper byte of each becomes 0 */
    __m256i found = _mm256_or_si256(_mm256_shuffle_epi8(lows, where),
                                    _mm256_slli_epi16(_mm256_shuffle_epi8(highs, where), 8));
    __m256i last = _mm256_cmpeq_epi16(numbers, _mm256_set1_epi16(FF__LSH_ROUNDS));
    return _mm256_blendv_epi8(found, _mm256_set1_epi16(p->logs[FF__LSH_ROUNDS]), last);
}

/* Logarithms of the distances from one hash to all, in the order of slots; of slots from 16 on in far[1]. */
INLINE void distances(const struct ff__predictor *p, const __m256i all[8], uint64_t hash,
                      __m256i logs[2]) {
    const __m256i to = _mm256_set1_epi64x((int64_t)hash);
    for (uint32_t half = 0; half < 2; half++) {
        __m256i numbers = differ(all[half], to);
        numbers = _mm256_or_si256(numbers, _mm256_slli_epi64(differ(all[2 + half], to), 16));
        numbers = _mm256_or_si256(numbers, _mm256_slli_epi64(differ(all[4 + half], to), 32));
        numbers = _mm256_or_si256(numbers, _mm256_slli_epi64(differ(all[6 + half], to), 48));
        logs[half] = logs_of(p, numbers);
    }
    logs[1] = _mm256_insert_epi32(logs[1], 0, 7); /* slots beyond the window */
}

/* The sums of distances, with another hash in the slot. */
INLINE void rehash(const struct ff__predictor *p, struct ff__stream *s, uint32_t slot,
                   uint64_t hash) {
    __m256i all[8], before[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, after[2];
    __m256i sum = _mm256_setzero_si256();
    for (uint32_t i = 0; i < 8; i++)
        all[i] = load(s->hash + 4 * i);
    if (p->chosen[slot])
        distances(p, all, s->hash[ff__hash_at(slot)], before);
    distances(p, all, hash, after);
    for (uint32_t i = 0; i < 2; i++) {
        after[i] = _mm256_andnot_si256(only16(slot, 16 * i), after[i]);
        __m256i counted = _mm256_and_si256(after[i], load(p->chosen + 16 * i));
        sum = _mm256_add_epi32(sum, join(counted));
    }
    __m256i mine = _mm256_set1_epi16((int16_t)sum_of(sum));
    for (uint32_t i = 0; i < 2; i++) {
        __m256i far = load(s->far + 16 * i);
        if (p->chosen[slot])
            far = _mm256_add_epi16(far, _mm256_sub_epi16(after[i], before[i]));
        far = _mm256_blendv_epi8(far, mine, only16(slot, 16 * i));
        _mm256_storeu_si256((void *)(s->far + 16 * i), far);
    }
    s->hash[ff__hash_at(slot)] = hash;
}

INLINE void put16(void *all, uint32_t slot, int16_t x) {
    uint32_t first = slot / 16 * 16;
    int16_t *at = (int16_t *)all + first;
    __m256i mixed = _mm256_blendv_epi8(load(at), _mm256_set1_epi16(x), only16(slot, first));
    _mm256_storeu_si256((void *)at, mixed);
}

INLINE void put_key(struct ff__stream *s, uint32_t slot, __m128i key) {
    uint32_t first = slot / LANES * LANES;
    const __m256i here = only32(slot, first), x[] = QUADS3(key);
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        _mm256_storeu_si256((void *)s->key[q][first],
                            _mm256_blendv_epi8(load(s->key[q][first]), x[q], here));
    __m128i sums = _mm_maddubs_epi16(_mm_set1_epi8(FF__OFFSET), key);
    sums = _mm_madd_epi16(sums, _mm_set1_epi16(1));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xB1));
    put16(s->lean, slot, (int16_t)_mm_cvtsi128_si32(sums));
}

INLINE void put_value(struct ff__stream *s, uint32_t slot, __m128i value) {
    char *row = (char *)s->value[slot / FF__QUAD];
    const __m128i bits = _mm_cvtsi32_si128((int32_t)(slot % FF__QUAD * 8));
    const __m256i byte = _mm256_sll_epi32(_mm256_set1_epi32(0xFF), bits);
    const __m256i both[] = {_mm256_cvtepu8_epi32(value),
                            _mm256_cvtepu8_epi32(_mm_srli_si128(value, 8))};
    for (uint32_t i = 0; i < 2; i++) {
        __m256i kept = _mm256_andnot_si256(byte, load(row + 32 * i));
        _mm256_storeu_si256((void *)(row + 32 * i),
                            _mm256_or_si256(kept, _mm256_sll_epi32(both[i], bits)));
    }
}

INLINE void put_token(struct ff__stream *s, uint32_t slot, __m128i token) {
    uint32_t pc = (uint32_t)_mm_extract_epi32(token, 2);
    for (uint32_t at = slot; at < 2 * FF__WINDOW; at += FF__WINDOW) {
        _mm_storel_epi64((void *)s->token[at], token);
        memcpy(s->token[at] + 8, &pc, sizeof pc);
    }
    _mm_storeu_si128((void *)s->last, token);
}

TARGET static void push(const struct ff__predictor *p, struct ff__stream *s,
                        const uint16_t ids[3]) {
    uint32_t slot = s->newest + 1 < FF__WINDOW ? s->newest + 1 : 0;
    int32_t page, delta, pc;
    memcpy(&page, p->page[ids[0]], sizeof page);
    memcpy(&delta, p->delta[ids[1]], sizeof delta);
    memcpy(&pc, p->pc[ids[2]], sizeof pc);
    __m128i token = _mm_set_epi32(0, pc, delta, page);
    __m128i key = project(p, (int8_t(*)[FF__WIDE][FF__QUAD])p->to_key, p->key_start[slot],
                          p->key_scale, token);
    __m128i value = project(p, (int8_t(*)[FF__WIDE][FF__QUAD])p->to_value, p->value_start,
                            p->value_scale, token);
    put_token(s, slot, token);
    put_key(s, slot, key);
    put_value(s, slot, value);
    put16(s->delta, slot, (int16_t)ids[1]);
    rehash(p, s, slot, hash_of(p, raised(key)));
    s->newest = slot;
}

/* ---- a prediction ---- */

INLINE bool converged(const struct ff__predictor *p, const struct ff__stream *s) {
    __m256i all[2] = {load(s->delta), load(s->delta + 16)};
    int most = 0;
    for (uint32_t i = 0, slot = s->newest; i <= FF__WINDOW - FF__CONVERGED; i++) {
        __m256i delta = _mm256_set1_epi16((int16_t)s->delta[slot]);
        __m256i same = _mm256_packs_epi16(_mm256_cmpeq_epi16(all[0], delta),
                                          _mm256_cmpeq_epi16(all[1], delta));
        int count = __builtin_popcount((uint32_t)_mm256_movemask_epi8(same));
        most = count > most ? count : most;
        slot = slot > 0 ? slot - 1 : FF__WINDOW - 1;
    }
    return most >= (int)p->converged;
}

/* The slots, as a set, where one number of 16 bits is greater than another. */
INLINE uint32_t greater(const int16_t *a, const int16_t *b) {
    __m256i first = _mm256_cmpgt_epi16(load(a), load(b));
    __m256i second = _mm256_cmpgt_epi16(load(a + 16), load(b + 16));
    __m256i all = _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xD8);
    return (uint32_t)_mm256_movemask_epi8(all);
}

/* Slots that share a score, and that are left out; mostly there are none. */
INLINE void share(__m256i keys[4], uint32_t alike, uint32_t erased, uint32_t base) {
    int32_t all[FF__SLOTS_WIDE];
    for (uint32_t i = 0; i < 4; i++)
        _mm256_storeu_si256((void *)(all + LANES * i), keys[i]);
    for (uint32_t i = 0; i < 4; i++) {
        keys[i] =
            _mm256_blendv_epi8(keys[i], _mm256_set1_epi32(all[base]), lanes_of(alike >> LANES * i));
        keys[i] = _mm256_andnot_si256(lanes_of(erased >> LANES * i), keys[i]);
    }
}

/* The newest token's scores for all slots. Tokens that share or are left out are rare: as a branch, they cost no
 * waiting for the newest hash. */
INLINE void score(const struct ff__predictor *p, const struct ff__stream *s, __m256i scores[4]) {
    const __m256i offset = _mm256_set1_epi8(FF__OFFSET);
    uint32_t newest = s->newest, turn = FF__WINDOW - 1 - newest, base = newest, asks = newest;
    uint32_t erased = ~greater(p->far, s->far) & SLOTS;
    uint32_t alike = ~greater(s->far, p->close) & SLOTS;
    bool nothing = false;
    if (erased | alike) {
        base = alike ? ff__oldest(alike, newest) : newest;
        asks = alike >> newest & 1 ? base : newest;
        nothing = erased >> newest & 1;
        erased = ff__without_key(p, erased, alike, base, newest);
    }
    __m256i query[FF__TOKEN_QUADS];
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++) {
        __m256i key = nothing ? _mm256_setzero_si256() : spread(s->key[q][asks]);
        query[q] = _mm256_add_epi8(key, offset);
    }
    __m256i keys[4];
    for (uint32_t i = 0; i < 4; i++) {
        __m256i lean = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(s->lean + LANES * i)));
        keys[i] = dot(query, s->key[0][LANES * i], sizeof s->key[0], FF__TOKEN_QUADS);
        keys[i] = _mm256_sub_epi32(keys[i], lean);
    }
    if (erased | alike)
        share(keys, alike, erased, base);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t at = turn + LANES * i;
        __m256i ages = dot(query, p->age[0][at], sizeof p->age[0], FF__TOKEN_QUADS);
        ages = _mm256_add_epi32(ages, load(p->age_start + at));
        scores[i] =
            _mm256_add_epi32(shift_left(keys[i], p->key_shift), shift_left(ages, p->age_shift));
    }
}

/* ff__weight() */
INLINE __m256i weigh(const struct ff__predictor *p, __m256i below) {
    __m256 parts = _mm256_mul_ps(_mm256_cvtepi32_ps(below), _mm256_set1_ps(p->weight_scale));
    __m256i all = _mm256_cvtps_epi32(parts);
    __m256i which = _mm256_and_si256(all, _mm256_set1_epi32(FF__WEIGHT_PARTS - 1));
    __m256i weight = _mm256_i32gather_epi32(ff__weights, which, 4);
    return _mm256_srlv_epi32(weight, _mm256_srli_epi32(all, 5));
}

/* What attention adds to the newest token, in steps. */
INLINE struct wide attend(const struct ff__predictor *p, const struct ff__stream *s) {
    uint32_t others = SLOTS & ~(UINT32_C(1) << s->newest);
    __m256i scores[4], weights[4], most = _mm256_set1_epi32(INT32_MIN),
                                   all = _mm256_setzero_si256();
    score(p, s, scores);
    for (uint32_t i = 0; i < 4; i++)
        most = _mm256_max_epi32(most, _mm256_blendv_epi8(_mm256_set1_epi32(INT32_MIN), scores[i],
                                                         lanes_of(others >> LANES * i)));
    most = _mm256_set1_epi32(most_of(most));
    for (uint32_t i = 0; i < 4; i++) {
        weights[i] = weigh(p, _mm256_sub_epi32(most, scores[i]));
        weights[i] = _mm256_and_si256(weights[i], lanes_of(others >> LANES * i));
        all = _mm256_add_epi32(all, weights[i]);
    }
    struct wide sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (uint32_t part = 0; part < 2; part++) { /* the upper six bits, then the lower ones */
        __m256i low = _mm256_setzero_si256(), high = low;
        for (uint32_t i = 0; i < 2; i++) {
            struct wide half = {weights[2 * i], weights[2 * i + 1]};
            half.low = part ? _mm256_and_si256(half.low, _mm256_set1_epi32(63))
                            : _mm256_srli_epi32(half.low, 6);
            half.high = part ? _mm256_and_si256(half.high, _mm256_set1_epi32(63))
                             : _mm256_srli_epi32(half.high, 6);
            __m128i bytes = bytes_of(half);
            const __m256i x[] = QUADS4(bytes);
            for (uint32_t q = 0; q < 4; q++) {
                const char *row = (const char *)s->value[4 * i + q];
                low = _mm256_add_epi16(low, pairs(x[q], row));
                high = _mm256_add_epi16(high, pairs(x[q], row + sizeof(__m256i)));
            }
        }
        sums = add(shifted(sums, 6), (struct wide){join(low), join(high)});
    }
    float share = FF__STEP_VALUE / FF__STEP_TOKEN / (float)sum_of(all);
    return to_steps_wide(sums, share, NULL, FF__Q_MIN, FF__Q_MAX);
}

/* The newest token with what attention says, in steps. */
INLINE struct wide add_answer(const struct ff__predictor *p, const struct ff__stream *s) {
    const __m256i offset = _mm256_set1_epi32(FF__OFFSET);
    const int32_t page = (int32_t)p->shift[0], delta = (int32_t)p->shift[1],
                  pc = (int32_t)p->shift[2];
    __m128i token = _mm_loadu_si128((const void *)s->last);
    struct wide raw = {
        _mm256_sllv_epi32(_mm256_sub_epi32(_mm256_cvtepu8_epi32(token), offset),
                          _mm256_setr_epi32(page, page, page, page, delta, delta, delta, delta)),
        _mm256_sll_epi32(_mm256_sub_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(token, 8)), offset),
                         _mm_cvtsi32_si128(pc)),
    };
    raw.high = _mm256_and_si256(raw.high, lanes_of(0x0F));
    if (!converged(p, s))
        raw = add(raw, shifted(attend(p, s), p->answer_shift));
    return to_steps_wide(raw, 1 / (float)(1 << p->answer_shift), NULL, FF__Q_MIN, FF__Q_MAX);
}

/* The encoder layer's output for the newest token, in steps. */
INLINE __m128i layer(const struct ff__predictor *p, const struct ff__stream *s) {
    struct wide sum = add_answer(p, s);
    __m128i bytes = raised(bytes_of(sum));
    const __m256i x[] = QUADS3(bytes);
    __m256i low = _mm256_setzero_si256(), high = low;
    for (uint32_t b = 0; b < 3; b++) {
        uint32_t first = b * FF__WIDE;
        struct wide inner =
            dot_wide(x, p->to_inner[0][first], sizeof p->to_inner[0], FF__TOKEN_QUADS);
        inner = add(inner, load_wide(p->inner_start + first));
        inner =
            to_steps_wide(inner, p->inner_scale, p->inner_bias + first, 0, FF__Q_MAX - FF__Q_MIN);
        bytes = bytes_of(inner);
        const __m256i y[] = QUADS4(bytes);
        for (uint32_t q = 0; q < 4; q++) {
            const char *row = (const char *)p->to_outer[4 * b + q];
            low = _mm256_add_epi16(low, pairs(y[q], row));
            high = _mm256_add_epi16(high, pairs(y[q], row + sizeof(__m256i)));
        }
    }
    __m256 scale = _mm256_set1_ps(p->outer_scale);
    __m256 bias[] = {
        _mm256_add_ps(_mm256_loadu_ps(p->outer_bias), _mm256_cvtepi32_ps(sum.low)),
        _mm256_add_ps(_mm256_loadu_ps(p->outer_bias + LANES), _mm256_cvtepi32_ps(sum.high))};
    return bytes_of((struct wide){to_steps(join(low), scale, bias[0], FF__Q_MIN, FF__Q_MAX),
                                  to_steps(join(high), scale, bias[1], FF__Q_MIN, FF__Q_MAX)});
}

/* What the tokens of the window add to the hidden numbers; a chain of sums for each feature. */
INLINE struct wide mix_window(const struct ff__predictor *p, const struct ff__stream *s) {
    const uint8_t *x = s->token[s->newest + 1];
    __m256i low[FF__TOKEN_QUADS], high[FF__TOKEN_QUADS];
    struct wide all = load_wide(p->mix_start);
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        low[q] = high[q] = _mm256_setzero_si256();
    for (uint32_t t = 0; t < FF__WINDOW; t++)
        for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++) {
            uint32_t at = t * FF__TOKEN_QUADS + q;
            const char *row = (const char *)p->mix[at];
            __m256i quad = spread(x + (size_t)at * FF__QUAD);
            low[q] = _mm256_add_epi16(low[q], pairs(quad, row));
            high[q] = _mm256_add_epi16(high[q], pairs(quad, row + sizeof quad));
        }
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        all = add(all, shifted((struct wide){join(low[q]), join(high[q])}, p->shift[q]));
    return all;
}

/* The hidden numbers, in steps. */
INLINE __m128i hide(const struct ff__predictor *p, const struct ff__stream *s) {
    const uint32_t window = FF__WINDOW * FF__TOKEN_QUADS;
    __m128i bytes = raised(layer(p, s));
    struct wide sums = mix_window(p, s);
    const __m256i x[] = QUADS3(bytes);
    struct wide last = dot_wide(x, p->mix[window], sizeof p->mix[window], FF__TOKEN_QUADS);
    sums = add(sums, shifted(last, p->answer_shift));
    return bytes_of(to_steps_wide(sums, p->mix_scale, p->mix_bias, 0, FF__Q_MAX - FF__Q_MIN));
}

TARGET static uint32_t predict(const struct ff__predictor *p, const struct ff__stream *s,
                               float *margin) {
    const __m128i hidden = hide(p, s);
    const __m256i x[] = QUADS4(hidden);
    __m256i best = _mm256_set1_epi32(INT32_MIN), first = best;
    for (uint32_t b = 2 * p->class_blocks; b-- > 0;) {
        const int8_t *w =
            p->to_classes + (size_t)(b / 2) * FF__HIDDEN * FF__WIDE + b % 2 * sizeof best;
        __m256i sums = dot(x, w, (size_t)FF__WIDE * FF__QUAD, FF__HIDDEN / FF__QUAD);
        first = _mm256_add_epi32(load(p->class_name + (size_t)b * LANES),
                                 shift_left(sums, p->class_shift));
        best = _mm256_max_epi32(best, first);
    }
    return ff__class_named(most_of(best), _mm_cvtsi128_si32(lower(first)), margin);
}

static bool works(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

const struct ff__predictor_code ff__predictor_avx2 = {"avx2", works, push, predict};

#endif
