/* Loads, stores and atomics. */
#ifndef FF_PTX_DEVICE_MEMORY_H
#define FF_PTX_DEVICE_MEMORY_H

#include "ptx/device/half.h"

#define FF_PTX_MEMORY(T)                                                                           \
    typedef T __attribute__((may_alias)) any_##T;                                                  \
    static inline T ld_##T(u64 a) {                                                                \
        return *(const any_##T *)a;                                                                \
    }                                                                                              \
    static inline void st_##T(u64 a, T v) {                                                        \
        *(any_##T *)a = v;                                                                         \
    }                                                                                              \
    static inline T ldv_##T(u64 a) {                                                               \
        return *(const volatile any_##T *)a;                                                       \
    }                                                                                              \
    static inline void stv_##T(u64 a, T v) {                                                       \
        *(volatile any_##T *)a = v;                                                                \
    }
FF_PTX_MEMORY(u8)
FF_PTX_MEMORY(s8)
FF_PTX_MEMORY(u16)
FF_PTX_MEMORY(s16)
FF_PTX_MEMORY(u32)
FF_PTX_MEMORY(s32)
FF_PTX_MEMORY(u64)
FF_PTX_MEMORY(s64)
FF_PTX_MEMORY(f32)
FF_PTX_MEMORY(f64)

/* The first `count` bytes are copied, the others become zeros. */
#define FF_PTX_COPY(size)                                                                          \
    static inline void copy_##size(u64 to, u64 from, u32 count) {                                  \
        u8 bytes[size] = {0};                                                                      \
        if (count >= size)                                                                         \
            __builtin_memcpy(bytes, (const void *)from, size);                                     \
        for (u32 i = 0; count < size && i < count; i++)                                            \
            bytes[i] = *(const u8 *)(from + i);                                                    \
        __builtin_memcpy((void *)to, bytes, size);                                                 \
    }
FF_PTX_COPY(4)
FF_PTX_COPY(8)
FF_PTX_COPY(16)

static inline void fence(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define FF_PTX_ATOMIC_LOOP(name, T, U, bits, unbits, expression)                                   \
    static inline T name(u64 a, T v) {                                                             \
        U old = *(volatile any_##U *)a, next;                                                      \
        do {                                                                                       \
            const T o = unbits(old);                                                               \
            next = bits(expression);                                                               \
        } while (!__atomic_compare_exchange_n((any_##U *)a, &old, next, 0, __ATOMIC_RELAXED,       \
                                              __ATOMIC_RELAXED));                                  \
        return unbits(old);                                                                        \
    }
#define FF_PTX_SAME(x) (x)
#define FF_PTX_ATOMICS(T, U)                                                                       \
    static inline T atom_add_##T(u64 a, T v) {                                                     \
        return (T)__atomic_fetch_add((any_##U *)a, (U)v, __ATOMIC_RELAXED);                        \
    }                                                                                              \
    FF_PTX_ATOMIC_LOOP(atom_min_##T, T, U, (U), (T), (v < o ? v : o))                              \
    FF_PTX_ATOMIC_LOOP(atom_max_##T, T, U, (U), (T), (v > o ? v : o))
FF_PTX_ATOMICS(u32, u32)
FF_PTX_ATOMICS(s32, u32)
FF_PTX_ATOMICS(u64, u64)
FF_PTX_ATOMICS(s64, u64)
#define FF_PTX_ATOMIC_BITS(T, U)                                                                   \
    static inline U atom_and_##T(u64 a, U v) {                                                     \
        return __atomic_fetch_and((any_##U *)a, v, __ATOMIC_RELAXED);                              \
    }                                                                                              \
    static inline U atom_or_##T(u64 a, U v) {                                                      \
        return __atomic_fetch_or((any_##U *)a, v, __ATOMIC_RELAXED);                               \
    }                                                                                              \
    static inline U atom_xor_##T(u64 a, U v) {                                                     \
        return __atomic_fetch_xor((any_##U *)a, v, __ATOMIC_RELAXED);                              \
    }                                                                                              \
    static inline U atom_exch_##T(u64 a, U v) {                                                    \
        return __atomic_exchange_n((any_##U *)a, v, __ATOMIC_RELAXED);                             \
    }                                                                                              \
    static inline U atom_cas_##T(u64 a, U expected, U v) {                                         \
        __atomic_compare_exchange_n((any_##U *)a, &expected, v, 0, __ATOMIC_SEQ_CST,               \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }
FF_PTX_ATOMIC_BITS(b32, u32)
FF_PTX_ATOMIC_BITS(b64, u64)
FF_PTX_ATOMIC_BITS(b16, u16)
FF_PTX_ATOMIC_LOOP(atom_inc_u32, u32, u32, (u32), (u32), (o >= v ? 0 : o + 1))
FF_PTX_ATOMIC_LOOP(atom_dec_u32, u32, u32, (u32), (u32), (o == 0 || o > v ? v : o - 1))
FF_PTX_ATOMIC_LOOP(atom_add_f32, f32, u32, as_u32, as_f32, o + v)
FF_PTX_ATOMIC_LOOP(atom_add_f64, f64, u64, as_u64, as_f64, o + v)
FF_PTX_ATOMIC_LOOP(atom_add_f16, u16, u16, (u16), (u16), add_f16(o, v))
FF_PTX_ATOMIC_LOOP(atom_add_bf16, u16, u16, (u16), (u16), add_bf16(o, v))
FF_PTX_ATOMIC_LOOP(atom_add_f16x2, u32, u32, (u32), (u32), add_f16x2(o, v))
FF_PTX_ATOMIC_LOOP(atom_add_bf16x2, u32, u32, (u32), (u32), add_bf16x2(o, v))

#endif
