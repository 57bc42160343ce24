/* Real numbers of 16 bits and pairs of them, as u16 and u32 of their bits; tf32. A result that is
 * no number is the canonical one, all ones but for the sign. */
#ifndef FF_PTX_DEVICE_HALF_H
#define FF_PTX_DEVICE_HALF_H

#include "ptx/device/float.h"
#include "ptx/device/integer.h"

/* ---- to and from other reals ---- */

enum { FF_PTX_RN, FF_PTX_RZ, FF_PTX_RM, FF_PTX_RP, FF_PTX_RNA };

/* The bits of `a` rounded to a format with `digits` fraction bits and an exponent of this bias.
 * Those of f64 that are subnormal are below half of the least of any such format. */
static inline u32 rounded(f64 a, u32 digits, s32 bias, u32 mode) {
    const u64 bits = as_u64(a), size = bits & ~((u64)1 << 63);
    const u32 negative = (u32)(bits >> 63), infinity = (2u * (u32)bias + 1) << digits;
    const s32 exponent = (s32)(size >> 52) - 1023 + bias;
    const u64 significand = (size & (((u64)1 << 52) - 1)) | (u64)1 << 52;
    const s32 small = exponent < 1 ? 1 - exponent : 0, most = (s32)digits + 10;
    const u32 shift = 52 - digits + (u32)(small < most ? small : most);
    const u64 half = (u64)1 << (shift - 1), lost = significand & (2 * half - 1);
    const u64 kept = significand >> shift;
    const u32 up = mode == FF_PTX_RN    ? (lost > half) | ((lost == half) & (u32)(kept & 1))
                   : mode == FF_PTX_RNA ? lost >= half
                   : mode == FF_PTX_RM  ? (lost != 0) & negative
                   : mode == FF_PTX_RP  ? (lost != 0) & !negative
                                        : 0;
    const u32 top =
        mode == FF_PTX_RZ || (mode == FF_PTX_RM && !negative) || (mode == FF_PTX_RP && negative)
            ? infinity - 1
            : infinity;
    u32 result = (u32)kept + up + (exponent > 1 ? (u32)(exponent - 1) << digits : 0);
    result = result > top ? top : result;
    result = size == 0 ? 0 : size == (u64)0x7ff << 52 ? infinity : result;
    const u32 sign = (infinity + ((u32)1 << digits)) * negative;
    return size > (u64)0x7ff << 52 ? infinity + ((u32)1 << digits) - 1 : result | sign;
}

static inline f32 cvt_f32_f16(u16 a) {
    const u32 size = (u32)(a & 0x7fff) << 13, sign = (u32)(a & 0x8000) << 16;
    const u32 moved = size + (112u << 23);
    const u32 small = as_u32(as_f32(size + (113u << 23)) - as_f32(113u << 23));
    const u32 result = size >= 0x0f800000u ? moved + (112u << 23) : size < 1u << 23 ? small : moved;
    return as_f32(result | sign);
}
static inline f32 cvt_f32_bf16(u16 a) {
    return as_f32((u32)a << 16);
}
static inline f64 cvt_f64_f16(u16 a) {
    return cvt_f32_f16(a);
}
static inline f64 cvt_f64_bf16(u16 a) {
    return cvt_f32_bf16(a);
}

/* To nearest: a sum with 0.5 rounds what becomes subnormal, an addition the others. */
static inline u16 cvt_f16_f32(f32 a) {
    const u32 bits = as_u32(a), size = bits & 0x7fffffffu;
    const u32 small = as_u32(as_f32(size) + 0.5f) - 0x3f000000u;
    const u32 other = (size - (112u << 23) + 0xfffu + (size >> 13 & 1)) >> 13;
    const u32 special = size > 0x7f800000u ? 0x7fffu : 0x7c00u;
    const u32 result = size >= 0x47800000u ? special : size < 0x38800000u ? small : other;
    return (u16)(size > 0x7f800000u ? result : result | (bits >> 16 & 0x8000u));
}
static inline u16 cvt_bf16_f32(f32 a) {
    const u32 bits = as_u32(a);
    return (bits & 0x7fffffffu) > 0x7f800000u ? (u16)0x7fff
                                              : (u16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
static inline u16 cvt_f16_f64(f64 a) {
    return (u16)rounded(a, 10, 15, FF_PTX_RN);
}
static inline u16 cvt_bf16_f64(f64 a) {
    return (u16)rounded(a, 7, 127, FF_PTX_RN);
}
#define FF_PTX_NARROW(mode, MODE)                                                                  \
    static inline u16 cvt_##mode##_f16_f64(f64 a) {                                                \
        return (u16)rounded(a, 10, 15, FF_PTX_##MODE);                                             \
    }                                                                                              \
    static inline u16 cvt_##mode##_bf16_f64(f64 a) {                                               \
        return (u16)rounded(a, 7, 127, FF_PTX_##MODE);                                             \
    }                                                                                              \
    static inline u16 cvt_##mode##_f16_f32(f32 a) {                                                \
        return cvt_##mode##_f16_f64(a);                                                            \
    }                                                                                              \
    static inline u16 cvt_##mode##_bf16_f32(f32 a) {                                               \
        return cvt_##mode##_bf16_f64(a);                                                           \
    }                                                                                              \
    static inline u16 cvt_##mode##_bf16_f16(u16 a) {                                               \
        return cvt_##mode##_bf16_f64(cvt_f64_f16(a));                                              \
    }                                                                                              \
    static inline u16 cvt_##mode##_f16_bf16(u16 a) {                                               \
        return cvt_##mode##_f16_f64(cvt_f64_bf16(a));                                              \
    }
FF_PTX_NARROW(rz, RZ)
FF_PTX_NARROW(rm, RM)
FF_PTX_NARROW(rp, RP)
static inline u16 cvt_bf16_f16(u16 a) {
    return cvt_bf16_f32(cvt_f32_f16(a));
}
static inline u16 cvt_f16_bf16(u16 a) {
    return cvt_f16_f32(cvt_f32_bf16(a));
}
static inline u16 cvt_f16_f16(u16 a) {
    return a;
}
static inline u16 cvt_bf16_bf16(u16 a) {
    return a;
}

/* What is negative becomes zero; what is infinite the greatest number. */
#define FF_PTX_LIMITS(T, infinity)                                                                 \
    static inline u16 relu_##T(u16 a) {                                                            \
        return (a & 0x7fffu) > infinity ? (u16)0x7fff : (a & 0x8000u) != 0 ? (u16)0 : a;           \
    }                                                                                              \
    static inline u16 satfinite_##T(u16 a) {                                                       \
        return (a & 0x7fffu) == infinity ? (u16)(a - 1) : a;                                       \
    }
FF_PTX_LIMITS(f16, 0x7c00u)
FF_PTX_LIMITS(bf16, 0x7f80u)

#define FF_PTX_PACKED(mode, T, value)                                                              \
    static inline u32 cvt_##mode##T##x2_f32(f32 a, f32 b) {                                        \
        const u32 high = value(a), low = value(b);                                                 \
        return high << 16 | low;                                                                   \
    }
#define FF_PTX_LIMITED(mode, T)                                                                    \
    static inline u16 cvt_##mode##relu_##T##_f32(f32 a) {                                          \
        return relu_##T(cvt_##mode##T##_f32(a));                                                   \
    }                                                                                              \
    static inline u16 cvt_##mode##satfinite_##T##_f32(f32 a) {                                     \
        return satfinite_##T(cvt_##mode##T##_f32(a));                                              \
    }                                                                                              \
    static inline u16 cvt_##mode##relu_satfinite_##T##_f32(f32 a) {                                \
        return satfinite_##T(relu_##T(cvt_##mode##T##_f32(a)));                                    \
    }                                                                                              \
    FF_PTX_PACKED(mode, T, cvt_##mode##T##_f32)                                                    \
    FF_PTX_PACKED(mode##relu_, T, cvt_##mode##relu_##T##_f32)                                      \
    FF_PTX_PACKED(mode##satfinite_, T, cvt_##mode##satfinite_##T##_f32)                            \
    FF_PTX_PACKED(mode##relu_satfinite_, T, cvt_##mode##relu_satfinite_##T##_f32)
FF_PTX_LIMITED(, f16)
FF_PTX_LIMITED(, bf16)
FF_PTX_LIMITED(rz_, f16)
FF_PTX_LIMITED(rz_, bf16)

/* An f32 with ten bits of fraction, the others zero. */
static inline u32 to_tf32(f32 a, u32 mode) {
    return rounded(a, 10, 127, mode) << 13;
}
static inline u32 relu_tf32(u32 a) {
    return (a & 0x7fffffffu) > 0x7f800000u ? a : (a & 0x80000000u) != 0 ? 0 : a;
}
static inline u32 satfinite_tf32(u32 a) {
    return (a & 0x7fffffffu) == 0x7f800000u ? a - (1u << 13) : a;
}
#define FF_PTX_TF32(mode, MODE)                                                                    \
    static inline u32 cvt_##mode##tf32_f32(f32 a) {                                                \
        return to_tf32(a, FF_PTX_##MODE);                                                          \
    }                                                                                              \
    static inline u32 cvt_##mode##satfinite_tf32_f32(f32 a) {                                      \
        return satfinite_tf32(to_tf32(a, FF_PTX_##MODE));                                          \
    }                                                                                              \
    static inline u32 cvt_##mode##relu_tf32_f32(f32 a) {                                           \
        return relu_tf32(to_tf32(a, FF_PTX_##MODE));                                               \
    }                                                                                              \
    static inline u32 cvt_##mode##relu_satfinite_tf32_f32(f32 a) {                                 \
        return satfinite_tf32(relu_tf32(to_tf32(a, FF_PTX_##MODE)));                               \
    }
FF_PTX_TF32(, RN)
FF_PTX_TF32(rz_, RZ)
FF_PTX_TF32(rna_, RNA)

/* ---- arithmetic ---- */

/* f32 has more than twice the digits and two more, so that rounding twice is rounding once. */
#define FF_PTX_BY_F32(name, T, expression)                                                         \
    static inline u16 name##_##T(u16 first, u16 second) {                                          \
        const f32 a = cvt_f32_##T(first), b = cvt_f32_##T(second);                                 \
        return cvt_##T##_f32(expression);                                                          \
    }
#define FF_PTX_FUNCTION_BY_F32(name, T)                                                            \
    static inline u16 name##_##T(u16 a) {                                                          \
        return cvt_##T##_f32(name##_f32(cvt_f32_##T(a)));                                          \
    }
#define FF_PTX_COMPARE_BY_F32(comparison, T)                                                       \
    static inline u32 cmp_##comparison##_##T(u16 a, u16 b) {                                       \
        return cmp_##comparison##_f32(cvt_f32_##T(a), cvt_f32_##T(b));                             \
    }
#define FF_PTX_ROUND_BY_F32(mode, T)                                                               \
    static inline u16 cvt_##mode##_##T##_##T(u16 a) {                                              \
        return cvt_##T##_f32(cvt_##mode##_f32_f32(cvt_f32_##T(a)));                                \
    }
/* The bits as a number that grows with the value, -0 below +0. */
static inline s16 ordered(u16 a) {
    return (s16)((a & 0x8000u) != 0 ? a ^ 0x7fffu : a);
}
#define FF_PTX_HALF(T, infinity, one)                                                              \
    FF_PTX_BY_F32(add, T, a + b)                                                                   \
    FF_PTX_BY_F32(sub, T, a - b)                                                                   \
    FF_PTX_BY_F32(mul, T, a *b)                                                                    \
    static inline u16 fma_relu_##T(u16 a, u16 b, u16 c) {                                          \
        return relu_##T(fma_##T(a, b, c));                                                         \
    }                                                                                              \
    static inline u16 ftz_##T(u16 a) {                                                             \
        return (a & infinity) != 0 ? a : a & 0x8000u;                                              \
    }                                                                                              \
    static inline u16 sat_##T(u16 a) {                                                             \
        return a > infinity ? (u16)0 : a < one ? a : (u16)one;                                     \
    }                                                                                              \
    static inline u16 abs_##T(u16 a) {                                                             \
        return a & 0x7fffu;                                                                        \
    }                                                                                              \
    static inline u16 neg_##T(u16 a) {                                                             \
        return a ^ 0x8000u;                                                                        \
    }                                                                                              \
    static inline u32 is_nan_##T(u16 a) {                                                          \
        return (a & 0x7fffu) > infinity;                                                           \
    }                                                                                              \
    static inline u16 min_##T(u16 a, u16 b) {                                                      \
        const u16 least = ordered(a) < ordered(b) ? a : b;                                         \
        const u16 kept = is_nan_##T(a) ? b : is_nan_##T(b) ? a : least;                            \
        return is_nan_##T(kept) ? (u16)0x7fff : kept;                                              \
    }                                                                                              \
    static inline u16 max_##T(u16 a, u16 b) {                                                      \
        const u16 most = ordered(a) > ordered(b) ? a : b;                                          \
        const u16 kept = is_nan_##T(a) ? b : is_nan_##T(b) ? a : most;                             \
        return is_nan_##T(kept) ? (u16)0x7fff : kept;                                              \
    }                                                                                              \
    static inline u16 min_NaN_##T(u16 a, u16 b) {                                                  \
        return is_nan_##T(a) | is_nan_##T(b) ? (u16)0x7fff : min_##T(a, b);                        \
    }                                                                                              \
    static inline u16 max_NaN_##T(u16 a, u16 b) {                                                  \
        return is_nan_##T(a) | is_nan_##T(b) ? (u16)0x7fff : max_##T(a, b);                        \
    }                                                                                              \
    static inline u16 min_xorsign_abs_##T(u16 a, u16 b) {                                          \
        return abs_##T(min_##T(abs_##T(a), abs_##T(b))) | ((a ^ b) & 0x8000u);                     \
    }                                                                                              \
    static inline u16 max_xorsign_abs_##T(u16 a, u16 b) {                                          \
        return abs_##T(max_##T(abs_##T(a), abs_##T(b))) | ((a ^ b) & 0x8000u);                     \
    }                                                                                              \
    static inline u16 min_NaN_xorsign_abs_##T(u16 a, u16 b) {                                      \
        return is_nan_##T(a) | is_nan_##T(b) ? (u16)0x7fff : min_xorsign_abs_##T(a, b);            \
    }                                                                                              \
    static inline u16 max_NaN_xorsign_abs_##T(u16 a, u16 b) {                                      \
        return is_nan_##T(a) | is_nan_##T(b) ? (u16)0x7fff : max_xorsign_abs_##T(a, b);            \
    }                                                                                              \
    FF_PTX_FUNCTION_BY_F32(ex2, T)                                                                 \
    FF_PTX_FUNCTION_BY_F32(tanh, T)                                                                \
    FF_PTX_ROUND_BY_F32(rni, T)                                                                    \
    FF_PTX_ROUND_BY_F32(rzi, T)                                                                    \
    FF_PTX_ROUND_BY_F32(rmi, T)                                                                    \
    FF_PTX_ROUND_BY_F32(rpi, T)                                                                    \
    FF_PTX_COMPARE_BY_F32(eq, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(ne, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(lt, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(le, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(gt, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(ge, T)                                                                   \
    FF_PTX_COMPARE_BY_F32(equ, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(neu, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(ltu, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(leu, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(gtu, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(geu, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(num, T)                                                                  \
    FF_PTX_COMPARE_BY_F32(nan, T)

/* The product is exact in f64. So is the sum wherever it comes near the middle between two f16: a
 * product below 2^17 and a number from 2^-24 on have 41 bits between them. */
static inline u16 fma_f16(u16 a, u16 b, u16 c) {
    return cvt_f16_f64(cvt_f64_f16(a) * cvt_f64_f16(b) + cvt_f64_f16(c));
}
/* bf16 has a wider range: what the sum loses makes its last bit odd, which no rounding to fewer
 * digits mistakes for a middle. */
static inline u16 fma_bf16(u16 a, u16 b, u16 c) {
    const f64 x = cvt_f64_bf16(a) * cvt_f64_bf16(b), y = cvt_f64_bf16(c), sum = x + y;
    const f64 back = sum - x, lost = (x - (sum - back)) + (y - back);
    const u64 bits = as_u64(sum);
    const int inexact = (lost > 0) | (lost < 0), away = (lost > 0) == (sum > 0);
    const u64 odd = away ? bits | 1 : (bits & 1) != 0 ? bits : bits - 1;
    return cvt_bf16_f64(inexact ? as_f64(odd) : sum);
}
FF_PTX_HALF(f16, 0x7c00u, 0x3c00u)
FF_PTX_HALF(bf16, 0x7f80u, 0x3f80u)

/* ---- pairs ---- */

#define FF_PTX_PAIR1(name, T)                                                                      \
    static inline u32 name##_##T##x2(u32 a) {                                                      \
        return pair(name##_##T((u16)a), name##_##T((u16)(a >> 16)));                               \
    }
#define FF_PTX_PAIR2(name, T)                                                                      \
    static inline u32 name##_##T##x2(u32 a, u32 b) {                                               \
        return pair(name##_##T((u16)a, (u16)b), name##_##T((u16)(a >> 16), (u16)(b >> 16)));       \
    }
#define FF_PTX_PAIR3(name, T)                                                                      \
    static inline u32 name##_##T##x2(u32 a, u32 b, u32 c) {                                        \
        return pair(name##_##T((u16)a, (u16)b, (u16)c),                                            \
                    name##_##T((u16)(a >> 16), (u16)(b >> 16), (u16)(c >> 16)));                   \
    }
#define FF_PTX_HALF_PAIRS(T)                                                                       \
    FF_PTX_PAIR2(add, T)                                                                           \
    FF_PTX_PAIR2(sub, T)                                                                           \
    FF_PTX_PAIR2(mul, T)                                                                           \
    FF_PTX_PAIR3(fma, T)                                                                           \
    FF_PTX_PAIR3(fma_relu, T)                                                                      \
    FF_PTX_PAIR1(ftz, T)                                                                           \
    FF_PTX_PAIR1(sat, T)                                                                           \
    FF_PTX_PAIR1(abs, T)                                                                           \
    FF_PTX_PAIR1(neg, T)                                                                           \
    FF_PTX_PAIR2(min, T)                                                                           \
    FF_PTX_PAIR2(max, T)                                                                           \
    FF_PTX_PAIR2(min_NaN, T)                                                                       \
    FF_PTX_PAIR2(max_NaN, T)                                                                       \
    FF_PTX_PAIR2(min_xorsign_abs, T)                                                               \
    FF_PTX_PAIR2(max_xorsign_abs, T)                                                               \
    FF_PTX_PAIR2(min_NaN_xorsign_abs, T)                                                           \
    FF_PTX_PAIR2(max_NaN_xorsign_abs, T)                                                           \
    FF_PTX_PAIR1(ex2, T)                                                                           \
    FF_PTX_PAIR1(tanh, T)
FF_PTX_HALF_PAIRS(f16)
FF_PTX_HALF_PAIRS(bf16)

#endif
