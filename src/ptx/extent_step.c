/* What one instruction makes of the values it reads. */
#include "ptx/extent_internal.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name
#define SMALLEST INT64_MIN
#define LARGEST  INT64_MAX

typedef __int128 wide;

struct stepping {
    struct ff__ptx_extents *extents;
    struct state *state;
    uint32_t number; /* of the step */
    const struct ff__ptx_instruction *instruction;
    const struct ff__ptx_operand *operands;
};

/* ---- operands ---- */

static struct extent_value of_form(struct form form) {
    return (struct extent_value){.has_form = true, .base = FF__PTX_NO_PARAMETER, .form = form};
}

static struct extent_value of_range(struct range range) {
    return (struct extent_value){.base = FF__PTX_NO_PARAMETER, .range = range};
}

static struct extent_value of_constant(int64_t value) {
    return of_form(ff__extent_constant(value));
}

static struct extent_value anything(uint8_t bits) {
    return of_range(ff__extent_top((struct view){bits, true}));
}

static struct extent_value special(const struct stepping *at,
                                   const struct ff__ptx_operand *operand) {
    const struct ff__ptx_extent_launch *launch = at->extents->launch;
    switch (operand->index) {
    case FF__PTX_S_TID:
        return of_form(ff__extent_atom(TID + operand->component));
    case FF__PTX_S_CTAID:
        return of_form(ff__extent_atom(CTAID + operand->component));
    case FF__PTX_S_NTID:
        return of_constant(launch->block[operand->component]);
    case FF__PTX_S_NCTAID:
        return of_constant(launch->grid[operand->component]);
    case FF__PTX_S_LANEID:
        return of_form(ff__extent_atom(LANE));
    case FF__PTX_S_WARPID:
        return of_form(ff__extent_atom(WARP));
    case FF__PTX_S_WARP_SIZE:
        return of_constant(32);
    case FF__PTX_S_ENVREG3:
    case FF__PTX_S_ENVREG4:
    case FF__PTX_S_ENVREG5:
        return of_constant(launch->offset[operand->index - FF__PTX_S_ENVREG3]);
    case FF__PTX_S_ENVREG6:
        return launch->any_block ? anything(64) : of_constant(0);
    case FF__PTX_S_DYNAMIC_SMEM_SIZE:
        return of_constant(launch->shared);
    default:
        return anything(64);
    }
}

static struct extent_value of_register(const struct stepping *at, uint32_t reg) {
    uint32_t number = at->extents->number_of[reg];
    return number == FF__PTX_NONE ? at->extents->singles[reg] : at->state->values[number];
}

static struct extent_value of_operand(const struct stepping *at,
                                      const struct ff__ptx_operand *operand) {
    if (operand->negated || operand->address)
        return anything(64);
    switch (operand->kind) {
    case FF__PTX_REGISTER:
        return of_register(at, operand->index);
    case FF__PTX_INTEGER:
        return of_constant((int64_t)operand->bits);
    case FF__PTX_SPECIAL:
        return special(at, operand);
    default:
        return anything(64);
    }
}

static struct extent_value operand(const struct stepping *at, uint32_t number) {
    if (number >= at->instruction->operand_count)
        return anything(64);
    return of_operand(at, &at->operands[number]);
}

static struct range range_of(const struct stepping *at, const struct extent_value *value) {
    return ff__extent_value_range(at->extents, at->state, value);
}

static bool is_constant(const struct extent_value *value, int64_t *out) {
    if (value->has_form && value->form.count == 0)
        *out = value->form.constant;
    else if (!value->has_form && value->range.low == value->range.high)
        *out = value->range.low;
    else
        return false;
    return true;
}

static struct view view_of(enum ff__ptx_type type) {
    return (struct view){(uint8_t)(8 * ff__ptx_type_size(type)), ff__ptx_type_kind(type) == 's'};
}

static bool is_integer(enum ff__ptx_type type) {
    char kind = ff__ptx_type_kind(type);
    return (kind == 'u' || kind == 's' || kind == 'b') && ff__ptx_type_size(type) <= 8 &&
           type != FF__PTX_U16X2 && type != FF__PTX_S16X2;
}

/* The value as it is read; anything of the view where it may be outside. */
static struct extent_value read_as(const struct stepping *at, struct extent_value value,
                                   struct view view) {
    uint32_t base = value.base;
    if (!ff__extent_view(at->extents, at->state, view, &value))
        value =
            of_range(ff__extent_top((struct view){view.bits, view.is_signed || view.bits == 64}));
    value.base = base;
    return value;
}

/* ---- results ---- */

/* A value that is no form gets the instruction's atom. */
static struct extent_value as_form(const struct stepping *at, struct extent_value value,
                                   uint8_t bits) {
    uint32_t atom = at->extents->first_step_atom + at->number;
    if (value.has_form)
        return value;
    value.range = ff__extent_fit(value.range, bits);
    at->extents->ranges[atom] = value.range;
    value.has_form = true;
    value.form = ff__extent_atom(atom);
    return value;
}

static uint32_t common_base(uint32_t a, uint32_t b) {
    return a == b ? a : FF__PTX_NO_PARAMETER;
}

/* Of a sum or difference: only one of them may be a pointer. */
static uint32_t only_base(uint32_t a, uint32_t b) {
    return a == FF__PTX_NO_PARAMETER ? b : b == FF__PTX_NO_PARAMETER ? a : FF__PTX_NO_PARAMETER;
}

static struct extent_value sum(const struct stepping *at, const struct extent_value *a,
                               const struct extent_value *b, int64_t factor) {
    struct extent_value result = {.base = factor == 1 ? only_base(a->base, b->base)
                                          : b->base == FF__PTX_NO_PARAMETER ? a->base
                                                                            : FF__PTX_NO_PARAMETER};
    int64_t constant;
    result.has_form =
        a->has_form && b->has_form && ff__extent_add(&a->form, &b->form, factor, &result.form);
    if (result.has_form)
        return result;
    if (is_constant(a, &constant) && constant == 0 && factor == 1)
        return *b;
    struct range x = range_of(at, a), y = range_of(at, b);
    wide low = (wide)x.low + (factor == 1 ? y.low : -(wide)y.high);
    wide high = (wide)x.high + (factor == 1 ? y.high : -(wide)y.low);
    result.range = low < SMALLEST || high > LARGEST ? (struct range){SMALLEST, LARGEST}
                                                    : (struct range){(int64_t)low, (int64_t)high};
    return result;
}

static struct extent_value product(const struct stepping *at, const struct extent_value *a,
                                   const struct extent_value *b) {
    struct extent_value result = {.base = FF__PTX_NO_PARAMETER};
    int64_t constant;
    if (is_constant(b, &constant) && a->has_form)
        result.has_form = ff__extent_multiply(&a->form, constant, &result.form);
    else if (is_constant(a, &constant) && b->has_form)
        result.has_form = ff__extent_multiply(&b->form, constant, &result.form);
    if (result.has_form)
        return result;
    struct range x = range_of(at, a), y = range_of(at, b);
    wide ends[] = {(wide)x.low * y.low, (wide)x.low * y.high, (wide)x.high * y.low,
                   (wide)x.high * y.high};
    wide low = ends[0], high = ends[0];
    for (uint32_t i = 1; i < 4; i++) {
        low = ends[i] < low ? ends[i] : low;
        high = ends[i] > high ? ends[i] : high;
    }
    result.range = low < SMALLEST || high > LARGEST ? (struct range){SMALLEST, LARGEST}
                                                    : (struct range){(int64_t)low, (int64_t)high};
    return result;
}

/* a - result * `times` is in [0, rest]. */
static void remember_rest(const struct stepping *at, const struct extent_value *a,
                          const struct extent_value *result, int64_t times, int64_t rest) {
    struct extent_limit limit = {.kind = LIMIT_PLAIN, .range = {0, rest}, .defines = true};
    if (a->has_form && result->has_form &&
        ff__extent_add(&a->form, &result->form, -times, &limit.form))
        ff__extent_limit(at->extents, at->state, &limit);
}

/* Rounded down, by a positive number. */
static struct extent_value quotient(const struct stepping *at, const struct extent_value *a,
                                    int64_t by, uint8_t bits) {
    struct range range = range_of(at, a);
    int64_t low = range.low / by - (range.low % by < 0),
            high = range.high / by - (range.high % by < 0);
    if (low == high)
        return of_constant(low);
    struct extent_value result = as_form(at, of_range((struct range){low, high}), bits);
    remember_rest(at, a, &result, by, by - 1);
    return result;
}

/* ---- arithmetic ---- */

static struct extent_value multiply(const struct stepping *at) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    struct view view = view_of(instruction->types[0]);
    struct extent_value a = operand(at, 1), b = operand(at, 2);
    if (ff__ptx_has(instruction, FF__PTX_M_WIDE) || ff__ptx_has(instruction, FF__PTX_M_HI)) {
        a = read_as(at, a, view);
        b = read_as(at, b, view);
    }
    struct extent_value result = product(at, &a, &b);
    if (!ff__ptx_has(instruction, FF__PTX_M_HI))
        return result;
    struct range range = range_of(at, &result);
    if (view.bits > 32 || range.low == SMALLEST || range.high == LARGEST)
        return anything(view.bits);
    return of_range((struct range){range.low >> view.bits, range.high >> view.bits});
}

static struct extent_value divide(const struct stepping *at, bool rest) {
    struct view view = view_of(at->instruction->types[0]);
    struct extent_value a = read_as(at, operand(at, 1), view),
                        b = read_as(at, operand(at, 2), view);
    struct range x = range_of(at, &a), y = range_of(at, &b);
    int64_t by;
    if (x.low < 0 || y.low <= 0)
        return anything(view.bits);
    if (rest && x.high < y.low)
        return a;
    if (rest)
        return of_range((struct range){0, x.high < y.high - 1 ? x.high : y.high - 1});
    if (is_constant(&b, &by))
        return quotient(at, &a, by, view.bits);
    return of_range((struct range){x.low / y.high, x.high / y.low});
}

static struct extent_value shift_left(const struct stepping *at) {
    struct view bits = {view_of(at->instruction->types[0]).bits, false};
    struct extent_value a = operand(at, 1),
                        b = read_as(at, operand(at, 2), (struct view){32, false});
    struct range by = range_of(at, &b);
    if (by.low != by.high || by.low >= bits.bits || by.low > 62) {
        struct range range = range_of(at, &a);
        if (by.high > 30 || range.low < 0 || range.high > INT32_MAX)
            return anything(bits.bits);
        return of_range((struct range){range.low << by.low, range.high << by.high});
    }
    struct extent_value factor = of_constant((int64_t)1 << by.low);
    return product(at, &a, &factor);
}

static struct extent_value shift_right(const struct stepping *at) {
    struct view view = view_of(at->instruction->types[0]);
    struct extent_value a = read_as(at, operand(at, 1), view);
    struct extent_value b = read_as(at, operand(at, 2), (struct view){32, false});
    struct range range = range_of(at, &a), by = range_of(at, &b);
    if (range.low < 0 && !view.is_signed)
        return by.low > 0 && by.low < 64 ? of_range((struct range){0, LARGEST >> (by.low - 1)})
                                         : anything(view.bits);
    if (by.low == by.high && by.low < view.bits && by.low < 63)
        return quotient(at, &a, (int64_t)1 << by.low, view.bits);
    if (range.low < 0)
        return anything(view.bits);
    return of_range((struct range){0, range.high >> (by.low > 63 ? 63 : by.low)});
}

/* ---- bits ---- */

static int64_t ones_over(int64_t value) { /* the least 2^n - 1 that is not less */
    uint64_t ones = (uint64_t)value;
    for (uint32_t shift = 1; shift < 64; shift *= 2)
        ones |= ones >> shift;
    return (int64_t)ones;
}

/* All multiples of the next power of two below which the others lie: then `or` adds. */
static bool are_apart(const struct extent_value *a, struct range b) {
    if (!a->has_form || b.low < 0 || b.high == LARGEST)
        return false;
    int64_t ones = ones_over(b.high);
    if ((a->form.constant & ones) != 0)
        return false;
    for (uint32_t i = 0; i < a->form.count; i++)
        if ((a->form.terms[i].factor & ones) != 0)
            return false;
    return true;
}

static struct extent_value keep_bits(const struct stepping *at, struct extent_value a, int64_t mask,
                                     uint8_t bits) {
    struct range range = range_of(at, &a);
    if (mask >= 0 && mask == ones_over(mask)) {
        if (range.low >= 0 && range.high <= mask)
            return a;
        return of_range((struct range){0, mask});
    }
    int64_t rest = ~mask;
    if (rest < 0 || rest != ones_over(rest) || range.low == SMALLEST || rest == LARGEST)
        return mask >= 0 ? of_range((struct range){0, mask}) : anything(bits);
    if (range.low == range.high)
        return of_constant(range.low & mask);
    struct extent_value result =
        as_form(at, of_range((struct range){range.low & mask, range.high & mask}), bits);
    remember_rest(at, &a, &result, 1, rest);
    return result;
}

static struct extent_value bitwise(const struct stepping *at) {
    uint8_t bits = view_of(at->instruction->types[0]).bits;
    struct extent_value a = operand(at, 1), b = operand(at, 2);
    uint32_t opcode = at->instruction->opcode;
    int64_t constant, other;
    if (is_constant(&a, &constant) && is_constant(&b, &other))
        return of_constant(opcode == OP(and)  ? constant & other
                           : opcode == OP(or) ? constant | other
                                              : constant ^ other);
    if (opcode == OP(and) && is_constant(&b, &constant))
        return keep_bits(at, a, constant, bits);
    if (opcode == OP(and) && is_constant(&a, &constant))
        return keep_bits(at, b, constant, bits);
    a = read_as(at, a, (struct view){bits, false});
    b = read_as(at, b, (struct view){bits, false});
    struct range x = range_of(at, &a), y = range_of(at, &b);
    if (x.low < 0 || y.low < 0 || x.high == LARGEST || y.high == LARGEST)
        return anything(bits);
    if (opcode == OP(and))
        return of_range((struct range){0, x.high < y.high ? x.high : y.high});
    if (opcode == OP(or) && (are_apart(&a, y) || are_apart(&b, x)))
        return sum(at, &a, &b, 1);
    int64_t low = opcode == OP(or) ? (x.low > y.low ? x.low : y.low) : 0;
    return of_range((struct range){low, ones_over(x.high | y.high)});
}

/* ---- choices ---- */

static struct extent_value least_or_most(const struct stepping *at, bool least) {
    struct view view = view_of(at->instruction->types[0]);
    struct extent_value a = read_as(at, operand(at, 1), view),
                        b = read_as(at, operand(at, 2), view);
    struct range x = range_of(at, &a), y = range_of(at, &b);
    if (least ? x.high <= y.low : x.low >= y.high)
        return a;
    if (least ? y.high <= x.low : y.low >= x.high)
        return b;
    struct range low_end = {x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high};
    struct range high_end = {x.low > y.low ? x.low : y.low, x.high > y.high ? x.high : y.high};
    struct extent_value result = as_form(at, of_range(least ? low_end : high_end), view.bits);
    result.base = common_base(a.base, b.base);
    const struct extent_value *const others[] = {&a, &b};
    for (uint32_t i = 0; i < 2; i++) {
        struct extent_limit limit = {.kind = LIMIT_PLAIN,
                                     .defines = true,
                                     .range = {least ? SMALLEST : 0, least ? 0 : LARGEST}};
        if (others[i]->has_form && ff__extent_add(&result.form, &others[i]->form, -1, &limit.form))
            ff__extent_limit(at->extents, at->state, &limit);
    }
    return result;
}

/* What a value is where the condition holds, or does not. */
static bool range_where(const struct stepping *at, uint32_t reg, bool holds,
                        const struct extent_value *value, struct range *out) {
    struct state *state = &at->extents->edge;
    ff__extent_copy(at->extents, state, at->state);
    if (at->extents->number_of[reg] == FF__PTX_NONE)
        ff__extent_assume(at->extents, state, reg, holds);
    *out = ff__extent_value_range(at->extents, state, value);
    return state->reached;
}

static struct extent_value choose(const struct stepping *at) {
    struct extent_value a = operand(at, 1), b = operand(at, 2);
    const struct ff__ptx_operand *predicate = &at->operands[3];
    if (at->instruction->operand_count != 4 || predicate->kind != FF__PTX_REGISTER ||
        predicate->negated)
        return anything(64);
    struct range x, y;
    bool first = range_where(at, predicate->index, true, &a, &x);
    bool second = range_where(at, predicate->index, false, &b, &y);
    if (!first || !second)
        return first ? a : b;
    struct extent_value result =
        of_range((struct range){x.low < y.low ? x.low : y.low, x.high > y.high ? x.high : y.high});
    result.base = common_base(a.base, b.base);
    return result;
}

/* ---- conversions and loads ---- */

static uint32_t held_size(const struct stepping *at) {
    return ff__ptx_type_size(at->extents->function->registers[at->operands[0].index].type);
}

static struct extent_value convert(const struct stepping *at) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    if (instruction->type_count != 2)
        return anything(64);
    enum ff__ptx_type to = instruction->types[0], from = instruction->types[1];
    struct extent_value value = operand(at, 1);
    if (!is_integer(to) || !is_integer(from) || ff__ptx_has(instruction, FF__PTX_M_SAT))
        return is_integer(to) ? of_range(ff__extent_top(view_of(to))) : anything(64);
    if (ff__ptx_type_size(to) > ff__ptx_type_size(from))
        value = read_as(at, value, view_of(from));
    return held_size(at) > ff__ptx_type_size(to) ? read_as(at, value, view_of(to)) : value;
}

static struct extent_value parameter(const struct stepping *at, enum ff__ptx_type type) {
    const struct ff__ptx_extent_launch *launch = at->extents->launch;
    const struct ff__ptx_operand *from = &at->operands[1];
    const struct ff__ptx_function *function = at->extents->function;
    uint64_t offset = function->parameter_offsets[from->index] + (uint64_t)from->offset;
    uint32_t size = ff__ptx_type_size(type);
    int64_t bits = 0;
    if (size > 8 || offset > launch->parameter_size || launch->parameter_size - offset < size)
        return anything(64);
    memcpy(&bits, (const char *)launch->parameters + offset, size);
    if (size < 8 && ff__ptx_type_kind(type) == 's')
        bits = (int64_t)((uint64_t)bits << (64 - 8 * size)) >> (64 - 8 * size);
    struct extent_value value = of_constant(bits);
    if (size == 8)
        value.base = (uint32_t)offset;
    return value;
}

static struct extent_value load(const struct stepping *at) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    enum ff__ptx_type type =
        instruction->type_count != 0 ? instruction->types[instruction->type_count - 1] : 0;
    if (!is_integer(type) || at->operands[0].kind != FF__PTX_REGISTER)
        return anything(64);
    if (instruction->opcode == OP(ld) && at->operands[1].kind == FF__PTX_PARAMETER &&
        ff__ptx_has(instruction, FF__PTX_M_PARAM))
        return parameter(at, type);
    struct view view = view_of(type);
    view.is_signed |= held_size(at) == ff__ptx_type_size(type);
    return of_range(ff__extent_top(view));
}

/* ---- predicates ---- */

static bool comparison(const struct ff__ptx_instruction *instruction, enum compare *out,
                       bool *is_unsigned) {
    static const struct {
        enum ff__ptx_modifier modifier;
        enum compare compare;
        bool is_unsigned;
    } names[] = {{FF__PTX_M_LT, LESS, false},    {FF__PTX_M_LE, LESS_EQUAL, false},
                 {FF__PTX_M_GT, GREATER, false}, {FF__PTX_M_GE, GREATER_EQUAL, false},
                 {FF__PTX_M_EQ, EQUAL, false},   {FF__PTX_M_NE, NOT_EQUAL, false},
                 {FF__PTX_M_LO, LESS, true},     {FF__PTX_M_LS, LESS_EQUAL, true},
                 {FF__PTX_M_HI, GREATER, true},  {FF__PTX_M_HS, GREATER_EQUAL, true}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!ff__ptx_has(instruction, names[i].modifier))
            continue;
        *out = names[i].compare;
        *is_unsigned |= names[i].is_unsigned;
        return true;
    }
    return false;
}

/* Bits that are only compared for equality are read as signed numbers, if they can be. */
static struct view compared_view(const struct stepping *at, enum ff__ptx_type type,
                                 bool is_unsigned, const struct extent_value *a,
                                 const struct extent_value *b) {
    struct view view = view_of(type);
    struct extent_value x = *a, y = *b;
    view.is_signed = !is_unsigned && ff__ptx_type_kind(type) != 'u';
    if (ff__ptx_type_kind(type) == 'b' && !is_unsigned &&
        (!ff__extent_view(at->extents, at->state, view, &x) ||
         !ff__extent_view(at->extents, at->state, view, &y)))
        view.is_signed = false;
    return view;
}

static void combine(const struct stepping *at, struct condition *out) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    const struct ff__ptx_operand *other = &at->operands[3];
    out->kind = ff__ptx_has(instruction, FF__PTX_M_AND)  ? BOTH
                : ff__ptx_has(instruction, FF__PTX_M_OR) ? EITHER
                                                         : UNSURE;
    if (other->kind != FF__PTX_REGISTER || other->negated ||
        at->extents->number_of[other->index] != FF__PTX_NONE)
        out->kind = UNSURE;
    else
        out->second = other->index;
}

static struct condition compare(const struct stepping *at) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    enum ff__ptx_type type = instruction->types[0];
    struct condition out = {
        .kind = COMPARED, .first = FF__PTX_NONE, .a = operand(at, 1), .b = operand(at, 2)};
    bool is_unsigned = false;
    if (instruction->type_count == 0 || !is_integer(type) ||
        !comparison(instruction, &out.compare, &is_unsigned))
        return (struct condition){.kind = UNSURE};
    out.view = compared_view(at, type, is_unsigned, &out.a, &out.b);
    if (instruction->operand_count > 3)
        combine(at, &out);
    return out;
}

static bool is_known_predicate(const struct stepping *at, uint32_t number) {
    const struct ff__ptx_operand *operand = &at->operands[number];
    return number < at->instruction->operand_count && operand->kind == FF__PTX_REGISTER &&
           !operand->negated && at->extents->number_of[operand->index] == FF__PTX_NONE;
}

static struct condition predicate(const struct stepping *at) {
    struct condition out = {.kind = UNSURE};
    uint32_t opcode = at->instruction->opcode;
    if (opcode == OP(setp))
        return compare(at);
    if (opcode == OP(mov) && at->operands[1].kind == FF__PTX_INTEGER)
        out.kind = at->operands[1].bits != 0 ? ALWAYS : NEVER;
    if (opcode == OP(not ) && is_known_predicate(at, 1))
        out = (struct condition){.kind = NEGATED, .first = at->operands[1].index};
    if ((opcode == OP(and) || opcode == OP(or)) && is_known_predicate(at, 1) &&
        is_known_predicate(at, 2))
        out = (struct condition){.kind = opcode == OP(and) ? BOTH : EITHER,
                                 .first = at->operands[1].index,
                                 .second = at->operands[2].index};
    return out;
}

/* ---- all ---- */

static struct extent_value negative(const struct stepping *at, int64_t constant) {
    struct extent_value from = of_constant(constant), a = operand(at, 1);
    return sum(at, &from, &a, -1);
}

static struct extent_value absolute(const struct stepping *at) {
    struct view view = view_of(at->instruction->types[0]);
    struct extent_value a = read_as(at, operand(at, 1), view);
    struct range range = range_of(at, &a);
    if (range.low >= 0)
        return a;
    if (range.low == SMALLEST)
        return anything(view.bits);
    return of_range((struct range){0, -range.low > range.high ? -range.low : range.high});
}

static struct extent_value multiply_add(const struct stepping *at) {
    struct extent_value part = multiply(at), c = operand(at, 3);
    if (ff__ptx_has(at->instruction, FF__PTX_M_SAT))
        return anything(32);
    return sum(at, &part, &c, 1);
}

static struct extent_value add_or_subtract(const struct stepping *at, int64_t factor) {
    struct extent_value a = operand(at, 1), b = operand(at, 2);
    if (ff__ptx_has(at->instruction, FF__PTX_M_SAT))
        return anything(32);
    return sum(at, &a, &b, factor);
}

static struct extent_value move(const struct stepping *at) {
    if (at->instruction->opcode == OP(cvta) && (ff__ptx_has(at->instruction, FF__PTX_M_SHARED) ||
                                                ff__ptx_has(at->instruction, FF__PTX_M_LOCAL) ||
                                                ff__ptx_has(at->instruction, FF__PTX_M_CONST) ||
                                                ff__ptx_has(at->instruction, FF__PTX_M_PARAM)))
        return anything(64);
    return operand(at, 1);
}

static struct extent_value field(const struct stepping *at) {
    struct extent_value length = operand(at, 3);
    int64_t bits;
    if (at->instruction->types[0] != FF__PTX_U32 || !is_constant(&length, &bits) || bits < 0 ||
        bits > 31)
        return anything(view_of(at->instruction->types[0]).bits);
    return of_range((struct range){0, ((int64_t)1 << bits) - 1});
}

static struct extent_value integer_result(const struct stepping *at) {
    switch (at->instruction->opcode) {
    case OP(mov):
    case OP(cvta):
        return move(at);
    case OP(add):
        return add_or_subtract(at, 1);
    case OP(sub):
        return add_or_subtract(at, -1);
    case OP(mul):
        return multiply(at);
    case OP(mad):
        return multiply_add(at);
    case OP(div):
        return divide(at, false);
    case OP(rem):
        return divide(at, true);
    case OP(shl):
        return shift_left(at);
    case OP(shr):
        return shift_right(at);
    case OP(and):
    case OP(or):
    case OP(xor):
        return bitwise(at);
    case OP(not ):
        return negative(at, -1);
    case OP(neg):
        return negative(at, 0);
    case OP(abs):
        return absolute(at);
    case OP(min):
        return least_or_most(at, true);
    case OP(max):
        return least_or_most(at, false);
    case OP(selp):
        return choose(at);
    case OP(bfe):
        return field(at);
    case OP(clz):
    case OP(popc):
        return of_range((struct range){0, 64});
    default:
        return anything(64);
    }
}

static struct extent_value result_of(const struct stepping *at) {
    const struct ff__ptx_instruction *instruction = at->instruction;
    if (at->operands[0].kind != FF__PTX_REGISTER)
        return anything(64);
    switch (instruction->opcode) {
    case OP(ld):
    case OP(ldu):
        return load(at);
    case OP(cvt):
        return convert(at);
    default:
        return instruction->type_count != 0 && is_integer(instruction->types[0]) &&
                       !ff__ptx_has(instruction, FF__PTX_M_CC)
                   ? integer_result(at)
                   : anything(64);
    }
}

static bool is_predicate(const struct stepping *at, uint32_t reg) {
    return at->extents->function->registers[reg].type == FF__PTX_PRED;
}

static void set(const struct stepping *at, uint32_t reg, struct extent_value value) {
    struct ff__ptx_extents *extents = at->extents;
    uint32_t number = extents->number_of[reg];
    uint8_t bits = (uint8_t)(8 * ff__ptx_type_size(extents->function->registers[reg].type));
    if (number == FF__PTX_NONE) {
        extents->singles[reg] = as_form(at, value, bits);
        return;
    }
    if (at->instruction->guard != FF__PTX_NONE) {
        struct range old = range_of(at, &at->state->values[number]), now = range_of(at, &value);
        uint32_t base = common_base(value.base, at->state->values[number].base);
        value = of_range((struct range){old.low < now.low ? old.low : now.low,
                                        old.high > now.high ? old.high : now.high});
        value.base = base;
        ff__extent_forget(extents, at->state, extents->first_step_atom + at->number);
    }
    at->state->values[number] = as_form(at, value, bits);
}

/* Registers that are written together with others are anything. */
static void set_several(const struct stepping *at) {
    struct ff__ptx_uses uses;
    ff__ptx_uses(at->extents->function, at->instruction, &uses);
    for (uint32_t i = 0; i < uses.write_count; i++) {
        uint32_t reg = uses.writes[i], number = at->extents->number_of[reg];
        if (number == FF__PTX_NONE) {
            at->extents->singles[reg] = anything(64);
            at->extents->conditions[reg] = (struct condition){.kind = UNSURE};
        } else {
            at->state->values[number] = anything(64);
        }
    }
}

void ff__extent_step(struct ff__ptx_extents *extents, struct state *state, uint32_t number) {
    const struct step *step = &extents->steps[number];
    const struct ff__ptx_instruction *instruction =
        &extents->function->instructions[step->instruction];
    const struct stepping at = {.extents = extents,
                                .state = state,
                                .number = number,
                                .instruction = instruction,
                                .operands = &extents->function->operands[instruction->operands]};
    if (!step->writes)
        return;
    uint32_t atom = extents->first_step_atom + number;
    if (extents->atom_block[atom] != FF__PTX_NONE)
        ff__extent_forget(extents, state, atom);
    if (at.operands[0].kind != FF__PTX_REGISTER)
        set_several(&at);
    else if (!is_predicate(&at, at.operands[0].index))
        set(&at, at.operands[0].index, result_of(&at));
    else if (extents->number_of[at.operands[0].index] == FF__PTX_NONE)
        extents->conditions[at.operands[0].index] = predicate(&at);
}
