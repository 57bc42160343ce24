/* Atomic functions on global and shared memory; relaxed, of the scope of the device. Each returns
 * the old value. */
#ifndef FF_CUDA_ATOMICS_H
#define FF_CUDA_ATOMICS_H

/* For each type: the type of clang's builtin, and the suffixes of its names. */
#define FF_CUDA_ATOMIC(name, builtin, type, as, suffix)                                            \
    FF_CUDA_DEVICE type name(type *address, type value) {                                          \
        return (type)__nvvm_atom_##builtin##_gen_##suffix((as *)address, (as)value);               \
    }
/* Operations for which signed and unsigned are the same */
#define FF_CUDA_ATOMIC_BITS(name, builtin)                                                         \
    FF_CUDA_ATOMIC(name, builtin, int, int, i)                                                     \
    FF_CUDA_ATOMIC(name, builtin, unsigned, int, i)                                                \
    FF_CUDA_ATOMIC(name, builtin, unsigned long long, long long, ll)
#define FF_CUDA_ATOMIC_ORDERED(name, builtin)                                                      \
    FF_CUDA_ATOMIC(name, builtin, int, int, i)                                                     \
    FF_CUDA_ATOMIC(name, builtin, unsigned, unsigned, ui)                                          \
    FF_CUDA_ATOMIC(name, builtin, long long, long long, ll)                                        \
    FF_CUDA_ATOMIC(name, builtin, unsigned long long, unsigned long long, ull)

FF_CUDA_ATOMIC_BITS(atomicAdd, add)
FF_CUDA_ATOMIC(atomicAdd, add, float, float, f)
FF_CUDA_ATOMIC(atomicAdd, add, double, double, d)
FF_CUDA_ATOMIC_BITS(atomicExch, xchg)
FF_CUDA_ATOMIC_BITS(atomicAnd, and)
FF_CUDA_ATOMIC_BITS(atomicOr, or)
FF_CUDA_ATOMIC_BITS(atomicXor, xor)
FF_CUDA_ATOMIC_ORDERED(atomicMin, min)
FF_CUDA_ATOMIC_ORDERED(atomicMax, max)
FF_CUDA_ATOMIC(atomicInc, inc, unsigned, unsigned, ui)
FF_CUDA_ATOMIC(atomicDec, dec, unsigned, unsigned, ui)
#undef FF_CUDA_ATOMIC_ORDERED
#undef FF_CUDA_ATOMIC_BITS
#undef FF_CUDA_ATOMIC

FF_CUDA_DEVICE int atomicSub(int *address, int value) {
    return atomicAdd(address, -value);
}
FF_CUDA_DEVICE unsigned atomicSub(unsigned *address, unsigned value) {
    return atomicAdd(address, -value);
}
FF_CUDA_DEVICE float atomicExch(float *address, float value) {
    return __builtin_bit_cast(float,
                              atomicExch((int *)address, __builtin_bit_cast(int, value)));
}

FF_CUDA_DEVICE int atomicCAS(int *address, int compare, int value) {
    return __nvvm_atom_cas_gen_i(address, compare, value);
}
FF_CUDA_DEVICE unsigned atomicCAS(unsigned *address, unsigned compare, unsigned value) {
    return (unsigned)__nvvm_atom_cas_gen_i((int *)address, (int)compare, (int)value);
}
FF_CUDA_DEVICE unsigned long long atomicCAS(unsigned long long *address,
                                            unsigned long long compare, unsigned long long value) {
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)address, (long long)compare,
                                                      (long long)value);
}

#endif
