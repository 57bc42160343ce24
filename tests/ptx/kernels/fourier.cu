/* Fourier transforms */
#include "cuda_runtime.h"

/* 256 complex numbers a block, in place, by 128 threads; roots[k] is e^(-2 pi i k / 256). */
extern "C" __global__ void fft(float2 *data, const float2 *roots) {
    __shared__ float2 values[256];
    float2 *mine = data + blockIdx.x * 256;
    unsigned at = threadIdx.x;
    values[__brev(at) >> 24] = mine[at];
    values[__brev(at + 128) >> 24] = mine[at + 128];
    for (unsigned half = 1; half < 256; half *= 2) {
        __syncthreads();
        unsigned k = at & (half - 1), low = 2 * at - k;
        float2 root = roots[k * (128 / half)], a = values[low], b = values[low + half];
        float real = fmaf(root.x, b.x, -(root.y * b.y));
        float imaginary = fmaf(root.x, b.y, root.y * b.x);
        values[low] = make_float2(a.x + real, a.y + imaginary);
        values[low + half] = make_float2(a.x - real, a.y - imaginary);
    }
    __syncthreads();
    mine[at] = values[at];
    mine[at + 128] = values[at + 128];
}

/* n is a power of two. */
extern "C" __global__ void dft(const float2 *in, float2 *out, const float2 *roots, int n) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    float real = 0, imaginary = 0;
    for (int i = 0; i < n; i++) {
        float2 root = roots[(k * i) & (n - 1)], value = in[i];
        real += root.x * value.x - root.y * value.y;
        imaginary += root.x * value.y + root.y * value.x;
    }
    out[k] = make_float2(real, imaginary);
}
