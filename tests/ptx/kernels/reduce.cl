/* reduce.cu in OpenCL C; its warps add through local memory. */

__kernel void reduce_tree(__global const float *in, __global float *sums) {
    __local float tree[256];
    int at = get_local_id(0);
    tree[at] = in[get_global_id(0)];
    for (int size = 128; size > 0; size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at < size)
            tree[at] += tree[at + size];
    }
    if (at == 0)
        sums[get_group_id(0)] = tree[0];
}

__kernel void reduce_shuffle(__global const float *in, __global float *sums) {
    __local float lanes[128];
    int at = get_local_id(0);
    lanes[at] = in[get_global_id(0)];
    for (int step = 16; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at % 32 < step)
            lanes[at] += lanes[at + step];
    }
    if (at % 32 == 0)
        sums[get_global_id(0) / 32] = lanes[at];
}
