/* Functions of math.h, and the fast ones that become one instruction. */
#ifndef FF_CUDA_FUNCTIONS_H
#define FF_CUDA_FUNCTIONS_H

#include "farfault/bits.h"

#define FF_CUDA_MIN_MAX(type)                                                                      \
    FF_CUDA_BOTH type min(type a, type b) {                                                        \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    FF_CUDA_BOTH type max(type a, type b) {                                                        \
        return a < b ? b : a;                                                                      \
    }
FF_CUDA_MIN_MAX(int)
FF_CUDA_MIN_MAX(unsigned)
FF_CUDA_MIN_MAX(long)
FF_CUDA_MIN_MAX(unsigned long)
FF_CUDA_MIN_MAX(long long)
FF_CUDA_MIN_MAX(unsigned long long)
#undef FF_CUDA_MIN_MAX
FF_CUDA_BOTH float min(float a, float b) {
    return __builtin_fminf(a, b);
}
FF_CUDA_BOTH float max(float a, float b) {
    return __builtin_fmaxf(a, b);
}
FF_CUDA_BOTH double min(double a, double b) {
    return __builtin_fmin(a, b);
}
FF_CUDA_BOTH double max(double a, double b) {
    return __builtin_fmax(a, b);
}
/* Of two types: as the usual conversions make them one. */
#define FF_CUDA_MIN_MAX_MIXED(one, other, both)                                                    \
    FF_CUDA_BOTH both min(one a, other b) {                                                        \
        return min((both)a, (both)b);                                                              \
    }                                                                                              \
    FF_CUDA_BOTH both max(one a, other b) {                                                        \
        return max((both)a, (both)b);                                                              \
    }                                                                                              \
    FF_CUDA_BOTH both min(other a, one b) {                                                        \
        return min((both)a, (both)b);                                                              \
    }                                                                                              \
    FF_CUDA_BOTH both max(other a, one b) {                                                        \
        return max((both)a, (both)b);                                                              \
    }
FF_CUDA_MIN_MAX_MIXED(float, double, double)
FF_CUDA_MIN_MAX_MIXED(int, unsigned, unsigned)
FF_CUDA_MIN_MAX_MIXED(long, unsigned long, unsigned long)
FF_CUDA_MIN_MAX_MIXED(long long, unsigned long long, unsigned long long)
#undef FF_CUDA_MIN_MAX_MIXED

FF_CUDA_BOTH unsigned umin(unsigned a, unsigned b) {
    return min(a, b);
}
FF_CUDA_BOTH unsigned umax(unsigned a, unsigned b) {
    return max(a, b);
}
FF_CUDA_BOTH long long llmin(long long a, long long b) {
    return min(a, b);
}
FF_CUDA_BOTH long long llmax(long long a, long long b) {
    return max(a, b);
}
FF_CUDA_BOTH unsigned long long ullmin(unsigned long long a, unsigned long long b) {
    return min(a, b);
}
FF_CUDA_BOTH unsigned long long ullmax(unsigned long long a, unsigned long long b) {
    return max(a, b);
}

/* Exact ones: an instruction or two each, of both precisions */
#define FF_CUDA_EXACT(name)                                                                        \
    FF_CUDA_DEVICE float name##f(float x) {                                                        \
        return __builtin_##name##f(x);                                                             \
    }                                                                                              \
    FF_CUDA_DEVICE double name(double x) {                                                         \
        return __builtin_##name(x);                                                                \
    }                                                                                              \
    FF_CUDA_DEVICE float name(float x) {                                                           \
        return __builtin_##name##f(x);                                                             \
    }
FF_CUDA_EXACT(fabs)
FF_CUDA_EXACT(sqrt)
FF_CUDA_EXACT(floor)
FF_CUDA_EXACT(ceil)
FF_CUDA_EXACT(trunc)
FF_CUDA_EXACT(rint)
#undef FF_CUDA_EXACT

#define FF_CUDA_EXACT_2(name)                                                                      \
    FF_CUDA_DEVICE float name##f(float x, float y) {                                               \
        return __builtin_##name##f(x, y);                                                          \
    }                                                                                              \
    FF_CUDA_DEVICE double name(double x, double y) {                                               \
        return __builtin_##name(x, y);                                                             \
    }
FF_CUDA_EXACT_2(fmin)
FF_CUDA_EXACT_2(fmax)
FF_CUDA_EXACT_2(copysign)
#undef FF_CUDA_EXACT_2

FF_CUDA_DEVICE float fmaf(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
FF_CUDA_DEVICE double fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
FF_CUDA_DEVICE double nan(const char *) {
    return __builtin_nan("");
}
FF_CUDA_DEVICE float nanf(const char *) {
    return __builtin_nanf("");
}
FF_CUDA_DEVICE int abs(int x) {
    return x < 0 ? -x : x;
}

/* 2^n for -1022 <= n <= 1023 */
FF_CUDA_DEVICE double ff_cuda_power(int n) {
    return __longlong_as_double((long long)(n + 1023) << 52);
}

/* exp, log, sin, cos: reduced to a small interval, then Taylor's series; an error of 2 units in the
 * last place, of sin and cos where |x| < 2^20. `low` is added to x. */
FF_CUDA_DEVICE double ff_cuda_exp(double x, double low) {
    if (!(x < 709.8))
        return x != x ? x : __builtin_inf();
    if (x < -746)
        return 0;
    int n = __nvvm_d2i_rn(x * 1.4426950408889634);
    double r = fma((double)n, -0x1.62e42fefa39efp-1, x);
    r = fma((double)n, -0x1.abc9e3b39803fp-56, r) + low;
    double sum = 1.0 / 6227020800;
    sum = fma(sum, r, 1.0 / 479001600);
    sum = fma(sum, r, 1.0 / 39916800);
    sum = fma(sum, r, 1.0 / 3628800);
    sum = fma(sum, r, 1.0 / 362880);
    sum = fma(sum, r, 1.0 / 40320);
    sum = fma(sum, r, 1.0 / 5040);
    sum = fma(sum, r, 1.0 / 720);
    sum = fma(sum, r, 1.0 / 120);
    sum = fma(sum, r, 1.0 / 24);
    sum = fma(sum, r, 1.0 / 6);
    sum = fma(sum, r, 0.5);
    sum = fma(sum, r, 1.0);
    sum = fma(sum, r, 1.0);
    return sum * ff_cuda_power(n / 2) * ff_cuda_power(n - n / 2);
}
FF_CUDA_DEVICE double exp(double x) {
    return ff_cuda_exp(x, 0);
}

/* x = m * 2^power, sqrt(1/2) <= m < sqrt(2), of finite x > 0 */
FF_CUDA_DEVICE double ff_cuda_parts(double x, double *power) {
    int shift = x < 0x1p-1022 ? 54 : 0;
    long long bits = __double_as_longlong(x * ff_cuda_power(shift));
    long long n = (bits - 0x3fe6a09e667f3bcdLL) >> 52;
    *power = (double)(n - shift);
    return __longlong_as_double(bits - (n << 52));
}
FF_CUDA_DEVICE double log(double x) {
    if (!(x > 0))
        return x == 0 ? -__builtin_inf() : __builtin_nan("");
    if (x > 0x1.fffffffffffffp1023)
        return x;
    double power, m = ff_cuda_parts(x, &power);
    double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 23;
    sum = fma(sum, z, 1.0 / 21);
    sum = fma(sum, z, 1.0 / 19);
    sum = fma(sum, z, 1.0 / 17);
    sum = fma(sum, z, 1.0 / 15);
    sum = fma(sum, z, 1.0 / 13);
    sum = fma(sum, z, 1.0 / 11);
    sum = fma(sum, z, 1.0 / 9);
    sum = fma(sum, z, 1.0 / 7);
    sum = fma(sum, z, 1.0 / 5);
    sum = fma(sum, z, 1.0 / 3);
    double low = fma(power, 0x1.abc9e3b39803fp-56, 2 * s * z * sum);
    return fma(power, 0x1.62e42fefa39efp-1, 2 * s + low);
}

/* Sine (`quarter` 0) or cosine (1) */
FF_CUDA_DEVICE double ff_cuda_wave(double x, int quarter) {
    double turns = rint(x * 0.63661977236758134);
    double r = fma(turns, -0x1.921fb54442d18p0, x);
    r = fma(turns, -0x1.1a62633145c07p-54, r);
    int part = (int)turns + quarter;
    double z = -r * r, sum;
    if (part & 1) {
        sum = 1.0 / 20922789888000;
        sum = fma(sum, z, 1.0 / 87178291200);
        sum = fma(sum, z, 1.0 / 479001600);
        sum = fma(sum, z, 1.0 / 3628800);
        sum = fma(sum, z, 1.0 / 40320);
        sum = fma(sum, z, 1.0 / 720);
        sum = fma(sum, z, 1.0 / 24);
        sum = fma(sum, z, 0.5);
        sum = fma(sum, z, 1.0);
    } else {
        sum = 1.0 / 355687428096000;
        sum = fma(sum, z, 1.0 / 1307674368000);
        sum = fma(sum, z, 1.0 / 6227020800);
        sum = fma(sum, z, 1.0 / 39916800);
        sum = fma(sum, z, 1.0 / 362880);
        sum = fma(sum, z, 1.0 / 5040);
        sum = fma(sum, z, 1.0 / 120);
        sum = fma(sum, z, 1.0 / 6);
        sum = fma(r * z, sum, r);
    }
    return part & 2 ? -sum : sum;
}
FF_CUDA_DEVICE double sin(double x) {
    return ff_cuda_wave(x, 0);
}
FF_CUDA_DEVICE double cos(double x) {
    return ff_cuda_wave(x, 1);
}
/* Near 0 by e^2x - 1 = 2x (1 + x + s) where s = 2x^2/3 (1 + 2x/4 (1 + 2x/5 (...))): then it is
 * x (1 + (s - x (x + s)) / (1 + x + x (x + s))). */
FF_CUDA_DEVICE double tanh(double x) {
    if (fabs(x) < 0.55) {
        double sum = 1;
        for (int k = 20; k > 3; k--)
            sum = fma(x * (2.0 / k), sum, 1.0);
        double s = x * x * (2.0 / 3) * sum, more = x * (x + s);
        return fma(x, (s - more) / (1 + x + more), x);
    }
    return copysign(1 - 2 / (exp(2 * fabs(x)) + 1), x);
}

/* Two numbers whose sum is a + b, the second of which is small. */
FF_CUDA_DEVICE double ff_cuda_sum(double a, double b, double *low) {
    double sum = a + b, part = sum - a;
    *low = (a - (sum - part)) + (b - part);
    return sum;
}

/* The logarithm of finite x > 0 as a sum, with an error of 2^-66 of it: s = (m - 1) / (m + 1) and
 * s^3 / 3 are sums of two, too. */
FF_CUDA_DEVICE double ff_cuda_log_wide(double x, double *low) {
    double power, m = ff_cuda_parts(x, &power);
    double below = m + 1, rest = m - (below - 1), s = (m - 1) / below;
    double s_low = fma(-s, rest, fma(-s, below, m - 1)) / below;
    double z = s * s, z_low = fma(2 * s, s_low, fma(s, s, -z));
    double cube = s * z, cube_low = fma(s, z, -cube) + fma(s, z_low, s_low * z);
    double third = cube * (1.0 / 3);
    double third_low = fma(-3.0, third, cube) / 3 + cube_low / 3;
    double sum = 1.0 / 25;
    for (int k = 23; k > 3; k -= 2)
        sum = fma(sum, z, 1.0 / k);
    double high, error, all, more;
    high = ff_cuda_sum(power * 0x1.62e42fefa38p-1, 2 * s, &error);
    all = ff_cuda_sum(high, 2 * third, &more);
    *low = error + more +
           (fma(power, 0x1.ef35793c7673p-45, 2 * s_low) + 2 * (third_low + cube * z * sum));
    return all;
}

FF_CUDA_DEVICE double ff_cuda_pow_wide(double x, double y) {
    double low, high = ff_cuda_log_wide(x, &low), product = y * high;
    return ff_cuda_exp(product, fabs(product) < 1000 ? fma(y, high, -product) + y * low : 0);
}

/* `wide`: for double precision */
FF_CUDA_DEVICE double ff_cuda_pow(double x, double y, bool wide) {
    double size = fabs(x);
    if (y == 0 || x == 1 || (x == -1 && fabs(y) == __builtin_inf()))
        return 1;
    bool odd = fabs(y) < 0x1p53 && y == rint(y) && ((long long)y & 1);
    if (x == 0 && y == y)
        return y > 0 ? (odd ? x : 0) : odd ? 1 / x : __builtin_inf();
    if (x < 0 && y != rint(y) && x > -__builtin_inf())
        return __builtin_nan("");
    double power =
        wide && size < __builtin_inf() ? ff_cuda_pow_wide(size, y) : exp(y * log(size));
    return x < 0 && odd ? -power : power;
}
FF_CUDA_DEVICE double pow(double x, double y) {
    return ff_cuda_pow(x, y, true);
}

/* Of single precision: rounded from double, so within 1 unit in the last place. */
#define FF_CUDA_ROUNDED(name)                                                                      \
    FF_CUDA_DEVICE float name##f(float x) {                                                        \
        return (float)name((double)x);                                                             \
    }                                                                                              \
    FF_CUDA_DEVICE float name(float x) {                                                           \
        return (float)name((double)x);                                                             \
    }
FF_CUDA_ROUNDED(sin)
FF_CUDA_ROUNDED(cos)
#undef FF_CUDA_ROUNDED
FF_CUDA_DEVICE float powf(float x, float y) {
    return (float)ff_cuda_pow(x, y, false);
}

/* Single precision throughout, within 2 units in the last place. */
FF_CUDA_DEVICE float expf(float x) {
    int n = __nvvm_f2i_rn(fminf(fmaxf(x, -110), 90) * 1.44269504f), half = n / 2;
    float r = fmaf((float)n, -0x1.62e43p-1f, x);
    r = fmaf((float)n, 0x1.05c61p-29f, r);
    float y = __nvvm_ex2_approx_f(r * 1.44269504f);
    y = x > 90 ? __builtin_inff() : x < -110 ? 0 : y;
    return y * __int_as_float((half + 127) << 23) * __int_as_float((n - half + 127) << 23);
}
FF_CUDA_DEVICE float exp(float x) {
    return expf(x);
}
/* Near 0 by Taylor's series. Both ways for each x: a warp whose lanes part takes longer. */
FF_CUDA_DEVICE float tanhf(float x) {
    float size = fabsf(x), z = x * x;
    float sum = (float)(6404582.0 / 10854718875);
    sum = fmaf(sum, z, (float)(-929569.0 / 638512875));
    sum = fmaf(sum, z, 21844.0f / 6081075);
    sum = fmaf(sum, z, -1382.0f / 155925);
    sum = fmaf(sum, z, 62.0f / 2835);
    sum = fmaf(sum, z, -17.0f / 315);
    sum = fmaf(sum, z, 2.0f / 15);
    sum = fmaf(sum, z, -1.0f / 3);
    float far = copysignf(1 - 2 / (expf(2 * size) + 1), x);
    return size < 0.55f ? fmaf(x * z, sum, x) : far;
}
FF_CUDA_DEVICE float tanh(float x) {
    return tanhf(x);
}
FF_CUDA_DEVICE float exp2f(float x) {
    return __nvvm_ex2_approx_f(x);
}
FF_CUDA_DEVICE float logf(float x) {
    if (!(x > 0))
        return x == 0 ? -__builtin_inff() : __builtin_nanf("");
    if (x > 0x1.fffffep127f)
        return x;
    int shift = x < 0x1p-126f ? 24 : 0;
    int bits = __float_as_int(shift ? x * 0x1p24f : x);
    int n = (bits - 0x3f3504f3) >> 23;
    float m = __int_as_float(bits - (n << 23));
    float s = (m - 1) / (m + 1), z = s * s;
    float sum = fmaf(1.0f / 11, z, 1.0f / 9);
    sum = fmaf(sum, z, 1.0f / 7);
    sum = fmaf(sum, z, 1.0f / 5);
    sum = fmaf(sum, z, 1.0f / 3);
    float power = (float)(n - shift);
    float low = fmaf(power, -0x1.05c61p-29f, 2 * s * z * sum);
    return fmaf(power, 0x1.62e43p-1f, 2 * s + low);
}
FF_CUDA_DEVICE float log(float x) {
    return logf(x);
}

FF_CUDA_DEVICE float rsqrtf(float x) {
    return __nvvm_rsqrt_approx_f(x);
}
FF_CUDA_DEVICE double rsqrt(double x) {
    return 1 / __builtin_sqrt(x);
}
static inline __host__ float rsqrtf(float x) {
    return 1 / __builtin_sqrtf(x);
}
static inline __host__ double rsqrt(double x) {
    return 1 / __builtin_sqrt(x);
}
FF_CUDA_BOTH float rsqrt(float x) {
    return rsqrtf(x);
}

/* One instruction, or two */
FF_CUDA_DEVICE float __expf(float x) {
    return __nvvm_ex2_approx_f(x * 1.44269504f);
}
FF_CUDA_DEVICE float __logf(float x) {
    return __nvvm_lg2_approx_f(x) * 0.693147181f;
}
FF_CUDA_DEVICE float __log2f(float x) {
    return __nvvm_lg2_approx_f(x);
}
FF_CUDA_DEVICE float __sinf(float x) {
    return __nvvm_sin_approx_f(x);
}
FF_CUDA_DEVICE float __cosf(float x) {
    return __nvvm_cos_approx_f(x);
}
FF_CUDA_DEVICE float __powf(float x, float y) {
    return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x));
}
FF_CUDA_DEVICE float __fdividef(float x, float y) {
    return __nvvm_div_approx_f(x, y);
}
FF_CUDA_DEVICE float __saturatef(float x) {
    return __nvvm_saturate_f(x);
}

#endif
