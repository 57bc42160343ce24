/* More functions of math.h, of double precision, with an error of a few units in the last place;
 * those of single precision are rounded from them. */
#ifndef FF_CUDA_ELEMENTARY_H
#define FF_CUDA_ELEMENTARY_H

#include "farfault/functions.h"

/* ---- rounding, remainders ---- */

/* Halves away from zero */
FF_CUDA_DEVICE double round(double x) {
    double whole = trunc(x);
    return fabs(x - whole) >= 0.5 ? whole + copysign(1.0, x) : whole;
}
FF_CUDA_DEVICE float roundf(float x) {
    float whole = truncf(x);
    return fabsf(x - whole) >= 0.5f ? whole + copysignf(1, x) : whole;
}
FF_CUDA_DEVICE double nearbyint(double x) {
    return rint(x);
}
FF_CUDA_DEVICE float nearbyintf(float x) {
    return rintf(x);
}
#define FF_CUDA_WHOLE(name)                                                                        \
    FF_CUDA_DEVICE long l##name(double x) {                                                        \
        return (long)name(x);                                                                      \
    }                                                                                              \
    FF_CUDA_DEVICE long l##name##f(float x) {                                                      \
        return (long)name##f(x);                                                                   \
    }                                                                                              \
    FF_CUDA_DEVICE long long ll##name(double x) {                                                  \
        return (long long)name(x);                                                                 \
    }                                                                                              \
    FF_CUDA_DEVICE long long ll##name##f(float x) {                                                \
        return (long long)name##f(x);                                                              \
    }
FF_CUDA_WHOLE(round)
FF_CUDA_WHOLE(rint)
#undef FF_CUDA_WHOLE

/* y times a power of two, as long as it is below x, is taken away: each step is exact. */
FF_CUDA_DEVICE double fmod(double x, double y) {
    double rest = fabs(x), step = fabs(y);
    if (!(rest < __builtin_inf()) || !(step > 0))
        return __builtin_nan("");
    while (rest >= step) {
        double part = step;
        while (part <= rest * 0.5)
            part *= 2;
        rest -= part;
    }
    return copysign(rest, x);
}
FF_CUDA_DEVICE float fmodf(float x, float y) {
    return (float)fmod((double)x, (double)y);
}
FF_CUDA_DEVICE double fdim(double x, double y) {
    return x > y ? x - y : x <= y ? 0 : x + y;
}
FF_CUDA_DEVICE float fdimf(float x, float y) {
    return x > y ? x - y : x <= y ? 0 : x + y;
}

/* Of x not 0 and finite: m in [1/2, 1) with x = m * 2^*n */
FF_CUDA_DEVICE double frexp(double x, int *n) {
    if (x == 0 || !(fabs(x) < __builtin_inf())) {
        *n = 0;
        return x;
    }
    int shift = fabs(x) < 0x1p-1022 ? 54 : 0;
    long long bits = __double_as_longlong(x * ff_cuda_power(shift));
    int exponent = (int)(bits >> 52 & 0x7ff);
    *n = exponent - 1022 - shift;
    return __longlong_as_double((bits & ~(0x7ffLL << 52)) | 1022LL << 52);
}
FF_CUDA_DEVICE float frexpf(float x, int *n) {
    return (float)frexp((double)x, n);
}
FF_CUDA_DEVICE double ldexp(double x, int n) {
    n = min(max(n, -2200), 2200);
    int part = n / 4;
    double quarter = ff_cuda_power(part);
    return x * quarter * quarter * quarter * ff_cuda_power(n - 3 * part);
}
FF_CUDA_DEVICE float ldexpf(float x, int n) {
    return (float)ldexp((double)x, n);
}

/* ---- roots ---- */

FF_CUDA_DEVICE double hypot(double x, double y) {
    double large = fmax(fabs(x), fabs(y)), small = fmin(fabs(x), fabs(y));
    if (large == 0 || !(large < __builtin_inf()))
        return large;
    if (x != x || y != y)
        return x + y;
    double ratio = small / large;
    return large * sqrt(fma(ratio, ratio, 1.0));
}
FF_CUDA_DEVICE float hypotf(float x, float y) {
    return (float)sqrt((double)x * x + (double)y * y);
}
FF_CUDA_DEVICE double cbrt(double x) {
    double size = fabs(x);
    if (size == 0 || !(size < __builtin_inf()))
        return x;
    double y = exp(log(size) / 3);
    y -= (y * y * y - size) / (3 * y * y);
    return copysign(y, x);
}

/* ---- powers and logarithms ---- */

FF_CUDA_DEVICE double exp2(double x) {
    if (!(fabs(x) < 1100))
        return x != x ? x : x > 0 ? __builtin_inf() : 0;
    double whole = rint(x);
    int n = (int)whole;
    return exp((x - whole) * 0.69314718055994531) * ff_cuda_power(n / 2) * ff_cuda_power(n - n / 2);
}
FF_CUDA_DEVICE double exp10(double x) {
    return pow(10.0, x);
}
FF_CUDA_DEVICE double expm1(double x) {
    if (fabs(x) < 1e-5)
        return fma(x * x, 0.5, x);
    double y = exp(x);
    return y < 0x1p60 && y - 1 != -1 ? (y - 1) * x / log(y) : y - 1;
}
FF_CUDA_DEVICE double log1p(double x) {
    double y = 1 + x;
    return y == 1 || !(y < __builtin_inf()) ? x : log(y) * (x / (y - 1));
}
/* Exact for powers of two */
FF_CUDA_DEVICE double log2(double x) {
    if (!(x > 0) || !(x < __builtin_inf()))
        return log(x);
    int n;
    double m = frexp(x, &n) * 2;
    if (m > 1.4142135623730951) {
        m *= 0.5;
        n++;
    }
    return fma(log(m), 1.4426950408889634, n - 1.0);
}
FF_CUDA_DEVICE double log10(double x) {
    double y = log(x), high = y * 0.43429448190325182;
    return !(fabs(y) < __builtin_inf())
               ? y
               : high + fma(y, 0.43429448190325182, -high) + y * 1.0983196502167651e-17;
}

/* ---- trigonometry ---- */

FF_CUDA_DEVICE double tan(double x) {
    return sin(x) / cos(x);
}
FF_CUDA_DEVICE void sincos(double x, double *sine, double *cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}
FF_CUDA_DEVICE void sincosf(float x, float *sine, float *cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
/* Of 0 <= x <= 1: the angle is halved twice, then Taylor's series */
FF_CUDA_DEVICE double ff_cuda_angle(double x) {
    x /= 1 + sqrt(fma(x, x, 1.0));
    x /= 1 + sqrt(fma(x, x, 1.0));
    double z = -x * x, sum = 1.0 / 21;
    for (int n = 19; n > 0; n -= 2)
        sum = fma(sum, z, 1.0 / n);
    return 4 * x * sum;
}
FF_CUDA_DEVICE double atan(double x) {
    double size = fabs(x);
    double angle = size <= 1
                       ? ff_cuda_angle(size)
                       : 1.5707963267948966 - (ff_cuda_angle(1 / size) - 6.123233995736766e-17);
    return x == x ? copysign(angle, x) : x;
}
FF_CUDA_DEVICE double atan2(double y, double x) {
    if (x != x || y != y)
        return x + y;
    double high = fmax(fabs(x), fabs(y)), low = fmin(fabs(x), fabs(y));
    double ratio = high == 0 ? 0 : low < __builtin_inf() ? low / high : 1;
    double angle = ff_cuda_angle(ratio);
    if (fabs(y) > fabs(x))
        angle = 1.5707963267948966 - (angle - 6.123233995736766e-17);
    if (copysign(1.0, x) < 0)
        angle = 3.1415926535897931 - (angle - 1.2246467991473532e-16);
    return copysign(angle, y);
}
FF_CUDA_DEVICE double asin(double x) {
    return atan2(x, sqrt((1 - x) * (1 + x)));
}
FF_CUDA_DEVICE double acos(double x) {
    return atan2(sqrt((1 - x) * (1 + x)), x);
}
FF_CUDA_DEVICE double sinh(double x) {
    double y = expm1(fabs(x));
    double size =
        y < 0x1p60 ? 0.5 * (y + y / (y + 1)) : exp(fabs(x) * 0.5) * 0.5 * exp(fabs(x) * 0.5);
    return copysign(size, x);
}
FF_CUDA_DEVICE double cosh(double x) {
    double half = exp(fabs(x) * 0.5);
    return 0.5 * half * half + 0.5 / half / half;
}

/* ---- the error function: a series of positive terms, within 16 units ---- */

FF_CUDA_DEVICE double erf(double x) {
    double size = fabs(x);
    if (!(size < 6))
        return x == x ? copysign(1.0, x) : x;
    double term = size, sum = size;
    for (int n = 3; term > sum * 1e-17; n += 2) {
        term *= 2 * size * size / n;
        sum += term;
    }
    return copysign(fmin(sum * exp(-size * size) * 1.1283791670955126, 1.0), x);
}

#define FF_CUDA_ROUNDED(name)                                                                      \
    FF_CUDA_DEVICE float name##f(float x) {                                                        \
        return (float)name((double)x);                                                             \
    }                                                                                              \
    FF_CUDA_DEVICE float name(float x) {                                                           \
        return (float)name((double)x);                                                             \
    }
FF_CUDA_ROUNDED(cbrt)
FF_CUDA_ROUNDED(exp10)
FF_CUDA_ROUNDED(expm1)
FF_CUDA_ROUNDED(log1p)
FF_CUDA_ROUNDED(log2)
FF_CUDA_ROUNDED(log10)
FF_CUDA_ROUNDED(tan)
FF_CUDA_ROUNDED(atan)
FF_CUDA_ROUNDED(asin)
FF_CUDA_ROUNDED(acos)
FF_CUDA_ROUNDED(sinh)
FF_CUDA_ROUNDED(cosh)
FF_CUDA_ROUNDED(erf)
#undef FF_CUDA_ROUNDED
FF_CUDA_DEVICE float exp2(float x) {
    return exp2f(x);
}
FF_CUDA_DEVICE float round(float x) {
    return roundf(x);
}
FF_CUDA_DEVICE float atan2f(float y, float x) {
    return (float)atan2((double)y, (double)x);
}
FF_CUDA_DEVICE float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}

FF_CUDA_DEVICE float __tanf(float x) {
    return __sinf(x) / __cosf(x);
}
FF_CUDA_DEVICE float __log10f(float x) {
    return __log2f(x) * 0.301029996f;
}
FF_CUDA_DEVICE float __exp10f(float x) {
    return __nvvm_ex2_approx_f(x * 3.32192809f);
}
FF_CUDA_DEVICE void __sincosf(float x, float *sine, float *cosine) {
    *sine = __sinf(x);
    *cosine = __cosf(x);
}

#endif
