/* Arithmetic in the four roundings is that of the host's processor. Prints what is wrong, and
 * returns 0 if nothing is. */
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

#define COUNT   512
#define RESULTS 11

struct results {
    float singles[RESULTS];
    double doubles[RESULTS];
    long long integers[4];
};

#define ALL(rounding)                                                                              \
    {                                                                                              \
        float a = x[i], b = y[i];                                                                  \
        double c = a * 1.1, d = b * 0.3;                                                           \
        long long whole = (long long)(c * 0x1p60);                                                 \
        out[i] = {{__fadd_##rounding(a, b), __fsub_##rounding(a, b), __fmul_##rounding(a, b),      \
                   __fdiv_##rounding(a, b), __fmaf_##rounding(a, b, a), __frcp_##rounding(b),      \
                   __fsqrt_##rounding(b), __double2float_##rounding(d),                            \
                   __ll2float_##rounding(whole), __int2float_##rounding((int)(whole >> 31)),       \
                   __uint2float_##rounding((unsigned)whole)},                                      \
                  {__dadd_##rounding(c, d), __dsub_##rounding(c, d), __dmul_##rounding(c, d),      \
                   __ddiv_##rounding(c, d), __fma_##rounding(c, d, c), __drcp_##rounding(d),       \
                   __dsqrt_##rounding(d), __ll2double_##rounding(whole), 0, 0, 0},                 \
                  {__float2int_##rounding(a * 1024), __float2uint_##rounding(b * 1024),            \
                   __double2ll_##rounding(c * 0x1p40), __double2int_##rounding(c * 1024)}};        \
    }

__global__ void compute(int rounding, const float *x, const float *y, results *out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    switch (rounding) {
    case 0:
        ALL(rn) return;
    case 1:
        ALL(rz) return;
    case 2:
        ALL(ru) return;
    default:
        ALL(rd)
    }
}

/* In the host's present rounding; what it computes with is rounded to the nearest. */
__attribute__((noinline)) static results on_the_host(float a, float b, double c, double d,
                                                     long long whole) {
    return {{a + b, a - b, a * b, a / b, std::fma(a, b, a), 1 / b, std::sqrt(b), (float)d,
             (float)whole, (float)(int)(whole >> 31), (float)(unsigned)whole},
            {c + d, c - d, c * d, c / d, std::fma(c, d, c), 1 / d, std::sqrt(d), (double)whole, 0,
             0, 0},
            {(long long)std::rint(a * 1024), (long long)std::rint(b * 1024),
             (long long)std::rint(c * 0x1p40), (long long)std::rint(c * 1024)}};
}

int main() {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    float *x, *y;
    results *out;
    int wrong = 0;
    if (cudaMallocManaged(&x, COUNT * sizeof *x) || cudaMallocManaged(&y, COUNT * sizeof *y) ||
        cudaMallocManaged(&out, COUNT * sizeof *out))
        return 1;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i * 2654435761u >> 8) % 100003) / 7919 - 6;
        y[i] = (float)((i * 40503u + 977) % 65521) / 12347 + 0.01f;
    }
    for (int mode = 0; mode < 4; mode++) {
        compute<<<COUNT / 64, 64>>>(mode, x, y, out);
        if (cudaDeviceSynchronize())
            return 1;
        for (int i = 0; i < COUNT; i++) {
            double c = x[i] * 1.1, d = y[i] * 0.3;
            long long whole = (long long)(c * 0x1p60);
            std::fesetround(modes[mode]);
            results host = on_the_host(x[i], y[i], c, d, whole);
            std::fesetround(FE_TONEAREST);
            for (int k = 0; k < RESULTS; k++)
                wrong += host.singles[k] != out[i].singles[k];
            for (int k = 0; k < RESULTS; k++)
                wrong += host.doubles[k] != out[i].doubles[k];
            for (int k = 0; k < 4; k++)
                wrong += host.integers[k] != out[i].integers[k];
        }
        if (wrong)
            std::printf("rounding %d: %d results are wrong\n", mode, wrong);
    }
    return wrong != 0;
}
