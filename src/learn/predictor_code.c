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

static inline void products_portable(int32_t *y, const int8_t *w, uint32_t stride, const uint8_t *x,
                                     uint32_t quads, uint32_t blocks, uint32_t chains) {
    const uint32_t outs = blocks * FF__WIDE;
    for (uint32_t q = 0; q < quads; q++) {
        const int8_t *row = w + (size_t)q * stride * FF__QUAD;
        const uint8_t *with = x + (size_t)q * FF__QUAD;
        int32_t *sums = y + (size_t)(q % chains) * outs;
        for (uint32_t o = 0; o < outs; o++)
            for (uint32_t i = 0; i < FF__QUAD; i++)
                sums[o] += with[i] * row[FF__QUAD * o + i];
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

/* ---- AVX2 ---- */

#define CODE(name) name##_avx2
#define TARGET     __attribute__((target("avx2,popcnt")))
#include "learn/predictor_products.h"

static bool works_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

#include "learn/predictor_steps.h"
#undef CODE
#undef TARGET

static const struct ff__predictor_code avx2 = {"avx2", works_avx2, push_avx2, predict_avx2};

#endif

static const struct ff__predictor_code *const codes[] = {
#if defined(__x86_64__)
    &ff__predictor_avx512, &avx2,
#endif
    &portable};

const struct ff__predictor_code *ff__predictor_code_at(unsigned index) {
    return index < sizeof codes / sizeof codes[0] ? codes[index] : NULL;
}
