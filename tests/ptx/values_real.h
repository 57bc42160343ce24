/* Real numbers as whole numbers times powers of two, and their rounding to the formats of PTX: the
 * reference for arithmetic in every format and rounding mode. */
#ifndef FF_TESTS_PTX_VALUES_REAL_H
#define FF_TESTS_PTX_VALUES_REAL_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 wide;

struct format {
    int digits;   /* of the significand, with the hidden one */
    int least;    /* exponent of the last digit of subnormals */
    int exponent; /* bits */
    int unused;   /* low bits */
};
static const struct format f16_format = {11, -24, 5, 0}, bf16_format = {8, -133, 8, 0},
                           tf32_format = {11, -136, 8, 13}, f32_format = {24, -149, 8, 0},
                           f64_format = {53, -1074, 11, 0};

enum mode { NEAREST, TO_ZERO, DOWN, UP, AWAY /* nearest, ties away from zero */ };
enum kind { FINITE, INFINITE, NONE };

/* significand * 2^exponent, and less than 2^exponent more if `more`. */
struct real {
    enum kind kind;
    bool negative, more;
    wide significand;
    int exponent;
};

static inline int top_bit(wide x) {
    int top = -1;
    for (; x != 0; x >>= 1)
        top++;
    return top;
}

static inline struct real unpack(const struct format *format, uint64_t bits) {
    bits >>= format->unused;
    int fraction_bits = format->digits - 1;
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    uint64_t most = (UINT64_C(1) << format->exponent) - 1;
    uint64_t field = bits >> fraction_bits & most;
    struct real result = {.negative = bits >> (fraction_bits + format->exponent) & 1};
    if (field == most) {
        result.kind = fraction != 0 ? NONE : INFINITE;
        return result;
    }
    result.significand = field != 0 ? fraction | UINT64_C(1) << fraction_bits : fraction;
    result.exponent = format->least + (field != 0 ? (int)field - 1 : 0);
    return result;
}

static inline uint64_t infinity_bits(const struct format *format) {
    return (((UINT64_C(1) << format->exponent) - 1) << (format->digits - 1)) << format->unused;
}

static inline uint64_t sign_bit(const struct format *format) {
    return UINT64_C(1) << (format->digits - 1 + format->exponent + format->unused);
}

/* The bits but the sign that no number has, which PTX calls canonical. */
static inline uint64_t nan_bits(const struct format *format) {
    return sign_bit(format) - (UINT64_C(1) << format->unused);
}

static inline bool rounds_up(const struct real *x, wide kept, wide lost, wide half,
                             enum mode mode) {
    bool exact = lost == 0 && !x->more;
    switch (mode) {
    case NEAREST:
        return lost > half || (lost == half && (x->more || (kept & 1) != 0));
    case AWAY:
        return lost >= half;
    case DOWN:
        return !exact && x->negative;
    case UP:
        return !exact && !x->negative;
    default:
        return false;
    }
}

static inline wide shift_rounded(const struct real *x, int shift, enum mode mode) {
    if (shift <= 0) {
        assert(!x->more);
        return x->significand << -shift;
    }
    wide kept = shift > 127 ? 0 : x->significand >> shift;
    wide half = shift > 127 ? (wide)1 << 127 : (wide)1 << (shift - 1);
    wide lost = shift > 127 ? x->significand != 0 : x->significand & (half + (half - 1));
    return kept + rounds_up(x, kept, lost, half, mode);
}

static inline uint64_t round_to(const struct format *format, struct real x, enum mode mode) {
    uint64_t sign = x.negative ? sign_bit(format) : 0, infinity = infinity_bits(format);
    if (x.kind == NONE)
        return nan_bits(format);
    if (x.kind == INFINITE)
        return sign | infinity;
    if (x.significand == 0)
        return sign;
    int last = x.exponent + top_bit(x.significand) + 1 - format->digits;
    if (last < format->least)
        last = format->least;
    wide kept = shift_rounded(&x, last - x.exponent, mode);
    uint64_t hidden = UINT64_C(1) << (format->digits - 1);
    if (kept >> format->digits != 0) {
        kept >>= 1;
        last++;
    }
    uint64_t field = kept < hidden ? 0 : (uint64_t)(last - format->least) + 1;
    bool to_most = mode == TO_ZERO || (mode == DOWN && !x.negative) || (mode == UP && x.negative);
    if (field >= (UINT64_C(1) << format->exponent) - 1)
        return sign | (to_most ? infinity - (UINT64_C(1) << format->unused) : infinity);
    uint64_t bits = (field << (format->digits - 1)) + (uint64_t)kept - (field != 0 ? hidden : 0);
    return sign | bits << format->unused;
}

static inline struct real no_number(void) {
    return (struct real){.kind = NONE};
}

static inline struct real normalized(struct real x) {
    int shift = 120 - top_bit(x.significand);
    x.significand <<= shift;
    x.exponent -= shift;
    return x;
}

static inline struct real difference_of_sizes(struct real a, struct real b) {
    if (a.significand < b.significand) {
        struct real other = a;
        a = b;
        b = other;
    }
    a.significand = a.significand - b.significand - b.more;
    a.more = b.more;
    return a;
}

static inline struct real sum(struct real a, struct real b, enum mode mode) {
    if (a.kind == NONE || b.kind == NONE ||
        (a.kind == INFINITE && b.kind == INFINITE && a.negative != b.negative))
        return no_number();
    if (a.kind == INFINITE || b.kind == INFINITE)
        return a.kind == INFINITE ? a : b;
    if (a.significand == 0 && b.significand == 0) {
        a.negative = a.negative == b.negative ? a.negative : mode == DOWN;
        return a;
    }
    if (a.significand == 0 || b.significand == 0)
        return a.significand == 0 ? b : a;
    a = normalized(a);
    b = normalized(b);
    if (a.exponent < b.exponent) {
        struct real other = a;
        a = b;
        b = other;
    }
    int shift = a.exponent - b.exponent;
    wide kept = shift > 127 ? 0 : b.significand >> shift;
    b.more = shift > 127 || kept << shift != b.significand;
    b.significand = kept;
    b.exponent = a.exponent;
    if (a.negative == b.negative) {
        a.significand += kept;
        a.more = b.more;
        return a;
    }
    struct real result = difference_of_sizes(a, b);
    if (result.significand == 0)
        result.negative = mode == DOWN;
    return result;
}

static inline struct real product(struct real a, struct real b) {
    struct real result = {.negative = a.negative != b.negative};
    bool none = (a.kind == INFINITE && b.kind == FINITE && b.significand == 0) ||
                (b.kind == INFINITE && a.kind == FINITE && a.significand == 0);
    if (a.kind == NONE || b.kind == NONE || none)
        return no_number();
    result.kind = a.kind == INFINITE || b.kind == INFINITE ? INFINITE : FINITE;
    result.significand = a.significand * b.significand;
    result.exponent = a.exponent + b.exponent;
    return result;
}

static inline struct real quotient(struct real a, struct real b) {
    struct real result = {.negative = a.negative != b.negative};
    bool zeros = a.kind == FINITE && b.kind == FINITE && a.significand == 0 && b.significand == 0;
    if (a.kind == NONE || b.kind == NONE || zeros || (a.kind == INFINITE && b.kind == INFINITE))
        return no_number();
    if (a.kind == INFINITE || (b.kind == FINITE && b.significand == 0)) {
        result.kind = INFINITE;
        return result;
    }
    if (b.kind == INFINITE || a.significand == 0)
        return result;
    a = normalized(a);
    result.significand = a.significand / b.significand;
    result.more = a.significand % b.significand != 0;
    result.exponent = a.exponent - b.exponent;
    return result;
}

static inline struct real square_root(struct real a) {
    if (a.kind == NONE || (a.negative && (a.kind == INFINITE || a.significand != 0)))
        return no_number();
    if (a.kind == INFINITE || a.significand == 0)
        return a;
    a = normalized(a);
    if (a.exponent % 2 != 0) {
        a.significand <<= 1;
        a.exponent--;
    }
    wide root = 0;
    for (int bit = 61; bit >= 0; bit--) {
        wide tried = root | (wide)1 << bit;
        if (tried * tried <= a.significand)
            root = tried;
    }
    a.more = root * root != a.significand;
    a.significand = root;
    a.exponent /= 2;
    return a;
}

static inline struct real from_whole(__int128 x) {
    struct real result = {.negative = x < 0};
    result.significand = x < 0 ? -(wide)x : (wide)x;
    return result;
}

/* A whole number; the sign of what becomes zero stays. */
static inline struct real to_whole(struct real x, enum mode mode) {
    if (x.kind != FINITE || x.exponent >= 0)
        return x;
    x.significand = shift_rounded(&x, -x.exponent, mode);
    x.exponent = 0;
    return x;
}

static inline double to_double(struct real x) {
    uint64_t bits = round_to(&f64_format, x, NEAREST);
    double result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
}

#endif
