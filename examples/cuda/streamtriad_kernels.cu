/* The kernel of streamtriad.c. */
extern "C" __global__ void triad(float *a, const float *b, const float *c, float scalar,
                                 size_t count) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        a[i] = b[i] + scalar * c[i];
}
