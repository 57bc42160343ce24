/* Errors of functions of math.h, compiled by `farfault cuda compile`, against the host's of a wider
 * type: at most what CUDA's programming guide says of them, in units in the last place. Prints
 * what is wrong and returns 0 if nothing is. */
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

extern "C" {
long double tanhl(long double);
long double powl(long double, long double);
long double ldexpl(long double, int);
long double frexpl(long double, int *);
}

#define COUNT 40000

enum { TANH, POW, FUNCTIONS };

template <typename T> __global__ void compute(const T *x, const T *y, T *out, int count) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count)
        return;
    out[TANH * count + i] = tanh(x[i]);
    out[POW * count + i] = pow(x[i], y[i]);
}

static long double expected(int function, long double x, long double y) {
    return function == TANH ? tanhl(x) : powl(x, y);
}

static unsigned long long state = 1;

static unsigned long long next_bits() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double between(double low, double high) {
    return low + (high - low) * (double)(next_bits() >> 11) * 0x1p-53;
}

static const double edges[] = {0.0, -0.0, 1, -1, 2, -3, 0.5, -2.5, 1e-300, -1e-310, 1e300, 1e-3,
                               0.549999, 0.55, 88, 709, -709, __builtin_inf(), -__builtin_inf(),
                               __builtin_nan("")};
enum { EDGES = sizeof edges / sizeof *edges };

/* All pairs of edges, then numbers of any size, near 1 with large powers, and of moderate size. */
template <typename T> static void fill(T *x, T *y) {
    for (int i = 0; i < COUNT; i++) {
        double size = __builtin_exp2(between(-40, 40)), one = 1 + between(-1e-3, 1e-3);
        double values[][2] = {{size, between(-20, 20)},
                              {one, between(-1e5, 1e5)},
                              {between(-3, 3), (double)(long)between(-9, 9)},
                              {between(0, 2), between(-60, 60)}};
        x[i] = (T)(i < EDGES * EDGES ? edges[i / EDGES] : values[i % 4][0]);
        y[i] = (T)(i < EDGES * EDGES ? edges[i % EDGES] : values[i % 4][1]);
    }
}

/* How far a result is from the true one. */
template <typename T> static double units_apart(T got, long double truth, int digits, int least) {
    T rounded = (T)truth;
    int exponent;
    if (rounded != rounded || rounded - rounded != 0 || rounded == 0)
        return (got != got && rounded != rounded) || !memcmp(&got, &rounded, sizeof got) ? 0
               : rounded == 0 && (got < 0 ? -got : got) <= ldexpl(1, least - digits)     ? 1
                                                                                         : 1e9;
    frexpl(truth, &exponent);
    long double apart = ((long double)got - truth) /
                        ldexpl(1, (exponent > least ? exponent : least) - digits);
    return (double)(apart < 0 ? -apart : apart);
}

template <typename T>
static int check(const char *type, int digits, int least, const double *most) {
    static const char *const names[] = {"tanh", "pow"};
    T *x, *y, *out;
    int wrong = 0;
    if (cudaMallocManaged(&x, COUNT * sizeof *x) || cudaMallocManaged(&y, COUNT * sizeof *y) ||
        cudaMallocManaged(&out, FUNCTIONS * COUNT * sizeof *out))
        return 1;
    fill(x, y);
    compute<<<(COUNT + 127) / 128, 128>>>(x, y, out, COUNT);
    if (cudaDeviceSynchronize())
        return 1;
    for (int function = 0; function < FUNCTIONS; function++) {
        double worst = 0;
        int at = 0;
        for (int i = 0; i < COUNT; i++) {
            double apart = units_apart(out[function * COUNT + i], expected(function, x[i], y[i]),
                                       digits, least);
            at = apart > worst ? i : at;
            worst = apart > worst ? apart : worst;
        }
        if (worst > most[function]) {
            printf("%s of %s: %g units at %a, %a: %a\n", names[function], type, worst,
                   (double)x[at], (double)y[at], (double)out[function * COUNT + at]);
            wrong++;
        }
    }
    return wrong;
}

int main() {
    const double of_float[] = {2, 4}, of_double[] = {2, 2};
    return check<float>("float", 24, -125, of_float) +
           check<double>("double", 53, -1021, of_double);
}
