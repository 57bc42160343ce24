/* Conversions. */
#ifndef FF_PTX_DEVICE_CONVERT_H
#define FF_PTX_DEVICE_CONVERT_H

#include "ptx/device/half.h"

#define FF_PTX_EACH_INTEGER(X, A)                                                                  \
    X(u8, A, 0, UINT8_MAX)                                                                         \
    X(s8, A, INT8_MIN, INT8_MAX)                                                                   \
    X(u16, A, 0, UINT16_MAX)                                                                       \
    X(s16, A, INT16_MIN, INT16_MAX)                                                                \
    X(u32, A, 0, UINT32_MAX)                                                                       \
    X(s32, A, INT32_MIN, INT32_MAX)                                                                \
    X(u64, A, 0, UINT64_MAX)                                                                       \
    X(s64, A, INT64_MIN, INT64_MAX)

#define FF_PTX_INTEGER_CVT(T, F, low, high)                                                        \
    static inline T cvt_##T##_##F(F a) {                                                           \
        return (T)a;                                                                               \
    }                                                                                              \
    static inline T cvt_sat_##T##_##F(F a) {                                                       \
        return (s128)a < (s128)low ? (T)low : (s128)a > (s128)high ? (T)high : (T)a;               \
    }
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, u8)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, s8)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, u16)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, s16)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, u32)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, s32)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, u64)
FF_PTX_EACH_INTEGER(FF_PTX_INTEGER_CVT, s64)

static inline f64 rni(f64 a) {
    return __builtin_rint(a);
}
static inline f64 rzi(f64 a) {
    return __builtin_trunc(a);
}
static inline f64 rmi(f64 a) {
    return __builtin_floor(a);
}
static inline f64 rpi(f64 a) {
    return __builtin_ceil(a);
}
/* What is no number becomes 0 from at most 32 to at most 32 bits, else only the highest bit. */
#define FF_PTX_TO_INTEGER(T, round, low, high)                                                     \
    static inline T clamped_##round##_##T(f64 a) {                                                 \
        const f64 r = round(a), kept = r > (f64)low && r < (f64)high ? r : 0;                      \
        return r <= (f64)low ? (T)low : r >= (f64)high ? (T)high : (T)kept;                        \
    }                                                                                              \
    static inline T cvt_##round##_##T##_f64(f64 a) {                                               \
        return a != a ? (T)((u64)1 << (sizeof(T) * 8 - 1)) : clamped_##round##_##T(a);             \
    }                                                                                              \
    static inline T cvt_##round##_##T##_f32(f32 a) {                                               \
        return sizeof(T) == 8 ? cvt_##round##_##T##_f64(a) : clamped_##round##_##T(a);             \
    }                                                                                              \
    static inline T cvt_##round##_##T##_f16(u16 a) {                                               \
        return cvt_##round##_##T##_f32(cvt_f32_f16(a));                                            \
    }                                                                                              \
    static inline T cvt_##round##_##T##_bf16(u16 a) {                                              \
        return cvt_##round##_##T##_f32(cvt_f32_bf16(a));                                           \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_f64(f64 a) {                                           \
        return cvt_##round##_##T##_f64(a);                                                         \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_f32(f32 a) {                                           \
        return cvt_##round##_##T##_f32(a);                                                         \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_f16(u16 a) {                                           \
        return cvt_##round##_##T##_f16(a);                                                         \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_bf16(u16 a) {                                          \
        return cvt_##round##_##T##_bf16(a);                                                        \
    }
FF_PTX_EACH_INTEGER(FF_PTX_TO_INTEGER, rni)
FF_PTX_EACH_INTEGER(FF_PTX_TO_INTEGER, rzi)
FF_PTX_EACH_INTEGER(FF_PTX_TO_INTEGER, rmi)
FF_PTX_EACH_INTEGER(FF_PTX_TO_INTEGER, rpi)

#define FF_PTX_CVT_ROUNDED(T, F, name, mode)                                                       \
    static inline T cvt_##name##_##T##_##F(F a) {                                                  \
        volatile F x = a;                                                                          \
        volatile T r;                                                                              \
        const int old = fegetround();                                                              \
        fesetround(mode);                                                                          \
        r = (T)x;                                                                                  \
        fesetround(old);                                                                           \
        return r;                                                                                  \
    }
#define FF_PTX_CVT_MODES(T, F)                                                                     \
    static inline T cvt_##T##_##F(F a) {                                                           \
        return (T)a;                                                                               \
    }                                                                                              \
    FF_PTX_CVT_ROUNDED(T, F, rz, FE_TOWARDZERO)                                                    \
    FF_PTX_CVT_ROUNDED(T, F, rm, FE_DOWNWARD)                                                      \
    FF_PTX_CVT_ROUNDED(T, F, rp, FE_UPWARD)
#define FF_PTX_FROM_INTEGER(F, T, low, high) FF_PTX_CVT_MODES(T, F)
FF_PTX_EACH_INTEGER(FF_PTX_FROM_INTEGER, f32)
FF_PTX_EACH_INTEGER(FF_PTX_FROM_INTEGER, f64)
FF_PTX_CVT_MODES(f32, f64)
/* By way of f64: what that cannot hold makes the last of its 53 bits odd. */
static inline f64 wide_u64(u64 a) {
    return (f64)(a >> 53 == 0 ? a : (a & ~(u64)0x7ff) | (u64)((a & 0x7ff) != 0) << 11);
}
static inline f64 wide_s64(s64 a) {
    return a < 0 ? -wide_u64(0u - (u64)a) : wide_u64((u64)a);
}
#define FF_PTX_HALF_FROM(F, T, mode, wide)                                                         \
    static inline u16 cvt_##mode##T##_##F(F a) {                                                   \
        return cvt_##mode##T##_f64(wide(a));                                                       \
    }
#define FF_PTX_HALF_FROM_INTEGER(F, wide)                                                          \
    FF_PTX_HALF_FROM(F, f16, , wide)                                                               \
    FF_PTX_HALF_FROM(F, f16, rz_, wide)                                                            \
    FF_PTX_HALF_FROM(F, f16, rm_, wide)                                                            \
    FF_PTX_HALF_FROM(F, f16, rp_, wide)                                                            \
    FF_PTX_HALF_FROM(F, bf16, , wide)                                                              \
    FF_PTX_HALF_FROM(F, bf16, rz_, wide)                                                           \
    FF_PTX_HALF_FROM(F, bf16, rm_, wide)                                                           \
    FF_PTX_HALF_FROM(F, bf16, rp_, wide)
FF_PTX_HALF_FROM_INTEGER(u8, )
FF_PTX_HALF_FROM_INTEGER(s8, )
FF_PTX_HALF_FROM_INTEGER(u16, )
FF_PTX_HALF_FROM_INTEGER(s16, )
FF_PTX_HALF_FROM_INTEGER(u32, )
FF_PTX_HALF_FROM_INTEGER(s32, )
FF_PTX_HALF_FROM_INTEGER(u64, wide_u64)
FF_PTX_HALF_FROM_INTEGER(s64, wide_s64)
static inline f64 cvt_f64_f32(f32 a) {
    return a;
}
static inline f32 cvt_f32_f32(f32 a) {
    return a;
}
static inline f64 cvt_f64_f64(f64 a) {
    return a;
}
static inline f64 cvt_rni_f64_f64(f64 a) {
    return rni(a);
}
static inline f64 cvt_rzi_f64_f64(f64 a) {
    return rzi(a);
}
static inline f64 cvt_rmi_f64_f64(f64 a) {
    return rmi(a);
}
static inline f64 cvt_rpi_f64_f64(f64 a) {
    return rpi(a);
}

/* Pairs from a, above, and b; with c moved up before them. */
#define FF_PTX_PACK(T, U, bits)                                                                    \
    static inline u32 pack_##T(s32 a, s32 b) {                                                     \
        return (u32)(U)cvt_sat_##T##_s32(a) << bits | (u32)(U)cvt_sat_##T##_s32(b);                \
    }
FF_PTX_PACK(u16, u16, 16)
FF_PTX_PACK(s16, u16, 16)
FF_PTX_PACK(u8, u8, 8)
FF_PTX_PACK(s8, u8, 8)
static inline u32 cvt_pack_sat_u16_s32(s32 a, s32 b) {
    return pack_u16(a, b);
}
static inline u32 cvt_pack_sat_s16_s32(s32 a, s32 b) {
    return pack_s16(a, b);
}
static inline u32 cvt_pack_sat_u8_s32_b32(s32 a, s32 b, u32 c) {
    return c << 16 | pack_u8(a, b);
}
static inline u32 cvt_pack_sat_s8_s32_b32(s32 a, s32 b, u32 c) {
    return c << 16 | pack_s8(a, b);
}

#endif
