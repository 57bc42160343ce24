/* histogram.cu in OpenCL C */

__kernel void histogram_shared(__global const int *values, __global int *bins, int n) {
    __local int mine[64];
    int at = get_local_id(0);
    if (at < 64)
        mine[at] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_add(&mine[values[i]], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < 64)
        atomic_add(&bins[at], mine[at]);
}
