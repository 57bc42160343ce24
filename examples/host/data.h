/*
 * What the programs' input data is made with, in host memory: arrays, sizes, and random numbers.
 */
#ifndef EXAMPLES_HOST_DATA_H
#define EXAMPLES_HOST_DATA_H

#include <stddef.h>
#include <stdint.h>

/* For the headers in this folder, which programs in C and in CUDA C++ use. */
#ifdef __cplusplus
#define HOST_BEGIN extern "C" {
#define HOST_END   }
#else
#define HOST_BEGIN
#define HOST_END
#endif

HOST_BEGIN

/* Host memory; these exit with one line when there is none left. Release it with free(). */
void *host_array(size_t count, size_t element_size);
void *host_pages(size_t bytes); /* page-aligned, and not touched yet */
/* Room for one element more; asks for memory only when the count is a power of two. */
void *host_grow(void *array, size_t count, size_t element_size);

/* The largest n with n * n * bytes_per_cell + n * bytes_per_side <= bytes. */
size_t square_side(size_t bytes, size_t bytes_per_cell, size_t bytes_per_side);
/* The largest n with n * n * n <= cells. */
size_t cube_side(size_t cells);
size_t min_size(size_t a, size_t b);
size_t divide_up(size_t dividend, size_t divisor);

/*
 * Input data is a pure function of (seed, stream, index): the reference can make any part of it
 * again, so no program has to keep a host copy for the check. A key names a (seed, stream) pair.
 */
static inline uint64_t random_bits(uint64_t key, uint64_t index) {
    uint64_t bits = key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static inline uint64_t random_key(uint64_t seed, uint64_t stream) {
    return random_bits(random_bits(0, seed), stream);
}

/* Uniform in [0, 1). */
static inline float random_unit(uint64_t key, uint64_t index) {
    return (float)(random_bits(key, index) >> 40) * 0x1p-24f;
}

/*
 * One of -2, -1, 1 and 2. Sums of products of such numbers stay whole numbers which a float holds
 * exactly, in whatever order they are added, so a check may ask for equality. None of them is 0,
 * so none can hide that what it was multiplied with is wrong.
 */
static inline float random_digit(uint64_t key, uint64_t index) {
    const int draw = (int)(random_bits(key, index) >> 62);
    return (float)(draw < 2 ? draw - 2 : draw - 1);
}

/* Element i of the array becomes the element first + i of the stream. */
void fill_units(float *array, size_t count, uint64_t key, size_t first);
void fill_digits(float *array, size_t count, uint64_t key, size_t first);

HOST_END

#endif
