/* Real numbers of 16 bits on the host. */
#ifndef FF_PTX_HALF_H
#define FF_PTX_HALF_H

#include "ptx/device/types.h"

/* Exact. No branch, so that loops become ones of vectors. */
static inline float ff__half_value(uint32_t half) {
    float magnitude = as_f32((half & 0x7fff) << 13) * 0x1p112f;
    uint32_t all = magnitude >= 65536.0f ? 0x7f800000u : 0; /* infinity, NaN */
    return as_f32(as_u32(magnitude) | all | (half & 0x8000) << 16);
}

/* Rounded once, to nearest even. NaN is the one that PTX calls canonical. */
static inline uint32_t ff__half_rounded(double value) {
    uint64_t bits = as_u64(value);
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
    double magnitude = fabs(value);
    bits &= UINT64_MAX >> 1;
    if (magnitude != magnitude)
        return 0x7fff;
    if (magnitude >= 65520.0)
        return sign | 0x7c00;
    if (magnitude < 0x1p-14)
        return sign | (uint32_t)rint(magnitude * 0x1p24);
    bits += (UINT64_C(1) << 41) - 1 + (bits >> 42 & 1);
    return sign | (uint32_t)((bits >> 42) - ((1023 - 15) << 10));
}

#endif
