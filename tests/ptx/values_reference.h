/* What each form of an instruction gives, after the PTX ISA, computed another way than translated
 * code does: whole numbers in 128 bits, reals exactly (values_real.h). */
#ifndef FF_TESTS_PTX_VALUES_REFERENCE_H
#define FF_TESTS_PTX_VALUES_REFERENCE_H

#include "ptx/values_forms.h"

/* Bits that must be found; any that are no number; or a value within bounds of this one. */
struct answer {
    enum { BITS, ANY_NAN, NEAR, ANYTHING } kind;
    uint64_t bits, carry;
    const struct format *format;
    long double value, absolute, relative;
};

static inline unsigned bits_of(enum ff__ptx_type type) {
    return 8 * ff__ptx_type_size(type);
}

static inline uint64_t low(uint64_t x, unsigned bits) {
    return bits < 64 ? x & ((UINT64_C(1) << bits) - 1) : x;
}

static inline bool is_real(enum ff__ptx_type type) {
    return ff__ptx_type_kind(type) == 'f';
}

static inline enum ff__ptx_type half_type(enum ff__ptx_type type) {
    switch (type) {
    case FF__PTX_U16X2:
        return FF__PTX_U16;
    case FF__PTX_S16X2:
        return FF__PTX_S16;
    case FF__PTX_F16X2:
        return FF__PTX_F16;
    case FF__PTX_BF16X2:
        return FF__PTX_BF16;
    default:
        return FF__PTX_NO_TYPE;
    }
}

static inline const struct format *format_of(enum ff__ptx_type type) {
    switch (type) {
    case FF__PTX_F16:
        return &f16_format;
    case FF__PTX_BF16:
        return &bf16_format;
    case FF__PTX_TF32:
        return &tf32_format;
    case FF__PTX_F64:
        return &f64_format;
    default:
        return &f32_format;
    }
}

/* The operand as a whole number of its type. */
static inline __int128 whole(enum ff__ptx_type type, uint64_t bits) {
    unsigned size = bits_of(type);
    uint64_t kept = low(bits, size);
    if (ff__ptx_type_kind(type) == 's' && kept >> (size - 1) != 0)
        return (__int128)kept - ((__int128)1 << size);
    return kept;
}

static inline struct answer exactly(uint64_t bits) {
    return (struct answer){.kind = BITS, .bits = bits};
}

static inline struct answer whole_answer(const struct form *form, __int128 value) {
    return exactly(low((uint64_t)value, bits_of(form->result)));
}

static inline __int128 limit(enum ff__ptx_type type, __int128 x) {
    unsigned size = bits_of(type);
    bool is_signed = ff__ptx_type_kind(type) == 's';
    __int128 least = is_signed ? -((__int128)1 << (size - 1)) : 0;
    __int128 most = ((__int128)1 << (is_signed ? size - 1 : size)) - 1;
    return x < least ? least : x > most ? most : x;
}

/* ---- whole numbers ---- */

static inline __int128 low24(const struct form *form, uint64_t bits) {
    __int128 x = bits & 0xffffff;
    return form->types[0] == FF__PTX_S32 && x >= 0x800000 ? x - 0x1000000 : x;
}

static inline __int128 part_of_product(const struct form *form, __int128 t, unsigned bits) {
    if (strncmp(form->name, "mul24", 5) == 0 || strncmp(form->name, "mad24", 5) == 0)
        return has(form, "hi") ? t >> 16 : t;
    if (!has(form, "hi"))
        return t;
    __int128 mask = ((__int128)1 << bits) - 1;
    __int128 high = t >> bits & (bits < 64 ? mask : (__int128)UINT64_MAX);
    return whole(form->types[0], (uint64_t)high);
}

static inline struct answer ref_add(const struct form *f, const uint64_t *in) {
    __int128 t = whole(f->types[0], in[0]) + whole(f->types[0], in[1]);
    return whole_answer(f, has(f, "sat") ? limit(FF__PTX_S32, t) : t);
}

static inline struct answer ref_sub(const struct form *f, const uint64_t *in) {
    __int128 t = whole(f->types[0], in[0]) - whole(f->types[0], in[1]);
    return whole_answer(f, has(f, "sat") ? limit(FF__PTX_S32, t) : t);
}

static inline struct answer ref_mul(const struct form *f, const uint64_t *in) {
    __int128 t = (__int128)((wide)whole(f->types[0], in[0]) * (wide)whole(f->types[0], in[1]));
    if (bits_of(f->types[0]) == 64 && ff__ptx_type_kind(f->types[0]) == 'u' && has(f, "hi"))
        return whole_answer(f, (__int128)(((wide)in[0] * in[1]) >> 64));
    return whole_answer(f, part_of_product(f, t, bits_of(f->types[0])));
}

static inline struct answer ref_mul24(const struct form *f, const uint64_t *in) {
    return whole_answer(f, part_of_product(f, low24(f, in[0]) * low24(f, in[1]), 0));
}

static inline struct answer ref_mad24(const struct form *f, const uint64_t *in) {
    __int128 t = part_of_product(f, low24(f, in[0]) * low24(f, in[1]), 0);
    t = whole(f->types[0], low((uint64_t)t, 32)) + whole(f->types[0], in[2]);
    return whole_answer(f, has(f, "sat") ? limit(FF__PTX_S32, t) : t);
}

static inline struct answer ref_mad(const struct form *f, const uint64_t *in) {
    struct form product = *f;
    struct answer t = ref_mul(&product, in);
    __int128 s = whole(f->result, t.bits) + whole(f->operands[2], in[2]);
    return whole_answer(f, has(f, "sat") ? limit(FF__PTX_S32, s) : s);
}

static inline struct answer ref_sad(const struct form *f, const uint64_t *in) {
    __int128 a = whole(f->types[0], in[0]), b = whole(f->types[0], in[1]);
    return whole_answer(f, (a > b ? a - b : b - a) + whole(f->types[0], in[2]));
}

/* Division by zero is not specified; here it gives what GPUs do. */
static inline struct answer ref_div(const struct form *f, const uint64_t *in) {
    __int128 a = whole(f->types[0], in[0]), b = whole(f->types[0], in[1]);
    return whole_answer(f, b == 0 ? -1 : a / b);
}

static inline struct answer ref_rem(const struct form *f, const uint64_t *in) {
    __int128 a = whole(f->types[0], in[0]), b = whole(f->types[0], in[1]);
    return whole_answer(f, b == 0 ? a : a % b);
}

static inline struct answer ref_abs(const struct form *f, const uint64_t *in) {
    __int128 a = whole(f->types[0], in[0]);
    return whole_answer(f, a < 0 ? -a : a);
}

static inline struct answer ref_neg(const struct form *f, const uint64_t *in) {
    return whole_answer(f, -whole(f->types[0], in[0]));
}

static inline struct answer extreme(const struct form *f, const uint64_t *in, bool least) {
    __int128 a = whole(f->types[0], in[0]), b = whole(f->types[0], in[1]);
    __int128 t = (a < b) == least ? a : b;
    return whole_answer(f, has(f, "relu") && t < 0 ? 0 : t);
}

static inline struct answer ref_min(const struct form *f, const uint64_t *in) {
    return extreme(f, in, true);
}

static inline struct answer ref_max(const struct form *f, const uint64_t *in) {
    return extreme(f, in, false);
}

/* Carry chains begin with add.cc 0xff..f, c: the fourth operand's low bit is the carry. */
static inline struct answer ref_carry(const struct form *f, const uint64_t *in) {
    unsigned size = bits_of(f->types[0]);
    bool product_too = f->name[0] == 'm', minus = f->name[0] == 's';
    uint64_t a = in[0], b = in[1], carry = in[f->count] & 1;
    if (product_too) {
        struct form product = *f;
        product.name = "mul";
        a = ref_mul(&product, in).bits;
        b = in[2];
    }
    if (f->name[strlen(f->name) - 1] != 'c' || strcmp(f->name, "sub") == 0)
        carry = 0;
    wide x = low(a, size), y = low(b, size), t = minus ? x - y - carry : x + y + carry;
    struct answer answer = exactly(low((uint64_t)t, size));
    answer.carry = (uint64_t)(t >> size) & 1;
    return answer;
}

/* ---- bits ---- */

static inline bool bit(uint64_t x, int place) {
    return place >= 0 && place < 64 && (x >> place & 1) != 0;
}

static inline struct answer ref_popc(const struct form *f, const uint64_t *in) {
    unsigned count = 0;
    for (unsigned i = 0; i < bits_of(f->types[0]); i++)
        count += bit(in[0], (int)i);
    return exactly(count);
}

static inline struct answer ref_clz(const struct form *f, const uint64_t *in) {
    unsigned size = bits_of(f->types[0]), count = 0;
    while (count < size && !bit(in[0], (int)(size - 1 - count)))
        count++;
    return exactly(count);
}

static inline struct answer ref_bfind(const struct form *f, const uint64_t *in) {
    int size = (int)bits_of(f->types[0]), place = size - 1;
    bool flip = ff__ptx_type_kind(f->types[0]) == 's' && bit(in[0], size - 1);
    while (place >= 0 && bit(in[0], place) == flip)
        place--;
    if (has(f, "shiftamt") && place != -1)
        place = size - 1 - place;
    return exactly((uint32_t)place);
}

static inline struct answer ref_fns(const struct form *f, const uint64_t *in) {
    (void)f;
    uint32_t mask = (uint32_t)in[0], base = (uint32_t)in[1];
    int32_t offset = (int32_t)in[2];
    uint32_t d = UINT32_MAX;
    if (offset == 0) {
        if (base < 32 && bit(mask, (int)base))
            d = base;
        return exactly(d);
    }
    int64_t pos = base, count = (offset < 0 ? -(int64_t)offset : offset) - 1;
    for (; pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1) {
        if (!bit(mask, (int)pos))
            continue;
        if (count == 0)
            return exactly((uint32_t)pos);
        count--;
    }
    return exactly(d);
}

static inline struct answer ref_brev(const struct form *f, const uint64_t *in) {
    unsigned size = bits_of(f->types[0]);
    uint64_t d = 0;
    for (unsigned i = 0; i < size; i++)
        d |= (uint64_t)bit(in[0], (int)i) << (size - 1 - i);
    return exactly(d);
}

static inline struct answer ref_bfe(const struct form *f, const uint64_t *in) {
    int msb = (int)bits_of(f->types[0]) - 1, pos = in[1] & 0xff, len = in[2] & 0xff;
    bool sign = ff__ptx_type_kind(f->types[0]) == 's' && len != 0 &&
                bit(in[0], pos + len - 1 < msb ? pos + len - 1 : msb);
    uint64_t d = 0;
    for (int i = 0; i <= msb; i++)
        d |= (uint64_t)(i < len && pos + i <= msb ? bit(in[0], pos + i) : sign) << i;
    return exactly(d);
}

static inline struct answer ref_bfi(const struct form *f, const uint64_t *in) {
    int msb = (int)bits_of(f->types[0]) - 1, pos = in[2] & 0xff, len = in[3] & 0xff;
    uint64_t d = low(in[1], (unsigned)msb + 1);
    for (int i = 0; i < len && pos + i <= msb; i++)
        d = (d & ~(UINT64_C(1) << (pos + i))) | (uint64_t)bit(in[0], i) << (pos + i);
    return exactly(d);
}

static inline struct answer ref_bmsk(const struct form *f, const uint64_t *in) {
    uint64_t first = low(in[0], 32), size = low(in[1], 32), d = 0;
    if (has(f, "wrap")) {
        first %= 32;
        size %= 32;
    }
    for (uint64_t i = first; i < 32 && i < first + size; i++)
        d |= UINT64_C(1) << i;
    return exactly(d);
}

static inline struct answer ref_szext(const struct form *f, const uint64_t *in) {
    uint64_t size = low(in[1], 32), a = low(in[0], 32);
    if (has(f, "wrap"))
        size %= 32;
    if (size >= 32)
        return exactly(a);
    bool sign = f->types[0] == FF__PTX_S32 && size != 0 && bit(a, (int)size - 1);
    for (uint64_t i = size; i < 32; i++)
        a = (a & ~(UINT64_C(1) << i)) | (uint64_t)sign << i;
    return exactly(a);
}

static inline __int128 piece(enum ff__ptx_type type, uint64_t bits, unsigned size) {
    __int128 x = low(bits, size);
    return ff__ptx_type_kind(type) == 's' && bit(bits, (int)size - 1) ? x - ((__int128)1 << size)
                                                                      : x;
}

static inline struct answer ref_dp4a(const struct form *f, const uint64_t *in) {
    __int128 d = whole(FF__PTX_S32, in[2]);
    for (unsigned i = 0; i < 4; i++)
        d += piece(f->types[0], in[0] >> 8 * i, 8) * piece(f->types[1], in[1] >> 8 * i, 8);
    return whole_answer(f, d);
}

static inline struct answer ref_dp2a(const struct form *f, const uint64_t *in) {
    __int128 d = whole(FF__PTX_S32, in[2]);
    unsigned first = has(f, "hi") ? 2 : 0;
    for (unsigned i = 0; i < 2; i++)
        d += piece(f->types[0], in[0] >> 16 * i, 16) *
             piece(f->types[1], in[1] >> 8 * (first + i), 8);
    return whole_answer(f, d);
}

/* The table of the PTX ISA: bytes of the result from the highest down. */
static inline struct answer ref_prmt(const struct form *f, const uint64_t *in) {
    static const struct {
        const char *mode;
        uint16_t selectors[4];
    } modes[] = {
        {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
        {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
        {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}};
    uint64_t both = low(in[1], 32) << 32 | low(in[0], 32), d = 0, selectors = in[2];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (has(f, modes[i].mode))
            selectors = modes[i].selectors[in[2] & 3];
    for (unsigned i = 0; i < 4; i++) {
        unsigned selector = selectors >> 4 * i & 15;
        uint64_t byte = both >> 8 * (selector & 7) & 0xff;
        if ((selector & 8) != 0)
            byte = byte >= 0x80 ? 0xff : 0;
        d |= byte << 8 * i;
    }
    return exactly(d);
}

static inline struct answer ref_logic(const struct form *f, const uint64_t *in) {
    unsigned size = f->types[0] == FF__PTX_PRED ? 1 : bits_of(f->types[0]);
    uint64_t a = low(in[0], size), b = low(in[1], size), d = 0;
    if (f->name[0] == 'c')
        return exactly(a == 0);
    for (unsigned i = 0; i < size; i++) {
        bool x = bit(a, (int)i), y = bit(b, (int)i);
        bool r = f->name[0] == 'a'   ? x && y
                 : f->name[0] == 'o' ? x || y
                 : f->name[0] == 'x' ? x != y
                                     : !x;
        d |= (uint64_t)r << i;
    }
    return exactly(d);
}

static inline struct answer ref_lop3(const struct form *f, const uint64_t *in) {
    (void)f;
    uint64_t d = 0;
    for (int i = 0; i < 32; i++) {
        int row = bit(in[0], i) * 4 + bit(in[1], i) * 2 + bit(in[2], i);
        d |= (uint64_t)bit(in[3], row) << i;
    }
    return exactly(d);
}

static inline struct answer ref_shf(const struct form *f, const uint64_t *in) {
    uint64_t n = low(in[2], 32), both = low(in[1], 32) << 32 | low(in[0], 32);
    n = has(f, "wrap") ? n % 32 : n > 32 ? 32 : n;
    return exactly(has(f, "l") ? low((n == 0 ? both : both << n) >> 32, 32) : low(both >> n, 32));
}

static inline struct answer ref_shl(const struct form *f, const uint64_t *in) {
    unsigned size = bits_of(f->types[0]);
    uint64_t n = low(in[1], 32);
    return exactly(n >= size ? 0 : low(in[0] << n, size));
}

static inline struct answer ref_shr(const struct form *f, const uint64_t *in) {
    uint64_t n = low(in[1], 32);
    return whole_answer(f, whole(f->types[0], in[0]) >> (n > 100 ? 100 : n));
}

/* ---- reals ---- */

static inline bool is_nan(enum ff__ptx_type type, uint64_t bits) {
    return unpack(format_of(type), bits).kind == NONE;
}

static inline uint64_t flush(enum ff__ptx_type type, uint64_t bits) {
    const struct format *format = format_of(type);
    struct real x = unpack(format, bits);
    bool small = x.kind == FINITE && x.significand < (wide)1 << (format->digits - 1);
    return small ? bits & sign_bit(format) : bits;
}

static inline bool flushes(const struct form *form, enum ff__ptx_type type) {
    return has(form, "ftz") && is_real(type) &&
           (type == FF__PTX_F32 || (strcmp(form->name, "cvt") != 0 && type != FF__PTX_F64));
}

static inline struct real operand_real(const struct form *form, unsigned i, const uint64_t *in) {
    enum ff__ptx_type type = form->operands[i];
    uint64_t bits = low(in[i], bits_of(type));
    return unpack(format_of(type), flushes(form, type) ? flush(type, bits) : bits);
}

static inline struct answer any_nan(enum ff__ptx_type type) {
    return (struct answer){.kind = ANY_NAN, .format = format_of(type)};
}

/* A rounded result with what the modifiers still do to it. */
static inline struct answer finish(const struct form *form, uint64_t bits) {
    enum ff__ptx_type type = form->result;
    const struct format *format = format_of(type);
    bool none = is_nan(type, bits), negative = (bits & sign_bit(format)) != 0;
    if (flushes(form, type))
        bits = flush(type, bits);
    if (has(form, "sat")) {
        uint64_t one = round_to(format, from_whole(1), NEAREST);
        return exactly(none || negative ? 0 : bits > one ? one : bits);
    }
    if (has(form, "relu") && !none && negative)
        bits = 0;
    uint64_t infinity = infinity_bits(format);
    if (has(form, "satfinite") && (bits & ~sign_bit(format)) == infinity)
        bits -= UINT64_C(1) << format->unused;
    bool canonical = type == FF__PTX_F16 || type == FF__PTX_BF16;
    return none && !canonical ? any_nan(type) : exactly(none ? nan_bits(format) : bits);
}

static inline struct answer rounded_result(const struct form *form, struct real x) {
    return finish(form, round_to(format_of(form->result), x, mode_of(form)));
}

static inline struct answer near(const struct form *form, long double value, long double absolute,
                                 long double relative) {
    return (struct answer){.kind = NEAR,
                           .format = format_of(form->result),
                           .value = value,
                           .absolute = absolute,
                           .relative = relative};
}

static inline struct answer real_sum(const struct form *f, const uint64_t *in) {
    struct real b = operand_real(f, 1, in);
    if (f->name[0] == 's')
        b.negative = !b.negative;
    return rounded_result(f, sum(operand_real(f, 0, in), b, mode_of(f)));
}

static inline struct answer real_product(const struct form *f, const uint64_t *in) {
    return rounded_result(f, product(operand_real(f, 0, in), operand_real(f, 1, in)));
}

static inline struct answer real_fma(const struct form *f, const uint64_t *in) {
    struct real t = product(operand_real(f, 0, in), operand_real(f, 1, in));
    return rounded_result(f, sum(t, operand_real(f, 2, in), mode_of(f)));
}

static inline bool is_exact(const struct form *f) {
    return has(f, "rn") || has(f, "rz") || has(f, "rm") || has(f, "rp");
}

/* Of an approximation by the quotient or root x: two units in the last place of f32. */
static inline struct answer approximated(const struct form *f, struct real x) {
    bool big = f->result == FF__PTX_F64;
    if (x.kind != FINITE || x.significand == 0)
        return rounded_result(f, x);
    bool half = big && has(f, "ftz");
    return near(f, (x.negative ? -1.0L : 1.0L) * ldexpl((long double)x.significand, x.exponent), 0,
                half  ? 0x1p-19L
                : big ? 0x1p-51L
                      : 0x1p-22L);
}

/* .approx.ftz.f64 looks at the high word alone: a NaN whose payload is in the low one is infinity.
 */
static inline struct real high_part(const struct form *f, unsigned i, const uint64_t *in) {
    if (f->result != FF__PTX_F64 || !has(f, "ftz"))
        return operand_real(f, i, in);
    return unpack(&f64_format, flush(FF__PTX_F64, in[i] & ~(uint64_t)UINT32_MAX));
}

static inline struct answer real_quotient(const struct form *f, const uint64_t *in) {
    bool one = f->name[0] == 'r';
    struct real a = one ? from_whole(1) : operand_real(f, 0, in);
    struct real x = quotient(a, high_part(f, one ? 0 : 1, in));
    return is_exact(f) ? rounded_result(f, x) : approximated(f, x);
}

static inline struct answer real_root(const struct form *f, const uint64_t *in) {
    struct real x = square_root(high_part(f, 0, in));
    if (f->name[0] == 'r') {
        x.more = false;
        x = quotient(from_whole(1), x);
    }
    return is_exact(f) ? rounded_result(f, x) : approximated(f, x);
}

static inline struct answer real_sign(const struct form *f, const uint64_t *in) {
    const struct format *format = format_of(f->result);
    uint64_t bits = low(in[0], bits_of(f->operands[0])), sign = sign_bit(format);
    if (strcmp(f->name, "copysign") == 0)
        return exactly((in[0] & sign) | (low(in[1], bits_of(f->result)) & ~sign));
    if (is_nan(f->result, bits))
        return any_nan(f->result);
    if (flushes(f, f->result))
        bits = flush(f->result, bits);
    return exactly(f->name[0] == 'a' ? bits & ~sign : bits ^ sign);
}

static inline struct answer real_extreme(const struct form *f, const uint64_t *in) {
    const struct format *format = format_of(f->result);
    uint64_t sign = sign_bit(format), bits[2], signs = 0;
    for (unsigned i = 0; i < 2; i++) {
        bits[i] = low(in[i], bits_of(f->result));
        bits[i] = flushes(f, f->result) ? flush(f->result, bits[i]) : bits[i];
        if (has(f, "xorsign")) {
            signs ^= bits[i] & sign;
            bits[i] &= ~sign;
        }
    }
    bool none[2] = {is_nan(f->result, bits[0]), is_nan(f->result, bits[1])};
    if ((none[0] && none[1]) || (has(f, "NaN") && (none[0] || none[1])))
        return f->result == FF__PTX_F64 || has(f, "xorsign") ? any_nan(f->result)
                                                             : exactly(nan_bits(format));
    if (none[0] || none[1])
        return exactly(bits[none[0]] | signs);
    double a = to_double(unpack(format, bits[0])), b = to_double(unpack(format, bits[1]));
    bool first = a < b || (a == b && signbit(a) != 0);
    return exactly(bits[first == (strcmp(f->name, "min") == 0) ? 0 : 1] | signs);
}

static inline struct answer real_function(const struct form *f, const uint64_t *in) {
    struct real operand = operand_real(f, 0, in);
    long double x = operand.kind == NONE ? NAN : to_double(operand);
    bool half = f->result == FF__PTX_F16, brain = f->result == FF__PTX_BF16;
    if (isnan(x))
        return rounded_result(f, no_number());
    if (strcmp(f->name, "sin") == 0 || strcmp(f->name, "cos") == 0)
        return isinf(x) ? rounded_result(f, no_number())
                        : near(f, f->name[0] == 's' ? sinl(x) : cosl(x), 0x1p-20L / 1.4142L, 0);
    if (strcmp(f->name, "lg2") == 0)
        return x < 0 ? rounded_result(f, no_number()) : near(f, log2l(x), 0x1p-22L, 0x1p-22L);
    if (strcmp(f->name, "tanh") == 0)
        return near(f, tanhl(x), 0, half ? 0x1p-10L : brain ? 0x1p-8L : 0x1p-11L);
    return near(f, exp2l(x), 0, half ? 0x1p-9L / 1.87L : brain ? 0x1p-7L : 0x1p-22L);
}

static inline struct answer ref_testp(const struct form *f, const uint64_t *in) {
    const struct format *format = format_of(f->types[0]);
    struct real x = unpack(format, in[0]);
    bool normal = x.kind == FINITE && x.significand >= (wide)1 << (format->digits - 1);
    bool small = x.kind == FINITE && x.significand != 0 && !normal;
    return exactly(has(f, "finite")       ? x.kind == FINITE
                   : has(f, "infinite")   ? x.kind == INFINITE
                   : has(f, "number")     ? x.kind != NONE
                   : has(f, "notanumber") ? x.kind == NONE
                   : has(f, "normal")     ? normal
                                          : small);
}

/* ---- comparisons ---- */

static inline bool compared(const struct form *f, enum ff__ptx_type type, const uint64_t *in) {
    int order = 0; /* 2: unordered */
    if (is_real(type)) {
        uint64_t a = low(in[0], bits_of(type)), b = low(in[1], bits_of(type));
        const struct format *format = format_of(type);
        double x = to_double(unpack(format, has(f, "ftz") ? flush(type, a) : a));
        double y = to_double(unpack(format, has(f, "ftz") ? flush(type, b) : b));
        order = isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y ? 1 : 0;
    } else {
        __int128 a = whole(type, in[0]), b = whole(type, in[1]);
        order = a < b ? -1 : a > b ? 1 : 0;
    }
    static const struct {
        const char *name;
        bool less, equal, greater, unordered;
    } rows[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},
                {"gt", 0, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"lo", 1, 0, 0, 0},  {"ls", 1, 1, 0, 0},
                {"hi", 0, 0, 1, 0},  {"hs", 0, 1, 1, 0},  {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1},
                {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
                {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has(f, rows[i].name))
            return order == 2   ? rows[i].unordered
                   : order < 0  ? rows[i].less
                   : order == 0 ? rows[i].equal
                                : rows[i].greater;
    assert(false);
    return false;
}

static inline bool combined(const struct form *f, bool holds, uint64_t other) {
    bool c = other & 1;
    return f->count < 3    ? holds
           : has(f, "and") ? holds && c
           : has(f, "or")  ? holds || c
                           : holds != c;
}

static inline struct answer ref_setp(const struct form *f, const uint64_t *in) {
    enum ff__ptx_type type = f->types[0], half = half_type(type);
    uint64_t upper[] = {in[0] >> 16, in[1] >> 16};
    bool holds = compared(f, half != FF__PTX_NO_TYPE ? half : type, in);
    bool second = half != FF__PTX_NO_TYPE ? compared(f, half, upper) : !holds;
    uint64_t p = combined(f, holds, in[2]), q = f->two && combined(f, second, in[2]);
    return exactly(p | q << 8);
}

static inline uint64_t truth_of(enum ff__ptx_type type) {
    enum ff__ptx_type half = half_type(type);
    type = half != FF__PTX_NO_TYPE ? half : type;
    return is_real(type) ? round_to(format_of(type), from_whole(1), NEAREST)
                         : low(UINT64_MAX, bits_of(type));
}

static inline struct answer ref_set(const struct form *f, const uint64_t *in) {
    enum ff__ptx_type type = f->types[1], half = half_type(type);
    if (half == FF__PTX_NO_TYPE)
        return exactly(combined(f, compared(f, type, in), in[2]) ? truth_of(f->result) : 0);
    uint64_t d = 0, truth = low(truth_of(f->result), 16);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t halves[] = {in[0] >> 16 * i, in[1] >> 16 * i};
        d |= (combined(f, compared(f, half, halves), in[2]) ? truth : 0) << 16 * i;
    }
    return exactly(d);
}

static inline struct answer ref_mov(const struct form *f, const uint64_t *in) {
    return exactly(low(in[0], f->types[0] == FF__PTX_PRED ? 1 : bits_of(f->types[0])));
}

static inline struct answer ref_selp(const struct form *f, const uint64_t *in) {
    return exactly(low(in[in[2] & 1 ? 0 : 1], bits_of(f->types[0])));
}

static inline struct answer ref_slct(const struct form *f, const uint64_t *in) {
    bool at_least;
    if (f->types[1] == FF__PTX_F32) {
        struct real c = operand_real(f, 2, in);
        at_least = c.kind != NONE && (!c.negative || (c.kind == FINITE && c.significand == 0));
    } else {
        at_least = whole(FF__PTX_S32, in[2]) >= 0;
    }
    return exactly(low(in[at_least ? 0 : 1], bits_of(f->types[0])));
}

/* ---- conversions ---- */

static inline struct answer real_to_whole(const struct form *f, const uint64_t *in) {
    enum ff__ptx_type to = f->types[0], from = f->types[1];
    struct real x = to_whole(operand_real(f, 0, in), mode_of(f));
    if (x.kind == NONE)
        return exactly(from != FF__PTX_F64 && bits_of(to) != 64 ? 0
                                                                : UINT64_C(1) << (bits_of(to) - 1));
    bool big =
        x.kind == INFINITE || (x.significand != 0 && top_bit(x.significand) + x.exponent > 70);
    __int128 value = big ? (__int128)1 << 100 : (__int128)(x.significand << x.exponent);
    return exactly(low((uint64_t)limit(to, x.negative ? -value : value), bits_of(to)));
}

static inline struct answer pack(const struct form *f, const uint64_t *in) {
    unsigned size = bits_of(f->types[0]);
    uint64_t a = low((uint64_t)limit(f->types[0], whole(FF__PTX_S32, in[0])), size);
    uint64_t b = low((uint64_t)limit(f->types[0], whole(FF__PTX_S32, in[1])), size);
    uint64_t c = f->count == 3 ? in[2] << 2 * size : 0;
    return exactly(low(c | a << size | b, 32));
}

static inline struct answer ref_cvt(const struct form *f, const uint64_t *in) {
    enum ff__ptx_type to = f->types[0], from = f->types[1];
    if (has(f, "pack"))
        return pack(f, in);
    if (half_type(to) != FF__PTX_NO_TYPE) { /* the first operand goes above */
        struct form single = *f;
        single.types[0] = single.result = half_type(to);
        struct answer above = rounded_result(&single, operand_real(f, 0, in));
        struct answer below = rounded_result(&single, operand_real(f, 1, in));
        return exactly(above.bits << 16 | below.bits);
    }
    if (!is_real(to) && is_real(from))
        return real_to_whole(f, in);
    if (!is_real(to)) {
        __int128 x = whole(from, in[0]);
        return exactly(low((uint64_t)(has(f, "sat") ? limit(to, x) : x), bits_of(to)));
    }
    if (!is_real(from))
        return rounded_result(f, from_whole(whole(from, in[0])));
    struct real x = operand_real(f, 0, in);
    if (to == from && x.kind == NONE && !has(f, "sat"))
        return any_nan(to);
    bool whole_mode = has(f, "rni") || has(f, "rzi") || has(f, "rmi") || has(f, "rpi");
    return rounded_result(f, whole_mode ? to_whole(x, mode_of(f)) : x);
}

/* ---- all ---- */

typedef struct answer reference_fn(const struct form *form, const uint64_t *in);

static inline reference_fn *reference_of(const struct form *form) {
    static const struct {
        const char *name;
        reference_fn *whole, *real;
    } rows[] = {{"add", ref_add, real_sum},     {"sub", ref_sub, real_sum},
                {"mul", ref_mul, real_product}, {"mad", ref_mad, real_fma},
                {"fma", NULL, real_fma},        {"mul24", ref_mul24, NULL},
                {"mad24", ref_mad24, NULL},     {"addc", ref_carry, NULL},
                {"subc", ref_carry, NULL},      {"madc", ref_carry, NULL},
                {"sad", ref_sad, NULL},         {"div", ref_div, real_quotient},
                {"rem", ref_rem, NULL},         {"abs", ref_abs, real_sign},
                {"neg", ref_neg, real_sign},    {"min", ref_min, real_extreme},
                {"max", ref_max, real_extreme}, {"popc", ref_popc, NULL},
                {"clz", ref_clz, NULL},         {"bfind", ref_bfind, NULL},
                {"fns", ref_fns, NULL},         {"brev", ref_brev, NULL},
                {"bfe", ref_bfe, NULL},         {"bfi", ref_bfi, NULL},
                {"bmsk", ref_bmsk, NULL},       {"szext", ref_szext, NULL},
                {"dp4a", ref_dp4a, NULL},       {"dp2a", ref_dp2a, NULL},
                {"prmt", ref_prmt, NULL},       {"and", ref_logic, NULL},
                {"or", ref_logic, NULL},        {"xor", ref_logic, NULL},
                {"not", ref_logic, NULL},       {"cnot", ref_logic, NULL},
                {"lop3", ref_lop3, NULL},       {"shf", ref_shf, NULL},
                {"shl", ref_shl, NULL},         {"shr", ref_shr, NULL},
                {"rcp", NULL, real_quotient},   {"sqrt", NULL, real_root},
                {"rsqrt", NULL, real_root},     {"sin", NULL, real_function},
                {"cos", NULL, real_function},   {"lg2", NULL, real_function},
                {"ex2", NULL, real_function},   {"tanh", NULL, real_function},
                {"copysign", NULL, real_sign},  {"testp", NULL, ref_testp},
                {"setp", ref_setp, ref_setp},   {"set", ref_set, ref_set},
                {"mov", ref_mov, ref_mov},      {"selp", ref_selp, ref_selp},
                {"slct", ref_slct, ref_slct},   {"cvt", ref_cvt, ref_cvt}};
    if (has(form, "cc"))
        return ref_carry;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(form->name, rows[i].name) == 0)
            return is_real(form->types[0]) ? rows[i].real : rows[i].whole;
    return NULL;
}

#endif
