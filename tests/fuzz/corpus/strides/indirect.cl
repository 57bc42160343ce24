#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void k(__global const uint *offsets, __global uint *next, __local float *tile) {
    uint i = 0x10u; // a line
    const char c = '\'';
    while (i < offsets[get_global_id(0) + 1]) { tile[i] = 1.5e3f; i += 2; }
    next[atomic_inc(&next[0])] = offsets[i % 7];
}
