/* Real numbers of 32 and 64 bits. */
#ifndef FF_PTX_DEVICE_FLOAT_H
#define FF_PTX_DEVICE_FLOAT_H

#include "ptx/device/types.h"

static inline f32 ftz_f32(f32 a) {
    u32 bits = as_u32(a);
    return as_f32((bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u);
}
static inline f32 sat_f32(f32 a) {
    return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f;
}
static inline f64 sat_f64(f64 a) {
    return a > 0.0 ? (a < 1.0 ? a : 1.0) : 0.0;
}

#define FF_PTX_ROUNDED(T, name, mode, fused)                                                       \
    static inline T add_##name(T a, T b) {                                                         \
        volatile T x = a, y = b, r;                                                                \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = x + y;                                                                                 \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }                                                                                              \
    static inline T sub_##name(T a, T b) {                                                         \
        return add_##name(a, -b);                                                                  \
    }                                                                                              \
    static inline T mul_##name(T a, T b) {                                                         \
        volatile T x = a, y = b, r;                                                                \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = x * y;                                                                                 \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }                                                                                              \
    static inline T div_##name(T a, T b) {                                                         \
        volatile T x = a, y = b, r;                                                                \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = x / y;                                                                                 \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }                                                                                              \
    static inline T fma_##name(T a, T b, T c) {                                                    \
        volatile T x = a, y = b, z = c, r;                                                         \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = fused(x, y, z);                                                                        \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }                                                                                              \
    static inline T mad_##name(T a, T b, T c) {                                                    \
        return fma_##name(a, b, c);                                                                \
    }                                                                                              \
    static inline T rcp_##name(T a) {                                                              \
        return div_##name(1, a);                                                                   \
    }                                                                                              \
    static inline T sqrt_##name(T a) {                                                             \
        volatile T x = a, r;                                                                       \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = sizeof(T) == 4 ? (T)sqrtf((f32)x) : (T)sqrt(x);                                        \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }

#define FF_PTX_REAL(T, U, sign, fused, root, magnitude, bits, unbits)                              \
    static inline T add_##T(T a, T b) {                                                            \
        return a + b;                                                                              \
    }                                                                                              \
    static inline T sub_##T(T a, T b) {                                                            \
        return a - b;                                                                              \
    }                                                                                              \
    static inline T mul_##T(T a, T b) {                                                            \
        return a * b;                                                                              \
    }                                                                                              \
    static inline T div_##T(T a, T b) {                                                            \
        return a / b;                                                                              \
    }                                                                                              \
    static inline T fma_##T(T a, T b, T c) {                                                       \
        return fused(a, b, c);                                                                     \
    }                                                                                              \
    static inline T mad_##T(T a, T b, T c) {                                                       \
        return fused(a, b, c);                                                                     \
    }                                                                                              \
    static inline T rcp_##T(T a) {                                                                 \
        return 1 / a;                                                                              \
    }                                                                                              \
    static inline T sqrt_##T(T a) {                                                                \
        return root(a);                                                                            \
    }                                                                                              \
    static inline T rsqrt_##T(T a) {                                                               \
        return 1 / root(a);                                                                        \
    }                                                                                              \
    static inline T abs_##T(T a) {                                                                 \
        return magnitude(a);                                                                       \
    }                                                                                              \
    static inline T neg_##T(T a) {                                                                 \
        return unbits(bits(a) ^ sign);                                                             \
    }                                                                                              \
    static inline T copysign_##T(T a, T b) {                                                       \
        return unbits((bits(a) & sign) | (bits(b) & ~sign));                                       \
    }                                                                                              \
    static inline u32 testp_finite_##T(T a) {                                                      \
        return __builtin_isfinite(a) != 0;                                                         \
    }                                                                                              \
    static inline u32 testp_infinite_##T(T a) {                                                    \
        return __builtin_isinf(a) != 0;                                                            \
    }                                                                                              \
    static inline u32 testp_number_##T(T a) {                                                      \
        return a == a;                                                                             \
    }                                                                                              \
    static inline u32 testp_notanumber_##T(T a) {                                                  \
        return a != a;                                                                             \
    }                                                                                              \
    static inline u32 testp_normal_##T(T a) {                                                      \
        return __builtin_isnormal(a) != 0;                                                         \
    }                                                                                              \
    static inline u32 testp_subnormal_##T(T a) {                                                   \
        return a != 0 && __builtin_isfinite(a) && !__builtin_isnormal(a);                          \
    }                                                                                              \
    static inline u32 cmp_eq_##T(T a, T b) {                                                       \
        return a == b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_ne_##T(T a, T b) {                                                       \
        return (a < b) | (a > b);                                                                  \
    }                                                                                              \
    static inline u32 cmp_lt_##T(T a, T b) {                                                       \
        return a < b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_le_##T(T a, T b) {                                                       \
        return a <= b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_gt_##T(T a, T b) {                                                       \
        return a > b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_ge_##T(T a, T b) {                                                       \
        return a >= b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_equ_##T(T a, T b) {                                                      \
        return !((a < b) | (a > b));                                                               \
    }                                                                                              \
    static inline u32 cmp_neu_##T(T a, T b) {                                                      \
        return a != b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_ltu_##T(T a, T b) {                                                      \
        return !(a >= b);                                                                          \
    }                                                                                              \
    static inline u32 cmp_leu_##T(T a, T b) {                                                      \
        return !(a > b);                                                                           \
    }                                                                                              \
    static inline u32 cmp_gtu_##T(T a, T b) {                                                      \
        return !(a <= b);                                                                          \
    }                                                                                              \
    static inline u32 cmp_geu_##T(T a, T b) {                                                      \
        return !(a < b);                                                                           \
    }                                                                                              \
    static inline u32 cmp_num_##T(T a, T b) {                                                      \
        return (a == a) & (b == b);                                                                \
    }                                                                                              \
    static inline u32 cmp_nan_##T(T a, T b) {                                                      \
        return (a != a) | (b != b);                                                                \
    }                                                                                              \
    FF_PTX_ROUNDED(T, rz_##T, FE_TOWARDZERO, fused)                                                \
    FF_PTX_ROUNDED(T, rm_##T, FE_DOWNWARD, fused)                                                  \
    FF_PTX_ROUNDED(T, rp_##T, FE_UPWARD, fused)
FF_PTX_REAL(f32, u32, 0x80000000u, fmaf, sqrtf, fabsf, as_u32, as_f32)
FF_PTX_REAL(f64, u64, 0x8000000000000000ull, fma, sqrt, fabs, as_u64, as_f64)

/* No number is less or greater than NaN; the result is the canonical one if both are none. */
#define FF_PTX_EXTREME(name, compare, zeros)                                                       \
    static inline f32 name##_f32(f32 a, f32 b) {                                                   \
        const f32 least = a compare b ? a : b;                                                     \
        const f32 kept = a != a ? b : b != b ? a : least;                                          \
        const f32 result = kept != kept ? as_f32(0x7fffffffu) : kept;                              \
        return a == b ? as_f32(as_u32(a) zeros as_u32(b)) : result;                                \
    }                                                                                              \
    static inline f64 name##_f64(f64 a, f64 b) {                                                   \
        const f64 kept = a != a ? b : b != b || a compare b ? a : b;                               \
        return a == b ? as_f64(as_u64(a) zeros as_u64(b)) : kept;                                  \
    }                                                                                              \
    static inline f32 name##_NaN_f32(f32 a, f32 b) {                                               \
        return ((a != a) | (b != b)) ? as_f32(0x7fffffffu) : name##_f32(a, b);                     \
    }                                                                                              \
    static inline f32 name##_xorsign_abs_f32(f32 a, f32 b) {                                       \
        const u32 sign = (as_u32(a) ^ as_u32(b)) & 0x80000000u;                                    \
        return as_f32(as_u32(name##_f32(fabsf(a), fabsf(b))) | sign);                              \
    }                                                                                              \
    static inline f32 name##_NaN_xorsign_abs_f32(f32 a, f32 b) {                                   \
        return ((a != a) | (b != b)) ? as_f32(0x7fffffffu) : name##_xorsign_abs_f32(a, b);         \
    }
FF_PTX_EXTREME(min, <, |)
FF_PTX_EXTREME(max, >, &)

/* .approx.ftz: of the high half of the operand, the high half of the result. */
static inline f64 high_half(f64 a) {
    const u64 bits = as_u64(a) & ~(u64)UINT32_MAX;
    return as_f64((bits & (u64)0x7ff << 52) != 0 ? bits : bits & (u64)1 << 63);
}
static inline f64 rcp_ftz_f64(f64 a) {
    return high_half(1 / high_half(a));
}
static inline f64 rsqrt_ftz_f64(f64 a) {
    return high_half(1 / sqrt(high_half(a)));
}

static inline f32 sin_f32(f32 a) {
    return sinf(a);
}
static inline f32 cos_f32(f32 a) {
    return cosf(a);
}

/* These are written out so that a compiler vectorizes them. Errors are within what the
 * instructions promise: 2^-22, of tanh 2^-11. */

/* 2^a = 2^n 2^r with a whole number n and |r| <= 1/2; n is in the low bits of a sum. 2^n goes in
 * two factors, as the result may be subnormal. */
static inline f32 ex2_f32(f32 a) {
    const f32 low = a < -152 ? -152 : a, in_range = low > 128 ? 128 : low;
    const f32 sum = in_range + 0x1.8p23f;
    const f32 r = in_range - (sum - 0x1.8p23f);
    const u32 n = as_u32(sum) - 0x4b400000u, half = (u32)((s32)n >> 1);
    f32 q = 0x1.4413896dp-13f;
    q = q * r + 0x1.5f089016p-10f;
    q = q * r + 0x1.3b2a5304p-7f;
    q = q * r + 0x1.c6af6cdbp-5f;
    q = q * r + 0x1.ebfbe00ep-3f;
    q = q * r + 0x1.62e4302fp-1f;
    return (q * r + 1) * as_f32((half + 127) << 23) * as_f32((n - half + 127) << 23);
}

/* log2(2^n m) = n + 2 / ln 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1), m^2 from 1/2 to 2. */
static inline f32 lg2_f32(f32 a) {
    const u32 subnormal = a < 0x1p-126f;
    const u32 bits = as_u32(subnormal ? a * 0x1p24f : a);
    const s32 n = (s32)(bits - 0x3f3504f3u) >> 23;
    const f32 m = as_f32(bits - ((u32)n << 23));
    const f32 s = (m - 1) / (m + 1), z = s * s;
    f32 q = 0x1.484b14p-2f;
    q = q * z + 0x1.a61762p-2f;
    q = q * z + 0x1.2776c6p-1f;
    q = q * z + 0x1.ec709ep-1f;
    q = q * z + 0x1.715476p+1f;
    const f32 result = (f32)(n - (subnormal ? 24 : 0)) + s * q;
    const f32 special = a == 0 ? -__builtin_inff() : a > 0 ? a : __builtin_nanf("");
    return ((a > 0) & (a < __builtin_inff())) != 0 ? result : special;
}

/* By e^2a; near 0 by the series. */
static inline f32 tanh_f32(f32 a) {
    const f32 z = a * a;
    f32 q = 0x1.664f48p-6f;
    q = q * z - 0x1.ba1ba2p-5f;
    q = q * z + 0x1.111112p-3f;
    q = q * z - 0x1.555556p-2f;
    const f32 far = 1 - 2 / (1 + ex2_f32(fabsf(a) * 0x1.715476p+1f));
    return z < 0.25f ? a * (1 + z * q) : a < 0 ? -far : far;
}

/* To whole numbers. */
static inline f32 cvt_rni_f32_f32(f32 a) {
    return __builtin_rintf(a);
}
static inline f32 cvt_rzi_f32_f32(f32 a) {
    return __builtin_truncf(a);
}
static inline f32 cvt_rmi_f32_f32(f32 a) {
    return __builtin_floorf(a);
}
static inline f32 cvt_rpi_f32_f32(f32 a) {
    return __builtin_ceilf(a);
}

#endif
