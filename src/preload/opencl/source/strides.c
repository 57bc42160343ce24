#include "preload/opencl/source/strides.h"

#include "preload/opencl/source/tokens.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX    (256u << 10) /* bytes; ours, as the other limits */
#define NAMES_MAX     64u          /* of scalars of a kernel */
#define ARGUMENTS_MAX 64u
#define DEPTH_MAX     32u /* of an expression */
#define PASSES_MAX    16u /* until what variables hold is known */

/* What a scalar is over a launch. Each may be taken for the next one, but for UNKNOWN, which is all
 * else. */
enum value {
    NOTHING,  /* no assignment has been seen yet */
    NUMBER,   /* one that the source names */
    CONSTANT, /* the same for the whole launch */
    LINE,     /* affine in counters, groups and the IDs of dimensions 1 and 2 */
    UNIT,     /* that, and the ID of dimension 0 times a number */
    APART,    /* that, and the ID of dimension 0 times a CONSTANT */
    UNKNOWN
};

struct scalar {
    const struct ff__token *name;
    enum value value;
    uint32_t inits, assignments; /* in heads of for loops; elsewhere */
};

struct parameter {
    const struct ff__token *name;
    bool is_memory, is_fixed, is_lost; /* an index has, has no fixed stride */
};

struct source_reader {
    const struct ff__token *tokens;
    uint32_t count, open, close; /* tokens; the kernel's body: its brackets */
    struct scalar scalars[NAMES_MAX];
    struct parameter arguments[ARGUMENTS_MAX];
    uint32_t scalar_count, argument_count;
    bool changed, gives_up;
};

static bool is_any(const struct ff__token *token, const char *const *texts) {
    for (; *texts; texts++)
        if (ff__token_is(token, *texts))
            return true;
    return false;
}

/* ---- values ---- */

static enum value larger(enum value a, enum value b) {
    return a > b ? a : b;
}

static enum value product(enum value a, enum value b) {
    enum value less = a < b ? a : b, more = larger(a, b);
    if (less == NOTHING || more == NOTHING)
        return NOTHING;
    if (less > CONSTANT)
        return UNKNOWN;
    return more == UNIT && less == CONSTANT ? APART : more;
}

/* Of any other operation. */
static enum value mixture(enum value a, enum value b) {
    return larger(a, b) <= CONSTANT ? larger(a, b) : UNKNOWN;
}

static enum value combine(const struct ff__token *operation, enum value a, enum value b) {
    if (ff__token_is(operation, "*"))
        return product(a, b);
    if (ff__token_is(operation, "<<"))
        return b <= CONSTANT ? product(a, b) : UNKNOWN;
    if (a == NOTHING || b == NOTHING)
        return NOTHING;
    if (ff__token_is(operation, "+") || ff__token_is(operation, "-"))
        return larger(a, b);
    return mixture(a, b);
}

/* ---- expressions ---- */

struct expression {
    struct source_reader *reader;
    uint32_t at, end, depth;
};

static enum value evaluate(struct expression *expression, uint32_t rank);

#define TIGHTEST 7u /* no operator of two operands */

/* How tightly an operator binds; 0: it is none of these. */
static uint32_t rank_of(const struct ff__token *token) {
    static const char *const by_rank[][5] = {{"|", NULL},      {"^", NULL},
                                             {"&", NULL},      {"<<", ">>", NULL},
                                             {"+", "-", NULL}, {"*", "/", "%", NULL}};
    for (uint32_t i = 0; i < sizeof by_rank / sizeof by_rank[0]; i++)
        if (is_any(token, by_rank[i]))
            return i + 1;
    return 0;
}

static struct scalar *find_scalar(struct source_reader *reader, const struct ff__token *name) {
    for (uint32_t i = 0; i < reader->scalar_count; i++)
        if (ff__tokens_equal(reader->scalars[i].name, name))
            return &reader->scalars[i];
    return NULL;
}

/* A whole expression; anything else behind it, and nothing is known. */
static enum value value_between(struct source_reader *reader, uint32_t from, uint32_t end,
                                uint32_t depth) {
    struct expression expression = {reader, from, end, depth};
    enum value value = evaluate(&expression, 1);
    return expression.at == end ? value : UNKNOWN;
}

static enum value value_of_call(struct expression *expression) {
    static const char *const ids[] = {"get_global_id", "get_local_id", NULL};
    static const char *const groups[] = {"get_group_id", NULL};
    static const char *const sizes[] = {"get_global_size",         "get_local_size",
                                        "get_num_groups",          "get_global_offset",
                                        "get_enqueued_local_size", NULL};
    static const char *const dimensions[] = {"0", "1", "2", NULL};
    const struct ff__token *name = &expression->reader->tokens[expression->at],
                           *dimension = name + 2;
    uint32_t close = name[1].partner;
    bool one = close == expression->at + 3 && is_any(dimension, dimensions);
    if (close <= expression->at || close >= expression->end)
        return UNKNOWN;
    expression->at = close + 1;
    if (one && is_any(name, ids))
        return *dimension->text == '0' ? UNIT : LINE;
    if (one && is_any(name, groups))
        return LINE;
    return one && is_any(name, sizes) ? CONSTANT : UNKNOWN;
}

static enum value value_of_name(struct expression *expression) {
    const struct ff__token *name = &expression->reader->tokens[expression->at];
    if (expression->at + 1 < expression->end && ff__token_is(name + 1, "("))
        return value_of_call(expression);
    const struct scalar *scalar = find_scalar(expression->reader, name);
    expression->at++;
    return scalar ? scalar->value : UNKNOWN;
}

/* Whether the brackets hold a type that an index keeps its value in. */
static bool is_cast(const struct source_reader *reader, uint32_t open, uint32_t close) {
    static const char *const types[] = {"const", "unsigned", "signed",    "int",    "long",
                                        "uint",  "ulong",    "ptrdiff_t", "size_t", NULL};
    for (uint32_t i = open + 1; i < close; i++)
        if (!is_any(&reader->tokens[i], types))
            return false;
    return close > open + 1;
}

static enum value value_in_brackets(struct expression *expression) {
    struct source_reader *reader = expression->reader;
    uint32_t open = expression->at, close = reader->tokens[open].partner;
    if (close <= open || close >= expression->end)
        return UNKNOWN;
    expression->at = close + 1;
    if (is_cast(reader, open, close))
        return evaluate(expression, TIGHTEST);
    return value_between(reader, open + 1, close, expression->depth);
}

static enum value value_of_operand(struct expression *expression) {
    static const char *const signs[] = {"+", "-", NULL};
    const struct ff__token *tokens = expression->reader->tokens;
    while (expression->at < expression->end && is_any(&tokens[expression->at], signs))
        expression->at++;
    if (expression->at >= expression->end)
        return UNKNOWN;
    const struct ff__token *token = &tokens[expression->at];
    if (token->kind == FF__TOKEN_NAME)
        return value_of_name(expression);
    if (ff__token_is(token, "("))
        return value_in_brackets(expression);
    expression->at++;
    return token->kind == FF__TOKEN_WHOLE ? NUMBER : UNKNOWN;
}

/* Operators of this rank and of higher ones. Where something else comes, it stops. */
static enum value evaluate(struct expression *expression, uint32_t rank) {
    const struct ff__token *tokens = expression->reader->tokens;
    if (++expression->depth > DEPTH_MAX)
        return UNKNOWN;
    enum value value = value_of_operand(expression);
    while (expression->at < expression->end) {
        const struct ff__token *operation = &tokens[expression->at];
        uint32_t next = rank_of(operation);
        if (next < rank || next == 0)
            break;
        expression->at++;
        value = combine(operation, value, evaluate(expression, next + 1));
    }
    expression->depth--;
    return value;
}

/* ---- scalars ---- */

static struct scalar *add_scalar(struct source_reader *reader, const struct ff__token *name) {
    struct scalar *scalar = find_scalar(reader, name);
    if (scalar)
        return scalar;
    if (reader->scalar_count == NAMES_MAX) {
        reader->gives_up = true;
        return &reader->scalars[0];
    }
    scalar = &reader->scalars[reader->scalar_count++];
    *scalar = (struct scalar){.name = name};
    return scalar;
}

static void set_value(struct source_reader *reader, struct scalar *scalar, enum value value) {
    if (value <= scalar->value)
        return;
    scalar->value = value;
    reader->changed = true;
}

/* A member of a structure or vector, whatever it is called. */
static bool is_member(const struct ff__token *name) {
    static const char *const marks[] = {".", "->", NULL};
    return is_any(name - 1, marks);
}

/* An operand may come before `&`; what may be a cast is taken for none. */
static bool has_address_taken(const struct ff__token *name) {
    const struct ff__token *before = name - 2;
    return ff__token_is(name - 1, "&") &&
           !(before->kind == FF__TOKEN_NAME || before->kind == FF__TOKEN_WHOLE ||
             ff__token_is(before, "]"));
}

/* Whether the statement that the name is in declares it as something that cannot hold every index.
 */
static bool is_narrow(const struct source_reader *reader, uint32_t name) {
    static const char *const types[] = {"char",   "uchar", "short", "ushort", "bool",
                                        "double", "float", "half",  NULL};
    static const char *const ends[] = {";", "{", "}", NULL};
    for (uint32_t i = name; i > reader->open && !is_any(&reader->tokens[i], ends); i--)
        if (is_any(&reader->tokens[i], types))
            return true;
    return false;
}

/* Where the right side of an assignment ends. */
static uint32_t end_of_value(const struct source_reader *reader, uint32_t from) {
    static const char *const ends[] = {";", ",", ")", "]", "}", NULL};
    uint32_t at = from;
    while (at < reader->close && !is_any(&reader->tokens[at], ends))
        at = reader->tokens[at].partner > at ? reader->tokens[at].partner + 1 : at + 1;
    return at;
}

static bool is_count(const struct ff__token *token) {
    static const char *const counts[] = {"++", "--", NULL};
    return is_any(token, counts);
}

/* Whether the name's value changes here other than by a plain assignment. */
static bool is_changed(const struct ff__token *name) {
    static const char *const changes[] = {
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
    return is_any(name + 1, changes) || is_count(name + 1) || is_count(name - 1);
}

/* By equal steps, in the head of a for loop. */
static bool is_stepped(struct source_reader *reader, uint32_t name) {
    static const char *const steps[] = {"+=", "-=", NULL};
    const struct ff__token *token = &reader->tokens[name];
    if (token->place != FF__PLACE_STEP)
        return false;
    return !is_any(token + 1, steps)
               ? is_count(token + 1) || is_count(token - 1)
               : value_between(reader, name + 2, end_of_value(reader, name + 2), 0) <= CONSTANT;
}

/* Once for each name: what is given up at once. A variable has one assignment, or is that of loops.
 */
static void count_assignment(struct source_reader *reader, uint32_t name) {
    const struct ff__token *token = &reader->tokens[name];
    if (is_member(token))
        return;
    bool lost = ff__token_is(token + 1, "[") || has_address_taken(token);
    bool assigns = ff__token_is(token + 1, "=");
    if (!lost && !assigns && !is_changed(token))
        return;
    struct scalar *scalar = add_scalar(reader, token);
    scalar->inits += assigns && token->place == FF__PLACE_INIT;
    scalar->assignments += assigns && token->place != FF__PLACE_INIT;
    if (lost || scalar->assignments + (scalar->inits > 0) > 1 || is_narrow(reader, name) ||
        (assigns && token->place == FF__PLACE_STEP))
        set_value(reader, scalar, UNKNOWN);
}

static void follow_assignment(struct source_reader *reader, uint32_t name) {
    const struct ff__token *token = &reader->tokens[name];
    struct scalar *scalar = is_member(token) ? NULL : find_scalar(reader, token);
    if (!scalar)
        return;
    if (ff__token_is(token + 1, "="))
        set_value(reader, scalar,
                  value_between(reader, name + 2, end_of_value(reader, name + 2), 0));
    else if (is_changed(token))
        set_value(reader, scalar, is_stepped(reader, name) ? LINE : UNKNOWN);
}

static void for_each_name(struct source_reader *reader,
                          void (*visit)(struct source_reader *, uint32_t)) {
    for (uint32_t i = reader->open + 1; i < reader->close; i++)
        if (reader->tokens[i].kind == FF__TOKEN_NAME)
            visit(reader, i);
}

static void find_values(struct source_reader *reader) {
    for_each_name(reader, count_assignment);
    reader->changed = true;
    for (uint32_t i = 0; i < PASSES_MAX && reader->changed; i++) {
        reader->changed = false;
        for_each_name(reader, follow_assignment);
    }
    reader->gives_up |= reader->changed;
}

/* ---- memory ---- */

static struct parameter *find_memory(struct source_reader *reader, const struct ff__token *name) {
    for (uint32_t i = 0; i < reader->argument_count; i++) {
        struct parameter *argument = &reader->arguments[i];
        if (argument->is_memory && ff__tokens_equal(argument->name, name))
            return argument;
    }
    return NULL;
}

/* Of what is used of it, no more may be an array. */
static bool has_more_brackets(const struct source_reader *reader, uint32_t close) {
    const struct ff__token *next = &reader->tokens[close + 1];
    bool member = ff__token_is(next, ".") && close + 3 < reader->close;
    return ff__token_is(next, "[") || ff__token_is(next, "->") ||
           (member && ff__token_is(next + 2, "["));
}

static void note_use(struct source_reader *reader, uint32_t name) {
    const struct ff__token *token = &reader->tokens[name];
    struct parameter *argument = is_member(token) ? NULL : find_memory(reader, token);
    if (!argument)
        return;
    uint32_t close = ff__token_is(token + 1, "[") ? token[1].partner : 0;
    enum value index = close > name ? value_between(reader, name + 2, close, 0) : UNKNOWN;
    argument->is_fixed |= index == LINE || index == UNIT;
    argument->is_lost |= index == NOTHING || index > UNIT || has_address_taken(token) ||
                         has_more_brackets(reader, close);
}

/* ---- kernels ---- */

/* "TYPE NAME" or "TYPE *NAME", from its first token to the one after its last. */
static void add_argument(struct source_reader *reader, uint32_t from, uint32_t end) {
    struct parameter argument = {NULL, false, false, false};
    for (uint32_t i = from; i < end; i++) {
        const struct ff__token *token = &reader->tokens[i];
        if (token->kind == FF__TOKEN_NAME)
            argument.name = token;
        else if (!ff__token_is(token, "*"))
            reader->gives_up = true;
        argument.is_memory |= ff__token_is(token, "*");
    }
    if (!argument.name || reader->argument_count == ARGUMENTS_MAX) {
        reader->gives_up = true;
        return;
    }
    reader->arguments[reader->argument_count++] = argument;
    if (argument.is_memory)
        return;
    struct scalar *scalar = add_scalar(reader, argument.name);
    scalar->value = CONSTANT;
    scalar->assignments = 1;
}

static void read_arguments(struct source_reader *reader, uint32_t open) {
    uint32_t close = reader->tokens[open].partner, from = open + 1;
    for (uint32_t i = open + 1; i <= close && close > open + 1; i++)
        if (i == close || ff__token_is(&reader->tokens[i], ",")) {
            add_argument(reader, from, i);
            from = i + 1;
        }
}

/* Whether the kernel begins at the token: the name of a function that is no call. Sets where its
 * body is. */
static bool is_kernel(struct source_reader *reader, uint32_t at, const char *name) {
    const struct ff__token *token = &reader->tokens[at];
    if (at == 0 || !ff__token_is(token, name) || !ff__token_is(token - 1, "void") ||
        !ff__token_is(token + 1, "(") || token[1].partner == 0)
        return false;
    reader->open = token[1].partner + 1;
    reader->close = reader->tokens[reader->open].partner;
    return ff__token_is(&reader->tokens[reader->open], "{") && reader->close > reader->open;
}

/* Macros can be anything. */
static bool uses_macros(const struct source_reader *reader, uint32_t from) {
    for (uint32_t i = 0; i < reader->count; i++)
        for (uint32_t j = from; reader->tokens[i].kind == FF__TOKEN_MACRO && j < reader->close; j++)
            if (ff__tokens_equal(&reader->tokens[i], &reader->tokens[j]))
                return true;
    return false;
}

static void read_kernel(struct source_reader *reader, uint32_t at) {
    read_arguments(reader, at + 1);
    reader->gives_up |= uses_macros(reader, at);
    if (!reader->gives_up)
        find_values(reader);
    if (!reader->gives_up)
        for_each_name(reader, note_use);
}

static void read_source(struct source_reader *reader, const char *kernel, bool *fixed,
                        uint32_t count) {
    uint32_t at = 0;
    while (at < reader->count && !is_kernel(reader, at, kernel))
        at++;
    if (at == reader->count)
        return;
    read_kernel(reader, at);
    for (uint32_t i = 0; !reader->gives_up && i < count && reader->argument_count == count; i++)
        fixed[i] = reader->arguments[i].is_fixed && !reader->arguments[i].is_lost;
}

void ff__strides_read(const char *source, size_t length, const char *kernel, bool *fixed,
                      uint32_t count) {
    struct source_reader *reader = length <= SOURCE_MAX ? calloc(1, sizeof *reader) : NULL;
    struct ff__token *tokens;
    memset(fixed, 0, count * sizeof *fixed);
    if (reader && ff__tokens_read(source, length, &tokens, &reader->count) == 0) {
        reader->tokens = tokens;
        read_source(reader, kernel, fixed, count);
        free(tokens);
    }
    free(reader);
}
