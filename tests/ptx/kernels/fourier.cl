/* fourier.cu in OpenCL C */
#pragma OPENCL FP_CONTRACT OFF

unsigned reversed(unsigned byte) {
    byte = (byte & 0x0f) << 4 | byte >> 4;
    byte = (byte & 0x33) << 2 | (byte >> 2 & 0x33);
    return (byte & 0x55) << 1 | (byte >> 1 & 0x55);
}

__kernel void fft(__global float2 *data, __global const float2 *roots) {
    __local float2 values[256];
    __global float2 *mine = data + get_group_id(0) * 256;
    unsigned at = get_local_id(0);
    values[reversed(at)] = mine[at];
    values[reversed(at + 128)] = mine[at + 128];
    for (unsigned size = 1; size < 256; size *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        unsigned k = at & (size - 1), low = 2 * at - k;
        float2 root = roots[k * (128 / size)], a = values[low], b = values[low + size];
        float real = fma(root.x, b.x, -(root.y * b.y));
        float imaginary = fma(root.x, b.y, root.y * b.x);
        values[low] = (float2)(a.x + real, a.y + imaginary);
        values[low + size] = (float2)(a.x - real, a.y - imaginary);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mine[at] = values[at];
    mine[at + 128] = values[at + 128];
}

__kernel void dft(__global const float2 *in, __global float2 *out, __global const float2 *roots,
                  int n) {
    int k = get_global_id(0);
    float real = 0, imaginary = 0;
    for (int i = 0; i < n; i++) {
        float2 root = roots[(k * i) & (n - 1)], value = in[i];
        real += fma(root.x, value.x, -(root.y * value.y));
        imaginary += fma(root.x, value.y, root.y * value.x);
    }
    out[k] = (float2)(real, imaginary);
}
