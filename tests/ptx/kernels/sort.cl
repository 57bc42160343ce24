/* sort.cu in OpenCL C */

__kernel void bitonic(__global int *data) {
    __local int keys[256];
    __global int *mine = data + get_group_id(0) * 256;
    unsigned at = get_local_id(0);
    keys[at] = mine[at];
    keys[at + 128] = mine[at + 128];
    for (unsigned size = 2; size <= 256; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            unsigned low = 2 * at - (at & (stride - 1));
            bool up = (low & size) == 0;
            int a = keys[low], b = keys[low + stride];
            if ((a > b) == up) {
                keys[low] = b;
                keys[low + stride] = a;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    mine[at] = keys[at];
    mine[at + 128] = keys[at + 128];
}

__kernel void radix_pass(__global const int *in, __global int *out, int shift) {
    __local int counts[16][129];
    int at = get_local_id(0), key = in[get_group_id(0) * 128 + at], digit = key >> shift & 15;
    for (int d = 0; d < 16; d++)
        counts[d][at] = d == digit;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < 16)
        for (int k = 1, sum = counts[at][0]; k < 128; k++)
            counts[at][k] = sum += counts[at][k];
    barrier(CLK_LOCAL_MEM_FENCE);
    int before = counts[digit][at] - 1;
    for (int d = 0; d < digit; d++)
        before += counts[d][127];
    out[get_group_id(0) * 128 + before] = key;
}
