/* Integer functions, conversions, loads of data that no one writes. */
#ifndef FF_CUDA_BITS_H
#define FF_CUDA_BITS_H

FF_CUDA_DEVICE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
FF_CUDA_DEVICE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
/* 32 or 64 for 0, where the builtins are undefined */
FF_CUDA_DEVICE int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
FF_CUDA_DEVICE int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
FF_CUDA_DEVICE int __ffs(int x) {
    return __builtin_ffs(x);
}
FF_CUDA_DEVICE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
FF_CUDA_DEVICE unsigned __brev(unsigned x) {
    return __builtin_bitreverse32(x);
}
FF_CUDA_DEVICE unsigned long long __brevll(unsigned long long x) {
    return __builtin_bitreverse64(x);
}
FF_CUDA_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    return (unsigned)__nvvm_prmt((int)a, (int)b, (int)selector);
}
FF_CUDA_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
FF_CUDA_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
FF_CUDA_DEVICE int __mulhi(int a, int b) {
    return (int)(((long long)a * b) >> 32);
}
FF_CUDA_DEVICE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
FF_CUDA_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return __nvvm_mulhi_ull(a, b);
}
FF_CUDA_DEVICE int __mul24(int a, int b) {
    return __nvvm_mul24_i(a, b);
}
FF_CUDA_DEVICE unsigned __umul24(unsigned a, unsigned b) {
    return __nvvm_mul24_ui(a, b);
}
FF_CUDA_DEVICE unsigned __sad(int a, int b, unsigned sum) {
    return sum + (unsigned)(a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b);
}

FF_CUDA_DEVICE int __float_as_int(float x) {
    return __builtin_bit_cast(int, x);
}
FF_CUDA_DEVICE unsigned __float_as_uint(float x) {
    return __builtin_bit_cast(unsigned, x);
}
FF_CUDA_DEVICE float __int_as_float(int x) {
    return __builtin_bit_cast(float, x);
}
FF_CUDA_DEVICE float __uint_as_float(unsigned x) {
    return __builtin_bit_cast(float, x);
}
FF_CUDA_DEVICE long long __double_as_longlong(double x) {
    return __builtin_bit_cast(long long, x);
}
FF_CUDA_DEVICE double __longlong_as_double(long long x) {
    return __builtin_bit_cast(double, x);
}
FF_CUDA_DEVICE double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)high << 32 | (unsigned)low);
}
FF_CUDA_DEVICE int __double2hiint(double x) {
    return (int)(__double_as_longlong(x) >> 32);
}
FF_CUDA_DEVICE int __double2loint(double x) {
    return (int)__double_as_longlong(x);
}

#define FF_CUDA_LDG(type, builtin)                                                                 \
    FF_CUDA_DEVICE type __ldg(const type *address) { return builtin(address); }
FF_CUDA_LDG(int, __nvvm_ldg_i)
FF_CUDA_LDG(unsigned, __nvvm_ldg_ui)
FF_CUDA_LDG(unsigned char, __nvvm_ldg_uc)
FF_CUDA_LDG(long long, __nvvm_ldg_ll)
FF_CUDA_LDG(unsigned long long, __nvvm_ldg_ull)
FF_CUDA_LDG(float, __nvvm_ldg_f)
FF_CUDA_LDG(double, __nvvm_ldg_d)
#undef FF_CUDA_LDG

FF_CUDA_DEVICE float4 __ldg(const float4 *address) {
    typedef float vector __attribute__((ext_vector_type(4)));
    vector v = __nvvm_ldg_f4((const vector *)address);
    return {v.x, v.y, v.z, v.w};
}

#endif
