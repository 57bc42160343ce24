/* The steps of a prediction with AVX-512 and its products of bytes (VNNI): what is 16 or 32 long is
 * one vector or two, and stays in registers. */
#if defined(__x86_64__)

#define VECTOR 64
#define CHAINS 2
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,popcnt")))

#include "learn/predictor_vector.h"

#include <immintrin.h>

#define QUAD(x, which)                                                                             \
    ((vector)_mm512_broadcastd_epi32(_mm_shuffle_epi32((__m128i)(x), (which)*0x55)))

typedef vector sums;

INLINE sums dot(sums start, vector x, const void *w) {
    return (sums)_mm512_dpbusd_epi32((__m512i)start, (__m512i)x, (__m512i)load(w));
}

INLINE vector joined(sums sum) {
    return sum;
}

INLINE sixteen narrow(struct wide x) {
    return (sixteen)_mm512_cvtepi32_epi8((__m512i)x.at[0]);
}

INLINE vector smaller(vector a, vector b) {
    return (vector)_mm512_min_epi32((__m512i)a, (__m512i)b);
}

INLINE vector larger(vector a, vector b) {
    return (vector)_mm512_max_epi32((__m512i)a, (__m512i)b);
}

INLINE vector rounded(vector x, float scale, floats bias) {
    __m512 y = _mm512_cvtepi32_ps((__m512i)x);
    return (vector)_mm512_cvtps_epi32(_mm512_fmadd_ps(y, _mm512_set1_ps(scale), (__m512)bias));
}

INLINE int32_t sum_of(vector x) {
    return _mm512_reduce_add_epi32((__m512i)x);
}

INLINE int32_t most_of(vector x) {
    return _mm512_reduce_max_epi32((__m512i)x);
}

INLINE hashes sum_bytes(hashes x) {
    return (hashes)_mm512_sad_epu8((__m512i)x, _mm512_setzero_si512());
}

INLINE uint32_t count_equal(const uint16_t *to, uint16_t x) {
    __mmask32 equal = _mm512_cmpeq_epi16_mask((__m512i)load(to), _mm512_set1_epi16((int16_t)x));
    return (uint32_t)__builtin_popcount(equal);
}

INLINE uint32_t not_greater(const int16_t *a, const int16_t *b) {
    return _mm512_cmple_epi16_mask((__m512i)load(a), (__m512i)load(b));
}

INLINE shorts look_up_logs(const struct ff__predictor *p, shorts numbers) {
    return (shorts)_mm512_permutexvar_epi16((__m512i)numbers, (__m512i)load(p->logs));
}

INLINE vector weigh(const struct ff__predictor *p, vector below) {
    __m512i which = (__m512i)rounded(below, p->weight_scale, (floats){0});
    __m512i weight = _mm512_permutex2var_epi32((__m512i)load(ff__weights), which,
                                               (__m512i)load(ff__weights + LANES));
    return (vector)_mm512_srlv_epi32(weight, _mm512_srli_epi32(which, 5));
}

#include "learn/predictor_body.h"

static bool works(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("popcnt");
}

const struct ff__predictor_code ff__predictor_avx512 = {"avx512", works, push, predict};

#endif
