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

#define CODE(name)     name##_avx2
#define TARGET         __attribute__((target("avx2,popcnt")))

#define VECTOR         __m256i
#define LANES          8u
#define LOAD(at)       _mm256_loadu_si256((const void *)(at))
#define STORE(at, x)   _mm256_storeu_si256((void *)(at), x)
#define SPREAD(x)      _mm256_set1_epi32(x)
#define PLUS(a, b)     _mm256_add_epi32(a, b)
#define ADD(sum, a, b) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#include "learn/predictor_products.h"
#undef VECTOR
#undef LANES
#undef LOAD
#undef STORE
#undef SPREAD
#undef PLUS
#undef ADD

static bool works_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

#include "learn/predictor_steps.h"
#undef CODE
#undef TARGET

static const struct ff__predictor_code avx2 = {"avx2", works_avx2, push_avx2, predict_avx2};

/* ---- AVX-512 ---- */

#define CODE(name)     name##_avx512
#define TARGET         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

#define VECTOR         __m512i
#define LANES          16u
#define LOAD(at)       _mm512_loadu_si512(at)
#define STORE(at, x)   _mm512_storeu_si512(at, x)
#define SPREAD(x)      _mm512_set1_epi32(x)
#define PLUS(a, b)     _mm512_add_epi32(a, b)
#define ADD(sum, a, b) _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
#include "learn/predictor_products.h"

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
