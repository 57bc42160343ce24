/* The reader: what it understands, and what it says of what it does not. */
#include "base/cases.h"

#include "ptx/read.h"
#include <errno.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static struct ff__ptx_module *read_module(const char *text) {
    struct ff__ptx_module *module = NULL;
    struct ff_error error = {0};
    int code = ff__ptx_read(text, strlen(text), &module, &error);
    if (code != 0)
        print_error("%s\n", error.message);
    assert_int_equal(code, 0);
    return module;
}

static void reads_a_module(void **state) {
    (void)state;
    struct ff__ptx_module *module = read_module(
        HEAD ".visible .entry k(.param .u64 a, .param .align 16 .b8 b[20], .param .u16 c)\n{\n"
             ".reg .b32 %r<3>;\n.reg .pred %p;\n"
             "@!%p bra $done;\nadd.s32 %r1, %r2, -4;\n$done: ret;\n}\n");
    assert_int_equal(module->version, 70);
    assert_string_equal(module->target, "sm_70");
    assert_int_equal(module->function_count, 1);
    const struct ff__ptx_function *k = &module->functions[0];
    assert_true(k->is_entry);
    assert_string_equal(k->refused, "");
    assert_int_equal(k->parameter_size, 38);
    assert_int_equal(k->parameter_offsets[1], 16);
    assert_int_equal(k->parameter_offsets[2], 36);
    assert_int_equal(k->register_count, 4);
    assert_int_equal(k->instruction_count, 3);
    assert_int_equal(k->instructions[0].guard, 3);
    assert_true(k->instructions[0].guard_negated);
    assert_int_equal(k->instructions[1].opcode, ff__ptx_find_opcode("add", 3));
    assert_int_equal(k->operands[k->instructions[1].operands + 2].bits, (uint64_t)-4);
    assert_int_equal(k->labels[0].instruction, 2);
    ff__ptx_module_free(module);
}

/* Of a large variable, no more is kept than is written. */
static void keeps_values_that_are_written(void **state) {
    (void)state;
    struct ff__ptx_module *module =
        read_module(HEAD ".global .u16 x[1000000000] = {1, -2, 0x304};\n.const .f64 y = 1.5;\n");
    const struct ff__ptx_variable *x = &module->variables[0], *y = &module->variables[1];
    assert_int_equal(x->size, 2000000000);
    assert_int_equal(x->initial_size, 6);
    assert_memory_equal(x->initial, "\1\0\376\377\4\3", 6);
    assert_int_equal(y->initial_size, 8);
    assert_memory_equal(y->initial, &(double){1.5}, 8);
    ff__ptx_module_free(module);
}

/* What is wrong in a function refuses that one alone, whatever stands in its braces. */
static void refuses_one_function(void **state) {
    (void)state;
    static const struct {
        const char *body, *reason;
    } rows[] = {
        {"wgmma.fence.sync.aligned;", "line 5: wgmma.fence.sync.aligned: .fence is not known"},
        {"mov.u32 %r0, 12zz;", "12zz"},
        {"mov.u32 %r0, { 0;", "missing"},
        {".reg .f99 %f;", "f99"},
        {"bra nowhere;", "nowhere"},
        {".reg .b32 %x<70000>;", "more registers than a text of this size can use"},
        {"mov.u32 %r0, ((((((((((1;", "operands more than 8 deep"},
        {"mov.u32 %r0, \"\033[7m\na\";", "'?[7m?a' where"},
        {"add.what %r0, %r0, 1;", "what"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        bool opens = strchr(rows[i].body, '{') != NULL;
        snprintf(text, sizeof text,
                 HEAD ".entry a(){ .reg .b32 %%r<2>;\n%s%s }\n.entry b(){ ret; }\n", rows[i].body,
                 opens ? "}" : "");
        struct ff__ptx_module *module = read_module(text);
        assert_int_equal(module->function_count, 2);
        if (strstr(module->functions[0].refused, rows[i].reason) == NULL)
            fail_msg("'%s' is refused with: %s", rows[i].body, module->functions[0].refused);
        assert_string_equal(module->functions[1].refused, "");
        ff__ptx_module_free(module);
    }
}

/* What is wrong outside functions is wrong with the module. */
static void says_what_is_wrong(void **state) {
    (void)state;
    static const char *const rows[] = {"",
                                       "int main(void) { return 0; }",
                                       HEAD ".entry a( {}",
                                       HEAD ".entry a() {",
                                       HEAD ".global .u32 x = \"a\";",
                                       HEAD ".shared .align 3000000000 .b8 x[4];",
                                       HEAD ".global .u64 x = nowhere;",
                                       HEAD "/* no end"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ff__ptx_module *module = NULL;
        struct ff_error error = {0};
        if (ff__ptx_read(rows[i], strlen(rows[i]), &module, &error) != -EINVAL)
            fail_msg("'%s' is taken", rows[i]);
        assert_non_null(strstr(error.message, "line "));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_module), cmocka_unit_test(keeps_values_that_are_written),
        cmocka_unit_test(refuses_one_function), cmocka_unit_test(says_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
