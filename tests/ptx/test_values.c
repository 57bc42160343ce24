/* Every form of an instruction that computes a value, against a reference: with operands that
 * differ from thread to thread, and with ones that are the same in all or grow by a fixed step,
 * which the translator computes apart. TEST_VALUES=whole takes all forms and more operands. */
#include "base/cases.h"

#include "ptx/values_reference.h"

#include "base/random.h"
#include "ptx/program.h"
#include <stdlib.h>

#define THREADS    128u /* of a launch */
#define GROUP      40u  /* forms of a kernel */
#define MOST_SHOWN 20u
#define SLOTS      6u /* operands of a form, with the carry that goes in */

static bool is_whole(void) {
    const char *how = getenv("TEST_VALUES");
    return how != NULL && strcmp(how, "whole") == 0;
}

/* ---- operands ---- */

static uint64_t edge_of_whole(struct ff__random *random) {
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     8,
                                     15,
                                     16,
                                     17,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     255,
                                     256,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     0x1234567890abcdef};
    uint64_t number = ff__random_next(random);
    uint64_t edge = edges[number % (sizeof edges / sizeof *edges)];
    return number >> 60 & 1 ? edge : 0 - edge;
}

static uint64_t edge_of_real(const struct format *format, struct ff__random *random) {
    uint64_t number = ff__random_next(random);
    uint64_t sign = number >> 63 ? sign_bit(format) : 0, infinity = infinity_bits(format);
    uint64_t one = UINT64_C(1) << format->unused;
    uint64_t fraction = (sign_bit(format) - 1) & ~infinity;
    uint64_t unit = round_to(format, from_whole(1), NEAREST);
    const uint64_t edges[] = {0,
                              one,
                              2 * one,
                              fraction & ~(one - 1), /* the largest subnormal */
                              (fraction & ~(one - 1)) + one,
                              infinity - one,
                              infinity,
                              infinity | one,
                              infinity | fraction,
                              unit,
                              unit + one,
                              unit - one,
                              round_to(format, from_whole(3), NEAREST),
                              round_to(format, quotient(from_whole(1), from_whole(2)), NEAREST),
                              round_to(format, quotient(from_whole(5), from_whole(2)), NEAREST),
                              round_to(format, from_whole(255), NEAREST),
                              round_to(format, from_whole(INT32_MAX), NEAREST),
                              round_to(format, from_whole(INT64_MAX), NEAREST)};
    return sign | edges[number % (sizeof edges / sizeof *edges)];
}

/* Around one, where most functions do the most. */
static uint64_t common_real(const struct format *format, struct ff__random *random) {
    struct real x = from_whole((int64_t)ff__random_next(random) >> 20);
    x.exponent = -44 + (int)(ff__random_next(random) % 16);
    return round_to(format, x, NEAREST);
}

static uint64_t operand(enum ff__ptx_type type, struct ff__random *random) {
    enum ff__ptx_type half = half_type(type);
    uint64_t how = ff__random_next(random) >> 61;
    if (half != FF__PTX_NO_TYPE)
        return low(operand(half, random), 16) | low(operand(half, random), 16) << 16;
    if (type == FF__PTX_PRED)
        return how & 1;
    if (how == 0)
        return ff__random_next(random);
    if (is_real(type))
        return how < 4 ? common_real(format_of(type), random)
                       : edge_of_real(format_of(type), random);
    return how < 3 ? ff__random_next(random) >> (ff__random_next(random) % 64)
                   : edge_of_whole(random);
}

/* ---- text ---- */

static char class_of(enum ff__ptx_type type) {
    if (type == FF__PTX_PRED)
        return 'p';
    if (type == FF__PTX_F32)
        return 'f';
    if (type == FF__PTX_F64)
        return 'd';
    uint32_t size = ff__ptx_type_size(type);
    return size <= 2 ? 'h' : size == 4 ? 'r' : 'l';
}

/* From 64 bits into a register of the operand's type, and back. */
static void write_in(FILE *out, enum ff__ptx_type type, unsigned k) {
    switch (class_of(type)) {
    case 'p':
        fprintf(out, "setp.ne.u64 %%p%u, %%l%u, 0;\n", k, k);
        break;
    case 'f':
        fprintf(out, "cvt.u32.u64 %%r%u, %%l%u; mov.b32 %%f%u, %%r%u;\n", k, k, k, k);
        break;
    case 'd':
        fprintf(out, "mov.b64 %%d%u, %%l%u;\n", k, k);
        break;
    case 'h':
        fprintf(out, "cvt.u16.u64 %%h%u, %%l%u;\n", k, k);
        break;
    case 'r':
        fprintf(out, "cvt.u32.u64 %%r%u, %%l%u;\n", k, k);
        break;
    default:
        break;
    }
}

static void write_out(FILE *out, const struct form *form) {
    switch (class_of(form->result)) {
    case 'p':
        fprintf(out, "selp.b64 %%l10, 1, 0, %%p10;\n");
        if (form->two)
            fprintf(out, "selp.b64 %%l11, 256, 0, %%p11; or.b64 %%l10, %%l10, %%l11;\n");
        break;
    case 'f':
        fprintf(out, "mov.b32 %%r10, %%f10; cvt.u64.u32 %%l10, %%r10;\n");
        break;
    case 'd':
        fprintf(out, "mov.b64 %%l10, %%d10;\n");
        break;
    case 'h':
        fprintf(out, "cvt.u64.u16 %%l10, %%h10;\n");
        break;
    case 'r':
        fprintf(out, "cvt.u64.u32 %%l10, %%r10;\n");
        break;
    default:
        break;
    }
}

static bool carries(const struct form *form) {
    size_t length = strlen(form->name);
    return has(form, "cc") || strcmp(form->name, "addc") == 0 || strcmp(form->name, "subc") == 0 ||
           (length == 4 && strcmp(form->name, "madc") == 0);
}

static void write_form(FILE *out, const struct form *form, unsigned place) {
    char name[160];
    write_name(form, name, sizeof name);
    for (unsigned k = 0; k < form->count; k++)
        write_in(out, form->operands[k], k);
    if (carries(form)) { /* the carry that goes in */
        const char *type = ff__ptx_type_name(form->types[0]);
        fprintf(out, "and.b64 %%l12, %%l%u, 1; cvt.u32.u64 %%r12, %%l12;\n", form->count);
        fprintf(out, "add.cc.%s %%%c13, %%%c12, -1;\n", type, class_of(form->types[0]),
                class_of(form->types[0]));
    }
    fprintf(out, "%s %%%c10%s", name, class_of(form->result), form->two ? "|%p11" : "");
    for (unsigned k = 0; k < form->count; k++)
        fprintf(out, ", %%%c%u", class_of(form->operands[k]), k);
    fprintf(out, ";\n");
    if (has(form, "cc")) /* the one that comes out */
        fprintf(out,
                "addc.u32 %%r14, 0, 0; cvt.u64.u32 %%l14, %%r14;\n"
                "st.global.u64 [%%l21+%u], %%l14;\n",
                (2 * place + 1) * THREADS * 8);
    write_out(out, form);
    fprintf(out, "st.global.u64 [%%l21+%u], %%l10;\n}\n", 2 * place * THREADS * 8);
}

static void write_head(FILE *out, const char *name) {
    fprintf(out,
            ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u64 v0, .param .u64 v1, "
            ".param .u64 v2, .param .u64 v3, .param .u64 v4, .param .u64 v5)\n{\n"
            ".reg .b64 %%at<4>;\nld.param.u64 %%at0, [in]; ld.param.u64 %%at1, [out];\n"
            ".reg .b32 %%t; mov.u32 %%t, %%tid.x; mul.wide.u32 %%at2, %%t, 8;\n"
            "add.u64 %%at0, %%at0, %%at2; add.u64 %%at1, %%at1, %%at2; cvt.u64.u32 %%at3, %%t;\n",
            name);
}

static void write_registers(FILE *out) {
    fprintf(out, "{\n.reg .pred %%p<15>; .reg .b16 %%h<15>; .reg .b32 %%r<15>; .reg .b64 %%l<22>; "
                 ".reg .f32 %%f<15>; .reg .f64 %%d<15>;\nmov.u64 %%l21, %%at1;\n");
}

/* How much operand k of a form grows from thread to thread. */
static int step_of(unsigned form, unsigned k) {
    static const int steps[][SLOTS] = {{0, 0, 0, 0, 0, 0},  {1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0},
                                       {-3, 5, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1}, {1, 1, 2, 1, 0, 1}};
    return steps[form % (sizeof steps / sizeof *steps)][k];
}

/* Kernel gN: operands are in memory; kernel aN: they are parameters and grow. */
static void write_kernels(FILE *out, const struct forms *forms, size_t first, size_t count) {
    char name[32];
    snprintf(name, sizeof name, "g%zu", first);
    write_head(out, name);
    for (size_t i = 0; i < count; i++) {
        write_registers(out);
        for (unsigned k = 0; k < SLOTS; k++)
            fprintf(out, "ld.global.u64 %%l%u, [%%at0+%zu];\n", k, (i * SLOTS + k) * THREADS * 8);
        write_form(out, &forms->forms[first + i], (unsigned)i);
    }
    fprintf(out, "ret;\n}\n");
    snprintf(name, sizeof name, "a%zu", first);
    write_head(out, name);
    for (size_t i = 0; i < count; i++) {
        write_registers(out);
        for (unsigned k = 0; k < SLOTS; k++)
            fprintf(out,
                    ".reg .b64 %%w%u; ld.param.u64 %%w%u, [v%u]; mad.lo.u64 %%l%u, %%at3, %d, "
                    "%%w%u;\n",
                    k, k, k, k, step_of((unsigned)(first + i), k), k);
        write_form(out, &forms->forms[first + i], (unsigned)i);
    }
    fprintf(out, "ret;\n}\n");
}

/* ---- running ---- */

struct parameters {
    const uint64_t *in;
    uint64_t *out, values[SLOTS];
};

static void run(struct ff__ptx_program *program, const char *name,
                const struct parameters *parameters, uint32_t threads) {
    struct ff__ptx_kernel *kernel;
    struct ff_error error = {0};
    if (ff__ptx_kernel(program, name, &kernel, &error) != 0)
        fail_msg("%s", error.message);
    const struct ff_ptx_code *code = kernel->code;
    static uint32_t at[FF_PTX_MAX_LANES];
    struct ff_ptx_lanes lanes = {.at = at, .count = threads};
    struct ff_ptx_block block = {
        .parameters = (const uint8_t *)parameters, .ntid = {threads, 1, 1}, .nctaid = {1, 1, 1}};
    lanes.state = aligned_alloc(64, (code->state_size + 127ul) / 64 * 64);
    assert_non_null(lanes.state);
    assert_int_equal(code->regions[0].run(&lanes, &block, 0, threads, 0, 0, 0), FF_PTX_EXITED);
    free(lanes.state);
}

/* ---- comparing ---- */

static long double value_of(const struct format *format, uint64_t bits) {
    struct real x = unpack(format, bits);
    long double value =
        x.kind == INFINITE ? INFINITY : ldexpl((long double)(uint64_t)x.significand, x.exponent);
    return x.negative ? -value : value;
}

/* Beyond the format's ends its infinity, or zero, is as near as can be. */
static bool is_near(const struct answer *answer, uint64_t found) {
    const struct format *format = answer->format;
    long double value = value_of(format, found), wanted = answer->value;
    if (unpack(format, found).kind == NONE)
        return isnan(wanted);
    uint64_t unit = UINT64_C(1) << format->unused;
    long double most = value_of(format, infinity_bits(format) - unit);
    long double least = value_of(format, UINT64_C(1) << (format->digits - 1 + format->unused));
    if (fabsl(wanted) >= most * (1 - answer->relative))
        return fabsl(value) >= most * (1 - 2 * answer->relative) &&
               signbit(value) == signbit(wanted);
    if (fabsl(wanted) <= least * (1 + answer->relative)) /* subnormal results may be flushed */
        return fabsl(value) <= least * (1 + 2 * answer->relative);
    return value == wanted || fabsl(value - wanted) <= answer->absolute ||
           fabsl(value - wanted) <= answer->relative * fabsl(wanted);
}

static bool agrees(const struct answer *answer, uint64_t found) {
    switch (answer->kind) {
    case BITS:
        return found == answer->bits;
    case ANY_NAN:
        return unpack(answer->format, found).kind == NONE;
    case NEAR:
        return is_near(answer, found);
    default:
        return true;
    }
}

static unsigned wrong;

/* The first ones are shown; the test goes on, since they are often of one kind. */
#define complain(...)                                                                              \
    do {                                                                                           \
        if (wrong++ < MOST_SHOWN) {                                                                \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
        }                                                                                          \
    } while (false)

/* A pair's halves are computed apart, but where the reference does that. */
static bool is_pair(const struct form *form) {
    return half_type(form->types[0]) != FF__PTX_NO_TYPE && strncmp(form->name, "set", 3) != 0 &&
           strcmp(form->name, "cvt") != 0 && strcmp(form->name, "mov") != 0;
}

static bool is_right(const struct form *form, const uint64_t *values, uint64_t found,
                     struct answer *answer) {
    if (!is_pair(form)) {
        *answer = reference_of(form)(form, values);
        return agrees(answer, found);
    }
    for (unsigned half = 0; half < 2; half++) {
        struct form single = *form;
        uint64_t parts[SLOTS];
        for (unsigned i = 0; i < single.type_count; i++)
            single.types[i] = half_type(form->types[i]);
        single.result = half_type(form->result);
        for (unsigned k = 0; k < SLOTS; k++) {
            parts[k] = low(values[k] >> 16 * half, 16);
            if (k < form->count)
                single.operands[k] = half_type(form->operands[k]);
        }
        *answer = reference_of(&single)(&single, parts);
        if (!agrees(answer, low(found >> 16 * half, 16)))
            return false;
    }
    return true;
}

static void check(const struct form *form, const uint64_t *values, const uint64_t *results,
                  unsigned place, unsigned thread, const char *how) {
    char name[160];
    write_name(form, name, sizeof name);
    if (reference_of(form) == NULL)
        fail_msg("%s has no reference", name);
    struct answer answer;
    unsigned bits = form->result == FF__PTX_PRED ? 16 : bits_of(form->result);
    uint64_t found = low(results[2 * place * THREADS + thread], bits);
    if (!is_right(form, values, found, &answer))
        complain("%s%s(%#llx, %#llx, %#llx, %#llx), %s: %#llx instead of %#llx (%d: %Lg)", name,
                 form->two ? "|q" : "", (unsigned long long)values[0],
                 (unsigned long long)values[1], (unsigned long long)values[2],
                 (unsigned long long)values[3], how, (unsigned long long)found,
                 (unsigned long long)answer.bits, (int)answer.kind, answer.value);
    uint64_t carry = results[(2 * place + 1) * THREADS + thread];
    if (has(form, "cc") && carry != answer.carry)
        complain("%s(%#llx, %#llx, %#llx), carry %llu, %s: the carry is %llu", name,
                 (unsigned long long)values[0], (unsigned long long)values[1],
                 (unsigned long long)values[2], (unsigned long long)values[form->count] & 1, how,
                 (unsigned long long)carry);
}

static uint64_t in[GROUP * SLOTS * THREADS], out[GROUP * 2 * THREADS];

static void check_lanes(struct ff__ptx_program *program, const struct forms *forms, size_t first,
                        size_t count, struct ff__random *random) {
    char name[32];
    struct parameters parameters = {.in = in, .out = out};
    for (size_t i = 0; i < count; i++) {
        const struct form *form = &forms->forms[first + i];
        for (unsigned k = 0; k < SLOTS; k++)
            for (unsigned t = 0; t < THREADS; t++)
                in[(i * SLOTS + k) * THREADS + t] =
                    k < form->count ? operand(form->operands[k], random) : ff__random_next(random);
    }
    snprintf(name, sizeof name, "g%zu", first);
    run(program, name, &parameters, THREADS);
    for (size_t i = 0; i < count; i++)
        for (unsigned t = 0; t < THREADS; t++) {
            uint64_t values[SLOTS];
            for (unsigned k = 0; k < SLOTS; k++)
                values[k] = in[(i * SLOTS + k) * THREADS + t];
            check(&forms->forms[first + i], values, out, (unsigned)i, t, "by lane");
        }
}

/* The operands suit one of the forms. */
static void check_growing(struct ff__ptx_program *program, const struct forms *forms, size_t first,
                          size_t count, struct ff__random *random) {
    char name[32];
    struct parameters parameters = {.in = in, .out = out};
    const struct form *chosen = &forms->forms[first + ff__random_next(random) % count];
    for (unsigned k = 0; k < SLOTS; k++)
        parameters.values[k] =
            k < chosen->count ? operand(chosen->operands[k], random) : ff__random_next(random);
    snprintf(name, sizeof name, "a%zu", first);
    run(program, name, &parameters, 5);
    for (size_t i = 0; i < count; i++)
        for (unsigned t = 0; t < 5; t++) {
            uint64_t values[SLOTS];
            for (unsigned k = 0; k < SLOTS; k++)
                values[k] = parameters.values[k] +
                            (uint64_t)((int64_t)step_of((unsigned)(first + i), k) * (int64_t)t);
            for (unsigned k = 0; k < forms->forms[first + i].count; k++)
                if (forms->forms[first + i].operands[k] == FF__PTX_PRED)
                    values[k] = values[k] != 0;
            check(&forms->forms[first + i], values, out, (unsigned)i, t, "by steps");
        }
}

/* ---- forms ---- */

static bool is_tested(const struct form *form) {
    for (unsigned i = 0; i < form->type_count; i++)
        if (ff__ptx_type_size(form->types[i]) > 8)
            return false; /* mov.b128: test_read.c */
    return true;
}

/* Some of each row of forms.def, or all. */
static struct forms chosen_forms(unsigned of_each_row) {
    struct forms all = all_forms(), some = {0};
    for (size_t first = 0, end; first < all.count; first = end) {
        for (end = first; end < all.count && all.forms[end].row == all.forms[first].row;)
            end++;
        size_t every = is_whole() || end - first < of_each_row ? 1 : (end - first) / of_each_row;
        for (size_t i = first; i < end; i += every)
            if (is_tested(&all.forms[i]))
                add_form(&some, &all.forms[i]);
    }
    free(all.forms);
    return some;
}

static struct ff__ptx_program *translate(const struct forms *forms) {
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, ".version 8.6\n.target sm_90\n.address_size 64\n");
    for (size_t first = 0; first < forms->count; first += GROUP)
        write_kernels(file, forms, first,
                      forms->count - first < GROUP ? forms->count - first : GROUP);
    fclose(file);
    struct ff__ptx_program *program;
    struct ff_error error = {0};
    if (getenv("TEST_VALUES_FILE") != NULL) {
        FILE *copy = fopen(getenv("TEST_VALUES_FILE"), "w");
        assert_non_null(copy);
        fwrite(text, 1, size, copy);
        fclose(copy);
    }
    if (ff__ptx_load(text, size, &(struct ff__ptx_options){0}, &program, &error) != 0)
        fail_msg("%s", error.message);
    free(text);
    return program;
}

static void forms_give_what_they_should(void **state) {
    (void)state;
    struct forms forms = chosen_forms(3);
    struct ff__random random = ff__random_seeded(20261126);
    struct ff__ptx_program *program = translate(&forms);
    for (size_t first = 0; first < forms.count; first += GROUP) {
        size_t count = forms.count - first < GROUP ? forms.count - first : GROUP;
        for (unsigned long i = 0; i < (is_whole() ? 20 : 1); i++)
            check_lanes(program, &forms, first, count, &random);
        for (unsigned long i = 0; i < (is_whole() ? 400 : 40); i++)
            check_growing(program, &forms, first, count, &random);
    }
    ff__ptx_unload(program);
    free(forms.forms);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_give_what_they_should)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
