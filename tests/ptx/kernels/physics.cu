/* Particles, and chance */
#include "cuda_runtime.h"

/* How all bodies (x, y, z, mass) pull at each; n is a multiple of the block's 128. */
extern "C" __global__ void nbody(const float4 *bodies, float4 *pulls, int n) {
    __shared__ float4 tile[128];
    float4 me = bodies[blockIdx.x * 128 + threadIdx.x];
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += 128) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f))));
            float factor = other.w * inverse * inverse * inverse;
            x = fmaf(dx, factor, x);
            y = fmaf(dy, factor, y);
            z = fmaf(dz, factor, z);
        }
        __syncthreads();
    }
    pulls[blockIdx.x * 128 + threadIdx.x] = make_float4(x, y, z, 0);
}

/* Philox 4x32-10: four random words of a counter. */
static __device__ uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xd2511f53, counter.x), low0 = 0xd2511f53 * counter.x;
        unsigned high1 = __umulhi(0xcd9e8d57, counter.z), low1 = 0xcd9e8d57 * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9e3779b9;
        key.y += 0xbb67ae85;
    }
    return counter;
}

/* How many of 2 x tries random points of each thread lie in the quarter of a circle. */
extern "C" __global__ void monte_carlo(int *counts, int tries, int seed) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (int i = 0; i < tries; i++) {
        uint4 random = philox(make_uint4(i, thread, 0, 0), make_uint2(seed, 0));
        float x = (random.x >> 8) * 0x1p-24f, y = (random.y >> 8) * 0x1p-24f;
        float u = (random.z >> 8) * 0x1p-24f, v = (random.w >> 8) * 0x1p-24f;
        count += fmaf(x, x, y * y) < 1;
        count += fmaf(u, u, v * v) < 1;
    }
    counts[thread] = count;
}
