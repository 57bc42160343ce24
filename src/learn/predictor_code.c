#include "learn/predictor_code.h"

#include "learn/quant.h"
#include "learn/weight.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- any CPU ---- */

#define CODE(name) name##_portable
#define TARGET

static inline void products_portable(int32_t *y, const int16_t *w, uint32_t stride,
                                     const int16_t *x, uint32_t pairs, uint32_t outs) {
    for (uint32_t p = 0; p < pairs; p++) {
        const int16_t *row = w + (size_t)p * stride * 2;
        int32_t first = x[2 * p], second = x[2 * p + 1];
        for (uint32_t o = 0; o < outs; o++)
            y[o] += first * row[2 * o] + second * row[2 * o + 1];
    }
}

static bool works_portable(void) {
    return true;
}

#include "learn/predictor_steps.h"
#undef CODE
#undef TARGET

static const struct ff__predictor_code portable = {"portable", works_portable, push_portable,
                                                   predict_portable};

#if defined(__x86_64__)

/* Two neighbouring 16-bit numbers, as one. */
static inline int32_t pair_at(const int16_t *x) {
    int32_t pair;
    memcpy(&pair, x, sizeof pair);
    return pair;
}

/* ---- AVX2 ---- */

#define CODE(name) name##_avx2
#define TARGET     __attribute__((target("avx2,popcnt")))

TARGET static inline void products_avx2(int32_t *y, const int16_t *w, uint32_t stride,
                                        const int16_t *x, uint32_t pairs, uint32_t outs) {
    for (uint32_t o = 0; o < outs; o += 16) {
        __m256i low = _mm256_loadu_si256((const void *)(y + o));
        __m256i high = _mm256_loadu_si256((const void *)(y + o + 8));
        for (uint32_t p = 0; p < pairs; p++) {
            const int16_t *row = w + ((size_t)p * stride + o) * 2;
            __m256i both = _mm256_set1_epi32(pair_at(x + 2 * p));
            __m256i first = _mm256_loadu_si256((const void *)row);
            __m256i second = _mm256_loadu_si256((const void *)(row + 16));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(first, both));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(second, both));
        }
        _mm256_storeu_si256((void *)(y + o), low);
        _mm256_storeu_si256((void *)(y + o + 8), high);
    }
}

static bool works_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

#include "learn/predictor_steps.h"
#undef CODE
#undef TARGET

static const struct ff__predictor_code avx2 = {"avx2", works_avx2, push_avx2, predict_avx2};

/* ---- AVX-512 ---- */

#define CODE(name) name##_avx512
#define TARGET     __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

TARGET static inline void products_avx512(int32_t *y, const int16_t *w, uint32_t stride,
                                          const int16_t *x, uint32_t pairs, uint32_t outs) {
    for (uint32_t o = 0; o < outs; o += 16) {
        __m512i sum = _mm512_loadu_si512(y + o);
        for (uint32_t p = 0; p < pairs; p++) {
            __m512i row = _mm512_loadu_si512(w + ((size_t)p * stride + o) * 2);
            __m512i both = _mm512_set1_epi32(pair_at(x + 2 * p));
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(row, both));
        }
        _mm512_storeu_si512(y + o, sum);
    }
}

static bool works_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("popcnt");
}

#include "learn/predictor_steps.h"
#undef CODE
#undef TARGET

static const struct ff__predictor_code avx512 = {"avx512", works_avx512, push_avx512,
                                                 predict_avx512};

#endif

static const struct ff__predictor_code *const codes[] = {
#if defined(__x86_64__)
    &avx512, &avx2,
#endif
    &portable};

const struct ff__predictor_code *ff__predictor_code_at(unsigned index) {
    return index < sizeof codes / sizeof codes[0] ? codes[index] : NULL;
}
