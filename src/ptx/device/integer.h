/* Whole numbers and bits. All wraps as PTX says; no operand makes a function undefined. */
#ifndef FF_PTX_DEVICE_INTEGER_H
#define FF_PTX_DEVICE_INTEGER_H

#include "ptx/device/types.h"

/* of every type: its name, C type, unsigned C type, C type of twice the width, bits */
#define FF_PTX_INTEGERS(X)                                                                         \
    X(u16, u16, u32, 16)                                                                           \
    X(s16, u16, s32, 16)                                                                           \
    X(u32, u32, u64, 32)                                                                           \
    X(s32, u32, s64, 32)                                                                           \
    X(u64, u64, u128, 64)                                                                          \
    X(s64, u64, s128, 64)

#define FF_PTX_ARITHMETIC(T, U, W, bits)                                                           \
    static inline T add_##T(T a, T b) {                                                            \
        return (T)(U)((U)a + (U)b);                                                                \
    }                                                                                              \
    static inline T sub_##T(T a, T b) {                                                            \
        return (T)(U)((U)a - (U)b);                                                                \
    }                                                                                              \
    static inline T mul_lo_##T(T a, T b) {                                                         \
        return (T)(U)((u64)(U)a * (u64)(U)b);                                                      \
    }                                                                                              \
    static inline T mul_hi_##T(T a, T b) {                                                         \
        return (T)(((W)a * (W)b) >> bits);                                                         \
    }                                                                                              \
    static inline T mad_lo_##T(T a, T b, T c) {                                                    \
        return add_##T(mul_lo_##T(a, b), c);                                                       \
    }                                                                                              \
    static inline T mad_hi_##T(T a, T b, T c) {                                                    \
        return add_##T(mul_hi_##T(a, b), c);                                                       \
    }                                                                                              \
    static inline T min_##T(T a, T b) {                                                            \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static inline T max_##T(T a, T b) {                                                            \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static inline T sad_##T(T a, T b, T c) {                                                       \
        return (T)(U)((U)c + (a < b ? (U)((U)b - (U)a) : (U)((U)a - (U)b)));                       \
    }
FF_PTX_INTEGERS(FF_PTX_ARITHMETIC)

/* What is divided by zero gives all ones, as GPUs do; the remainder is what was divided. */
#define FF_PTX_DIVIDE_UNSIGNED(T)                                                                  \
    static inline T div_##T(T a, T b) {                                                            \
        return b == 0 ? (T) ~(T)0 : (T)(a / b);                                                    \
    }                                                                                              \
    static inline T rem_##T(T a, T b) {                                                            \
        return b == 0 ? a : (T)(a % b);                                                            \
    }
#define FF_PTX_DIVIDE_SIGNED(T, U)                                                                 \
    static inline T div_##T(T a, T b) {                                                            \
        return b == 0 ? (T)-1 : b == -1 ? (T)(U)(0u - (U)a) : (T)(a / b);                          \
    }                                                                                              \
    static inline T rem_##T(T a, T b) {                                                            \
        return b == 0 ? a : b == -1 ? (T)0 : (T)(a % b);                                           \
    }                                                                                              \
    static inline T abs_##T(T a) {                                                                 \
        return a < 0 ? (T)(U)(0u - (U)a) : a;                                                      \
    }                                                                                              \
    static inline T neg_##T(T a) {                                                                 \
        return (T)(U)(0u - (U)a);                                                                  \
    }
FF_PTX_DIVIDE_UNSIGNED(u16)
FF_PTX_DIVIDE_UNSIGNED(u32)
FF_PTX_DIVIDE_UNSIGNED(u64)
FF_PTX_DIVIDE_SIGNED(s16, u16)
FF_PTX_DIVIDE_SIGNED(s32, u32)
FF_PTX_DIVIDE_SIGNED(s64, u64)

#define FF_PTX_WIDE(T, U, W)                                                                       \
    static inline W mul_wide_##T(T a, T b) {                                                       \
        return (W)a * (W)b;                                                                        \
    }                                                                                              \
    static inline W mad_wide_##T(T a, T b, W c) {                                                  \
        return (W)((U)((W)a * (W)b) + (U)c);                                                       \
    }
FF_PTX_WIDE(u16, u32, u32)
FF_PTX_WIDE(s16, u32, s32)
FF_PTX_WIDE(u32, u64, u64)
FF_PTX_WIDE(s32, u64, s64)

static inline s32 clamp_s32(s64 x) {
    return (s32)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}
static inline s32 add_sat_s32(s32 a, s32 b) {
    return clamp_s32((s64)a + b);
}
static inline s32 sub_sat_s32(s32 a, s32 b) {
    return clamp_s32((s64)a - b);
}
static inline s32 mad_hi_sat_s32(s32 a, s32 b, s32 c) {
    return clamp_s32((s64)mul_hi_s32(a, b) + c);
}
static inline s32 min_relu_s32(s32 a, s32 b) {
    return max_s32(min_s32(a, b), 0);
}
static inline s32 max_relu_s32(s32 a, s32 b) {
    return max_s32(max_s32(a, b), 0);
}

/* Products of the low 24 bits: bits 0 to 31, and 16 to 47. */
static inline s64 low24(s32 a) {
    return (s32)((u32)a << 8) >> 8;
}
static inline u32 mul24_lo_u32(u32 a, u32 b) {
    return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline s32 mul24_lo_s32(s32 a, s32 b) {
    return (s32)(u32)(u64)(low24(a) * low24(b));
}
static inline u32 mul24_hi_u32(u32 a, u32 b) {
    return (u32)((u64)(a & 0xffffffu) * (b & 0xffffffu) >> 16);
}
static inline s32 mul24_hi_s32(s32 a, s32 b) {
    return (s32)(u32)(u64)((low24(a) * low24(b)) >> 16);
}
static inline u32 mad24_lo_u32(u32 a, u32 b, u32 c) {
    return mul24_lo_u32(a, b) + c;
}
static inline s32 mad24_lo_s32(s32 a, s32 b, s32 c) {
    return add_s32(mul24_lo_s32(a, b), c);
}
static inline u32 mad24_hi_u32(u32 a, u32 b, u32 c) {
    return mul24_hi_u32(a, b) + c;
}
static inline s32 mad24_hi_s32(s32 a, s32 b, s32 c) {
    return add_s32(mul24_hi_s32(a, b), c);
}
static inline s32 mad24_hi_sat_s32(s32 a, s32 b, s32 c) {
    return clamp_s32((s64)mul24_hi_s32(a, b) + c);
}

/* Pairs of 16 bits. */
static inline u32 pair(u32 low, u32 high) {
    return (low & 0xffffu) | high << 16;
}
#define FF_PTX_PAIRS(name, T, operation)                                                           \
    static inline u32 name##x2(u32 a, u32 b) {                                                     \
        return pair((u32)operation((T)a, (T)b), (u32)operation((T)(a >> 16), (T)(b >> 16)));       \
    }
FF_PTX_PAIRS(add_u16, u16, add_u16)
FF_PTX_PAIRS(add_s16, s16, add_s16)
FF_PTX_PAIRS(min_u16, u16, min_u16)
FF_PTX_PAIRS(min_s16, s16, min_s16)
FF_PTX_PAIRS(max_u16, u16, max_u16)
FF_PTX_PAIRS(max_s16, s16, max_s16)
static inline s16 min_relu_s16(s16 a, s16 b) {
    return max_s16(min_s16(a, b), 0);
}
static inline s16 max_relu_s16(s16 a, s16 b) {
    return max_s16(max_s16(a, b), 0);
}
FF_PTX_PAIRS(min_relu_s16, s16, min_relu_s16)
FF_PTX_PAIRS(max_relu_s16, s16, max_relu_s16)

/* ---- carries ---- */

#define FF_PTX_CARRIES(T, U, W)                                                                    \
    static inline T add_cc_##T(T a, T b, u8 *carry) {                                              \
        U sum = (U)((U)a + (U)b);                                                                  \
        *carry = sum < (U)a;                                                                       \
        return (T)sum;                                                                             \
    }                                                                                              \
    static inline T addc_##T(T a, T b, u8 carry) {                                                 \
        return (T)((U)a + (U)b + carry);                                                           \
    }                                                                                              \
    static inline T addc_cc_##T(T a, T b, u8 *carry) {                                             \
        U sum = (U)((U)a + (U)b), all = (U)(sum + *carry);                                         \
        *carry = (sum < (U)a) | (all < sum);                                                       \
        return (T)all;                                                                             \
    }                                                                                              \
    static inline T sub_cc_##T(T a, T b, u8 *carry) {                                              \
        *carry = (U)a < (U)b;                                                                      \
        return (T)((U)a - (U)b);                                                                   \
    }                                                                                              \
    static inline T subc_##T(T a, T b, u8 carry) {                                                 \
        return (T)((U)a - (U)b - carry);                                                           \
    }                                                                                              \
    static inline T subc_cc_##T(T a, T b, u8 *carry) {                                             \
        U rest = (U)((U)a - (U)b), all = (U)(rest - *carry);                                       \
        *carry = ((U)a < (U)b) | (rest < *carry);                                                  \
        return (T)all;                                                                             \
    }                                                                                              \
    static inline T mad_lo_cc_##T(T a, T b, T c, u8 *carry) {                                      \
        return add_cc_##T(mul_lo_##T(a, b), c, carry);                                             \
    }                                                                                              \
    static inline T mad_hi_cc_##T(T a, T b, T c, u8 *carry) {                                      \
        return add_cc_##T(mul_hi_##T(a, b), c, carry);                                             \
    }                                                                                              \
    static inline T madc_lo_##T(T a, T b, T c, u8 carry) {                                         \
        return addc_##T(mul_lo_##T(a, b), c, carry);                                               \
    }                                                                                              \
    static inline T madc_hi_##T(T a, T b, T c, u8 carry) {                                         \
        return addc_##T(mul_hi_##T(a, b), c, carry);                                               \
    }                                                                                              \
    static inline T madc_lo_cc_##T(T a, T b, T c, u8 *carry) {                                     \
        return addc_cc_##T(mul_lo_##T(a, b), c, carry);                                            \
    }                                                                                              \
    static inline T madc_hi_cc_##T(T a, T b, T c, u8 *carry) {                                     \
        return addc_cc_##T(mul_hi_##T(a, b), c, carry);                                            \
    }
FF_PTX_CARRIES(u32, u32, u64)
FF_PTX_CARRIES(s32, u32, s64)
FF_PTX_CARRIES(u64, u64, u128)
FF_PTX_CARRIES(s64, u64, s128)

/* ---- bits ---- */

#define FF_PTX_LOGIC(T, U)                                                                         \
    static inline U and_##T(U a, U b) {                                                            \
        return (U)(a & b);                                                                         \
    }                                                                                              \
    static inline U or_##T(U a, U b) {                                                             \
        return (U)(a | b);                                                                         \
    }                                                                                              \
    static inline U xor_##T(U a, U b) {                                                            \
        return (U)(a ^ b);                                                                         \
    }                                                                                              \
    static inline U not_##T(U a) {                                                                 \
        return (U)~a;                                                                              \
    }                                                                                              \
    static inline U cnot_##T(U a) {                                                                \
        return a == 0;                                                                             \
    }                                                                                              \
    static inline U shl_##T(U a, u32 n) {                                                          \
        return n < sizeof a * 8 ? (U)((u64)a << n) : (U)0;                                         \
    }                                                                                              \
    static inline U shr_##T(U a, u32 n) {                                                          \
        return n < sizeof a * 8 ? (U)(a >> n) : (U)0;                                              \
    }
FF_PTX_LOGIC(b16, u16)
FF_PTX_LOGIC(b32, u32)
FF_PTX_LOGIC(b64, u64)
static inline u32 and_pred(u32 a, u32 b) {
    return a & b;
}
static inline u32 or_pred(u32 a, u32 b) {
    return a | b;
}
static inline u32 xor_pred(u32 a, u32 b) {
    return a ^ b;
}
static inline u32 not_pred(u32 a) {
    return !a;
}
#define FF_PTX_SHIFT(T, bits)                                                                      \
    static inline T shr_##T(T a, u32 n) {                                                          \
        return n < bits ? (T)(a >> n) : (T)(a < 0 ? (T)-1 : (T)0);                                 \
    }
static inline u16 shr_u16(u16 a, u32 n) {
    return shr_b16(a, n);
}
static inline u32 shr_u32(u32 a, u32 n) {
    return shr_b32(a, n);
}
static inline u64 shr_u64(u64 a, u32 n) {
    return shr_b64(a, n);
}
FF_PTX_SHIFT(s16, 16)
FF_PTX_SHIFT(s32, 32)
FF_PTX_SHIFT(s64, 64)

/* Funnel shifts of b:a. */
static inline u32 shf_l_wrap_b32(u32 a, u32 b, u32 n) {
    return (u32)(((u64)b << 32 | a) << (n & 31) >> 32);
}
static inline u32 shf_r_wrap_b32(u32 a, u32 b, u32 n) {
    return (u32)(((u64)b << 32 | a) >> (n & 31));
}
static inline u32 shf_l_clamp_b32(u32 a, u32 b, u32 n) {
    return n < 32 ? shf_l_wrap_b32(a, b, n) : a;
}
static inline u32 shf_r_clamp_b32(u32 a, u32 b, u32 n) {
    return n < 32 ? shf_r_wrap_b32(a, b, n) : b;
}

static inline u32 popc_b32(u32 a) {
    return (u32)__builtin_popcount(a);
}
static inline u32 popc_b64(u64 a) {
    return (u32)__builtin_popcountll(a);
}
static inline u32 clz_b32(u32 a) {
    return a != 0 ? (u32)__builtin_clz(a) : 32;
}
static inline u32 clz_b64(u64 a) {
    return a != 0 ? (u32)__builtin_clzll(a) : 64;
}
static inline u32 brev_b32(u32 a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
static inline u64 brev_b64(u64 a) {
    return (u64)brev_b32((u32)a) << 32 | brev_b32((u32)(a >> 32));
}

/* The highest bit that differs from the sign; with .shiftamt how far it is from the top. */
static inline u32 bfind_u32(u32 a) {
    return a != 0 ? 31 - clz_b32(a) : UINT32_MAX;
}
static inline u32 bfind_u64(u64 a) {
    return a != 0 ? 63 - clz_b64(a) : UINT32_MAX;
}
static inline u32 bfind_s32(s32 a) {
    return bfind_u32((u32)(a < 0 ? ~a : a));
}
static inline u32 bfind_s64(s64 a) {
    return bfind_u64((u64)(a < 0 ? ~a : a));
}
#define FF_PTX_SHIFT_AMOUNT(T, top)                                                                \
    static inline u32 bfind_shiftamt_##T(T a) {                                                    \
        u32 place = bfind_##T(a);                                                                  \
        return place == UINT32_MAX ? place : top - place;                                          \
    }
FF_PTX_SHIFT_AMOUNT(u32, 31)
FF_PTX_SHIFT_AMOUNT(s32, 31)
FF_PTX_SHIFT_AMOUNT(u64, 63)
FF_PTX_SHIFT_AMOUNT(s64, 63)

/* The place of the n-th set bit from `base` on, upwards or for n < 0 downwards; n = 0: base itself.
 */
static inline u32 fns_b32(u32 mask, u32 base, s32 n) {
    if (n == 0)
        return base < 32 && (mask >> base & 1) != 0 ? base : UINT32_MAX;
    s32 step = n > 0 ? 1 : -1;
    for (s64 place = base, left = n > 0 ? n : -(s64)n; place >= 0 && place < 32; place += step)
        if ((mask >> place & 1) != 0 && --left == 0)
            return (u32)place;
    return UINT32_MAX;
}

static inline u64 low_bits(u32 n) {
    return n < 64 ? ((u64)1 << n) - 1 : ~(u64)0;
}
/* Bits [p, p + n) of a; beyond the top they are zeros, or copies of the field's or the number's
 * highest bit. */
static inline u64 field_u(u64 a, u32 p, u32 n, u32 bits) {
    p &= 255;
    n &= 255;
    return p < bits ? (a >> p) & low_bits(n) : 0;
}
static inline u64 field_s(u64 a, u32 p, u32 n, u32 bits) {
    p &= 255;
    n &= 255;
    if (n == 0)
        return 0;
    u32 top = p + n - 1 < bits - 1 ? p + n - 1 : bits - 1;
    u64 sign = a >> top & 1, kept = p < bits ? (a >> p) & low_bits(top - p + 1) : 0;
    u32 width = p < bits ? top - p + 1 : 0;
    return sign != 0 ? kept | ~low_bits(width) : kept;
}
static inline u32 bfe_u32(u32 a, u32 p, u32 n) {
    return (u32)field_u(a, p, n, 32);
}
static inline u64 bfe_u64(u64 a, u32 p, u32 n) {
    return field_u(a, p, n, 64);
}
static inline s32 bfe_s32(s32 a, u32 p, u32 n) {
    return (s32)(u32)field_s((u32)a, p, n, 32);
}
static inline s64 bfe_s64(s64 a, u32 p, u32 n) {
    return (s64)field_s((u64)a, p, n, 64);
}
static inline u64 insert(u64 a, u64 b, u32 p, u32 n, u32 bits) {
    p &= 255;
    n &= 255;
    u64 mask = p < bits ? low_bits(n) << p : 0;
    return (b & ~mask) | (p < bits ? a << p & mask : 0);
}
static inline u32 bfi_b32(u32 a, u32 b, u32 p, u32 n) {
    return (u32)insert(a, b, p, n, 32);
}
static inline u64 bfi_b64(u64 a, u64 b, u32 p, u32 n) {
    return insert(a, b, p, n, 64);
}
static inline u32 bmsk_clamp_b32(u32 p, u32 n) {
    return p < 32 ? (u32)(low_bits(n) << p) : 0;
}
static inline u32 bmsk_wrap_b32(u32 p, u32 n) {
    return (u32)(low_bits(n & 31) << (p & 31));
}
static inline u32 szext_wrap_u32(u32 a, u32 n) {
    return a & (u32)low_bits(n & 31);
}
static inline s32 szext_wrap_s32(s32 a, u32 n) {
    n &= 31;
    return n == 0 ? 0 : (s32)((u32)a << (32 - n)) >> (32 - n);
}
static inline u32 szext_clamp_u32(u32 a, u32 n) {
    return n < 32 ? szext_wrap_u32(a, n) : a;
}
static inline s32 szext_clamp_s32(s32 a, u32 n) {
    return n < 32 ? szext_wrap_s32(a, n) : a;
}

static inline u32 lop3_b32(u32 a, u32 b, u32 c, u32 table) {
    u32 result = 0;
    for (u32 i = 0; i < 8; i++)
        if ((table >> i & 1) != 0)
            result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    return result;
}

/* ---- bytes ---- */

#define FF_PTX_DOT(A, B)                                                                           \
    static inline s32 dp4a_##A##32_##B##32(u32 a, u32 b, s32 c) {                                  \
        u32 sum = (u32)c;                                                                          \
        for (u32 i = 0; i < 4; i++)                                                                \
            sum += (u32)((s32)(A##8)(a >> 8 * i) * (s32)(B##8)(b >> 8 * i));                       \
        return (s32)sum;                                                                           \
    }                                                                                              \
    static inline s32 dp2a_lo_##A##32_##B##32(u32 a, u32 b, s32 c) {                               \
        return (s32)((u32)c + (u32)((s32)(A##16)a * (s32)(B##8)b) +                                \
                     (u32)((s32)(A##16)(a >> 16) * (s32)(B##8)(b >> 8)));                          \
    }                                                                                              \
    static inline s32 dp2a_hi_##A##32_##B##32(u32 a, u32 b, s32 c) {                               \
        return dp2a_lo_##A##32_##B##32(a, b >> 16, c);                                             \
    }
FF_PTX_DOT(u, u)
FF_PTX_DOT(u, s)
FF_PTX_DOT(s, u)
FF_PTX_DOT(s, s)

/* Byte k of b:a; with bit 3 its sign, eight times. */
static inline u32 byte_of(u32 a, u32 b, u32 k) {
    u32 byte = (u32)(((u64)b << 32 | a) >> (k & 7) * 8) & 0xff;
    return (k & 8) != 0 ? (byte & 0x80) != 0 ? 0xff : 0 : byte;
}
static inline u32 prmt_b32(u32 a, u32 b, u32 c) {
    return byte_of(a, b, c & 15) | byte_of(a, b, c >> 4 & 15) << 8 |
           byte_of(a, b, c >> 8 & 15) << 16 | byte_of(a, b, c >> 12 & 15) << 24;
}
#define FF_PTX_PERMUTE(mode, k0, k1, k2, k3)                                                       \
    static inline u32 prmt_##mode##_b32(u32 a, u32 b, u32 c) {                                     \
        const u32 i = c & 3;                                                                       \
        return byte_of(a, b, k0) | byte_of(a, b, k1) << 8 | byte_of(a, b, k2) << 16 |              \
               byte_of(a, b, k3) << 24;                                                            \
    }
FF_PTX_PERMUTE(f4e, i, i + 1, i + 2, i + 3)
FF_PTX_PERMUTE(b4e, i, (i + 7) & 7, (i + 6) & 7, (i + 5) & 7)
FF_PTX_PERMUTE(rc8, i, i, i, i)
FF_PTX_PERMUTE(ecl, i, i > 1 ? i : 1, i > 2 ? i : 2, 3)
FF_PTX_PERMUTE(ecr, 0, i < 1 ? i : 1, i < 2 ? i : 2, i)
FF_PTX_PERMUTE(rc16, (i & 1) * 2, (i & 1) * 2 + 1, (i & 1) * 2, (i & 1) * 2 + 1)

/* ---- comparisons ---- */

#define FF_PTX_COMPARE_EQUAL(T, C)                                                                 \
    static inline u32 cmp_eq_##T(C a, C b) {                                                       \
        return a == b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_ne_##T(C a, C b) {                                                       \
        return a != b;                                                                             \
    }
#define FF_PTX_COMPARE(T)                                                                          \
    FF_PTX_COMPARE_EQUAL(T, T)                                                                     \
    static inline u32 cmp_lt_##T(T a, T b) {                                                       \
        return a < b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_le_##T(T a, T b) {                                                       \
        return a <= b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_gt_##T(T a, T b) {                                                       \
        return a > b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_ge_##T(T a, T b) {                                                       \
        return a >= b;                                                                             \
    }
#define FF_PTX_COMPARE_UNSIGNED(T)                                                                 \
    FF_PTX_COMPARE(T)                                                                              \
    static inline u32 cmp_lo_##T(T a, T b) {                                                       \
        return a < b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_ls_##T(T a, T b) {                                                       \
        return a <= b;                                                                             \
    }                                                                                              \
    static inline u32 cmp_hi_##T(T a, T b) {                                                       \
        return a > b;                                                                              \
    }                                                                                              \
    static inline u32 cmp_hs_##T(T a, T b) {                                                       \
        return a >= b;                                                                             \
    }
FF_PTX_COMPARE_EQUAL(b16, u16)
FF_PTX_COMPARE_EQUAL(b32, u32)
FF_PTX_COMPARE_EQUAL(b64, u64)
FF_PTX_COMPARE_UNSIGNED(u16)
FF_PTX_COMPARE_UNSIGNED(u32)
FF_PTX_COMPARE_UNSIGNED(u64)
FF_PTX_COMPARE(s16)
FF_PTX_COMPARE(s32)
FF_PTX_COMPARE(s64)

#endif
