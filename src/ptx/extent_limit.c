/* Limits: what branches say of forms, and what is left where ways meet. */
#include "ptx/extent_internal.h"

#include <string.h>

#define SMALLEST INT64_MIN
#define LARGEST  INT64_MAX

typedef __int128 wide;

static int64_t clamp(wide value) {
    return value < SMALLEST ? SMALLEST : value > LARGEST ? LARGEST : (int64_t)value;
}

static struct range hull(struct range a, struct range b) {
    return (struct range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* ---- adding ---- */

/* The ends that are not bounded stay so. */
static struct range moved(struct range range, int64_t by) {
    return (struct range){range.low == SMALLEST ? SMALLEST : clamp((wide)range.low + by),
                          range.high == LARGEST ? LARGEST : clamp((wide)range.high + by)};
}

static int64_t common_factor(const struct form *form) {
    uint64_t a = 0;
    for (uint32_t i = 0; i < form->count; i++) {
        int64_t factor = form->terms[i].factor;
        uint64_t b = factor < 0 ? -(uint64_t)factor : (uint64_t)factor;
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
    }
    return a > LARGEST ? 1 : (int64_t)a;
}

static int64_t floor_of(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Without the constant, the factors without a common one, the first one positive. */
static bool normalize(struct extent_limit *limit) {
    struct form *form = &limit->form;
    struct range range = limit->range;
    if (form->constant == SMALLEST)
        return false;
    range = moved(range, -form->constant);
    form->constant = 0;
    int64_t unit = common_factor(form);
    for (uint32_t i = 0; i < form->count; i++)
        form->terms[i].factor /= unit;
    if (range.low != SMALLEST)
        range.low = -floor_of(-range.low, unit);
    if (range.high != LARGEST)
        range.high = floor_of(range.high, unit);
    if (form->terms[0].factor < 0) {
        if (!ff__extent_multiply(form, -1, form))
            return false;
        range = (struct range){range.high == LARGEST ? SMALLEST : -range.high,
                               range.low == SMALLEST ? LARGEST : -range.low};
    }
    limit->range = range;
    return true;
}

static struct extent_limit *find(struct state *state, const struct extent_limit *limit) {
    for (uint32_t i = 0; i < state->limit_count; i++)
        if (state->limits[i].kind == limit->kind &&
            state->limits[i].view.bits == limit->view.bits &&
            ff__extent_same(&state->limits[i].form, &limit->form))
            return &state->limits[i];
    return NULL;
}

static void add_plain(const struct ff__ptx_extents *extents, struct state *state,
                      struct extent_limit limit) {
    limit.kind = LIMIT_PLAIN;
    limit.view = (struct view){0, false};
    if (limit.form.count == 0) {
        if (limit.form.constant < limit.range.low || limit.form.constant > limit.range.high)
            state->reached = false;
        return;
    }
    if (!normalize(&limit)) {
        state->lossy = true;
        return;
    }
    struct range before = ff__extent_range(extents, state, &limit.form);
    struct range now = {limit.range.low > before.low ? limit.range.low : before.low,
                        limit.range.high < before.high ? limit.range.high : before.high};
    if (now.low > now.high)
        state->reached = false;
    if (now.low == before.low && now.high == before.high)
        return;
    limit.range = now;
    struct extent_limit *known = find(state, &limit);
    if (known != NULL)
        limit.defines &= known->defines;
    else if (state->limit_count < LIMITS)
        known = &state->limits[state->limit_count++];
    if (known != NULL)
        *known = limit;
    else
        state->lossy = true;
}

static void keep(struct state *state, const struct extent_limit *limit) {
    if (find(state, limit) == NULL && state->limit_count < LIMITS)
        state->limits[state->limit_count++] = *limit;
}

/* Of 64 bits: what is less than 2^63 is that also as a signed number. */
static void add_long_view(const struct ff__ptx_extents *extents, struct state *state,
                          const struct extent_limit *limit) {
    const struct form *form = &limit->form;
    struct range range = ff__extent_range(extents, state, form);
    bool whole = range.low > SMALLEST && range.high < LARGEST;
    bool bare = form->count == 1 && form->terms[0].factor == 1 && form->constant == 0;
    if (!limit->view.is_signed && limit->range.high == LARGEST && range.low < 0)
        return;
    if (whole || bare)
        add_plain(extents, state, *limit);
    else
        keep(state, limit);
}

static void add_view(const struct ff__ptx_extents *extents, struct state *state,
                     const struct extent_limit *limit) {
    if (limit->view.bits >= 64) {
        add_long_view(extents, state, limit);
        return;
    }
    struct range range = ff__extent_range(extents, state, &limit->form);
    wide unit = (wide)1 << limit->view.bits;
    wide first = (wide)range.low - limit->range.high, last = (wide)range.high - limit->range.low;
    first = first >= 0 ? (first + unit - 1) / unit : -(-first / unit);
    last = last >= 0 ? last / unit : -((-last + unit - 1) / unit);
    if (first > last) {
        state->reached = false;
    } else if (first == last) {
        struct extent_limit plain = *limit;
        plain.range = (struct range){clamp(limit->range.low + first * unit),
                                     clamp(limit->range.high + first * unit)};
        add_plain(extents, state, plain);
    } else {
        struct range top = ff__extent_top(limit->view);
        if (limit->range.low > top.low || limit->range.high < top.high)
            keep(state, limit);
    }
}

static bool is_zero(int64_t value, uint8_t bits) {
    return bits >= 64 ? value == 0 : (value & (((int64_t)1 << bits) - 1)) == 0;
}

static void add_not(struct state *state, const struct extent_limit *limit) {
    if (limit->form.count != 0)
        keep(state, limit);
    else if (is_zero(limit->form.constant, limit->view.bits))
        state->reached = false;
}

void ff__extent_limit(const struct ff__ptx_extents *extents, struct state *state,
                      const struct extent_limit *limit) {
    if (limit->kind == LIMIT_NOT)
        add_not(state, limit);
    else if (limit->range.low > limit->range.high)
        state->reached = false;
    else if (limit->kind == LIMIT_PLAIN)
        add_plain(extents, state, *limit);
    else
        add_view(extents, state, limit);
}

/* ---- branches ---- */

struct sides {
    struct extent_value a, b; /* as they are read, if they can be */
    struct range a_range, b_range;
    bool a_seen, b_seen;
};

static struct range seen_range(const struct ff__ptx_extents *extents, const struct state *state,
                               struct view view, struct extent_value *value, bool *seen) {
    *seen = ff__extent_view(extents, state, view, value);
    return *seen ? ff__extent_value_range(extents, state, value) : ff__extent_top(view);
}

static void bound(const struct ff__ptx_extents *extents, struct state *state, struct view view,
                  const struct extent_value *value, bool seen, int64_t low, int64_t high) {
    const struct extent_limit limit = {.kind = seen ? LIMIT_PLAIN : LIMIT_VIEW,
                                       .view = view,
                                       .form = value->form,
                                       .range = {low, high}};
    if (state->reached && value->has_form)
        ff__extent_limit(extents, state, &limit);
}

/* a <= b - `less`. */
static bool assume_less(const struct ff__ptx_extents *extents, struct state *state,
                        struct view view, const struct sides *sides, int64_t less) {
    struct range top = ff__extent_top(view);
    struct extent_limit both = {.kind = LIMIT_PLAIN, .range = {SMALLEST, -less}};
    int64_t most = sides->b_seen ? clamp((wide)sides->b_range.high - less) : top.high;
    int64_t least = sides->a_seen ? clamp((wide)sides->a_range.low + less) : top.low;
    bound(extents, state, view, &sides->a, sides->a_seen, top.low, most);
    bound(extents, state, view, &sides->b, sides->b_seen, least, top.high);
    if (!sides->a_seen || !sides->b_seen || !sides->a.has_form || !sides->b.has_form ||
        !ff__extent_add(&sides->a.form, &sides->b.form, -1, &both.form))
        return false;
    if (state->reached)
        ff__extent_limit(extents, state, &both);
    return true;
}

static bool assume_equal(const struct ff__ptx_extents *extents, struct state *state,
                         struct view view, const struct sides *sides) {
    struct extent_limit both = {.kind = LIMIT_PLAIN, .range = {0, 0}};
    bound(extents, state, view, &sides->a, sides->a_seen, sides->b_range.low, sides->b_range.high);
    bound(extents, state, view, &sides->b, sides->b_seen, sides->a_range.low, sides->a_range.high);
    if (!sides->a_seen || !sides->b_seen || !sides->a.has_form || !sides->b.has_form ||
        !ff__extent_add(&sides->a.form, &sides->b.form, -1, &both.form))
        return false;
    if (state->reached)
        ff__extent_limit(extents, state, &both);
    return true;
}

/* Of a value that is not one of its ends, that end goes. */
static bool trim(const struct ff__ptx_extents *extents, struct state *state, struct view view,
                 const struct extent_value *value, struct range range, int64_t not ) {
    if (not == range.low)
        bound(extents, state, view, value, true, clamp((wide)range.low + 1), range.high);
    else if (not == range.high)
        bound(extents, state, view, value, true, range.low, clamp((wide)range.high - 1));
    else
        return not < range.low || not > range.high;
    return true;
}

static bool assume_not_equal(const struct ff__ptx_extents *extents, struct state *state,
                             const struct condition *condition, const struct sides *sides) {
    struct extent_limit apart = {.kind = LIMIT_NOT, .view = condition->view};
    bool exact = false;
    if (condition->a.has_form && condition->b.has_form &&
        ff__extent_add(&condition->a.form, &condition->b.form, -1, &apart.form))
        ff__extent_limit(extents, state, &apart);
    if (!sides->a_seen || !sides->b_seen)
        return false;
    if (sides->b_range.low == sides->b_range.high)
        exact =
            trim(extents, state, condition->view, &sides->a, sides->a_range, sides->b_range.low);
    else if (sides->a_range.low == sides->a_range.high)
        exact =
            trim(extents, state, condition->view, &sides->b, sides->b_range, sides->a_range.low);
    return exact;
}

/* Whether it is a number of threads, blocks and rounds alone. */
static bool is_regular(const struct ff__ptx_extents *extents, const struct extent_value *value) {
    for (uint32_t i = 0; i < value->form.count; i++) {
        uint32_t atom = value->form.terms[i].atom;
        if (atom >= LANE && (atom < FIRST_LOOP || atom >= extents->first_step_atom))
            return false;
    }
    return value->has_form;
}

static bool assume_sides(const struct ff__ptx_extents *extents, struct state *state,
                         const struct condition *condition, bool holds) {
    static const enum compare opposite[] = {
        [LESS] = GREATER_EQUAL, [LESS_EQUAL] = GREATER, [GREATER] = LESS_EQUAL,
        [GREATER_EQUAL] = LESS, [EQUAL] = NOT_EQUAL,    [NOT_EQUAL] = EQUAL};
    enum compare compare = holds ? condition->compare : opposite[condition->compare];
    struct sides sides = {.a = condition->a, .b = condition->b};
    bool swap = compare == GREATER || compare == GREATER_EQUAL;
    if (swap) {
        sides.a = condition->b;
        sides.b = condition->a;
    }
    sides.a_range = seen_range(extents, state, condition->view, &sides.a, &sides.a_seen);
    sides.b_range = seen_range(extents, state, condition->view, &sides.b, &sides.b_seen);
    if (compare == EQUAL)
        return assume_equal(extents, state, condition->view, &sides);
    if (compare == NOT_EQUAL)
        return assume_not_equal(extents, state, condition, &sides);
    return assume_less(extents, state, condition->view, &sides,
                       compare == LESS || compare == GREATER);
}

static bool assume_compared(const struct ff__ptx_extents *extents, struct state *state,
                            const struct condition *condition, bool holds) {
    bool regular = is_regular(extents, &condition->a) && is_regular(extents, &condition->b);
    return assume_sides(extents, state, condition, holds) && regular;
}

static bool assume_part(const struct ff__ptx_extents *extents, struct state *state,
                        const struct condition *condition, uint32_t reg, bool holds) {
    return reg == FF__PTX_NONE ? assume_compared(extents, state, condition, holds)
                               : ff__extent_assume(extents, state, reg, holds);
}

bool ff__extent_assume(const struct ff__ptx_extents *extents, struct state *state, uint32_t reg,
                       bool holds) {
    const struct condition *condition = &extents->conditions[reg];
    switch (condition->kind) {
    case NEVER:
    case ALWAYS:
        state->reached &= holds == (condition->kind == ALWAYS);
        return true;
    case COMPARED:
        return assume_compared(extents, state, condition, holds);
    case NEGATED:
        return ff__extent_assume(extents, state, condition->first, !holds);
    case BOTH:
    case EITHER:
        if (holds == (condition->kind == BOTH)) {
            bool first = assume_part(extents, state, condition, condition->first, holds);
            bool second = assume_part(extents, state, condition, condition->second, holds);
            return first && second;
        }
        return false;
    default:
        return false;
    }
}

/* ---- ways that meet ---- */

void ff__extent_copy(const struct ff__ptx_extents *extents, struct state *to,
                     const struct state *from) {
    to->reached = from->reached;
    to->lossy = from->lossy;
    to->limit_count = from->limit_count;
    memcpy(to->limits, from->limits, from->limit_count * sizeof *from->limits);
    memcpy(to->values, from->values, extents->number_count * sizeof *from->values);
}

void ff__extent_forget(const struct ff__ptx_extents *extents, struct state *state, uint32_t atom) {
    for (uint32_t n = 0; n < extents->number_count; n++) {
        struct extent_value *value = &state->values[n];
        if (!value->has_form || ff__extent_factor(&value->form, atom) == 0)
            continue;
        value->range = ff__extent_range(extents, state, &value->form);
        value->has_form = false;
    }
    for (uint32_t i = state->limit_count; i-- > 0;)
        if (ff__extent_factor(&state->limits[i].form, atom) != 0)
            state->limits[i] = state->limits[--state->limit_count];
}

static void forget_meeting(const struct ff__ptx_extents *extents, struct state *state,
                           uint32_t block) {
    if (block == FF__PTX_NONE || !extents->loops_around[block])
        return;
    for (uint32_t n = 0; n < extents->number_count; n++)
        if (extents->joins[block].atoms != NULL && extents->joins[block].atoms[n] != FF__PTX_NONE)
            ff__extent_forget(extents, state, extents->joins[block].atoms[n]);
}

/* What holds of a limit's form on either way. */
static void join_limit(const struct ff__ptx_extents *extents, struct state *joined,
                       const struct extent_limit *limit, const struct state *other) {
    const struct state nothing = {0};
    struct extent_limit both = *limit;
    if (limit->kind != LIMIT_PLAIN) {
        struct extent_limit *same = find((struct state *)(uintptr_t)other, limit);
        if (same != NULL && same->range.low == limit->range.low &&
            same->range.high == limit->range.high)
            keep(joined, limit);
        return;
    }
    if (find(joined, limit) != NULL)
        return;
    both.range = hull(limit->range, ff__extent_range(extents, other, &limit->form));
    struct range all = ff__extent_range(extents, &nothing, &limit->form);
    if ((both.range.low > all.low || both.range.high < all.high) && joined->limit_count < LIMITS)
        joined->limits[joined->limit_count++] = both;
}

static void join_value(struct ff__ptx_extents *extents, const struct state *to_state,
                       const struct state *from_state, uint32_t n, uint32_t atom) {
    struct extent_value *to = &to_state->values[n];
    const struct extent_value *from = &from_state->values[n];
    if (to->base != from->base)
        to->base = FF__PTX_NO_PARAMETER;
    bool same = to->has_form && from->has_form && ff__extent_same(&to->form, &from->form);
    bool own = atom != FF__PTX_NONE && to->has_form && to->form.count == 1 &&
               to->form.constant == 0 && to->form.terms[0].atom == atom;
    if (same && !own)
        return;
    struct range first =
        own ? extents->ranges[atom] : ff__extent_value_range(extents, to_state, to);
    struct range both = hull(first, ff__extent_value_range(extents, from_state, from));
    both = ff__extent_fit(both, extents->number_bits[n]);
    to->has_form = atom != FF__PTX_NONE;
    to->range = both;
    if (atom == FF__PTX_NONE)
        return;
    to->form = ff__extent_atom(atom);
    extents->ranges[atom] = both;
}

static void join_end(const struct ff__ptx_extents *extents, const struct state *to,
                     const struct state *from, uint32_t n) {
    struct extent_value *value = &to->values[n];
    bool same = value->has_form && from->values[n].has_form &&
                ff__extent_same(&value->form, &from->values[n].form);
    value->range = hull(ff__extent_value_range(extents, to, value),
                        ff__extent_value_range(extents, from, &from->values[n]));
    value->has_form = same;
    if (value->base != from->values[n].base)
        value->base = FF__PTX_NO_PARAMETER;
}

void ff__extent_join(struct ff__ptx_extents *extents, struct state *to, struct state *from,
                     uint32_t block) {
    if (!from->reached)
        return;
    forget_meeting(extents, from, block);
    if (!to->reached) {
        ff__extent_copy(extents, to, from);
        return;
    }
    struct state *joined = &extents->third;
    joined->limit_count = 0;
    for (uint32_t i = 0; i < to->limit_count; i++)
        join_limit(extents, joined, &to->limits[i], from);
    for (uint32_t i = 0; i < from->limit_count; i++)
        join_limit(extents, joined, &from->limits[i], to);
    for (uint32_t n = 0; n < extents->number_count; n++)
        if (block == FF__PTX_NONE)
            join_end(extents, to, from, n);
        else
            join_value(extents, to, from, n,
                       extents->joins[block].atoms == NULL ? FF__PTX_NONE
                                                           : extents->joins[block].atoms[n]);
    to->lossy |= from->lossy;
    to->limit_count = joined->limit_count;
    memcpy(to->limits, joined->limits, joined->limit_count * sizeof *joined->limits);
}
