/* Arithmetic and conversions in the rounding that their names say: rn to the nearest, rz towards
 * zero, ru up, rd down. The compiler makes none of them one with another. */
#ifndef FF_CUDA_ROUNDED_H
#define FF_CUDA_ROUNDED_H

#define FF_CUDA_ROUNDED_1(name, instruction, to, out, from, in)                                    \
    FF_CUDA_DEVICE to name(from x) {                                                               \
        to result;                                                                                 \
        asm(instruction " %0, %1;" : "=" out(result) : in(x));                                     \
        return result;                                                                             \
    }
#define FF_CUDA_ROUNDED_2(name, instruction, type, reg)                                            \
    FF_CUDA_DEVICE type name(type x, type y) {                                                     \
        type result;                                                                               \
        asm(instruction " %0, %1, %2;" : "=" reg(result) : reg(x), reg(y));                        \
        return result;                                                                             \
    }
#define FF_CUDA_ROUNDED_3(name, instruction, type, reg)                                            \
    FF_CUDA_DEVICE type name(type x, type y, type z) {                                             \
        type result;                                                                               \
        asm(instruction " %0, %1, %2, %3;" : "=" reg(result) : reg(x), reg(y), reg(z));            \
        return result;                                                                             \
    }

#define FF_CUDA_ARITHMETIC(rounding, ptx)                                                          \
    FF_CUDA_ROUNDED_2(__fadd_##rounding, "add." ptx ".f32", float, "f")                            \
    FF_CUDA_ROUNDED_2(__fsub_##rounding, "sub." ptx ".f32", float, "f")                            \
    FF_CUDA_ROUNDED_2(__fmul_##rounding, "mul." ptx ".f32", float, "f")                            \
    FF_CUDA_ROUNDED_2(__fdiv_##rounding, "div." ptx ".f32", float, "f")                            \
    FF_CUDA_ROUNDED_3(__fmaf_##rounding, "fma." ptx ".f32", float, "f")                            \
    FF_CUDA_ROUNDED_1(__frcp_##rounding, "rcp." ptx ".f32", float, "f", float, "f")                \
    FF_CUDA_ROUNDED_1(__fsqrt_##rounding, "sqrt." ptx ".f32", float, "f", float, "f")              \
    FF_CUDA_ROUNDED_2(__dadd_##rounding, "add." ptx ".f64", double, "d")                           \
    FF_CUDA_ROUNDED_2(__dsub_##rounding, "sub." ptx ".f64", double, "d")                           \
    FF_CUDA_ROUNDED_2(__dmul_##rounding, "mul." ptx ".f64", double, "d")                           \
    FF_CUDA_ROUNDED_2(__ddiv_##rounding, "div." ptx ".f64", double, "d")                           \
    FF_CUDA_ROUNDED_3(__fma_##rounding, "fma." ptx ".f64", double, "d")                            \
    FF_CUDA_ROUNDED_1(__drcp_##rounding, "rcp." ptx ".f64", double, "d", double, "d")              \
    FF_CUDA_ROUNDED_1(__dsqrt_##rounding, "sqrt." ptx ".f64", double, "d", double, "d")            \
    FF_CUDA_ROUNDED_1(__double2float_##rounding, "cvt." ptx ".f32.f64", float, "f", double, "d")

/* Integers: of floats and doubles, and these of them */
#define FF_CUDA_OF_INTEGERS(rounding, ptx, name, type, suffix, reg)                                \
    FF_CUDA_ROUNDED_1(__##name##2float_##rounding, "cvt." ptx ".f32." suffix, float, "f", type,    \
                      reg)                                                                         \
    FF_CUDA_ROUNDED_1(__##name##2double_##rounding, "cvt." ptx ".f64." suffix, double, "d", type,  \
                      reg)                                                                         \
    FF_CUDA_ROUNDED_1(__float2##name##_##rounding, "cvt." ptx "i." suffix ".f32", type, reg,       \
                      float, "f")                                                                  \
    FF_CUDA_ROUNDED_1(__double2##name##_##rounding, "cvt." ptx "i." suffix ".f64", type, reg,      \
                      double, "d")

#define FF_CUDA_ROUNDING(rounding, ptx)                                                            \
    FF_CUDA_ARITHMETIC(rounding, ptx)                                                              \
    FF_CUDA_OF_INTEGERS(rounding, ptx, int, int, "s32", "r")                                       \
    FF_CUDA_OF_INTEGERS(rounding, ptx, uint, unsigned, "u32", "r")                                 \
    FF_CUDA_OF_INTEGERS(rounding, ptx, ll, long long, "s64", "l")                                  \
    FF_CUDA_OF_INTEGERS(rounding, ptx, ull, unsigned long long, "u64", "l")
FF_CUDA_ROUNDING(rn, "rn")
FF_CUDA_ROUNDING(rz, "rz")
FF_CUDA_ROUNDING(ru, "rp")
FF_CUDA_ROUNDING(rd, "rm")

#undef FF_CUDA_ROUNDING
#undef FF_CUDA_OF_INTEGERS
#undef FF_CUDA_ARITHMETIC
#undef FF_CUDA_ROUNDED_1
#undef FF_CUDA_ROUNDED_2
#undef FF_CUDA_ROUNDED_3

#endif
