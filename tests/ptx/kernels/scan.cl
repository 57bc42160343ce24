/* scan.cu in OpenCL C */

__kernel void scan_hillis(__global const int *in, __global int *out) {
    __local int sums[2][128];
    int at = get_local_id(0), from = 0;
    sums[0][at] = in[get_group_id(0) * 128 + at];
    for (int step = 1; step < 128; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[1 - from][at] = sums[from][at] + (at >= step ? sums[from][at - step] : 0);
        from = 1 - from;
    }
    out[get_group_id(0) * 128 + at] = sums[from][at];
}

__kernel void scan_blelloch(__global const int *in, __global int *out) {
    __local int tree[256];
    int at = get_local_id(0);
    in += get_group_id(0) * 256;
    out += get_group_id(0) * 256;
    tree[2 * at] = in[2 * at];
    tree[2 * at + 1] = in[2 * at + 1];
    int step = 1;
    for (int active = 128; active > 0; active /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at < active)
            tree[step * (2 * at + 2) - 1] += tree[step * (2 * at + 1) - 1];
        step *= 2;
    }
    if (at == 0)
        tree[255] = 0;
    for (int active = 1; active < 256; active *= 2) {
        step /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at < active) {
            int left = step * (2 * at + 1) - 1, right = step * (2 * at + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[2 * at] = tree[2 * at];
    out[2 * at + 1] = tree[2 * at + 1];
}
