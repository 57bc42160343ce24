/* graph.cu in OpenCL C */
#pragma OPENCL FP_CONTRACT OFF

__kernel void bfs_level(__global const int *starts, __global const int *targets,
                        __global int *levels, __global int *changed, int n, int level) {
    int v = get_global_id(0);
    if (v >= n || levels[v] != level)
        return;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        if (atomic_cmpxchg(&levels[targets[k]], -1, level + 1) == -1)
            atomic_add(changed, 1);
}

__kernel void pagerank(__global const int *starts, __global const int *targets,
                       __global const float *shares, __global float *ranks, int n,
                       float damping) {
    int v = get_global_id(0);
    if (v >= n)
        return;
    float sum = 0;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        sum += shares[targets[k]];
    ranks[v] = fma(damping, sum, (1 - damping) / n);
}

__kernel void triangles(__global const int *starts, __global const int *targets,
                        __global int *counts, int n) {
    int i = get_global_id(0), count = 0;
    if (i >= n)
        return;
    for (int e = starts[i]; e < starts[i + 1]; e++) {
        int j = targets[e], a = e + 1, b = starts[j];
        while (a < starts[i + 1] && b < starts[j + 1]) {
            int x = targets[a], y = targets[b];
            count += x == y;
            a += x <= y;
            b += y <= x;
        }
    }
    counts[i] = count;
}
