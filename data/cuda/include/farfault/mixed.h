/* Functions of math.h with numbers of several types, as C++ has them: of two floats in single
 * precision, otherwise in double. Without these the host's would be called, which take any number
 * as it is. */
#ifndef FF_CUDA_MIXED_H
#define FF_CUDA_MIXED_H

#include "farfault/elementary.h"

template <typename T> struct ff_cuda_number {};
#define FF_CUDA_NUMBER(T)                                                                          \
    template <> struct ff_cuda_number<T> {                                                         \
        typedef double real;                                                                       \
    };
FF_CUDA_NUMBER(char)
FF_CUDA_NUMBER(signed char)
FF_CUDA_NUMBER(unsigned char)
FF_CUDA_NUMBER(short)
FF_CUDA_NUMBER(unsigned short)
FF_CUDA_NUMBER(int)
FF_CUDA_NUMBER(unsigned)
FF_CUDA_NUMBER(long)
FF_CUDA_NUMBER(unsigned long)
FF_CUDA_NUMBER(long long)
FF_CUDA_NUMBER(unsigned long long)
FF_CUDA_NUMBER(float)
FF_CUDA_NUMBER(double)
#undef FF_CUDA_NUMBER

#define FF_CUDA_MIXED(name)                                                                        \
    FF_CUDA_DEVICE float name(float x, float y) {                                                  \
        return name##f(x, y);                                                                      \
    }                                                                                              \
    template <typename X, typename Y, typename = typename ff_cuda_number<X>::real>                 \
    FF_CUDA_DEVICE typename ff_cuda_number<Y>::real name(X x, Y y) {                               \
        return name((double)x, (double)y);                                                         \
    }
FF_CUDA_MIXED(atan2)
FF_CUDA_MIXED(copysign)
FF_CUDA_MIXED(fdim)
FF_CUDA_MIXED(fmax)
FF_CUDA_MIXED(fmin)
FF_CUDA_MIXED(fmod)
FF_CUDA_MIXED(hypot)
FF_CUDA_MIXED(pow)
#undef FF_CUDA_MIXED

template <typename X, typename Y, typename Z, typename = typename ff_cuda_number<X>::real,
          typename = typename ff_cuda_number<Y>::real>
FF_CUDA_DEVICE typename ff_cuda_number<Z>::real fma(X x, Y y, Z z) {
    return fma((double)x, (double)y, (double)z);
}

#endif
