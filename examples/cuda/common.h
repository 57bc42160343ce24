/*
 * What the CUDA programs share beside host/work.h: calls that may not fail, and arrays on the
 * device.
 */
#ifndef CUDA_EXAMPLES_COMMON_H
#define CUDA_EXAMPLES_COMMON_H

#include "host/work.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) check(call, #call)

static inline void check(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

/* Device memory, which counts for the footprint. */
template <typename T> static T *device_array(struct work *work, size_t count) {
    T *array;
    CHECK(cudaMalloc(&array, count * sizeof(T)));
    work->footprint += count * sizeof(T);
    return array;
}

template <typename T> static void upload(T *to, const T *from, size_t count) {
    CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
}

/* A fresh host array, to be released with free(). */
template <typename T> static T *download(const T *from, size_t count) {
    T *array = (T *)host_pages(count * sizeof(T));
    CHECK(cudaMemcpy(array, from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return array;
}

constexpr unsigned THREADS = 256;

static inline unsigned blocks(size_t items, unsigned threads = THREADS) {
    return (unsigned)divide_up(items, threads);
}

/* With --times, waits for the device and prints how long the iteration took. */
static inline void end_iteration(struct work *work) {
    CHECK(cudaGetLastError());
    if (!work->times)
        return;
    CHECK(cudaDeviceSynchronize());
    work_end_iteration(work);
}

static inline void stop_clock(struct work *work) {
    CHECK(cudaDeviceSynchronize());
    work_stop_clock(work);
}

#endif
