/* Attention's weights as whole numbers, so that their sums do not depend on an order: 4096 e^-x to
 * within a hundredth, from a table of powers of two. */
#ifndef FF_LEARN_WEIGHT_H
#define FF_LEARN_WEIGHT_H

#include <stdint.h>

#define FF__WEIGHT_PARTS 32              /* of a factor of two */
#define FF__WEIGHT_SCALE 46.16624130844f /* parts / log(2) */

/* 4096 * 2^-(i / 32) */
static const int32_t ff__weights[FF__WEIGHT_PARTS] = {
    4096, 4008, 3922, 3838, 3756, 3676, 3597, 3520, 3444, 3371, 3298, 3228, 3158, 3091, 3025, 2960,
    2896, 2834, 2774, 2714, 2656, 2599, 2543, 2489, 2435, 2383, 2332, 2282, 2233, 2186, 2139, 2093};

/* To the nearest whole number, ties to even, for what is below 2^22; without a call. */
static inline float ff__nearest(float x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23 */
    return (x + magic) - magic;
}

/* x >= 0, in so many parts. */
static inline int32_t ff__weight(float parts) {
    uint32_t all = (uint32_t)ff__nearest(parts), halves = all / FF__WEIGHT_PARTS;
    return ff__weights[all % FF__WEIGHT_PARTS] >> (halves < 31 ? halves : 31);
}

#endif
