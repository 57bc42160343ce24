/* What the translator refuses, so that the C of the rest can be compiled. */
#include "base/cases.h"

#include "ptx/emit.h"
#include "ptx/read.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n.shared .b8 huge[3000000000];\n"

/* A kernel or function `a` with this body, and one behind it that can be translated. */
static void expect_refused(const char *declaration, const char *body, const char *reason) {
    char text[1024], *c;
    struct ff__ptx_module *module;
    struct ff_error error = {""};
    const struct ff__ptx_emit_options options = {0};
    size_t size;
    int length = snprintf(text, sizeof text,
                          HEAD "%s a() { .reg .b32 %%r<4>; .reg .pred %%p; "
                               ".reg .b16 %%h; .reg .b64 %%d; .reg .f32 %%f; %s }\n"
                               ".entry other() { ret; }\n",
                          declaration, body);
    assert_true(length < (int)sizeof text);
    assert_int_equal(ff__ptx_read(text, strlen(text), &module, &error), 0);
    assert_int_equal(ff__ptx_emit(module, &options, &c, &size, &error), 0);
    if (strstr(module->functions[0].refused, reason) == NULL ||
        module->functions[0].refused[0] == '\0')
        fail_msg("'%s' is refused with: '%s'", body, module->functions[0].refused);
    assert_null(strstr(c, "{\"a\","));
    assert_non_null(strstr(c, "{\"other\","));
    assert_null(strstr(c, "goto L0"));
    free(c);
    ff__ptx_module_free(module);
}

static void refuses_branches_to_nowhere(void **state) {
    static const char *const rows[] = {
        "bra %r1; L: ret;",   "bra; L: ret;",
        "bra 3; L: ret;",     "bra {}; L: ret;",
        "L: brx.idx %r1, L;", "L: brx.idx %r1;",
        "L: brx.idx;",        "t: .branchtargets L; L: brx.idx %r1, t, t;"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_refused(".func", rows[i], "");
        expect_refused(".entry", rows[i], "");
    }
    expect_refused(".func", "t: .branchtargets L; L: bra t;", "a branch without targets");
}

static void refuses_sizes_that_no_gpu_has(void **state) {
    static const struct {
        const char *body, *reason;
    } rows[] = {{".local .b8 x[524289]; ret;", "more than 512 KiB of local memory"},
                {".local .b8 x[8589934592]; ret;", "more than 512 KiB of local memory"},
                {".param .b8 x[1048577]; ret;", "more than 1 MiB for 'x'"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_refused(".entry", rows[i].body, rows[i].reason);
        expect_refused(".func", rows[i].body, rows[i].reason);
    }
    expect_refused(".entry", "mov.u32 %r1, huge; ret;", "more than 1 GiB of shared memory");
    expect_refused(".entry", ".shared .b8 x[4294967296]; ret;", "more than 1 GiB of shared memory");
}

static void refuses_operands_of_another_kind(void **state) {
    static const struct {
        const char *body, *reason;
    } rows[] = {{"add.u32 %r0, [%r1], 3; ret;", "an address where a value should be"},
                {"add.u32 [%r0], %r1, 3; ret;", "a result that is not a register"},
                {"add.u32 !%r0, %r1, 3; ret;", "a result that is not a register"},
                {"st.global.u32 [%d], [%r1]; ret;", "an address where a value should be"},
                {"ld.global.v2.u32 {[%r1], %r0}, [%d]; ret;", "a result that is not a register"},
                {"mov.b64 %d, {[%r1], %r0}; ret;", "an address where a value should be"},
                {"min.f32 %f, !%r1, %f; ret;", "'!' before what is no predicate"},
                {"mov.f32 %f, {%h, %h}; ret;", "parts that do not make up the whole"},
                {"mov.f32 {%h, %h}, %f; ret;", "parts that do not make up the whole"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_refused(".func", rows[i].body, rows[i].reason);
        expect_refused(".entry", rows[i].body, rows[i].reason);
    }
    expect_refused(".entry", "activemask.b32 [%r1]; ret;", "a result that is not a register");
    expect_refused(".entry", "bar.sync [%r1]; ret;", "an address where a value should be");
}

static void refuses_other_numbers_of_registers(void **state) {
    static const struct {
        const char *body, *reason;
    } rows[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f, %f, %f, %f}, "
         "{%r0, %r1, %r2}, {%r0, %r1}, {%f, %f, %f, %f}; ret;",
         "3 registers where 4 should be"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f, %f, %f}, "
         "{%r0, %r1, %r2, %r3}, {%r0, %r1}, {%f, %f, %f, %f}; ret;",
         "3 registers where 4 should be"},
        {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%r2}, {%r3, %r3}, "
         "{%r0, %r1}; ret;",
         "2 registers where 1 should be"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1}, [%d]; ret;",
         "2 registers where 8 should be"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%d], {%r0, %r1}; ret;",
         "2 registers where 4 should be"},
        {"wmma.load.a.sync.aligned.m16n16k16.global.f16 {%r0, %r1}, [%d]; ret;",
         "this shape or this type is not supported"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.s8 [%d], {%r0, %r1}; ret;",
         "this shape or this type is not supported"},
        {"mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1}; "
         "ret;",
         "this shape or these types are not supported"},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [%r2]; ret;",
         "2 registers where 4 should be"},
        {"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r0}; ret;",
         "1 registers where 2 should be"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refused(".entry", rows[i].body, rows[i].reason);
}

/* ---- sizes ---- */

/* `#` is the number of the line, `<` the one before. */
static void repeat(FILE *out, const char *line, unsigned count) {
    for (unsigned i = 1; i <= count; i++)
        for (const char *at = line; *at != '\0'; at++)
            if (*at == '#' || *at == '<')
                fprintf(out, "%u", *at == '#' ? i : i - 1);
            else
                fputc(*at, out);
}

/* What becomes of a kernel in which each of two lines stands so often: "" if it is translated. */
static void expect(const char *line, const char *other, unsigned count, const char *reason) {
    char *text = NULL, *c;
    size_t size;
    struct ff__ptx_module *module;
    struct ff_error error = {""};
    const struct ff__ptx_emit_options options = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out,
            HEAD ".entry k() {\n.reg .b32 %%r<%u>; .reg .b64 %%p; .reg .pred %%q;\n"
                 "mov.u32 %%r0, %%tid.x;\n",
            count + 1);
    repeat(out, line, count);
    repeat(out, other, count);
    fprintf(out, "L0: st.global.u32 [%%p], %%r%u;\n}\n", count);
    assert_int_equal(fclose(out), 0);
    if (ff__ptx_read(text, size, &module, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(ff__ptx_emit(module, &options, &c, &size, &error), 0);
    if (strstr(module->functions[0].refused, reason) == NULL ||
        (module->functions[0].refused[0] == '\0') != (reason[0] == '\0'))
        fail_msg("%u times '%s' is refused with: '%s'", count, line, module->functions[0].refused);
    free(c);
    free(text);
    ff__ptx_module_free(module);
}

static void a_long_chain_is_no_deep_one(void **state) {
    (void)state;
    expect("add.u32 %r#, %r<, 1;\n", "", 50000, "");
}

static void refuses_what_takes_too_long(void **state) {
    (void)state;
    expect("add.u32 %r#, %r<, 1;\n", "", 65534, "");
    expect("add.u32 %r#, %r<, 1;\n", "", 65535, "line 5: more than 65536 instructions");
    expect("ld.global.u32 %r#, [%p+#];\nbar.sync 0;\n", "st.global.u32 [%p+#], %r#;\n", 100, "");
    expect("ld.global.u32 %r#, [%p+#];\nbar.sync 0;\n", "st.global.u32 [%p+#], %r#;\n", 3000,
           "the C code of this kernel would be more than 32 MiB");
}

/* Each branch may go to any of as many places as there are branches. */
static void refuses_too_many_targets(void **state) {
    (void)state;
    char targets[4096] = "t#: .branchtargets L0", line[8192];
    for (unsigned i = 0; i < 299; i++)
        strcat(targets, ", L0");
    snprintf(line, sizeof line, "%s;\nbrx.idx %%r0, t#;\n", targets);
    expect(line, "", 200, "");
    expect(line, "", 219, "its branches cannot be followed");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_branches_to_nowhere),
                                       cmocka_unit_test(refuses_operands_of_another_kind),
                                       cmocka_unit_test(refuses_other_numbers_of_registers),
                                       cmocka_unit_test(refuses_sizes_that_no_gpu_has),
                                       cmocka_unit_test(a_long_chain_is_no_deep_one),
                                       cmocka_unit_test(refuses_what_takes_too_long),
                                       cmocka_unit_test(refuses_too_many_targets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
