/* What translated code needs of its own: the loop over lanes, affine registers, device functions.
 */
#ifndef FF_PTX_DEVICE_LANE_H
#define FF_PTX_DEVICE_LANE_H

#include "ptx/device/abi.h"
#include "ptx/device/types.h"

/* Threads of a row depend on each other only where PTX says that they wait. */
#ifdef __clang__
#define FF_PTX_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define FF_PTX_LANES _Pragma("GCC ivdep")
#endif

/* In such a loop: it is not vectorized. With lanes left out, what each loads and stores by itself
 * would be behind a branch of its own. */
#define ONE_BY_ONE __asm__ volatile("")

/* For how many i, of `count`, base + i * step stays in 32 bits, so that widening it before or after
 * the sum is the same. */
static inline u32 fit_s32(u32 base, s64 step, u32 count) {
    const s64 start = (s32)base, last = start + step * (s64)(count - 1);
    if (last >= INT32_MIN && last <= INT32_MAX)
        return count;
    return (u32)(step > 0 ? (INT32_MAX - start) / step : (start - INT32_MIN) / -step) + 1;
}
static inline u32 fit_u32(u32 base, s64 step, u32 count) {
    const s64 last = (s64)base + step * (s64)(count - 1);
    if (last >= 0 && last <= UINT32_MAX)
        return count;
    return (u32)(step > 0 ? (UINT32_MAX - (s64)base) / step : (s64)base / -step) + 1;
}

/* Threads stand at one place, or their places are set already. */
static inline void stand(u32 *at, u32 count, u32 place) {
    for (u32 k = 0; k < count && place != (u32)FF_PTX_MIXED; k++)
        at[k] = place;
}

/* Where all threads are. */
static inline u32 together(const u32 *at, u32 count) {
    u32 differ = 0;
    for (u32 k = 1; k < count; k++)
        differ |= at[k] ^ at[0];
    return differ == 0 ? at[0] : (u32)FF_PTX_MIXED;
}

/* Whether threads hold the same value, or values that grow by `step`. */
#define FF_PTX_EQUAL(T, U)                                                                         \
    static inline int same_##T(const T *values, u32 count) {                                       \
        const U *bits = (const U *)values;                                                         \
        U differ = 0;                                                                              \
        for (u32 k = 1; k < count; k++)                                                            \
            differ |= bits[k] ^ bits[0];                                                           \
        return differ == 0;                                                                        \
    }
#define FF_PTX_EVEN(T)                                                                             \
    FF_PTX_EQUAL(T, T)                                                                             \
    static inline int even_##T(const T *values, s64 step, u32 count) {                             \
        T differ = 0;                                                                              \
        for (u32 k = 1; k < count; k++)                                                            \
            differ |= values[k] ^ (T)(values[0] + (T)step * (T)k);                                 \
        return differ == 0;                                                                        \
    }
FF_PTX_EVEN(u32)
FF_PTX_EVEN(u64)
FF_PTX_EQUAL(u8, u8)
FF_PTX_EQUAL(u16, u16)
FF_PTX_EQUAL(u128, u128)
FF_PTX_EQUAL(f32, u32)
FF_PTX_EQUAL(f64, u64)

/* A generic address, or 0 if it is one of shared or local memory. */
static inline u64 global_only(u64 address, const struct ff_ptx_block *block,
                              const struct ff_ptx_lanes *lanes, u32 l, u32 local_size) {
    const u64 local = (u64)lanes->local + (u64)l * local_size;
    return address - (u64)block->shared < block->shared_size || address - local < local_size
               ? 0
               : address;
}

/* The place of a thread that calls a device function. */
struct ff_lane {
    struct ff_ptx_lanes *lanes;
    const struct ff_ptx_block *block;
    u32 l, x, y, z;
    u64 local;
    /* Where accesses are recorded: instructions since its last report, and accesses of the call. */
    u32 *n;
    struct ff_log *log;
};
typedef void ff_function(const struct ff_lane *t, u64 param, u64 result);

#endif
