/* Complex numbers: pairs of the real and the imaginary part. */
#ifndef FF_CUDA_COMPLEX_H
#define FF_CUDA_COMPLEX_H

#include "farfault/vectors.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define FF_CUDA_COMPLEX(type, real, suffix)                                                        \
    FF_CUDA_BOTH cu##type make_cu##type(real x, real y) {                                          \
        cu##type z = {x, y};                                                                       \
        return z;                                                                                  \
    }                                                                                              \
    FF_CUDA_BOTH real cuCreal##suffix(cu##type z) {                                                \
        return z.x;                                                                                \
    }                                                                                              \
    FF_CUDA_BOTH real cuCimag##suffix(cu##type z) {                                                \
        return z.y;                                                                                \
    }                                                                                              \
    FF_CUDA_BOTH cu##type cuConj##suffix(cu##type z) {                                             \
        return make_cu##type(z.x, -z.y);                                                           \
    }                                                                                              \
    FF_CUDA_BOTH cu##type cuCadd##suffix(cu##type a, cu##type b) {                                 \
        return make_cu##type(a.x + b.x, a.y + b.y);                                                \
    }                                                                                              \
    FF_CUDA_BOTH cu##type cuCsub##suffix(cu##type a, cu##type b) {                                 \
        return make_cu##type(a.x - b.x, a.y - b.y);                                                \
    }                                                                                              \
    FF_CUDA_BOTH cu##type cuCmul##suffix(cu##type a, cu##type b) {                                 \
        return make_cu##type(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                        \
    }
FF_CUDA_COMPLEX(FloatComplex, float, f)
FF_CUDA_COMPLEX(DoubleComplex, double, )
#undef FF_CUDA_COMPLEX

FF_CUDA_BOTH cuComplex make_cuComplex(float x, float y) {
    return make_cuFloatComplex(x, y);
}

#endif
