/* Numbers of 16 bits with the exponents of float: the upper half of one. Arithmetic is that of
 * float, rounded. */
#ifndef FF_CUDA_BF16_H
#define FF_CUDA_BF16_H

#include "cuda_runtime.h"

#ifdef __CUDA__

#define FF_CUDA_MEMBER __host__ __device__ inline

struct __nv_bfloat16_raw {
    unsigned short x;
};

FF_CUDA_MEMBER unsigned short ff_cuda_bfloat_bits(float x) {
    unsigned all = __builtin_bit_cast(unsigned, x);
    if ((all & 0x7fffffff) > 0x7f800000) /* not a number */
        return 0x7fff;
    return (unsigned short)((all + 0x7fff + (all >> 16 & 1)) >> 16); /* to even */
}

struct __align__(2) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    FF_CUDA_MEMBER __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
    FF_CUDA_MEMBER __nv_bfloat16(float x) : __x(ff_cuda_bfloat_bits(x)) {}
    FF_CUDA_MEMBER __nv_bfloat16(double x) : __x(ff_cuda_bfloat_bits((float)x)) {}
    FF_CUDA_MEMBER __nv_bfloat16(int x) : __x(ff_cuda_bfloat_bits((float)x)) {}
    FF_CUDA_MEMBER __nv_bfloat16(unsigned x) : __x(ff_cuda_bfloat_bits((float)x)) {}
    FF_CUDA_MEMBER operator float() const {
        return __builtin_bit_cast(float, (unsigned)__x << 16);
    }
    FF_CUDA_MEMBER operator __nv_bfloat16_raw() const {
        return {__x};
    }
};
typedef __nv_bfloat16 nv_bfloat16;

FF_CUDA_MEMBER __nv_bfloat16 __float2bfloat16(float x) {
    return __nv_bfloat16(x);
}
FF_CUDA_MEMBER __nv_bfloat16 __float2bfloat16_rn(float x) {
    return __nv_bfloat16(x);
}
FF_CUDA_MEMBER float __bfloat162float(__nv_bfloat16 x) {
    return (float)x;
}

#define FF_CUDA_BFLOAT(operation)                                                                  \
    FF_CUDA_MEMBER __nv_bfloat16 operator operation(__nv_bfloat16 a, __nv_bfloat16 b) {            \
        return __nv_bfloat16((float)a operation(float) b);                                         \
    }                                                                                              \
    FF_CUDA_MEMBER __nv_bfloat16 &operator operation##=(__nv_bfloat16 &a, __nv_bfloat16 b) {       \
        return a = a operation b;                                                                  \
    }
FF_CUDA_BFLOAT(+)
FF_CUDA_BFLOAT(-)
FF_CUDA_BFLOAT(*)
FF_CUDA_BFLOAT(/)
#undef FF_CUDA_BFLOAT

#define FF_CUDA_BFLOAT(operation)                                                                  \
    FF_CUDA_MEMBER bool operator operation(__nv_bfloat16 a, __nv_bfloat16 b) {                     \
        return (float)a operation(float) b;                                                        \
    }
FF_CUDA_BFLOAT(==)
FF_CUDA_BFLOAT(!=)
FF_CUDA_BFLOAT(<)
FF_CUDA_BFLOAT(>)
FF_CUDA_BFLOAT(<=)
FF_CUDA_BFLOAT(>=)
#undef FF_CUDA_BFLOAT

FF_CUDA_MEMBER __nv_bfloat16 operator-(__nv_bfloat16 a) {
    return __nv_bfloat16(-(float)a);
}

#undef FF_CUDA_MEMBER
#endif

#endif
