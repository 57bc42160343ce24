/* The steps of predictor_portable.c with AVX-512 and its products of bytes (VNNI): what is 16 or 32 long
 * there is one vector or two here, and stays in registers. Stores are as wide as the loads that follow
 * them, because a CPU waits where a load must be put together from several stores. */
#include "learn/predictor_code.h"

#include "learn/quant.h"
#include "learn/weight.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,popcnt")))
#define INLINE  TARGET static inline __attribute__((always_inline))

#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define SLOTS   ((UINT32_C(1) << FF__WINDOW) - 1)

INLINE __m512i load(const void *at) {
    return _mm512_loadu_si512(at);
}

/* Four bytes of memory in all lanes; quad `which` of 16 bytes in all lanes. */
INLINE __m512i spread(const void *quad) {
    int32_t bytes;
    memcpy(&bytes, quad, sizeof bytes);
    return _mm512_set1_epi32(bytes);
}

#define QUAD(bytes, which) _mm512_broadcastd_epi32(_mm_shuffle_epi32(bytes, (which)*0x55))

/* start + the products of quads of x with rows of w, so many bytes apart; side by side. */
INLINE __m512i dot3(__m512i start, const __m512i x[3], const void *w, size_t apart) {
    const char *row = w;
    __m512i a = _mm512_dpbusd_epi32(start, x[0], load(row));
    __m512i b = _mm512_dpbusd_epi32(_mm512_setzero_si512(), x[1], load(row + apart));
    __m512i c = _mm512_dpbusd_epi32(_mm512_setzero_si512(), x[2], load(row + 2 * apart));
    return _mm512_add_epi32(a, _mm512_add_epi32(b, c));
}

INLINE __m512i dot4(const __m512i x[4], const void *w) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i *row = w;
    __m512i a = _mm512_dpbusd_epi32(zero, x[0], load(row));
    __m512i b = _mm512_dpbusd_epi32(zero, x[1], load(row + 1));
    __m512i c = _mm512_dpbusd_epi32(zero, x[2], load(row + 2));
    __m512i d = _mm512_dpbusd_epi32(zero, x[3], load(row + 3));
    return _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
}

#define QUADS3(bytes)                                                                              \
    { QUAD(bytes, 0), QUAD(bytes, 1), QUAD(bytes, 2) }
#define QUADS4(bytes)                                                                              \
    { QUAD(bytes, 0), QUAD(bytes, 1), QUAD(bytes, 2), QUAD(bytes, 3) }

INLINE __m512i shifted(__m512i x, uint32_t by) {
    return _mm512_sll_epi32(x, _mm_cvtsi32_si128((int32_t)by));
}

/* To steps, ties to even. */
INLINE __m512i to_steps(__m512i sums, __m512 scale, __m512 bias, int32_t least, int32_t most) {
    __m512 x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, bias);
    __m512i q = _mm512_cvt_roundps_epi32(x, NEAREST);
    return _mm512_min_epi32(_mm512_max_epi32(q, _mm512_set1_epi32(least)), _mm512_set1_epi32(most));
}

/* Without its sign, for products. */
INLINE __m128i raised(__m512i q) {
    return _mm_add_epi8(_mm512_cvtepi32_epi8(q), _mm_set1_epi8(FF__OFFSET));
}

/* ---- a new token ---- */

INLINE __m512i project(const struct ff__predictor *p, int8_t (*w)[FF__WIDE][FF__QUAD],
                       const int32_t *start, float scale, __m128i token) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i page = _mm512_dpbusd_epi32(zero, QUAD(token, 0), load(w[0]));
    __m512i delta = _mm512_dpbusd_epi32(zero, QUAD(token, 1), load(w[1]));
    __m512i pc = _mm512_dpbusd_epi32(zero, QUAD(token, 2), load(w[2]));
    __m512i sums =
        _mm512_add_epi32(_mm512_add_epi32(load(start), shifted(page, p->shift[0])),
                         _mm512_add_epi32(shifted(delta, p->shift[1]), shifted(pc, p->shift[2])));
    return to_steps(sums, _mm512_set1_ps(scale), _mm512_setzero_ps(), FF__Q_MIN, FF__Q_MAX);
}

INLINE uint64_t hash_of(const struct ff__predictor *p, __m128i key) {
    const __m512i x[] = QUADS3(key);
    __m512i most = _mm512_set1_epi32(-1), bucket = _mm512_setzero_si512();
    for (int v = 0; v < (int)FF__LSH_VECTORS; v++) {
        uint32_t first = (uint32_t)v * FF__LSH_ROUNDS;
        __m512i along = dot3(load(p->direction_start + first), x, p->direction[0][first],
                             sizeof p->direction[0]);
        __m512i size = _mm512_abs_epi32(along);
        __m512i number = _mm512_add_epi32(_mm512_set1_epi32(2 * v), _mm512_srli_epi32(along, 31));
        bucket = _mm512_mask_mov_epi32(bucket, _mm512_cmpgt_epi32_mask(size, most), number);
        most = _mm512_max_epi32(most, size);
    }
    /* bytes, then two of them in one */
    __m128i pairs = _mm_maddubs_epi16(_mm512_cvtepi32_epi8(bucket), _mm_set1_epi16(0x1001));
    return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(pairs, pairs));
}

/* Logarithms of the distances from one hash to all, in the order of slots. */
INLINE __m512i distances(const struct ff__predictor *p, const __m512i all[4], uint64_t hash) {
    const __m512i ones = _mm512_set1_epi8(0x11), twos = _mm512_set1_epi8(0x03);
    __m512i logs = _mm512_setzero_si512();
    for (unsigned i = 0; i < 4; i++) {
        __m512i x = _mm512_xor_si512(all[i], _mm512_set1_epi64((int64_t)hash));
        x = _mm512_or_si512(x, _mm512_srli_epi64(x, 2));
        x = _mm512_and_si512(_mm512_or_si512(x, _mm512_srli_epi64(x, 1)), ones);
        x = _mm512_and_si512(_mm512_add_epi64(x, _mm512_srli_epi64(x, 4)), twos);
        x = _mm512_sad_epu8(x, _mm512_setzero_si512());
        logs = _mm512_or_si512(logs, _mm512_slli_epi64(x, 16 * i));
    }
    return _mm512_maskz_permutexvar_epi16(SLOTS, logs, load(p->logs));
}

/* The sums of distances, with another hash in the slot. */
INLINE void rehash(const struct ff__predictor *p, struct ff__stream *s, uint32_t slot,
                   uint64_t hash) {
    __mmask32 here = UINT32_C(1) << slot;
    __mmask32 counts = p->chosen[slot] ? UINT32_MAX : 0;
    __m512i all[4], far = load(s->far), sum;
    for (unsigned i = 0; i < 4; i++)
        all[i] = load(s->hash + 8 * i);
    __m512i before = distances(p, all, s->hash[ff__hash_at(slot)]);
    __m512i after = _mm512_mask_mov_epi16(distances(p, all, hash), here, _mm512_setzero_si512());
    far = _mm512_mask_add_epi16(far, counts, far, _mm512_sub_epi16(after, before));
    sum = _mm512_madd_epi16(_mm512_and_si512(after, load(p->chosen)), _mm512_set1_epi16(1));
    far =
        _mm512_mask_mov_epi16(far, here, _mm512_set1_epi16((int16_t)_mm512_reduce_add_epi32(sum)));
    _mm512_storeu_si512(s->far, far);
    _mm512_storeu_si512(s->hash + 8 * (slot % 4),
                        _mm512_mask_set1_epi64(load(s->hash + 8 * (slot % 4)),
                                               (__mmask8)(1u << slot / 4), (int64_t)hash));
}

INLINE void put16(void *all, uint32_t slot, int16_t x) {
    _mm512_storeu_si512(all, _mm512_mask_set1_epi16(load(all), UINT32_C(1) << slot, x));
}

INLINE void put_key(struct ff__stream *s, uint32_t slot, __m128i key) {
    __mmask16 here = (__mmask16)(1u << slot % 16);
    uint32_t first = slot / 16 * 16;
    _mm512_storeu_si512(s->key[0][first],
                        _mm512_mask_mov_epi32(load(s->key[0][first]), here, QUAD(key, 0)));
    _mm512_storeu_si512(s->key[1][first],
                        _mm512_mask_mov_epi32(load(s->key[1][first]), here, QUAD(key, 1)));
    _mm512_storeu_si512(s->key[2][first],
                        _mm512_mask_mov_epi32(load(s->key[2][first]), here, QUAD(key, 2)));
    __m128i sums = _mm_dpbusd_epi32(_mm_setzero_si128(), _mm_set1_epi8(FF__OFFSET), key);
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xB1));
    put16(s->lean, slot, (int16_t)_mm_cvtsi128_si32(sums));
}

INLINE void put_value(struct ff__stream *s, uint32_t slot, __m512i value) {
    void *row = s->value[slot / FF__QUAD];
    uint32_t bits = slot % FF__QUAD * 8;
    __m512i byte = _mm512_set1_epi32(0xFF);
    __m512i kept = _mm512_andnot_si512(shifted(byte, bits), load(row));
    _mm512_storeu_si512(row, _mm512_or_si512(kept, shifted(_mm512_and_si512(value, byte), bits)));
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
    __m512i key = project(p, (int8_t(*)[FF__WIDE][FF__QUAD])p->to_key, p->key_start[slot],
                          p->key_scale, token);
    __m512i value = project(p, (int8_t(*)[FF__WIDE][FF__QUAD])p->to_value, p->value_start,
                            p->value_scale, token);
    put_token(s, slot, token);
    put_key(s, slot, _mm512_cvtepi32_epi8(key));
    put_value(s, slot, value);
    put16(s->delta, slot, (int16_t)ids[1]);
    rehash(p, s, slot, hash_of(p, raised(key)));
    s->newest = slot;
}

/* ---- a prediction ---- */

INLINE bool converged(const struct ff__predictor *p, const struct ff__stream *s) {
    __m512i all = load(s->delta);
    int most = 0;
    for (uint32_t i = 0, slot = s->newest; i <= FF__WINDOW - FF__CONVERGED; i++) {
        __m512i delta = _mm512_set1_epi16((int16_t)s->delta[slot]);
        int same = __builtin_popcount(_mm512_cmpeq_epi16_mask(all, delta));
        most = same > most ? same : most;
        slot = slot > 0 ? slot - 1 : FF__WINDOW - 1;
    }
    return most >= (int)p->converged;
}

/* The newest token's scores for slots 0 to 15 and 16 to 31. Tokens that share or are left out are rare:
 * as a branch, they cost no waiting for the newest hash. */
INLINE void score(const struct ff__predictor *p, const struct ff__stream *s, __m512i scores[2]) {
    const __m512i offset = _mm512_set1_epi8(FF__OFFSET), zero = _mm512_setzero_si512();
    uint32_t newest = s->newest, turn = FF__WINDOW - 1 - newest, base = newest, asks = newest;
    uint32_t erased = _mm512_cmpge_epi16_mask(load(s->far), load(p->far)) & SLOTS;
    uint32_t alike = _mm512_cmple_epi16_mask(load(s->far), load(p->close)) & SLOTS;
    __mmask16 asking = 0xFFFF;
    if (erased | alike) {
        base = alike ? ff__oldest(alike, newest) : newest;
        asks = alike >> newest & 1 ? base : newest;
        asking = erased >> newest & 1 ? 0 : 0xFFFF;
        erased = ff__without_key(p, erased, alike, base, newest);
    }
    __m512i query[FF__TOKEN_QUADS], keys[2], lean = _mm512_sub_epi16(zero, load(s->lean));
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        query[q] = _mm512_add_epi8(_mm512_maskz_mov_epi32(asking, spread(s->key[q][asks])), offset);
    keys[0] = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(lean));
    keys[1] = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(lean, 1));
    for (uint32_t i = 0; i < 2; i++)
        keys[i] = dot3(keys[i], query, s->key[0][16 * i], sizeof s->key[0]);
    if (erased | alike) {
        __m512i shared =
            _mm512_permutex2var_epi32(keys[0], _mm512_set1_epi32((int32_t)base), keys[1]);
        for (uint32_t i = 0; i < 2; i++) {
            keys[i] = _mm512_mask_mov_epi32(keys[i], (__mmask16)(alike >> 16 * i), shared);
            keys[i] = _mm512_maskz_mov_epi32((__mmask16) ~(erased >> 16 * i), keys[i]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        __m512i ages = dot3(load(p->age_start + turn + 16 * i), query, p->age[0][turn + 16 * i],
                            sizeof p->age[0]);
        scores[i] = _mm512_add_epi32(shifted(keys[i], p->key_shift), shifted(ages, p->age_shift));
    }
}

/* ff__weight() */
INLINE __m512i weigh(const struct ff__predictor *p, __m512i below) {
    __m512 parts = _mm512_mul_ps(_mm512_cvtepi32_ps(below), _mm512_set1_ps(p->weight_scale));
    __m512i all = _mm512_cvt_roundps_epi32(parts, NEAREST);
    __m512i weight = _mm512_permutex2var_epi32(load(ff__weights), all, load(ff__weights + 16));
    return _mm512_srlv_epi32(weight, _mm512_srli_epi32(all, 5));
}

/* What attention adds to the newest token, in steps. */
INLINE __m512i attend(const struct ff__predictor *p, const struct ff__stream *s) {
    uint32_t others = SLOTS & ~(UINT32_C(1) << s->newest);
    __mmask16 first = (__mmask16)others, second = (__mmask16)(others >> 16);
    __m512i high[2], low[2], scores[2], lower = _mm512_set1_epi32(63);
    score(p, s, scores);
    __m512i most = _mm512_mask_mov_epi32(_mm512_set1_epi32(INT32_MIN), first, scores[0]);
    most = _mm512_mask_max_epi32(most, second, most, scores[1]);
    most = _mm512_set1_epi32(_mm512_reduce_max_epi32(most));
    __m512i weights[2] = {
        _mm512_maskz_mov_epi32(first, weigh(p, _mm512_sub_epi32(most, scores[0]))),
        _mm512_maskz_mov_epi32(second, weigh(p, _mm512_sub_epi32(most, scores[1])))};
    int32_t all = _mm512_reduce_add_epi32(_mm512_add_epi32(weights[0], weights[1]));
    for (unsigned i = 0; i < 2; i++) {
        __m128i upper = _mm512_cvtepi32_epi8(_mm512_srli_epi32(weights[i], 6));
        __m128i rest = _mm512_cvtepi32_epi8(_mm512_and_si512(weights[i], lower));
        const __m512i x[] = QUADS4(upper), y[] = QUADS4(rest);
        high[i] = dot4(x, s->value[4 * i]);
        low[i] = dot4(y, s->value[4 * i]);
    }
    __m512i sums = _mm512_add_epi32(_mm512_slli_epi32(_mm512_add_epi32(high[0], high[1]), 6),
                                    _mm512_add_epi32(low[0], low[1]));
    float share = FF__STEP_VALUE / FF__STEP_TOKEN / (float)all;
    return to_steps(sums, _mm512_set1_ps(share), _mm512_setzero_ps(), FF__Q_MIN, FF__Q_MAX);
}

/* The newest token with what attention says, in steps. */
INLINE __m512i add_answer(const struct ff__predictor *p, const struct ff__stream *s) {
    const int32_t page = (int32_t)p->shift[0], delta = (int32_t)p->shift[1],
                  pc = (int32_t)p->shift[2];
    const __m512i shift = _mm512_inserti32x4(
        _mm512_inserti32x4(_mm512_castsi128_si512(_mm_set1_epi32(page)), _mm_set1_epi32(delta), 1),
        _mm_set1_epi32(pc), 2);
    __m512i token = _mm512_sub_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)s->last)),
                                     _mm512_set1_epi32(FF__OFFSET));
    __m512i raw = _mm512_maskz_sllv_epi32(0x0FFF, token, shift);
    if (!converged(p, s))
        raw = _mm512_add_epi32(raw, shifted(attend(p, s), p->answer_shift));
    __m512 scale = _mm512_set1_ps(1 / (float)(1 << p->answer_shift));
    return to_steps(raw, scale, _mm512_setzero_ps(), FF__Q_MIN, FF__Q_MAX);
}

/* The encoder layer's output for the newest token, in steps. */
INLINE __m512i layer(const struct ff__predictor *p, const struct ff__stream *s) {
    __m512i sum = add_answer(p, s), outer[3];
    __m128i bytes = raised(sum);
    const __m512i x[] = QUADS3(bytes);
    for (uint32_t b = 0; b < 3; b++) {
        uint32_t first = b * FF__WIDE;
        __m512i inner =
            dot3(load(p->inner_start + first), x, p->to_inner[0][first], sizeof p->to_inner[0]);
        inner = to_steps(inner, _mm512_set1_ps(p->inner_scale),
                         _mm512_loadu_ps(p->inner_bias + first), 0, FF__Q_MAX - FF__Q_MIN);
        bytes = _mm512_cvtepi32_epi8(inner);
        const __m512i y[] = QUADS4(bytes);
        outer[b] = dot4(y, p->to_outer[4 * b]);
    }
    __m512 bias = _mm512_add_ps(_mm512_loadu_ps(p->outer_bias), _mm512_cvtepi32_ps(sum));
    return to_steps(_mm512_add_epi32(outer[0], _mm512_add_epi32(outer[1], outer[2])),
                    _mm512_set1_ps(p->outer_scale), bias, FF__Q_MIN, FF__Q_MAX);
}

/* What the tokens of the window add to the hidden numbers; two chains of sums for each feature. */
INLINE __m512i mix_window(const struct ff__predictor *p, const struct ff__stream *s) {
    const uint8_t *x = s->token[s->newest + 1];
    __m512i sum[2][FF__TOKEN_QUADS], all = load(p->mix_start);
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        sum[0][q] = sum[1][q] = _mm512_setzero_si512();
    for (uint32_t t = 0; t < FF__WINDOW; t += 2)
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++) {
                uint32_t at = (t + i) * FF__TOKEN_QUADS + q;
                sum[i][q] =
                    _mm512_dpbusd_epi32(sum[i][q], spread(x + at * FF__QUAD), load(p->mix[at]));
            }
    for (uint32_t q = 0; q < FF__TOKEN_QUADS; q++)
        all = _mm512_add_epi32(all, shifted(_mm512_add_epi32(sum[0][q], sum[1][q]), p->shift[q]));
    return all;
}

/* The hidden numbers, in steps. */
INLINE __m128i hide(const struct ff__predictor *p, const struct ff__stream *s) {
    const uint32_t window = FF__WINDOW * FF__TOKEN_QUADS;
    __m128i bytes = raised(layer(p, s));
    __m512i sums = mix_window(p, s);
    const __m512i x[] = QUADS3(bytes);
    __m512i last = dot3(_mm512_setzero_si512(), x, p->mix[window], sizeof p->mix[window]);
    sums = _mm512_add_epi32(sums, shifted(last, p->answer_shift));
    return _mm512_cvtepi32_epi8(to_steps(sums, _mm512_set1_ps(p->mix_scale),
                                         _mm512_loadu_ps(p->mix_bias), 0, FF__Q_MAX - FF__Q_MIN));
}

TARGET static uint32_t predict(const struct ff__predictor *p, const struct ff__stream *s,
                               float *margin) {
    const __m128i shift = _mm_cvtsi32_si128((int32_t)p->class_shift), hidden = hide(p, s);
    const __m512i x[] = QUADS4(hidden);
    __m512i best = _mm512_set1_epi32(INT32_MIN), first = best;
    for (uint32_t b = p->class_blocks; b-- > 0;) {
        const int8_t *w = p->to_classes + (size_t)b * FF__HIDDEN * FF__WIDE;
        __m512i sums = _mm512_setzero_si512();
        for (uint32_t q = 0; q < FF__HIDDEN / FF__QUAD; q++) /* blocks do not wait for each other */
            sums = _mm512_dpbusd_epi32(sums, x[q], load(w + (size_t)q * sizeof sums));
        first = _mm512_add_epi32(load(p->class_name + b * FF__WIDE), _mm512_sll_epi32(sums, shift));
        best = _mm512_max_epi32(best, first);
    }
    return ff__class_named(_mm512_reduce_max_epi32(best),
                           _mm_cvtsi128_si32(_mm512_castsi512_si128(first)), margin);
}

static bool works(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("popcnt");
}

const struct ff__predictor_code ff__predictor_avx512 = {"avx512", works, push, predict};

#endif
