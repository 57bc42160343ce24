/* Atomic functions on global and shared memory; relaxed, of the scope of the device, or, by their
 * names, of the block or of the host, too. Each returns the old value. */
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

/* All of one scope. */
#define FF_CUDA_ATOMICS(end, scope)                                                                \
    FF_CUDA_ATOMIC_BITS(atomicAdd##end, scope##add)                                                \
    FF_CUDA_ATOMIC(atomicAdd##end, scope##add, float, float, f)                                    \
    FF_CUDA_ATOMIC(atomicAdd##end, scope##add, double, double, d)                                  \
    FF_CUDA_ATOMIC_BITS(atomicExch##end, scope##xchg)                                              \
    FF_CUDA_ATOMIC_BITS(atomicAnd##end, scope##and)                                                \
    FF_CUDA_ATOMIC_BITS(atomicOr##end, scope##or)                                                  \
    FF_CUDA_ATOMIC_BITS(atomicXor##end, scope##xor)                                                \
    FF_CUDA_ATOMIC_ORDERED(atomicMin##end, scope##min)                                             \
    FF_CUDA_ATOMIC_ORDERED(atomicMax##end, scope##max)                                             \
    FF_CUDA_ATOMIC(atomicInc##end, scope##inc, unsigned, unsigned, ui)                             \
    FF_CUDA_ATOMIC(atomicDec##end, scope##dec, unsigned, unsigned, ui)                             \
    FF_CUDA_DEVICE int atomicSub##end(int *address, int value) {                                   \
        return atomicAdd##end(address, -value);                                                    \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned atomicSub##end(unsigned *address, unsigned value) {                    \
        return atomicAdd##end(address, -value);                                                    \
    }                                                                                              \
    FF_CUDA_DEVICE float atomicExch##end(float *address, float value) {                            \
        return __builtin_bit_cast(                                                                 \
            float, atomicExch##end((int *)address, __builtin_bit_cast(int, value)));               \
    }                                                                                              \
    FF_CUDA_DEVICE int atomicCAS##end(int *address, int compare, int value) {                      \
        return __nvvm_atom_##scope##cas_gen_i(address, compare, value);                            \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned atomicCAS##end(unsigned *address, unsigned compare, unsigned value) {  \
        return (unsigned)atomicCAS##end((int *)address, (int)compare, (int)value);                 \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned long long atomicCAS##end(                                              \
        unsigned long long *address, unsigned long long compare, unsigned long long value) {       \
        return (unsigned long long)__nvvm_atom_##scope##cas_gen_ll(                                \
            (long long *)address, (long long)compare, (long long)value);                           \
    }

FF_CUDA_ATOMICS(, )
FF_CUDA_ATOMICS(_block, cta_)
FF_CUDA_ATOMICS(_system, sys_)
#undef FF_CUDA_ATOMICS
#undef FF_CUDA_ATOMIC_ORDERED
#undef FF_CUDA_ATOMIC_BITS
#undef FF_CUDA_ATOMIC

#endif
