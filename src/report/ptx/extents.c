#include "report/ptx/extents.h"

#include "base/random.h"
#include "ptx/ptx.h"
#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLES 12u /* of a kernel with more, nothing is said */
#define GRID      3u  /* the first of them */
#define CHECKS    8u
#define GRID_LOW  16u /* blocks each way: more threads than an argument is large */
#define LOW       32
#define SPREAD    64u
#define POINTER   (UINT64_C(1) << 40) /* between two arguments, more than a kernel goes */

static const char *const grid_names[GRID] = {"gridDim.x", "gridDim.y", "gridDim.z"};

struct extent_fit {
    const struct ff__ptx_function *function;
    struct ff__ptx_extents *extents;
    uint32_t accesses;
    uint32_t count;               /* of the variables */
    uint32_t argument[VARIABLES]; /* that a variable behind the grid's is */
    bool *is_pointer;             /* by argument */
    uint8_t *parameters;
};

struct polynomial {
    int64_t constant, linear[VARIABLES], square[VARIABLES][VARIABLES]; /* [i][j], i <= j */
};

/* ---- asking ---- */

static uint64_t pointer_of(uint32_t argument) {
    return (argument + 1) * POINTER;
}

static void set_argument(struct extent_fit *fit, uint32_t argument, uint64_t value) {
    const struct ff__ptx_variable *what = &fit->function->parameters[argument];
    size_t size = what->size < sizeof value ? what->size : sizeof value;
    memcpy(fit->parameters + fit->function->parameter_offsets[argument], &value, size);
}

static void ask(struct extent_fit *fit, const int64_t *point, struct ff__ptx_extent *out) {
    struct ff__ptx_extent_launch launch = {
        .block = {FF__EXTENT_BLOCK_X, FF__EXTENT_BLOCK_Y, 1},
        .parameters = fit->parameters,
        .parameter_size = fit->function->parameter_size,
    };
    for (uint32_t i = 0; i < GRID; i++)
        launch.grid[i] = (uint32_t)point[i];
    for (uint32_t a = 0; a < fit->function->parameter_count; a++)
        if (fit->is_pointer[a])
            set_argument(fit, a, pointer_of(a));
    for (uint32_t i = GRID; i < fit->count; i++)
        set_argument(fit, fit->argument[i], (uint64_t)point[i]);
    ff__ptx_extents_find(fit->extents, &launch, out);
}

static uint32_t argument_at(const struct ff__ptx_function *function, uint32_t offset) {
    for (uint32_t a = 0; a < function->parameter_count; a++)
        if (function->parameter_offsets[a] == offset)
            return a;
    return FF__PTX_NO_PARAMETER;
}

/* Marks arguments from which addresses come. Whether there are more than before. */
static bool find_pointers(struct extent_fit *fit, const struct ff__ptx_extent *extents,
                          bool *found) {
    bool more = false;
    for (uint32_t i = 0; i < fit->accesses; i++) {
        uint32_t a = argument_at(fit->function, extents[i].parameter);
        more = more || (a != FF__PTX_NO_PARAMETER && !found[a]);
        if (a != FF__PTX_NO_PARAMETER)
            found[a] = true;
    }
    return more;
}

/* Addresses that no thread comes to with these arguments may be found with others: first all that
 * can be pointers are, then all that are not known to be are small. */
static void choose_pointers(struct extent_fit *fit, struct ff__ptx_extent *out, bool *found) {
    const int64_t point[VARIABLES] = {GRID_LOW, GRID_LOW, GRID_LOW};
    const struct ff__ptx_function *function = fit->function;
    fit->count = GRID;
    for (uint32_t a = 0; a < function->parameter_count; a++)
        fit->is_pointer[a] = function->parameters[a].size == sizeof(uint64_t);
    do {
        for (uint32_t a = 0; a < function->parameter_count; a++)
            if (!fit->is_pointer[a])
                set_argument(fit, a, LOW);
        ask(fit, point, out);
        bool more = find_pointers(fit, out, found);
        bool is_known =
            memcmp(fit->is_pointer, found, function->parameter_count * sizeof *found) == 0;
        memcpy(fit->is_pointer, found, function->parameter_count * sizeof *found);
        if (!more && is_known)
            return;
    } while (true);
}

/* Integers that are no pointers are variables. False: too many. */
static bool find_variables(struct extent_fit *fit) {
    const struct ff__ptx_function *function = fit->function;
    for (uint32_t a = 0; a < function->parameter_count; a++) {
        const struct ff__ptx_variable *what = &function->parameters[a];
        if (fit->is_pointer[a] || what->is_array || ff__ptx_type_kind(what->type) == 'f')
            continue;
        if (fit->count == VARIABLES)
            return false;
        fit->argument[fit->count++] = a;
    }
    return true;
}

/* ---- fitting ---- */

static void set_base(const struct extent_fit *fit, int64_t *point) {
    for (uint32_t i = 0; i < fit->count; i++)
        point[i] = i < GRID ? GRID_LOW : LOW;
}

struct answers {
    struct ff__ptx_extent *base, *one[VARIABLES], *two[VARIABLES][VARIABLES];
};

static struct ff__ptx_extent *ask_beside(struct extent_fit *fit, uint32_t i, uint32_t j,
                                         bool both) {
    int64_t point[VARIABLES];
    struct ff__ptx_extent *out = ff__must(calloc(fit->accesses, sizeof *out));
    set_base(fit, point);
    if (i < fit->count)
        point[i]++;
    if (both)
        point[j]++;
    ask(fit, point, out);
    return out;
}

static void ask_all(struct extent_fit *fit, struct answers *all) {
    all->base = ask_beside(fit, fit->count, 0, false);
    for (uint32_t i = 0; i < fit->count; i++) {
        all->one[i] = ask_beside(fit, i, 0, false);
        for (uint32_t j = i; j < fit->count; j++)
            all->two[i][j] = ask_beside(fit, i, j, true);
    }
}

static void free_answers(const struct extent_fit *fit, struct answers *all) {
    free(all->base);
    for (uint32_t i = 0; i < fit->count; i++) {
        free(all->one[i]);
        for (uint32_t j = i; j < fit->count; j++)
            free(all->two[i][j]);
    }
}

static int64_t value_of(const struct ff__ptx_extent *extent, bool high, uint64_t pointer) {
    return (int64_t)((high ? extent->high : extent->low) - pointer);
}

/* The polynomial through the answers on one access, with the base as its origin. */
static struct polynomial through(const struct extent_fit *fit, const struct answers *all,
                                 uint32_t access, bool high, uint64_t pointer) {
#define AT(answer) value_of(&(answer)[access], high, pointer)
    struct polynomial p = {.constant = AT(all->base)};
    for (uint32_t i = 0; i < fit->count; i++) {
        int64_t twice = AT(all->two[i][i]) - 2 * AT(all->one[i]) + p.constant;
        p.square[i][i] = twice / 2;
        p.linear[i] = AT(all->one[i]) - p.constant - p.square[i][i];
        for (uint32_t j = i + 1; j < fit->count; j++)
            p.square[i][j] = AT(all->two[i][j]) - AT(all->one[i]) - AT(all->one[j]) + p.constant;
    }
#undef AT
    return p;
}

/* The same, of the variables themselves. */
static void move_origin(const struct extent_fit *fit, struct polynomial *p) {
    int64_t base[VARIABLES];
    set_base(fit, base);
    for (uint32_t i = 0; i < fit->count; i++)
        p->constant -= p->linear[i] * base[i];
    for (uint32_t i = 0; i < fit->count; i++)
        for (uint32_t j = i; j < fit->count; j++) {
            int64_t c = p->square[i][j];
            p->constant += c * base[i] * base[j];
            p->linear[i] -= c * base[j];
            p->linear[j] -= c * base[i];
        }
}

static int64_t evaluate(const struct extent_fit *fit, const struct polynomial *p,
                        const int64_t *point) {
    int64_t sum = p->constant;
    for (uint32_t i = 0; i < fit->count; i++) {
        sum += p->linear[i] * point[i];
        for (uint32_t j = i; j < fit->count; j++)
            sum += p->square[i][j] * point[i] * point[j];
    }
    return sum;
}

/* ---- text ---- */

static char *name_of(const struct extent_fit *fit, uint32_t i) {
    return i < GRID ? ff__text("%s", grid_names[i]) : ff__text("arg%u", fit->argument[i]);
}

/* Adds "+ factor*name*other"; takes over `text`. */
static char *add_term(char *text, int64_t factor, const char *name, const char *other) {
    bool is_first = text[0] == '\0';
    const char *sign = factor < 0 ? (is_first ? "-" : " - ") : is_first ? "" : " + ";
    uint64_t size = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor;
    text = size == 1 && name[0]
               ? ff__text_add(text, "%s%s", sign, name)
               : ff__text_add(text, "%s%" PRIu64 "%s%s", sign, size, name[0] ? "*" : "", name);
    return ff__text_add(text, "%s%s", other[0] ? "*" : "", other);
}

static char *text_of(const struct extent_fit *fit, const struct polynomial *p) {
    char *text = ff__text("%s", ""), *names[VARIABLES];
    for (uint32_t i = 0; i < fit->count; i++)
        names[i] = name_of(fit, i);
    for (uint32_t i = 0; i < fit->count; i++)
        for (uint32_t j = i; j < fit->count; j++)
            if (p->square[i][j] != 0)
                text = add_term(text, p->square[i][j], names[i], names[j]);
    for (uint32_t i = 0; i < fit->count; i++)
        if (p->linear[i] != 0)
            text = add_term(text, p->linear[i], names[i], "");
    if (p->constant != 0 || text[0] == '\0')
        text = add_term(text, p->constant, "", "");
    for (uint32_t i = 0; i < fit->count; i++)
        free(names[i]);
    return text;
}

/* ---- accesses ---- */

/* The kind that holds in all launches. */
static enum ff__ptx_extent_kind weaker(enum ff__ptx_extent_kind a, enum ff__ptx_extent_kind b) {
    return a > b ? a : b;
}

static void fit_access(const struct extent_fit *fit, const struct answers *all, uint32_t access,
                       const int64_t points[CHECKS][VARIABLES],
                       struct ff__ptx_extent *const *checks, struct ff__code_extent *out) {
    const struct ff__ptx_extent *base = &all->base[access];
    *out = (struct ff__code_extent){argument_at(fit->function, base->parameter), base->write,
                                    base->kind, NULL, NULL};
    for (uint32_t i = 0; i < CHECKS; i++)
        out->kind = weaker(out->kind, checks[i][access].kind);
    if (out->kind == FF__PTX_UNKNOWN || out->argument == FF__PTX_NO_PARAMETER || base->never)
        return;
    uint64_t pointer = pointer_of(out->argument);
    for (unsigned high = 0; high < 2; high++) {
        struct polynomial p = through(fit, all, access, high, pointer);
        bool is_right = true;
        move_origin(fit, &p);
        for (uint32_t i = 0; i < CHECKS; i++)
            is_right = is_right && !checks[i][access].never &&
                       evaluate(fit, &p, points[i]) == value_of(&checks[i][access], high, pointer);
        if (is_right)
            *(high ? &out->high : &out->low) = text_of(fit, &p);
    }
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct ff__code_extent *a, const struct ff__code_extent *b) {
    return a->argument == b->argument && a->write == b->write && a->kind == b->kind &&
           same_text(a->low, b->low) && same_text(a->high, b->high);
}

static uint32_t fit_all(struct extent_fit *fit, struct ff__code_extent *out) {
    struct answers all;
    struct ff__ptx_extent *checks[CHECKS];
    int64_t points[CHECKS][VARIABLES];
    struct ff__random dice = ff__random_seeded(1);
    uint32_t count = 0;
    ask_all(fit, &all);
    for (uint32_t i = 0; i < CHECKS; i++) {
        for (uint32_t v = 0; v < fit->count; v++)
            points[i][v] = (v < GRID ? GRID_LOW : LOW) +
                           (int64_t)ff__random_below(&dice, v < GRID ? GRID_LOW : SPREAD);
        checks[i] = ff__must(calloc(fit->accesses, sizeof *checks[i]));
        ask(fit, points[i], checks[i]);
    }
    for (uint32_t access = 0; access < fit->accesses; access++) {
        uint32_t known = 0;
        fit_access(fit, &all, access, points, checks, &out[count]);
        while (known < count && !is_same(&out[known], &out[count]))
            known++;
        if (known == count)
            count++;
        else
            free(out[count].low), free(out[count].high);
    }
    for (uint32_t i = 0; i < CHECKS; i++)
        free(checks[i]);
    free_answers(fit, &all);
    return count;
}

uint32_t ff__code_extents(const struct ff__ptx_function *function, struct ff__code_extent **out,
                          bool *complete) {
    struct extent_fit fit = {.function = function};
    uint32_t count = 0;
    *out = NULL;
    *complete = false;
    if (ff__ptx_extents_make(function, &fit.extents))
        return 0;
    fit.accesses = ff__ptx_extents_count(fit.extents);
    *complete = ff__ptx_extents_complete(fit.extents);
    fit.is_pointer = ff__must(calloc(function->parameter_count + 1ul, sizeof *fit.is_pointer));
    fit.parameters = ff__must(calloc(function->parameter_size + 1ul, 1));
    struct ff__ptx_extent *first = ff__must(calloc(fit.accesses + 1ul, sizeof *first));
    bool *found = ff__must(calloc(function->parameter_count + 1ul, sizeof *found));
    choose_pointers(&fit, first, found);
    if (fit.accesses > 0 && find_variables(&fit)) {
        *out = ff__must(calloc(fit.accesses + 1ul, sizeof **out));
        count = fit_all(&fit, *out);
    } else {
        *complete = *complete && fit.accesses == 0;
    }
    free(first);
    free(found);
    free(fit.parameters);
    free(fit.is_pointer);
    ff__ptx_extents_free(fit.extents);
    return count;
}

void ff__code_extents_free(struct ff__code_extent *extents, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        free(extents[i].low);
        free(extents[i].high);
    }
    free(extents);
}
