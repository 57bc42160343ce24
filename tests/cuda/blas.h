/* What tests of libcublas share: elements of all types as complex numbers, a handle, checks. */
#ifndef FF_TESTS_CUDA_BLAS_H
#define FF_TESTS_CUDA_BLAS_H

#include "base/cases.h"
#include "base/random.h"

#include "cublas_v2.h"
#include "cuda.h"

#include <complex.h>
#include <math.h>

static inline void check_status(cublasStatus_t got, cublasStatus_t expected, const char *call,
                                const char *file, int line) {
    if (got == expected)
        return;
    print_error("%s: %s instead of %s\n", call, cublasGetStatusName(got),
                cublasGetStatusName(expected));
    _fail(file, line);
}
#define GIVES(expected, call)                                                                      \
    check_status(call, CUBLAS_STATUS_##expected, #call, __FILE__, __LINE__)
#define OK(call)      GIVES(SUCCESS, call)
#define REFUSED(call) GIVES(INVALID_VALUE, call)
#define CU_OK(call)   assert_int_equal(call, CUDA_SUCCESS)

static cublasHandle_t handle;

/* ---- elements ---- */

typedef double _Complex number;

static inline number complex_of(double re, double im) {
    const double parts[] = {re, im};
    number value;
    memcpy(&value, parts, sizeof value);
    return value;
}

static inline unsigned parts_of(cudaDataType type) {
    return type == CUDA_C_32F || type == CUDA_C_64F ? 2 : 1;
}

static inline size_t size_of(cudaDataType type) {
    switch (type) {
    case CUDA_R_8I:
        return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
        return 4;
    case CUDA_C_64F:
        return 16;
    default:
        return 8;
    }
}

/* A number of 16 bits by its sign, exponent and digits, of which `digits` are stored. */
static inline double small_value(uint16_t bits, int digits) {
    int widest = (1 << (15 - digits)) - 1, exponent = bits >> digits & widest;
    int fraction = bits & ((1 << digits) - 1);
    double size = exponent == widest ? (fraction != 0 ? NAN : INFINITY)
                  : exponent == 0    ? ldexp(fraction, 1 - widest / 2 - digits)
                                  : ldexp(fraction + (1 << digits), exponent - widest / 2 - digits);
    return bits & 0x8000 ? -size : size;
}

/* The nearest one; of two, the even one. */
static inline uint16_t small_bits(double value, int digits) {
    int bias = (1 << (14 - digits)) - 1, exponent;
    if (isnan(value) || value == 0)
        return isnan(value) ? 0x7fff : signbit(value) ? 0x8000 : 0;
    frexp(value, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double fraction = nearbyint(ldexp(fabs(value), digits - exponent));
    int bits = ((exponent + bias - 1) << digits) + (int)fraction;
    int infinite = (2 * bias + 1) << digits;
    return (uint16_t)((bits < infinite ? bits : infinite) | (value < 0 ? 0x8000 : 0));
}

static inline double part_of(cudaDataType type, const void *data, size_t i) {
    switch (type) {
    case CUDA_R_8I:
        return ((const int8_t *)data)[i];
    case CUDA_R_32I:
        return ((const int32_t *)data)[i];
    case CUDA_R_16F:
        return small_value(((const uint16_t *)data)[i], 10);
    case CUDA_R_16BF:
        return small_value(((const uint16_t *)data)[i], 7);
    case CUDA_R_32F:
    case CUDA_C_32F:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static inline void put_part(cudaDataType type, void *data, size_t i, double value) {
    switch (type) {
    case CUDA_R_8I:
        ((int8_t *)data)[i] = isnan(value) ? 99 : (int8_t)value;
        break;
    case CUDA_R_32I:
        ((int32_t *)data)[i] = isnan(value) ? 9999999 : (int32_t)value;
        break;
    case CUDA_R_16F:
        ((uint16_t *)data)[i] = small_bits(value, 10);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)data)[i] = small_bits(value, 7);
        break;
    case CUDA_R_32F:
    case CUDA_C_32F:
        ((float *)data)[i] = (float)value;
        break;
    default:
        ((double *)data)[i] = value;
    }
}

static inline number get(cudaDataType type, const void *data, size_t i) {
    unsigned parts = parts_of(type);
    double re = part_of(type, data, i * parts);
    return parts == 1 ? re : complex_of(re, part_of(type, data, i * parts + 1));
}

static inline void put(cudaDataType type, void *data, size_t i, number value) {
    unsigned parts = parts_of(type);
    put_part(type, data, i * parts, creal(value));
    if (parts == 2)
        put_part(type, data, i * parts + 1, cimag(value));
}

/* Small whole numbers, whose products and sums are exact in every type. */
static inline number whole(struct ff__random *random, cudaDataType type) {
    double re = (double)ff__random_below(random, 5) - 2;
    return parts_of(type) == 1 ? re : complex_of(re, (double)ff__random_below(random, 5) - 2);
}

/* ---- managed memory ---- */

static inline void *device_memory(size_t size) {
    CUdeviceptr address;
    CU_OK(cuMemAllocManaged(&address, size != 0 ? size : 1, CU_MEM_ATTACH_GLOBAL));
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static inline void device_free(void *memory) {
    CU_OK(cuMemFree((uintptr_t)memory));
}

/* The same for one case of many: ranges take longer to make than most cases. */
#define ARENA ((size_t)16 << 20)
static char *arena;
static size_t arena_used;

static inline void *case_memory(size_t size) {
    if (arena == NULL)
        arena = device_memory(ARENA);
    void *memory = arena + arena_used;
    arena_used += (size + 64) / 64 * 64; /* no two at one address */
    assert_true(arena_used <= ARENA);
    return memory;
}

static inline void case_end(void) {
    arena_used = 0;
}

static inline void wait_for_all(void) {
    CU_OK(cuCtxSynchronize());
}

/* ---- groups of tests ---- */

static CUcontext context;

static inline int begin(void **state) {
    (void)state;
    CU_OK(cuInit(0));
    CU_OK(cuDevicePrimaryCtxRetain(&context, 0));
    CU_OK(cuCtxPushCurrent(context));
    OK(cublasCreate(&handle));
    return 0;
}

static inline int end(void **state) {
    (void)state;
    OK(cublasDestroy(handle));
    CU_OK(cuCtxPopCurrent(NULL));
    CU_OK(cuDevicePrimaryCtxRelease(0));
    return 0;
}

#endif
