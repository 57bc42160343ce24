/* Four bits: 16 steps between -8 and +8.
 *
 * The paper clamps weights and activations to [-8, +8] and says that 4 bits hold the integers in
 * there (section 6). Ours: values are q * step with q from -8 to 7 and a step that is a power of
 * two, at most 1, one for each matrix, so that everything stays inside the clamp and sums of
 * products are exact in a float, in any order: that is what lets the fast path be equal to the
 * reference. */
#ifndef FF_LEARN_QUANT_H
#define FF_LEARN_QUANT_H

#include <math.h>
#include <stddef.h>

#define FF__Q_MIN (-8)
#define FF__Q_MAX 7

/* The nearest step, ties to even as the hardware does. */
static inline float ff__quantize(float x, float step) {
    float q = rintf(x * (1 / step));
    q = q < FF__Q_MIN ? FF__Q_MIN : q > FF__Q_MAX ? FF__Q_MAX : q;
    return q * step;
}

/* The nearest step of a value that is never negative: 0 to 15. */
static inline float ff__quantize_positive(float x, float step) {
    float q = rintf(x * (1 / step));
    q = q < 0 ? 0 : q > FF__Q_MAX - FF__Q_MIN ? FF__Q_MAX - FF__Q_MIN : q;
    return q * step;
}

/* The step that loses least (in squares) of these values. */
float ff__quantize_step(const float *x, size_t count);

/* y = x in steps; y may be x. */
void ff__quantize_all(float *y, const float *x, size_t count, float step);

/* The straight-through estimator (Bengio, Leonard, Courville 2013): the gradient passes as if
 * nothing had been rounded, except where a value was cut off. `x` is what was quantized. */
void ff__quantize_backward(float *dx, const float *x, size_t count, float step);

#endif
