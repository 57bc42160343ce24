/* Kernels made at random, to see whether what is said of their accesses holds: integer arithmetic
 * of all kinds, branches, and loops that end, with an access wherever a value is small enough to
 * tell. */
#ifndef FF_TESTS_PTX_EXTENT_RANDOM_H
#define FF_TESTS_PTX_EXTENT_RANDOM_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 8, MOST_TEMPORARIES = 200, MOST_DEPTH = 3, KERNEL_TEXT = 1 << 16 };

struct maker {
    char *text;
    size_t size, length;
    uint32_t seed;
    int sight[MOST_TEMPORARIES], temporaries; /* registers that are written once, and before */
    int next, labels, predicates, counters;
    int busy; /* set of variables that count loops */
};

static uint32_t pick(struct maker *maker, uint32_t below) {
    maker->seed = maker->seed * 1664525u + 1013904223u;
    return (maker->seed >> 8) % below;
}

__attribute__((format(printf, 2, 3))) static void put(struct maker *maker, const char *format,
                                                      ...) {
    va_list arguments;
    va_start(arguments, format);
    maker->length += (size_t)vsnprintf(maker->text + maker->length, maker->size - maker->length,
                                       format, arguments);
    va_end(arguments);
    if (maker->length + 4096 > maker->size)
        abort();
}

/* Names are valid until the next but seven. */
static const char *source(struct maker *maker, bool constants) {
    static char names[8][24];
    static unsigned next;
    static const int numbers[] = {0,    1,     2,     3,       4,         5,        8,  16,
                                  31,   32,    60,    100,     -1,        -2,       -3, -7,
                                  1023, 65535, 65536, 1 << 20, INT32_MAX, INT32_MIN};
    char *name = names[next++ % 8];
    uint32_t choice = pick(maker, 10);
    if (choice < 3 && constants)
        snprintf(name, sizeof names[0], "%d",
                 numbers[pick(maker, sizeof numbers / sizeof *numbers)]);
    else if (choice < 6 && maker->temporaries != 0)
        snprintf(name, sizeof names[0], "%%t%u",
                 (unsigned)maker->sight[pick(maker, (uint32_t)maker->temporaries)]);
    else
        snprintf(name, sizeof names[0], "%%r%u", pick(maker, VARIABLES));
    return name;
}

static int test(struct maker *maker) {
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const types[] = {"s32", "u32"};
    int predicate = maker->predicates++;
    put(maker, "setp.%s.%s %%p%d, %s, %s;\n", compares[pick(maker, 6)], types[pick(maker, 2)],
        predicate, source(maker, false), source(maker, true));
    if (pick(maker, 4) != 0)
        return predicate;
    int other = maker->predicates++, both = maker->predicates++;
    put(maker, "setp.%s.%s %%p%d, %s, %s;\n%s.pred %%p%d, %%p%d, %%p%d;\n",
        compares[pick(maker, 6)], types[pick(maker, 2)], other, source(maker, false),
        source(maker, true), pick(maker, 2) ? "and" : "or", both, predicate, other);
    return both;
}

static void compute(struct maker *maker) {
    static const char *const plain[] = {
        "add.s32", "sub.s32", "add.u32", "mul.lo.s32", "and.b32",    "or.b32",    "xor.b32",
        "min.s32", "max.s32", "min.u32", "max.u32",    "mul.hi.u32", "mul.hi.s32"};
    static const char *const small[] = {"shl.b32", "shr.s32", "shr.u32"};
    static const char *const divisions[] = {"div.u32", "div.s32", "rem.u32", "rem.s32"};
    char result[24];
    uint32_t variable = pick(maker, VARIABLES), kind = pick(maker, 16);
    bool temporary = pick(maker, 2) != 0 || (maker->busy >> variable & 1) != 0;
    const char *a = source(maker, false), *b = source(maker, true);
    int predicate = kind == 12 || (kind == 13 && !temporary) ? test(maker) : 0;
    if (temporary)
        snprintf(result, sizeof result, "%%t%d", maker->next);
    else
        snprintf(result, sizeof result, "%%r%u", variable);
    if (kind == 0)
        put(maker, "%s %s, %s, %u;\n", small[pick(maker, 3)], result, a, pick(maker, 34));
    else if (kind == 1)
        put(maker, "%s %s, %s, %u;\n", divisions[pick(maker, 4)], result, a, 1 + pick(maker, 40));
    else if (kind == 2)
        put(maker, "mad.lo.s32 %s, %s, %u, %s;\n", result, a, pick(maker, 70), b);
    else if (kind == 3)
        put(maker, "and.b32 %s, %s, %d;\n", result, a,
            pick(maker, 2) ? (1 << pick(maker, 12)) - 1 : -(1 << pick(maker, 12)));
    else if (kind == 4)
        put(maker, "{.reg .b16 %%h; cvt.u16.u32 %%h, %s; cvt.%s.%s %s, %%h;}\n", a,
            pick(maker, 2) ? "s32" : "u32", pick(maker, 2) ? "s16" : "u16", result);
    else if (kind == 5)
        put(maker, "%s %s, %s;\n", pick(maker, 2) ? "neg.s32" : "not.b32", result, a);
    else if (kind == 6)
        put(maker, "bfe.u32 %s, %s, %u, %u;\n", result, a, pick(maker, 20), pick(maker, 12));
    else if (kind == 7)
        put(maker,
            "{.reg .b64 %%w; mul.wide.%s %%w, %s, %s; shr.%s %%w, %%w, %u; "
            "cvt.u32.u64 %s, %%w;}\n",
            pick(maker, 2) ? "s32" : "u32", a, b, pick(maker, 2) ? "s64" : "u64", pick(maker, 40),
            result);
    else if (kind == 12)
        put(maker, "selp.b32 %s, %s, %s, %%p%d;\n", result, a, b, predicate);
    else if (kind == 13 && !temporary)
        put(maker, "@%s%%p%d %s %s, %s, %s;\n", pick(maker, 2) ? "!" : "", predicate,
            plain[pick(maker, 13)], result, a, b);
    else
        put(maker, "%s %s, %s, %s;\n", plain[pick(maker, 13)], result, a, b);
    if (temporary)
        maker->sight[maker->temporaries++] = maker->next++;
}

/* In the first 4096 bytes behind a: where the value is small, what is said of it shows. */
static void make_access(struct maker *maker) {
    static int number;
    const char *value = source(maker, false);
    int guard = pick(maker, 3) == 0 ? test(maker) : -1, id = number++;
    put(maker,
        "{.reg .b32 %%m; .reg .b64 %%w, %%e; and.b32 %%m, %s, 1023;\n"
        "mul.wide.u32 %%w, %%m, 4; add.s64 %%e, %%a, %%w;\n",
        value);
    if (guard >= 0)
        put(maker, "@%s%%p%d ", pick(maker, 2) ? "!" : "", guard);
    put(maker, "st.global.u32 [%%e%s], %d;}\n", pick(maker, 4) == 0 ? "+64" : "", id);
}

static void make_block(struct maker *maker, int depth);

static void make_branch(struct maker *maker, int depth) {
    int label = maker->labels++, predicate = test(maker);
    put(maker, "@%s%%p%d bra L%d;\n", pick(maker, 2) ? "!" : "", predicate, label);
    make_block(maker, depth + 1);
    if (pick(maker, 2) != 0) {
        int end = maker->labels++;
        put(maker, "bra L%d;\nL%d:\n", end, label);
        make_block(maker, depth + 1);
        put(maker, "L%d:\n", end);
    } else {
        put(maker, "L%d:\n", label);
    }
}

/* Rounds are counted, whatever else ends the loop; in half of them a variable grows too, which
 * nothing else writes, and may end it. */
static void make_loop(struct maker *maker, int depth) {
    static const char *const ends[] = {"ne", "gt", "lt", "ge", "le"};
    int label = maker->labels++, end = maker->labels++, counter = maker->counters++;
    int rounds = 1 + (int)pick(maker, 6), step = 1 + (int)pick(maker, 3);
    uint32_t variable = pick(maker, VARIABLES);
    bool grows = pick(maker, 2) != 0 && !(maker->busy >> variable & 1);
    put(maker, "mov.u32 %%c%d, %d;\n", counter, rounds * step);
    if (grows) {
        put(maker, "mov.u32 %%r%u, %s;\n", variable, source(maker, true));
        maker->busy |= 1 << variable;
    }
    put(maker, "L%d:\n", label);
    make_block(maker, depth + 1);
    if (pick(maker, 3) == 0)
        put(maker, "@%%p%d bra L%d;\n", test(maker), end);
    if (grows) {
        int predicate = maker->predicates++;
        put(maker, "add.s32 %%r%u, %%r%u, %d;\nsetp.%s.%s %%p%d, %%r%u, %s;\n@!%%p%d bra L%d;\n",
            variable, variable, (int)pick(maker, 9) - 4, ends[pick(maker, 5)],
            pick(maker, 2) ? "s32" : "u32", predicate, variable, source(maker, true), predicate,
            end);
        maker->busy &= ~(1 << variable);
    }
    int more = maker->predicates++;
    put(maker, "sub.s32 %%c%d, %%c%d, %d;\nsetp.ne.s32 %%p%d, %%c%d, 0;\n@%%p%d bra L%d;\nL%d:\n",
        counter, counter, step, more, counter, more, label, end);
}

static void make_block(struct maker *maker, int depth) {
    int before = maker->temporaries, statements = 2 + (int)pick(maker, 5);
    for (int i = 0; i < statements && maker->next < MOST_TEMPORARIES - 8; i++) {
        uint32_t kind = pick(maker, 10);
        if (kind < 4 || depth == MOST_DEPTH)
            compute(maker);
        else if (kind < 7)
            make_access(maker);
        else if (kind < 8)
            make_branch(maker, depth);
        else
            make_loop(maker, depth);
    }
    make_access(maker);
    maker->temporaries = before; /* others are not written on every way here */
}

/* The kernel NAME(a, n). */
static void make_kernel(struct maker *maker, const char *name) {
    maker->temporaries = maker->next = maker->labels = maker->predicates = maker->counters = 0;
    maker->busy = 0;
    put(maker,
        ".visible .entry %s(.param .u64 a, .param .u32 n)\n{\n.reg .pred %%p<400>;\n"
        ".reg .b32 %%r<%d>; .reg .b32 %%t<%d>; .reg .b32 %%c<100>; .reg .b64 %%a;\n"
        "ld.param.u64 %%a, [a];\nmov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ctaid.x;\n"
        "ld.param.u32 %%r2, [n];\nmov.u32 %%r3, %%ntid.x;\nmad.lo.s32 %%r4, %%r1, %%r3, %%r0;\n"
        "mov.u32 %%r5, 7;\nmov.u32 %%r6, -3;\nld.global.u32 %%r7, [%%a+8192];\n",
        name, VARIABLES, MOST_TEMPORARIES);
    make_block(maker, 0);
    make_block(maker, 0);
    make_block(maker, 0);
    put(maker, "ret;\n}\n");
}

#endif
