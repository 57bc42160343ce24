/* The functions of math.h in device code are near those of the host's C library, with numbers of
 * several types, too, and in a program that includes <cmath>, whose templates are candidates for
 * every call. */
#include <cmath>
#include <cstdio>

#define UNARY(F)                                                                                   \
    F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt)                       \
    F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(erf)
#define BINARY(F) F(pow) F(hypot) F(atan2) F(fmod) F(fdim) F(fmin) F(fmax) F(copysign)

constexpr int VALUES = 8, FUNCTIONS = 19 + 4 * 8 + 1;

/* Within what all of the functions are defined for. */
__host__ __device__ static double value(int i) {
    return (i + 0.5) / VALUES;
}

__global__ void call(double *doubles, float *floats) {
    const int i = threadIdx.x;
    const double x = value(i), y = value(VALUES - 1 - i);
    double *out = doubles + i * FUNCTIONS;
    float *singles = floats + i * FUNCTIONS;
#define F(name) *out++ = name(x); *singles++ = name##f((float)x);
    UNARY(F)
#undef F
#define F(name)                                                                                    \
    static_assert(sizeof name(1.0f, 1.0f) == sizeof(float), "in single precision");                \
    *out++ = name(x, y); *singles++ = name##f((float)x, (float)y);                                 \
    *out++ = name(x, 2); *singles++ = name((float)x, (float)y);                                    \
    *out++ = name(3, y); *singles++ = (float)name(3u, (float)y);                                   \
    *out++ = name(0.25f, y); *singles++ = (float)name((float)x, 0.5);
    BINARY(F)
#undef F
    *out = fma(x, y, 1);
    *singles = fma((float)x, (float)y, 1.0f);
}

static int wrong(const char *name, double got, double wanted, double part) {
    if (std::fabs(got - wanted) <= part * std::fabs(wanted))
        return 0;
    printf("%s: %.17g instead of %.17g\n", name, got, wanted);
    return 1;
}

int main() {
    double *doubles;
    float *floats;
    int failed = 0;
    if (cudaMallocManaged(&doubles, VALUES * FUNCTIONS * sizeof(double)) != cudaSuccess ||
        cudaMallocManaged(&floats, VALUES * FUNCTIONS * sizeof(float)) != cudaSuccess)
        return 1;
    call<<<1, VALUES>>>(doubles, floats);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    const double *got = doubles;
    const float *single = floats;
    for (int i = 0; i < VALUES; i++) {
        const double x = value(i), y = value(VALUES - 1 - i);
#define F(name)                                                                                    \
    failed += wrong(#name, *got++, std::name(x), 1e-14);                                           \
    failed += wrong(#name "f", *single++, std::name(x), 1e-6);
        UNARY(F)
#undef F
#define F(name)                                                                                    \
    failed += wrong(#name, *got++, std::name(x, y), 1e-14);                                        \
    failed += wrong(#name "f", *single++, std::name(x, y), 1e-6);                                  \
    failed += wrong(#name "(x, 2)", *got++, std::name(x, 2.0), 1e-14);                             \
    failed += wrong(#name "(float, float)", *single++, std::name(x, y), 1e-6);                     \
    failed += wrong(#name "(3, y)", *got++, std::name(3.0, y), 1e-14);                             \
    failed += wrong(#name "(3u, float)", *single++, std::name(3.0, y), 1e-6);                      \
    failed += wrong(#name "(float, y)", *got++, std::name(0.25, y), 1e-14);                        \
    failed += wrong(#name "(float, 0.5)", *single++, std::name(x, 0.5), 1e-6);
        BINARY(F)
#undef F
        failed += wrong("fma(x, y, 1)", *got++, std::fma(x, y, 1.0), 1e-14);
        failed += wrong("fma of floats", *single++, std::fma(x, y, 1.0), 1e-6);
    }
    return failed != 0 || cudaFree(floats) != cudaSuccess || cudaFree(doubles) != cudaSuccess;
}
