/* int2, float4, dim3 and the like, for C and C++. */
#ifndef FF_CUDA_VECTORS_H
#define FF_CUDA_VECTORS_H

#include "farfault/qualifiers.h"

#define FF_CUDA_VECTOR(name, type)                                                                 \
    typedef struct name##1 {                                                                       \
        type x;                                                                                    \
    }                                                                                              \
    name##1;                                                                                       \
    typedef struct __align__(2 * sizeof(type)) name##2 {                                           \
        type x, y;                                                                                 \
    }                                                                                              \
    name##2;                                                                                       \
    typedef struct name##3 {                                                                       \
        type x, y, z;                                                                              \
    }                                                                                              \
    name##3;                                                                                       \
    typedef struct __align__(sizeof(type) < 4 ? 4 * sizeof(type) : 16) name##4 {                   \
        type x, y, z, w;                                                                           \
    }                                                                                              \
    name##4;                                                                                       \
    FF_CUDA_BOTH name##1 make_##name##1(type x) {                                                  \
        name##1 v = {x};                                                                           \
        return v;                                                                                  \
    }                                                                                              \
    FF_CUDA_BOTH name##2 make_##name##2(type x, type y) {                                          \
        name##2 v = {x, y};                                                                        \
        return v;                                                                                  \
    }                                                                                              \
    FF_CUDA_BOTH name##3 make_##name##3(type x, type y, type z) {                                  \
        name##3 v = {x, y, z};                                                                     \
        return v;                                                                                  \
    }                                                                                              \
    FF_CUDA_BOTH name##4 make_##name##4(type x, type y, type z, type w) {                          \
        name##4 v = {x, y, z, w};                                                                  \
        return v;                                                                                  \
    }

FF_CUDA_VECTOR(char, signed char)
FF_CUDA_VECTOR(uchar, unsigned char)
FF_CUDA_VECTOR(short, short)
FF_CUDA_VECTOR(ushort, unsigned short)
FF_CUDA_VECTOR(int, int)
FF_CUDA_VECTOR(uint, unsigned)
FF_CUDA_VECTOR(long, long)
FF_CUDA_VECTOR(ulong, unsigned long)
FF_CUDA_VECTOR(longlong, long long)
FF_CUDA_VECTOR(ulonglong, unsigned long long)
FF_CUDA_VECTOR(float, float)
FF_CUDA_VECTOR(double, double)
#undef FF_CUDA_VECTOR

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    __host__ __device__ constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1)
        : x(vx), y(vy), z(vz) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ operator uint3() const {
        return {x, y, z};
    }
#endif
} dim3;

#endif
