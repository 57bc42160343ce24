/* physics.cu in OpenCL C */
#pragma OPENCL FP_CONTRACT OFF

__kernel void nbody(__global const float4 *bodies, __global float4 *pulls, int n) {
    __local float4 tile[128];
    int at = get_local_id(0);
    float4 me = bodies[get_global_id(0)];
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += 128) {
        tile[at] = bodies[first + at];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 128; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, 0.01f))));
            float factor = other.w * inverse * inverse * inverse;
            x = fma(dx, factor, x);
            y = fma(dy, factor, y);
            z = fma(dz, factor, z);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    pulls[get_global_id(0)] = (float4)(x, y, z, 0);
}

uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; round++) {
        uint high0 = mul_hi(0xd2511f53u, counter.x), low0 = 0xd2511f53u * counter.x;
        uint high1 = mul_hi(0xcd9e8d57u, counter.z), low1 = 0xcd9e8d57u * counter.z;
        counter = (uint4)(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key += (uint2)(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

__kernel void monte_carlo(__global int *counts, int tries, int seed) {
    uint thread = get_global_id(0);
    int count = 0;
    for (int i = 0; i < tries; i++) {
        uint4 random = philox((uint4)(i, thread, 0, 0), (uint2)(seed, 0));
        float x = (random.x >> 8) * 0x1p-24f, y = (random.y >> 8) * 0x1p-24f;
        float u = (random.z >> 8) * 0x1p-24f, v = (random.w >> 8) * 0x1p-24f;
        count += fma(x, x, y * y) < 1;
        count += fma(u, u, v * v) < 1;
    }
    counts[thread] = count;
}
