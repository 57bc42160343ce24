/* Attention's weights as whole numbers: 4096 e^x, so that their sums do not depend on an order. */
#ifndef FF_LEARN_WEIGHT_H
#define FF_LEARN_WEIGHT_H

#include <stdint.h>
#include <string.h>

/* To the nearest whole number, ties to even, for what is below 2^22; without a call. */
static inline float ff__nearest(float x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23 */
    return (x + magic) - magic;
}

/* 0 to 4096, for x <= 0: 2 to the whole part times a polynomial (Taylor's) of the rest. */
static inline int32_t ff__weight(float x) {
    float t = x * 1.44269504f;
    t = t < -20 ? -20 : t;
    float whole = ff__nearest(t), rest = (t - whole) * 0.69314718f, scale;
    int32_t bits = ((int32_t)whole + 127) * (1 << 23);
    memcpy(&scale, &bits, sizeof scale);
    float power =
        1 + rest * (1 + rest * (0.5f + rest * (0.16666667f +
                                               rest * (0.041666667f + rest * 0.0083333333f))));
    return (int32_t)ff__nearest(4096 * scale * power);
}

#endif
