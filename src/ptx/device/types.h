/* Types and casts of bits that translated code uses. */
#ifndef FF_PTX_DEVICE_TYPES_H
#define FF_PTX_DEVICE_TYPES_H

#include <fenv.h>
#include <math.h>
#include <stdint.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;
typedef float f32;
typedef double f64;

#define FF_PTX_CAST(name, from, to)                                                                \
    static inline to name(from value) {                                                            \
        to result;                                                                                 \
        __builtin_memcpy(&result, &value, sizeof result);                                          \
        return result;                                                                             \
    }
FF_PTX_CAST(as_f32, u32, f32)
FF_PTX_CAST(as_u32, f32, u32)
FF_PTX_CAST(as_f64, u64, f64)
FF_PTX_CAST(as_u64, f64, u64)

#endif
