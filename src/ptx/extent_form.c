/* Forms, and what they can be. */
#include "ptx/extent_internal.h"

#include <string.h>

#define SMALLEST INT64_MIN
#define LARGEST  INT64_MAX

typedef __int128 wide;

struct form ff__extent_constant(int64_t value) {
    return (struct form){.constant = value};
}

struct form ff__extent_atom(uint32_t atom) {
    return (struct form){.count = 1, .terms = {{atom, 1}}};
}

/* a + b * factor, in the order of the atoms. */
bool ff__extent_add(const struct form *a, const struct form *b, int64_t factor, struct form *out) {
    struct form sum = {0};
    int64_t part;
    if (__builtin_mul_overflow(b->constant, factor, &part) ||
        __builtin_add_overflow(a->constant, part, &sum.constant))
        return false;
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        uint32_t first = i < a->count ? a->terms[i].atom : UINT32_MAX;
        uint32_t second = k < b->count ? b->terms[k].atom : UINT32_MAX;
        uint32_t atom = first < second ? first : second;
        int64_t total = first == atom ? a->terms[i++].factor : 0;
        if (second == atom && (__builtin_mul_overflow(b->terms[k++].factor, factor, &part) ||
                               __builtin_add_overflow(total, part, &total)))
            return false;
        if (total == 0)
            continue;
        if (sum.count == TERMS)
            return false;
        sum.terms[sum.count].atom = atom;
        sum.terms[sum.count++].factor = total;
    }
    *out = sum;
    return true;
}

bool ff__extent_multiply(const struct form *a, int64_t factor, struct form *out) {
    const struct form zero = {0};
    return ff__extent_add(&zero, a, factor, out);
}

int64_t ff__extent_factor(const struct form *form, uint32_t atom) {
    for (uint32_t i = 0; i < form->count; i++)
        if (form->terms[i].atom == atom)
            return form->terms[i].factor;
    return 0;
}

static bool same_terms(const struct form *a, const struct form *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->terms[i].atom != b->terms[i].atom || a->terms[i].factor != b->terms[i].factor)
            return false;
    return true;
}

bool ff__extent_same(const struct form *a, const struct form *b) {
    return a->constant == b->constant && same_terms(a, b);
}

bool ff__extent_replace(struct form *form, uint32_t atom, const struct form *with) {
    int64_t factor = ff__extent_factor(form, atom);
    struct form removed = ff__extent_atom(atom), rest;
    if (factor == 0)
        return true;
    return factor != SMALLEST && ff__extent_add(form, &removed, -factor, &rest) &&
           ff__extent_add(&rest, with, factor, form);
}

/* ---- ranges ---- */

struct range ff__extent_top(struct view view) {
    if (view.bits >= 64 || view.bits == 0)
        return (struct range){view.is_signed || view.bits == 0 ? SMALLEST : 0, LARGEST};
    int64_t one = 1;
    return view.is_signed ? (struct range){-(one << (view.bits - 1)), (one << (view.bits - 1)) - 1}
                          : (struct range){0, (one << view.bits) - 1};
}

struct range ff__extent_fit(struct range range, uint8_t bits) {
    bool fits = bits >= 64 || (wide)range.high - range.low < (wide)1 << bits;
    return fits ? range : ff__extent_top((struct view){bits, true});
}

struct sum {
    wide low, high;
};

static void add_part(struct sum *sum, int64_t factor, struct range range) {
    wide a = (wide)factor * range.low, b = (wide)factor * range.high;
    sum->low += a < b ? a : b;
    sum->high += a < b ? b : a;
}

/* How often a limit's form, whose first factor is positive, is in the rest of a form; 0: it is
 * not. */
static int64_t times_in(const struct extent_limit *limit, const struct form *rest) {
    int64_t first = ff__extent_factor(rest, limit->form.terms[0].atom);
    int64_t unit = limit->form.terms[0].factor;
    return first % unit == 0 ? first / unit : 0;
}

static bool holds_all(const struct form *rest, const struct form *form, int64_t times) {
    for (uint32_t i = 0; i < form->count; i++)
        if ((wide)form->terms[i].factor * times != ff__extent_factor(rest, form->terms[i].atom))
            return false;
    return true;
}

/* Takes a limit's form out of the rest. */
static bool take_limit(const struct extent_limit *limit, struct form *rest, struct sum *sum,
                       int64_t *times) {
    if (limit->kind != LIMIT_PLAIN)
        return false;
    *times = times_in(limit, rest);
    if (*times == 0 || *times == SMALLEST || !holds_all(rest, &limit->form, *times) ||
        !ff__extent_add(rest, &limit->form, -*times, rest))
        return false;
    add_part(sum, *times, limit->range);
    return true;
}

static struct sum sum_from(const struct ff__ptx_extents *extents, const struct state *state,
                           const struct form *form, uint32_t first) {
    struct sum sum = {form->constant, form->constant};
    struct form rest = *form;
    int64_t times;
    rest.constant = 0;
    for (uint32_t i = 0; i < state->limit_count && first < state->limit_count; i++)
        take_limit(&state->limits[(first + i) % state->limit_count], &rest, &sum, &times);
    for (uint32_t i = 0; i < rest.count; i++)
        add_part(&sum, rest.terms[i].factor, extents->ranges[rest.terms[i].atom]);
    return sum;
}

static int64_t clamp(wide value) {
    return value < SMALLEST ? SMALLEST : value > LARGEST ? LARGEST : (int64_t)value;
}

/* The best of what limits say, whichever is taken first. */
struct range ff__extent_range(const struct ff__ptx_extents *extents, const struct state *state,
                              const struct form *form) {
    struct sum best = sum_from(extents, state, form, UINT32_MAX);
    for (uint32_t i = 0; i < state->limit_count && form->count != 0; i++) {
        if (state->limits[i].kind != LIMIT_PLAIN ||
            ff__extent_factor(form, state->limits[i].form.terms[0].atom) == 0)
            continue;
        struct sum sum = sum_from(extents, state, form, i);
        best.low = sum.low > best.low ? sum.low : best.low;
        best.high = sum.high < best.high ? sum.high : best.high;
    }
    return (struct range){clamp(best.low), clamp(best.high)};
}

struct range ff__extent_value_range(const struct ff__ptx_extents *extents,
                                    const struct state *state, const struct extent_value *value) {
    return value->has_form ? ff__extent_range(extents, state, &value->form) : value->range;
}

bool ff__extent_view(const struct ff__ptx_extents *extents, const struct state *state,
                     struct view view, struct extent_value *value) {
    struct range range = ff__extent_value_range(extents, state, value);
    struct range top = ff__extent_top(view);
    if (view.bits >= 64)
        return range.low > SMALLEST && range.high < LARGEST && range.low >= top.low;
    wide unit = (wide)1 << view.bits, from = (wide)range.low - top.low;
    wide shift = (from >= 0 ? from / unit : -((-from + unit - 1) / unit)) * unit;
    if (range.high - shift > top.high)
        return false;
    if (value->has_form &&
        __builtin_sub_overflow(value->form.constant, clamp(shift), &value->form.constant))
        return false;
    if (!value->has_form)
        value->range = (struct range){(int64_t)(range.low - shift), (int64_t)(range.high - shift)};
    return true;
}

/* ---- forms without large holes ---- */

/* A number of a sum: all multiples of `factor` from 0 to `factor` x `last`. */
struct digit {
    wide factor, last;
};

static void insert(struct digit *digits, uint32_t *count, wide factor, wide last) {
    uint32_t at = (*count)++;
    factor = factor < 0 ? -factor : factor;
    for (; at > 0 && digits[at - 1].factor > factor; at--)
        digits[at] = digits[at - 1];
    digits[at] = (struct digit){factor, last};
}

/* Whether sums of the digits leave out no more than `gap` from one to the next. */
static bool covers(const struct digit *digits, uint32_t count, wide gap) {
    wide span = gap;
    for (uint32_t i = 0; i < count; i++) {
        if (digits[i].last == 0)
            continue;
        if (digits[i].factor > span)
            return false;
        span += digits[i].factor * digits[i].last;
    }
    return true;
}

static bool is_regular(const struct ff__ptx_extents *extents, uint32_t atom, bool limited) {
    if (atom < LANE)
        return true;
    if (atom < FIRST_LOOP || atom >= FIRST_LOOP + extents->loop_count)
        return false;
    const struct extent_loop *loop = &extents->loops[atom - FIRST_LOOP];
    return loop->even || (limited && !loop->ragged);
}

/* Whether a limit's form has each value between its least and its greatest. */
static bool is_dense_limit(const struct ff__ptx_extents *extents,
                           const struct extent_limit *limit) {
    struct digit digits[TERMS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < limit->form.count; i++) {
        uint32_t atom = limit->form.terms[i].atom;
        struct range range = extents->ranges[atom];
        if (!is_regular(extents, atom, true))
            return false;
        insert(digits, &count, limit->form.terms[i].factor, (wide)range.high - range.low);
    }
    return covers(digits, count, 1);
}

/* A digit of an address: what one limit says of some of its atoms. */
static bool add_limit(const struct extent_limit *limit, struct form *rest, struct digit *digits,
                      uint32_t *count) {
    struct sum sum = {0, 0};
    int64_t times;
    if (!take_limit(limit, rest, &sum, &times))
        return false;
    insert(digits, count, times, (wide)limit->range.high - limit->range.low);
    return true;
}

enum { SHARED_NONE, SHARED_FORM, SHARED_LIMIT };

/* Whether a limit has atoms of the form, or of limits before it. */
static uint32_t shares(const struct state *state, uint32_t number, const struct form *form) {
    const struct form *limit = &state->limits[number].form;
    uint32_t shared = SHARED_NONE;
    for (uint32_t i = 0; i < limit->count; i++) {
        if (ff__extent_factor(form, limit->terms[i].atom) != 0)
            shared = SHARED_FORM;
        for (uint32_t k = 0; k < number; k++)
            if (!state->limits[k].defines &&
                ff__extent_factor(&state->limits[k].form, limit->terms[i].atom) != 0)
                return SHARED_LIMIT;
    }
    return shared;
}

/* Limits of other atoms must be such that a thread comes here, too. */
bool ff__extent_is_dense(const struct ff__ptx_extents *extents, const struct state *state,
                         const struct form *form) {
    struct digit digits[LIMITS + TERMS];
    struct form rest = *form;
    uint32_t count = 0;
    if (state->lossy)
        return false;
    for (uint32_t i = 0; i < state->limit_count; i++) {
        const struct extent_limit *limit = &state->limits[i];
        if (limit->defines)
            continue;
        uint32_t shared = shares(state, i, form);
        if (shared == SHARED_LIMIT ||
            (shared == SHARED_FORM && !add_limit(limit, &rest, digits, &count)) ||
            !is_dense_limit(extents, limit))
            return false;
    }
    for (uint32_t i = 0; i < rest.count; i++) {
        struct range range = extents->ranges[rest.terms[i].atom];
        if (!is_regular(extents, rest.terms[i].atom, false))
            return false;
        insert(digits, &count, rest.terms[i].factor, (wide)range.high - range.low);
    }
    return covers(digits, count, FF_PAGE_SIZE);
}
