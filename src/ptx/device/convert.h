/* Conversions. */
#ifndef FF_PTX_DEVICE_CONVERT_H
#define FF_PTX_DEVICE_CONVERT_H

#include "ptx/device/float.h"

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
#define FF_PTX_TO_INTEGER(T, round, low, high)                                                     \
    static inline T cvt_##round##_##T##_f64(f64 a) {                                               \
        f64 r = round(a);                                                                          \
        if (sizeof(T) == 8 && a != a)                                                              \
            return (T)((u64)1 << 63);                                                              \
        f64 kept = r > (f64)low && r < (f64)high ? r : 0;                                          \
        return r <= (f64)low ? (T)low : r >= (f64)high ? (T)high : (T)kept;                        \
    }                                                                                              \
    static inline T cvt_##round##_##T##_f32(f32 a) {                                               \
        return cvt_##round##_##T##_f64((f64)a);                                                    \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_f64(f64 a) {                                           \
        return cvt_##round##_##T##_f64(a);                                                         \
    }                                                                                              \
    static inline T cvt_##round##_sat_##T##_f32(f32 a) {                                           \
        return cvt_##round##_##T##_f64((f64)a);                                                    \
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
static inline f64 cvt_f64_f32(f32 a) {
    return a;
}
static inline f32 cvt_f32_f32(f32 a) {
    return a;
}
static inline f64 cvt_f64_f64(f64 a) {
    return a;
}
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

#endif
