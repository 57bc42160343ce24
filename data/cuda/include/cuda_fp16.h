/* Numbers of 16 bits: half and half2, for the device and the host. Arithmetic is that of float,
 * rounded, which is what the operation on halves gives. */
#ifndef FF_CUDA_FP16_H
#define FF_CUDA_FP16_H

#include "cuda_runtime.h"

#ifdef __CUDA__

#define FF_CUDA_MEMBER __host__ __device__ inline

/* ---- conversions ---- */

FF_CUDA_MEMBER unsigned short ff_cuda_half_bits(float x) {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    unsigned all = __builtin_bit_cast(unsigned, x);
    unsigned sign = all >> 16 & 0x8000, size = all & 0x7fffffff;
    if (size > 0x7f800000) /* not a number */
        return 0x7fff;
    if (size >= 0x477ff000) /* rounds to 65536 or more */
        return (unsigned short)(sign | 0x7c00);
    if (size < 0x38800000) { /* below the normal ones: the sum's last bits are multiples of 2^-24 */
        float sum = __builtin_bit_cast(float, size) + 0.5f;
        return (unsigned short)(sign | (__builtin_bit_cast(unsigned, sum) - 0x3f000000));
    }
    size += 0xfff + (size >> 13 & 1); /* to even */
    return (unsigned short)(sign | ((size - 0x38000000) >> 13));
#endif
}

FF_CUDA_MEMBER float ff_cuda_half_value(unsigned short bits) {
#ifdef __CUDA_ARCH__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    unsigned size = bits & 0x7fff, sign = (bits & 0x8000u) << 16;
    if (size >= 0x7c00)
        return __builtin_bit_cast(float, sign | 0x7f800000 | (size & 0x3ff) << 13);
    float x = __builtin_bit_cast(float, size << 13) * 0x1p112f;
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, x) | sign);
#endif
}

/* ---- one number ---- */

struct __half_raw {
    unsigned short x;
};

struct __align__(2) __half {
    unsigned short __x;

    __half() = default;
    FF_CUDA_MEMBER __half(__half_raw raw) : __x(raw.x) {}
    FF_CUDA_MEMBER __half(float x) : __x(ff_cuda_half_bits(x)) {}
    FF_CUDA_MEMBER __half(double x) : __x(ff_cuda_half_bits((float)x)) {}
    FF_CUDA_MEMBER __half(int x) : __x(ff_cuda_half_bits((float)x)) {}
    FF_CUDA_MEMBER __half(unsigned x) : __x(ff_cuda_half_bits((float)x)) {}
    FF_CUDA_MEMBER operator float() const {
        return ff_cuda_half_value(__x);
    }
    FF_CUDA_MEMBER operator __half_raw() const {
        return {__x};
    }
};
typedef __half half;

FF_CUDA_MEMBER __half __float2half(float x) {
    return __half(x);
}
FF_CUDA_MEMBER __half __float2half_rn(float x) {
    return __half(x);
}
FF_CUDA_MEMBER __half __double2half(double x) {
    return __half(x);
}
FF_CUDA_MEMBER __half __int2half_rn(int x) {
    return __half(x);
}
FF_CUDA_MEMBER float __half2float(__half x) {
    return (float)x;
}
FF_CUDA_MEMBER int __half2int_rz(__half x) {
    return (int)(float)x;
}
FF_CUDA_MEMBER unsigned short __half_as_ushort(__half x) {
    return x.__x;
}
FF_CUDA_MEMBER __half __ushort_as_half(unsigned short bits) {
    return __half(__half_raw{bits});
}

#define FF_CUDA_HALF(name, operation)                                                              \
    FF_CUDA_MEMBER __half name(__half a, __half b) {                                               \
        return __half((float)a operation(float) b);                                                \
    }                                                                                              \
    FF_CUDA_MEMBER __half operator operation(__half a, __half b) {                                 \
        return name(a, b);                                                                         \
    }                                                                                              \
    FF_CUDA_MEMBER __half &operator operation##=(__half &a, __half b) {                            \
        return a = name(a, b);                                                                     \
    }
FF_CUDA_HALF(__hadd, +)
FF_CUDA_HALF(__hsub, -)
FF_CUDA_HALF(__hmul, *)
FF_CUDA_HALF(__hdiv, /)
#undef FF_CUDA_HALF

#define FF_CUDA_HALF(name, operation)                                                              \
    FF_CUDA_MEMBER bool name(__half a, __half b) {                                                 \
        return (float)a operation(float) b;                                                        \
    }                                                                                              \
    FF_CUDA_MEMBER bool operator operation(__half a, __half b) {                                   \
        return name(a, b);                                                                         \
    }
FF_CUDA_HALF(__heq, ==)
FF_CUDA_HALF(__hne, !=)
FF_CUDA_HALF(__hlt, <)
FF_CUDA_HALF(__hle, <=)
FF_CUDA_HALF(__hgt, >)
FF_CUDA_HALF(__hge, >=)
#undef FF_CUDA_HALF

FF_CUDA_MEMBER __half __hneg(__half x) {
    return __ushort_as_half((unsigned short)(x.__x ^ 0x8000));
}
FF_CUDA_MEMBER __half operator-(__half x) {
    return __hneg(x);
}
FF_CUDA_MEMBER __half __habs(__half x) {
    return __ushort_as_half((unsigned short)(x.__x & 0x7fff));
}
FF_CUDA_MEMBER bool __hisnan(__half x) {
    return (x.__x & 0x7fff) > 0x7c00;
}
FF_CUDA_MEMBER __half __hmin(__half a, __half b) {
    return __hisnan(a) || (float)b < (float)a ? b : a;
}
FF_CUDA_MEMBER __half __hmax(__half a, __half b) {
    return __hisnan(a) || (float)a < (float)b ? b : a;
}
/* The product is exact in double; so is the sum, where it is rounded twice all the same. */
FF_CUDA_MEMBER __half __hfma(__half a, __half b, __half c) {
    return __half((float)((double)(float)a * (float)b + (float)c));
}

/* ---- two numbers ---- */

struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    FF_CUDA_MEMBER __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half2 half2;

FF_CUDA_MEMBER __half2 __halves2half2(__half a, __half b) {
    return __half2(a, b);
}
FF_CUDA_MEMBER __half2 make_half2(__half a, __half b) {
    return __half2(a, b);
}
FF_CUDA_MEMBER __half2 __half2half2(__half a) {
    return __half2(a, a);
}
FF_CUDA_MEMBER __half2 __floats2half2_rn(float a, float b) {
    return __half2(__half(a), __half(b));
}
FF_CUDA_MEMBER __half2 __float2half2_rn(float a) {
    return __half2half2(__half(a));
}
FF_CUDA_MEMBER __half2 __float22half2_rn(float2 a) {
    return __floats2half2_rn(a.x, a.y);
}
FF_CUDA_MEMBER float2 __half22float2(__half2 a) {
    return make_float2((float)a.x, (float)a.y);
}
FF_CUDA_MEMBER __half __low2half(__half2 a) {
    return a.x;
}
FF_CUDA_MEMBER __half __high2half(__half2 a) {
    return a.y;
}
FF_CUDA_MEMBER float __low2float(__half2 a) {
    return (float)a.x;
}
FF_CUDA_MEMBER float __high2float(__half2 a) {
    return (float)a.y;
}
FF_CUDA_MEMBER __half2 __lowhigh2highlow(__half2 a) {
    return __half2(a.y, a.x);
}

#define FF_CUDA_HALF(name, operation)                                                              \
    FF_CUDA_MEMBER __half2 name(__half2 a, __half2 b) {                                            \
        return __half2(a.x operation b.x, a.y operation b.y);                                      \
    }                                                                                              \
    FF_CUDA_MEMBER __half2 operator operation(__half2 a, __half2 b) {                              \
        return name(a, b);                                                                         \
    }                                                                                              \
    FF_CUDA_MEMBER __half2 &operator operation##=(__half2 &a, __half2 b) {                         \
        return a = name(a, b);                                                                     \
    }
FF_CUDA_HALF(__hadd2, +)
FF_CUDA_HALF(__hsub2, -)
FF_CUDA_HALF(__hmul2, *)
FF_CUDA_HALF(__h2div, /)
#undef FF_CUDA_HALF
FF_CUDA_MEMBER __half2 __hneg2(__half2 a) {
    return __half2(__hneg(a.x), __hneg(a.y));
}
FF_CUDA_MEMBER __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
FF_CUDA_MEMBER __half2 __hmin2(__half2 a, __half2 b) {
    return __half2(__hmin(a.x, b.x), __hmin(a.y, b.y));
}
FF_CUDA_MEMBER __half2 __hmax2(__half2 a, __half2 b) {
    return __half2(__hmax(a.x, b.x), __hmax(a.y, b.y));
}

#undef FF_CUDA_MEMBER

/* ---- of the device ---- */

#define FF_CUDA_HALF(name, function)                                                               \
    FF_CUDA_DEVICE __half name(__half x) {                                                         \
        return __half(function((float)x));                                                         \
    }
FF_CUDA_HALF(hexp, expf)
FF_CUDA_HALF(hexp2, exp2f)
FF_CUDA_HALF(hlog, logf)
FF_CUDA_HALF(hsin, sinf)
FF_CUDA_HALF(hcos, cosf)
FF_CUDA_HALF(hsqrt, sqrtf)
FF_CUDA_HALF(hrsqrt, rsqrtf)
FF_CUDA_HALF(hrcp, __frcp_rn)
FF_CUDA_HALF(hfloor, floorf)
FF_CUDA_HALF(hceil, ceilf)
FF_CUDA_HALF(htrunc, truncf)
FF_CUDA_HALF(hrint, rintf)
#undef FF_CUDA_HALF

#define FF_CUDA_HALF(name, last)                                                                   \
    FF_CUDA_DEVICE __half name(unsigned mask, __half value, last lane, int width = 32) {           \
        return __ushort_as_half((unsigned short)name(mask, (unsigned)value.__x, lane, width));     \
    }                                                                                              \
    FF_CUDA_DEVICE __half2 name(unsigned mask, __half2 value, last lane, int width = 32) {         \
        return __builtin_bit_cast(__half2,                                                         \
                                  name(mask, __builtin_bit_cast(unsigned, value), lane, width));   \
    }
FF_CUDA_HALF(__shfl_sync, int)
FF_CUDA_HALF(__shfl_up_sync, unsigned)
FF_CUDA_HALF(__shfl_down_sync, unsigned)
FF_CUDA_HALF(__shfl_xor_sync, int)
#undef FF_CUDA_HALF

/* The pair goes at once; a single half would need its neighbour. */
FF_CUDA_DEVICE __half2 atomicAdd(__half2 *address, __half2 value) {
    unsigned *all = (unsigned *)address, old = *all, expected;
    do {
        expected = old;
        __half2 sum = __builtin_bit_cast(__half2, expected) + value;
        old = atomicCAS(all, expected, __builtin_bit_cast(unsigned, sum));
    } while (old != expected);
    return __builtin_bit_cast(__half2, old);
}

#else

/* For compilers that know of no devices: what functions of libraries take. */
typedef struct __half {
    unsigned short __x;
} __half;

#endif

#endif
