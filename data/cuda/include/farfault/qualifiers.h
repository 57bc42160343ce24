/* Where functions and variables are: for the compilers that know of devices; else nothing. */
#ifndef FF_CUDA_QUALIFIERS_H
#define FF_CUDA_QUALIFIERS_H

/* Libraries that have qualifiers of their own for other compilers leave these alone where they see
 * that there are some. */
#define __HOST_DEFINES_H__

#ifdef __CUDA__
#ifndef __CUDACC__
#define __CUDACC__ 1 /* in both passes, as every compiler of CUDA says */
#endif
#define __global__             __attribute__((global))
#define __device__             __attribute__((device))
#define __host__               __attribute__((host))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
/* clang has such variables for other devices only, and would make them __device__ ones. */
#define __managed__                                                                                \
    _Pragma("GCC error \"there are no __managed__ variables here: use cudaMallocManaged()\"")
#define __grid_constant__ /* parameters are in constant memory in any case */
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#else
#define __device__
#define __host__
#endif

#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))

#define FF_CUDA_BOTH    static inline __host__ __device__
#define FF_CUDA_DEVICE  static inline __device__

#endif
