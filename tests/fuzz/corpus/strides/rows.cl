#define TILE 256
kernel void k(__global const float *in, __global float *out, const ulong side, uint n) {
    const ulong x = get_global_id(0), y = get_global_id(1); /* a comment */
    for (ulong i = get_local_id(0); i < side; i += get_local_size(0))
        out[(y << 2) * side + x - 1] = in[i * side + x].x + ((int)n >> 3);
}
