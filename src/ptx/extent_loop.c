/* Loops: registers that grow by the same number in each round, and how many rounds there are.
 *
 * In the first sweep nothing is known of what a loop writes. How its rounds ended then tells which
 * registers grow evenly, and which limits end the loop; the next sweeps use that, and each finds as
 * much or more. */
#include "ptx/extent_internal.h"

#define SMALLEST INT64_MIN
#define LARGEST  INT64_MAX

typedef __int128 wide;

static int64_t clamp(wide value) {
    return value < SMALLEST ? SMALLEST : value > LARGEST ? LARGEST : (int64_t)value;
}

static struct range hull(struct range a, struct range b) {
    return (struct range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static uint32_t meeting_atom(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                             uint32_t n) {
    const uint32_t *atoms = extents->joins[loop->header].atoms;
    return atoms == NULL ? FF__PTX_NONE : atoms[n];
}

/* No round changes what it is. */
static bool is_invariant(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                         const struct form *form) {
    for (uint32_t i = 0; i < form->count; i++) {
        uint32_t block = extents->atom_block[form->terms[i].atom];
        if (block != FF__PTX_NONE && ff__ptx_in(loop->blocks, block))
            return false;
    }
    return true;
}

/* ---- registers ---- */

static void find_step(struct extent_loop *loop, const struct state *entry, uint32_t n,
                      uint32_t atom) {
    const struct extent_value *back = &loop->back.values[n];
    if (!loop->steps_known[n] && entry->values[n].has_form && back->has_form &&
        back->form.count == 1 && back->form.terms[0].atom == atom &&
        back->form.terms[0].factor == 1) {
        loop->steps_known[n] = true;
        loop->steps[n] = back->form.constant;
    }
}

/* What a register is at the start of a round. */
static struct form form_of_round(const struct extent_loop *loop, const struct form *entry,
                                 uint32_t n, bool *fits) {
    struct form round = ff__extent_atom(loop->atom), form = *entry;
    *fits = loop->steps_known[n] && ff__extent_add(entry, &round, loop->steps[n], &form);
    return form;
}

static struct range grown(struct range range, int64_t step, int64_t rounds) {
    wide most = (wide)step * rounds;
    return (struct range){clamp((wide)range.low + (most < 0 ? most : 0)),
                          clamp((wide)range.high + (most > 0 ? most : 0))};
}

static void set_value(struct ff__ptx_extents *extents, const struct extent_loop *loop,
                      struct state *state, const struct range *entry_ranges, uint32_t n) {
    struct extent_value *value = &state->values[n];
    const struct extent_value *back = &loop->back.values[n];
    uint32_t atom = meeting_atom(extents, loop, n);
    bool fits = false;
    struct form form;
    if (value->has_form) {
        form = form_of_round(loop, &value->form, n, &fits);
        if (fits)
            value->form = form;
    }
    if (fits)
        return;
    struct range range = loop->steps_known[n] ? grown(entry_ranges[n], loop->steps[n], loop->most)
                                              : hull(entry_ranges[n], back->range);
    if (!loop->steps_known[n] && back->base != value->base)
        value->base = FF__PTX_NO_PARAMETER;
    value->range = ff__extent_fit(range, extents->number_bits[n]);
    value->has_form = atom != FF__PTX_NONE;
    if (!value->has_form)
        return;
    value->form = ff__extent_atom(atom);
    extents->ranges[atom] = value->range;
}

/* ---- limits ---- */

/* Of the round that ended, as one of the next round: its number is one less. */
static bool of_next_round(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                          const struct state *entry, struct extent_limit *limit) {
    struct form before = ff__extent_atom(loop->atom);
    for (uint32_t n = 0; n < extents->number_count; n++) {
        uint32_t atom = meeting_atom(extents, loop, n);
        bool fits;
        if (!loop->written[n] || atom == FF__PTX_NONE || ff__extent_factor(&limit->form, atom) == 0)
            continue;
        if (!entry->values[n].has_form)
            return false;
        struct form form = form_of_round(loop, &entry->values[n].form, n, &fits);
        if (!fits || !ff__extent_replace(&limit->form, atom, &form))
            return false;
    }
    before.constant = -1;
    return ff__extent_replace(&limit->form, loop->atom, &before);
}

/* It grows by `step` a round, from `first`, and is no multiple of 2^bits at a round's start: so it
 * stays between two of them that it could not pass without being one. */
static bool resolve_not(struct extent_limit *limit, struct form *rest, struct range first,
                        int64_t step) {
    wide unit = (wide)1 << limit->view.bits;
    int64_t size = step < 0 ? -step : step;
    wide below = (wide)first.low;
    below = below >= 0 ? below / unit : -((-below + unit - 1) / unit);
    below *= unit;
    if (first.low == SMALLEST || first.high == LARGEST || first.low == below ||
        first.high >= below + unit)
        return false;
    wide end = step > 0 ? below + unit : below;
    if (((wide)rest->constant - end) % size != 0)
        return false;
    for (uint32_t i = 0; i < rest->count; i++)
        if (rest->terms[i].factor % size != 0)
            return false;
    limit->range = step > 0 ? (struct range){first.low, clamp(end - size)}
                            : (struct range){clamp(end + size), first.high};
    return true;
}

/* What ends the loop comes before it passes the view's end. */
static bool resolve_view(struct extent_limit *limit, struct range first, int64_t step) {
    struct range top = ff__extent_top(limit->view), range = limit->range;
    if (first.low < top.low || first.high > top.high)
        return false;
    wide high = first.high > range.high ? first.high : range.high;
    wide low = first.low < range.low ? first.low : range.low;
    if (step > 0 ? high + step > top.high : low + step < top.low)
        return false;
    limit->range =
        step > 0 ? (struct range){first.low, range.high} : (struct range){range.low, first.high};
    return true;
}

/* What is known of `first`, the form before the first round, and of its steps. */
struct course {
    struct form rest;
    struct range first;
    int64_t step;
};

static bool find_course(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                        const struct state *entry, const struct extent_limit *limit,
                        struct course *out) {
    const struct form zero = {0};
    out->step = ff__extent_factor(&limit->form, loop->atom);
    out->rest = limit->form;
    if (!ff__extent_replace(&out->rest, loop->atom, &zero) ||
        !is_invariant(extents, loop, &out->rest))
        return false;
    out->first = ff__extent_range(extents, entry, &out->rest);
    return true;
}

static bool resolve(struct extent_limit *limit, struct course *course) {
    if (limit->kind == LIMIT_PLAIN)
        return true;
    if (course->step == 0 || course->step == SMALLEST)
        return false;
    bool resolved = limit->kind == LIMIT_NOT
                        ? resolve_not(limit, &course->rest, course->first, course->step)
                        : resolve_view(limit, course->first, course->step);
    limit->kind = LIMIT_PLAIN;
    return resolved;
}

/* How often at most the loop has come back. */
static void count_rounds(struct extent_loop *loop, const struct extent_limit *limit,
                         const struct course *course) {
    wide most;
    if (course->step > 0 && limit->range.high != LARGEST && course->first.low != SMALLEST)
        most = ((wide)limit->range.high - course->first.low) / course->step;
    else if (course->step < 0 && limit->range.low != SMALLEST && course->first.high != LARGEST)
        most = ((wide)course->first.high - limit->range.low) / -(wide)course->step;
    else
        return;
    most = most < 0 ? 0 : most;
    if (most < loop->most || (most == loop->most && course->rest.count == 0)) {
        loop->most = (int64_t)most;
        loop->even = course->rest.count == 0;
    }
}

/* Before the first round it may be outside of what holds at each later round's start. */
static void widen(struct extent_loop *loop, struct extent_limit *limit,
                  const struct course *course) {
    if (course->step > 0 ? course->first.high > limit->range.high
                         : course->first.low < limit->range.low)
        loop->ragged = true;
    limit->range = hull(limit->range, course->first);
}

static uint32_t find_limits(const struct ff__ptx_extents *extents, struct extent_loop *loop,
                            const struct state *entry, struct extent_limit *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < loop->back.limit_count; i++) {
        struct extent_limit limit = loop->back.limits[i];
        struct course course;
        if (!of_next_round(extents, loop, entry, &limit) ||
            !find_course(extents, loop, entry, &limit, &course) || !resolve(&limit, &course))
            continue;
        count_rounds(loop, &limit, &course);
        widen(loop, &limit, &course);
        out[count++] = limit;
    }
    return count;
}

static void keep_invariant(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                           struct state *state) {
    for (uint32_t i = state->limit_count; i-- > 0;)
        if (!is_invariant(extents, loop, &state->limits[i].form))
            state->limits[i] = state->limits[--state->limit_count];
}

/* ---- headers ---- */

/* All that the loop writes may be anything. */
static void set_unknown(struct ff__ptx_extents *extents, const struct extent_loop *loop,
                        struct state *state) {
    for (uint32_t n = 0; n < extents->number_count; n++) {
        uint32_t atom = meeting_atom(extents, loop, n);
        struct extent_value *value = &state->values[n];
        if (!loop->written[n])
            continue;
        value->base = FF__PTX_NO_PARAMETER;
        value->has_form = atom != FF__PTX_NONE;
        value->range = ff__extent_top((struct view){extents->number_bits[n], true});
        if (!value->has_form)
            continue;
        value->form = ff__extent_atom(atom);
        extents->ranges[atom] = value->range;
    }
}

/* Where several ways lead into the loop, its registers' atoms stand for what they are at first;
 * from now on for what they are in each round. */
static void forget_entries(const struct ff__ptx_extents *extents, const struct extent_loop *loop,
                           struct state *entry) {
    for (uint32_t n = 0; n < extents->number_count; n++) {
        uint32_t atom = meeting_atom(extents, loop, n);
        if (atom != FF__PTX_NONE && loop->written[n])
            ff__extent_forget(extents, entry, atom);
    }
}

void ff__extent_enter_loop(struct ff__ptx_extents *extents, struct extent_loop *loop,
                           struct state *entry, bool first_sweep) {
    struct extent_limit limits[LIMITS];
    struct range *ranges = extents->entry_ranges;
    if (!entry->reached)
        return;
    forget_entries(extents, loop, entry);
    if (first_sweep) {
        set_unknown(extents, loop, entry);
        keep_invariant(extents, loop, entry);
        return;
    }
    if (!loop->back.reached) {
        extents->ranges[loop->atom] = (struct range){0, 0};
        loop->most = 0;
        loop->even = true;
        return;
    }
    for (uint32_t n = 0; n < extents->number_count; n++) {
        uint32_t atom = meeting_atom(extents, loop, n);
        if (atom != FF__PTX_NONE && loop->written[n])
            find_step(loop, entry, n, atom);
    }
    loop->ragged = false;
    uint32_t count = find_limits(extents, loop, entry, limits);
    extents->ranges[loop->atom] = (struct range){0, loop->most};
    for (uint32_t n = 0; n < extents->number_count; n++)
        ranges[n] = ff__extent_value_range(extents, entry, &entry->values[n]);
    keep_invariant(extents, loop, entry);
    for (uint32_t n = 0; n < extents->number_count; n++)
        if (loop->written[n])
            set_value(extents, loop, entry, ranges, n);
    for (uint32_t i = 0; i < count; i++)
        ff__extent_limit(extents, entry, &limits[i]);
    loop->back.reached = false;
}
