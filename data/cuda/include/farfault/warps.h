/* Shuffles, votes, matches and reductions of the threads of a warp. */
#ifndef FF_CUDA_WARPS_H
#define FF_CUDA_WARPS_H

/* Values of 64 bits go in two halves. `control`: clamp in the low bits, segments above. */
#define FF_CUDA_SHUFFLE(name, mode, second, clamp)                                                 \
    FF_CUDA_DEVICE int name(unsigned mask, int value, second lane, int width = 32) {               \
        return __nvvm_shfl_sync_##mode##_i32(mask, value, (int)lane, (32 - width) << 8 | clamp);   \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned name(unsigned mask, unsigned value, second lane, int width = 32) {     \
        return (unsigned)name(mask, (int)value, lane, width);                                      \
    }                                                                                              \
    FF_CUDA_DEVICE float name(unsigned mask, float value, second lane, int width = 32) {           \
        return __nvvm_shfl_sync_##mode##_f32(mask, value, (int)lane, (32 - width) << 8 | clamp);   \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned long long name(unsigned mask, unsigned long long value, second lane,   \
                                           int width = 32) {                                       \
        unsigned low = name(mask, (unsigned)value, lane, width);                                   \
        return (unsigned long long)name(mask, (unsigned)(value >> 32), lane, width) << 32 | low;   \
    }                                                                                              \
    FF_CUDA_DEVICE long long name(unsigned mask, long long value, second lane, int width = 32) {   \
        return (long long)name(mask, (unsigned long long)value, lane, width);                      \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned long name(unsigned mask, unsigned long value, second lane,             \
                                      int width = 32) {                                            \
        return (unsigned long)name(mask, (unsigned long long)value, lane, width);                  \
    }                                                                                              \
    FF_CUDA_DEVICE long name(unsigned mask, long value, second lane, int width = 32) {             \
        return (long)name(mask, (unsigned long long)value, lane, width);                           \
    }                                                                                              \
    FF_CUDA_DEVICE double name(unsigned mask, double value, second lane, int width = 32) {         \
        return __builtin_bit_cast(                                                                 \
            double, name(mask, __builtin_bit_cast(unsigned long long, value), lane, width));       \
    }

FF_CUDA_SHUFFLE(__shfl_sync, idx, int, 31)
FF_CUDA_SHUFFLE(__shfl_up_sync, up, unsigned, 0)
FF_CUDA_SHUFFLE(__shfl_down_sync, down, unsigned, 31)
FF_CUDA_SHUFFLE(__shfl_xor_sync, bfly, int, 31)
#undef FF_CUDA_SHUFFLE

FF_CUDA_DEVICE void __syncwarp(unsigned mask = 0xffffffff) {
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
FF_CUDA_DEVICE int __all_sync(unsigned mask, int predicate) {
    return __nvvm_vote_all_sync(mask, predicate);
}
FF_CUDA_DEVICE int __any_sync(unsigned mask, int predicate) {
    return __nvvm_vote_any_sync(mask, predicate);
}
FF_CUDA_DEVICE unsigned __ballot_sync(unsigned mask, int predicate) {
    return __nvvm_vote_ballot_sync(mask, predicate);
}
FF_CUDA_DEVICE unsigned __activemask() {
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

/* Masks of the lanes with the same value; of all lanes or none. */
#define FF_CUDA_MATCH(type, as, suffix)                                                            \
    FF_CUDA_DEVICE unsigned __match_any_sync(unsigned mask, type value) {                          \
        return (unsigned)__nvvm_match_any_sync_##suffix(mask, __builtin_bit_cast(as, value));      \
    }                                                                                              \
    FF_CUDA_DEVICE unsigned __match_all_sync(unsigned mask, type value, int *all) {                \
        return (unsigned)__nvvm_match_all_sync_##suffix##p(mask, __builtin_bit_cast(as, value),    \
                                                           all);                                   \
    }
FF_CUDA_MATCH(int, unsigned, i32)
FF_CUDA_MATCH(unsigned, unsigned, i32)
FF_CUDA_MATCH(float, unsigned, i32)
FF_CUDA_MATCH(long, unsigned long long, i64)
FF_CUDA_MATCH(unsigned long, unsigned long long, i64)
FF_CUDA_MATCH(long long, unsigned long long, i64)
FF_CUDA_MATCH(unsigned long long, unsigned long long, i64)
FF_CUDA_MATCH(double, unsigned long long, i64)
#undef FF_CUDA_MATCH

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define FF_CUDA_REDUCE(name, builtin, type)                                                        \
    FF_CUDA_DEVICE type name(unsigned mask, type value) {                                          \
        return (type)__nvvm_redux_sync_##builtin((int)value, (int)mask);                           \
    }
FF_CUDA_REDUCE(__reduce_add_sync, add, int)
FF_CUDA_REDUCE(__reduce_add_sync, add, unsigned)
FF_CUDA_REDUCE(__reduce_min_sync, min, int)
FF_CUDA_REDUCE(__reduce_min_sync, umin, unsigned)
FF_CUDA_REDUCE(__reduce_max_sync, max, int)
FF_CUDA_REDUCE(__reduce_max_sync, umax, unsigned)
FF_CUDA_REDUCE(__reduce_and_sync, and, unsigned)
FF_CUDA_REDUCE(__reduce_or_sync, or, unsigned)
FF_CUDA_REDUCE(__reduce_xor_sync, xor, unsigned)
#undef FF_CUDA_REDUCE
#endif

#endif
