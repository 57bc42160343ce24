/* What language models do between their products, on f16 */

kernel void gelu_f16(global const half *in, global half *out, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    float2 x = vload_half2(i, in);
    float2 inner = x + 0.044715f * x * x * x;
    vstore_half2(0.5f * x * (1 + tanh(0.7978845608f * inner)), i, out);
}
