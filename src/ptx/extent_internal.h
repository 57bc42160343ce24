/* The parts of the analysis of extents.
 *
 * An *atom* is a number that a thread has at a place: a component of %tid or %ctaid, the number of
 * the round of a loop, the result of an instruction that is not linear, or what a register is where
 * ways meet on which it differs. A *form* is a constant plus multiples of atoms. Of a register of w
 * bits its value is right modulo 2^w. A *limit* says which values a form has at a place; limits
 * come from branches. */
#ifndef FF_PTX_EXTENT_INTERNAL_H
#define FF_PTX_EXTENT_INTERNAL_H

#include "ptx/arena.h"
#include "ptx/diverge.h"
#include "ptx/extent.h"
#include "ptx/flow.h"
#include <farfault/mask.h>

enum { TID = 0, CTAID = 3, LANE = 6, WARP = 7, FIRST_LOOP = 8 }; /* atoms */

#define TERMS  6u
#define LIMITS 16u

struct form {
    int64_t constant;
    uint32_t count;
    struct {
        uint32_t atom;
        int64_t factor; /* not 0 */
    } terms[TERMS];     /* in the order of the atoms */
};

struct range {
    int64_t low, high; /* both are in it; low > high: empty */
};

/* How the bits of a register are read. */
struct view {
    uint8_t bits; /* 0: a form's value is that of the integers */
    bool is_signed;
};

struct extent_value {
    bool has_form;
    uint32_t base; /* of struct ff__ptx_extent.parameter */
    struct form form;
    struct range range; /* unless it has a form */
};

enum limit_kind {
    LIMIT_PLAIN, /* the form, without its constant, is in the range */
    LIMIT_VIEW,  /* the form, read as the view says, is in the range */
    LIMIT_NOT    /* the form is not 0 modulo 2^bits */
};

struct extent_limit {
    enum limit_kind kind;
    struct view view;
    struct form form;
    struct range range;
    bool defines; /* it says how an atom comes from others, not which threads are here */
};

struct state {
    bool reached;
    bool lossy; /* there was no room for a limit */
    uint32_t limit_count;
    struct extent_limit limits[LIMITS];
    struct extent_value *values; /* of the registers that are written at several places */
};

/* ---- prepared for each kernel ---- */

struct step {
    uint32_t instruction;
    bool writes;     /* registers on which addresses or branches depend */
    uint32_t access; /* its number, or FF__PTX_NONE */
};

struct meeting {
    uint32_t *atoms; /* by number of a register among those written at several places: the atom
                        for it; FF__PTX_NONE: it needs none */
};

struct extent_loop {
    uint32_t header;
    uint32_t atom;     /* its round, from 0 */
    uint64_t *blocks;  /* set */
    bool *written;     /* by number of a register */
    bool even;         /* of this launch: all threads make the same number of rounds */
    bool ragged;       /* of this launch: what is known of its rounds has holes */
    int64_t most;      /* of this launch: the last round's number at most */
    bool *steps_known; /* by number of a register: it grows by ... a round */
    int64_t *steps;
    struct state back; /* of the last sweep, at its ends */
};

enum compare { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL };

struct condition {
    enum { UNSURE, NEVER, ALWAYS, COMPARED, BOTH, EITHER, NEGATED } kind;
    enum compare compare;
    struct view view;
    struct extent_value a, b;
    uint32_t first, second; /* registers; FF__PTX_NONE: none */
};

struct ff__ptx_extents {
    struct ff__ptx_arena *arena;
    const struct ff__ptx_function *function;
    struct ff__ptx_flow flow;
    uint64_t **controls; /* by block: set of 2 * block + way: the ways of branches that lead to
                            it and not to where all their ways meet */
    bool *uneven;    /* by block: ways that meet here, or before, leave threads that no limit tells
                        from others */
    uint32_t *order; /* blocks, reversed post-order */
    uint32_t order_count;
    uint32_t *loop_of;  /* by block: the loop whose header it is, or FF__PTX_NONE */
    bool *loops_around; /* by block: it is in a loop */
    struct extent_loop *loops;
    uint32_t loop_count, depth;
    struct step *steps; /* [first_step[b], first_step[b + 1]) are the block's */
    uint32_t *first_step;
    uint32_t step_count, access_count;
    uint32_t *number_of;  /* by register: among those written at several places, or FF__PTX_NONE */
    uint8_t *number_bits; /* by that number: bits of the register */
    uint32_t number_count;
    struct meeting *joins; /* by block */
    uint32_t *atom_block;  /* by atom: where it is set, or FF__PTX_NONE */
    uint32_t atom_count, first_step_atom;
    bool complete;

    /* ---- of a launch ---- */
    const struct ff__ptx_extent_launch *launch;
    struct range *ranges;         /* by atom */
    struct extent_value *singles; /* by register */
    struct condition *conditions; /* by register */
    struct state *in;             /* by block */
    struct state now, edge, third;
    struct range *entry_ranges; /* by number of a register */
    bool *way_affine;           /* by 2 * block + way: limits say exactly who takes it */
    struct ff__ptx_extent *out; /* NULL: not the last sweep */
};

/* ---- forms: extent_form.c ---- */

struct form ff__extent_constant(int64_t value);
struct form ff__extent_atom(uint32_t atom);
/* False: too many atoms, or numbers that are too large. `out` may be one of the others. */
bool ff__extent_add(const struct form *a, const struct form *b, int64_t factor, struct form *out);
bool ff__extent_multiply(const struct form *a, int64_t factor, struct form *out);
int64_t ff__extent_factor(const struct form *form, uint32_t atom);
bool ff__extent_same(const struct form *a, const struct form *b);
/* All multiples of the atom replaced. */
bool ff__extent_replace(struct form *form, uint32_t atom, const struct form *with);

struct range ff__extent_top(struct view view);
/* A range of a register of so many bits, or all that it can be where that is less. */
struct range ff__extent_fit(struct range range, uint8_t bits);
/* What a form can be in a state; saturated at 64 bits. */
struct range ff__extent_range(const struct ff__ptx_extents *extents, const struct state *state,
                              const struct form *form);
struct range ff__extent_value_range(const struct ff__ptx_extents *extents,
                                    const struct state *state, const struct extent_value *value);
/* The value as it is read: its constant is moved so that all is in the view. False: it is not. */
bool ff__extent_view(const struct ff__ptx_extents *extents, const struct state *state,
                     struct view view, struct extent_value *value);
/* Whether an address in this form comes to each page between its least and greatest value. */
bool ff__extent_is_dense(const struct ff__ptx_extents *extents, const struct state *state,
                         const struct form *form);

/* ---- limits: extent_limit.c ---- */

/* Adds what is known; the state is not reached if that cannot be. */
void ff__extent_limit(const struct ff__ptx_extents *extents, struct state *state,
                      const struct extent_limit *limit);
/* What a branch says; false: not all of it is in limits now. */
bool ff__extent_assume(const struct ff__ptx_extents *extents, struct state *state, uint32_t reg,
                       bool holds);
/* The atom gets a new value: what is known of the old one goes. */
void ff__extent_forget(const struct ff__ptx_extents *extents, struct state *state, uint32_t atom);
/* Adds a way to a block's state; `block` may be FF__PTX_NONE: the ends of a loop. `from` is
 * changed. */
void ff__extent_join(struct ff__ptx_extents *extents, struct state *to, struct state *from,
                     uint32_t block);
void ff__extent_copy(const struct ff__ptx_extents *extents, struct state *to,
                     const struct state *from);

/* ---- loops: extent_loop.c ---- */

/* What holds in each round, from how the loop is entered and how its rounds ended in the last
 * sweep; `entry` becomes the header's state. */
void ff__extent_enter_loop(struct ff__ptx_extents *extents, struct extent_loop *loop,
                           struct state *entry, bool first_sweep);

/* ---- instructions: extent_step.c ---- */

void ff__extent_step(struct ff__ptx_extents *extents, struct state *state, uint32_t number);

#endif
