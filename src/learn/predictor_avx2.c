/* The steps of a prediction with AVX2. A product of four bytes by four is two instructions. */
#if defined(__x86_64__)

#define VECTOR 32
#define CHAINS 1
#define TARGET __attribute__((target("avx2,popcnt")))

#include "learn/predictor_vector.h"

#include <immintrin.h>

#define QUAD(x, which)                                                                             \
    ((vector)_mm256_broadcastd_epi32(_mm_shuffle_epi32((__m128i)(x), (which)*0x55)))

typedef shorts sums;

INLINE sums dot(sums start, vector x, const void *w) {
    return start + (sums)_mm256_maddubs_epi16((__m256i)x, (__m256i)load(w));
}

INLINE vector joined(sums sum) {
    return (vector)_mm256_madd_epi16((__m256i)sum, _mm256_set1_epi16(1));
}

INLINE __m128i lower(vector x) {
    return _mm256_castsi256_si128((__m256i)x);
}

INLINE __m128i upper(vector x) {
    return _mm256_extracti128_si256((__m256i)x, 1);
}

INLINE sixteen narrow(struct wide x) {
    __m256i packed = _mm256_packs_epi32((__m256i)x.at[0], (__m256i)x.at[1]);
    vector in_order = (vector)_mm256_permute4x64_epi64(packed, 0xD8);
    return (sixteen)_mm_packs_epi16(lower(in_order), upper(in_order));
}

INLINE vector smaller(vector a, vector b) {
    return (vector)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

INLINE vector larger(vector a, vector b) {
    return (vector)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

INLINE vector rounded(vector x, float scale, floats bias) {
    floats y = __builtin_convertvector(x, floats) * scale + bias;
    return (vector)_mm256_cvtps_epi32((__m256)y);
}

INLINE int32_t sum_of(vector x) {
    __m128i sum = _mm_add_epi32(lower(x), upper(x));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1)));
}

INLINE int32_t most_of(vector x) {
    __m128i most = _mm_max_epi32(lower(x), upper(x));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(most, _mm_shuffle_epi32(most, 0xB1)));
}

INLINE hashes sum_bytes(hashes x) {
    return (hashes)_mm256_sad_epu8((__m256i)x, _mm256_setzero_si256());
}

/* A bit for each slot, of all ones or zeros. */
INLINE uint32_t set_of(shorts first, shorts second) {
    __m256i packed = _mm256_packs_epi16((__m256i)first, (__m256i)second);
    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(packed, 0xD8));
}

INLINE uint32_t count_equal(const uint16_t *to, uint16_t x) {
    const shorts same = all_shorts((int16_t)x);
    return (uint32_t)__builtin_popcount(
        set_of((shorts)load(to) == same, (shorts)load(to + SHORTS) == same));
}

INLINE uint32_t not_greater(const int16_t *a, const int16_t *b) {
    return ~set_of((shorts)load(a) > (shorts)load(b),
                   (shorts)load(a + SHORTS) > (shorts)load(b + SHORTS));
}

INLINE shorts look_up_logs(const struct ff__predictor *p, shorts numbers) {
    __m256i logs = (__m256i)load(p->logs), high = _mm256_set1_epi16((int16_t)0x8000);
    __m256i bytes_of_logs = _mm256_packus_epi16(_mm256_and_si256(logs, _mm256_set1_epi16(0xFF)),
                                                _mm256_srli_epi16(logs, 8));
    /* low bytes of the first eight, high ones of these; then of the other eight */
    __m256i lows = _mm256_permute4x64_epi64(bytes_of_logs, 0x88);
    __m256i highs = _mm256_permute4x64_epi64(bytes_of_logs, 0xDD);
    __m256i where = _mm256_or_si256((__m256i)numbers, high); /* the upper byte of each becomes 0 */
    shorts found =
        (shorts)_mm256_shuffle_epi8(lows, where) | (shorts)_mm256_shuffle_epi8(highs, where) << 8;
    shorts last = numbers == (int16_t)FF__LSH_ROUNDS; /* found as the first, which is 0 */
    return found | (last & all_shorts(p->logs[FF__LSH_ROUNDS]));
}

INLINE vector weigh(const struct ff__predictor *p, vector below) {
    vector which = rounded(below, p->weight_scale, (floats){0});
    __m256i weight =
        _mm256_i32gather_epi32(ff__weights, (__m256i)(which & (FF__WEIGHT_PARTS - 1)), 4);
    return (vector)_mm256_srlv_epi32(weight, _mm256_srli_epi32((__m256i)which, 5));
}

#include "learn/predictor_body.h"

static bool works(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

const struct ff__predictor_code ff__predictor_avx2 = {"avx2", works, push, predict};

#endif
