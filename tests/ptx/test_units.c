/* A module whose kernels are compiled apart: each when it is used, with the same variables, and
 * with functions that one of them calls by an address that another one has taken. */
#include "ptx/bench.h"
#include "ptx/folder.h"

enum { KERNELS = 3, FILLER = 500, THREADS = 64 };

static const char head[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".func (.param .b32 r) twice(.param .b32 a);\n.func (.param .b32 r) stored(.param .b32 a);\n"
    ".global .u32 sum = 100;\n.global .align 8 .u64 where = sum;\n"
    ".global .align 8 .u64 table[2] = {twice, stored};\n.global .align 8 .u64 taken;\n"
    ".shared .align 4 .b8 common[256];\n"
    ".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r;\n"
    "ld.param.u32 %r, [a]; shl.b32 %r, %r, 1; st.param.b32 [r], %r; ret;\n}\n"
    /* leaves it in shared memory, and takes it from there */
    ".func (.param .b32 r) stored(.param .b32 a)\n{\n"
    ".reg .b32 %r<4>; .shared .align 4 .b8 own[256];\n"
    "ld.param.u32 %r0, [a]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2;\n"
    "mov.u32 %r2, own; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0;\n"
    "mov.u32 %r3, common; add.u32 %r3, %r3, %r1; ld.shared.u32 %r1, [%r3];\n"
    "ld.shared.u32 %r0, [%r2]; add.u32 %r0, %r0, %r1; st.param.b32 [r], %r0; ret;\n}\n";

/* What kernel i writes for a thread: what table[i % 2] makes of the thread's number, of which
 * `common` has the double; and it adds i + 1 to `sum`. */
static void write_kernel(FILE *out, unsigned number) {
    fprintf(out,
            ".visible .entry k%u(.param .u64 out, .param .u32 n)\n{\n"
            ".reg .b32 %%r<9>; .reg .b64 %%p<9>; .reg .pred %%q;\n"
            "ld.param.u64 %%p0, [out]; mov.u32 %%r0, %%tid.x;\n"
            "mov.u32 %%r1, common; shl.b32 %%r2, %%r0, 2; add.u32 %%r1, %%r1, %%r2;\n"
            "shl.b32 %%r3, %%r0, 1; st.shared.u32 [%%r1], %%r3; bar.sync 0;\n"
            "ld.global.u64 %%p1, [table + %u]; ld.global.u64 %%p3, [where];\n"
            "{ .param .b32 a_; .param .b32 r_; st.param.b32 [a_], %%r0;\n"
            "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
            "call (r_), %%p1, (a_), P; ld.param.b32 %%r4, [r_]; }\n"
            "mul.wide.u32 %%p2, %%r0, 4; add.u64 %%p2, %%p0, %%p2;\n"
            "st.global.u32 [%%p2], %%r4; setp.eq.u32 %%q, %%r0, 0;\n"
            "@%%q atom.global.add.u32 %%r5, [%%p3], %u;\n",
            number, number % 2 * 8, number + 1);
    for (unsigned i = 0; i < FILLER; i++)
        fprintf(out, "xor.b32 %%r6, %%r6, %u;\n", i);
    fprintf(out, "ret;\n}\n");
}

static int open_all(void **state) {
    static struct bench bench;
    if (make_folder(state) != 0)
        return -1;
    setenv("FARFAULT_PTX_CACHE", in_folder("cache"), 1);
    FILE *out = fopen(in_folder("units.ptx"), "w");
    assert_non_null(out);
    fprintf(out, "%s", head);
    for (unsigned i = 0; i < KERNELS; i++)
        write_kernel(out, i);
    fprintf(out, ".visible .entry refused(.param .u64 out, .param .u32 n)\n"
                 "{ .reg .b16 %%h; ld.global.u16 %%h, [%%h]; ret; }\n");
    assert_int_equal(fclose(out), 0);
    bench = open_bench(in_folder("units.ptx"), 1024);
    *state = &bench;
    return 0;
}

static int close_all(void **state) {
    close_bench(*state);
    return remove_folder(state);
}

static uint32_t sum_of(struct bench *bench) {
    void *sum;
    size_t size;
    struct ff_error error = {0};
    if (ff__ptx_symbol(bench->program, "sum", &sum, &size, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(size, 4);
    return *(const uint32_t *)sum;
}

static void use_kernel(struct bench *bench, unsigned number) {
    struct shape shape = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    struct ff_error error = {0};
    char name[8];
    snprintf(name, sizeof name, "k%u", number);
    uint32_t before = sum_of(bench);
    if (run_kernel(bench, name, &shape, 0, &error) != 0)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(bench->out[i], number % 2 == 0 ? 2 * i : 3 * i);
    assert_int_equal(sum_of(bench), before + number + 1);
}

/* The first unit is there once the address of a function has to be. */
static void kernels_are_compiled_when_used(void **state) {
    struct bench *bench = *state;
    assert_int_equal(count_files(in_folder("cache"), NULL), 0);
    assert_int_equal(sum_of(bench), 100);
    assert_int_equal(count_files(in_folder("cache"), NULL), 1);
    use_kernel(bench, 2);
    assert_int_equal(count_files(in_folder("cache"), NULL), 2);
    use_kernel(bench, 1);
    use_kernel(bench, 0);
    use_kernel(bench, 1);
    assert_int_equal(count_files(in_folder("cache"), NULL), KERNELS);
}

static void refused_kernels_say_why(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    struct ff_error error = {0};
    assert_int_equal(run_kernel(bench, "refused", &shape, 0, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "an address in a register of .b16"));
}

/* From the cache, and with variables of its own. */
static void another_program_finds_them(void **state) {
    struct bench *first = *state;
    struct bench second = open_bench(in_folder("units.ptx"), 1024);
    uint32_t before = sum_of(first);
    assert_int_equal(sum_of(&second), 100);
    for (unsigned i = 0; i < KERNELS; i++)
        use_kernel(&second, i);
    assert_int_equal(sum_of(first), before);
    refused_kernels_say_why((void *[]){&second});
    assert_int_equal(count_files(in_folder("cache"), NULL), KERNELS + 1);
    close_bench(&second);
}

/* Two kernels that are small but for what they call: it has a barrier, and becomes a part of them.
 */
static void write_callers(const char *path) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, ".version 7.0\n.target sm_70\n.address_size 64\n"
                 ".func (.param .b32 r) tripled(.param .b32 a)\n{\n.reg .b32 %%r<3>;\n"
                 "ld.param.u32 %%r0, [a]; mul.lo.u32 %%r1, %%r0, 3; bar.sync 0;\n");
    for (unsigned i = 0; i < FILLER / 2; i++)
        fprintf(out, "xor.b32 %%r2, %%r2, %u;\n", i);
    fprintf(out, "st.param.b32 [r], %%r1; ret;\n}\n");
    for (unsigned i = 0; i < 2; i++)
        fprintf(out,
                ".visible .entry k%u(.param .u64 out, .param .u32 n)\n{\n"
                ".reg .b32 %%r<3>; .reg .b64 %%p<3>;\n"
                "ld.param.u64 %%p0, [out]; mov.u32 %%r0, %%tid.x;\n"
                "{ .param .b32 a_; .param .b32 r_; st.param.b32 [a_], %%r0;\n"
                "call (r_), tripled, (a_); ld.param.b32 %%r1, [r_]; }\n"
                "add.u32 %%r1, %%r1, %u; mul.wide.u32 %%p1, %%r0, 4; add.u64 %%p1, %%p0, %%p1;\n"
                "st.global.u32 [%%p1], %%r1; ret;\n}\n",
                i, i);
    assert_int_equal(fclose(out), 0);
}

static void calls_that_are_expanded_count(void **state) {
    const struct shape shape = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    unsigned before = count_files(in_folder("cache"), NULL);
    (void)state;
    write_callers(in_folder("callers.ptx"));
    struct bench bench = open_bench(in_folder("callers.ptx"), 1024);
    for (uint32_t number = 0; number < 2; number++) {
        struct ff_error error = {0};
        if (run_kernel(&bench, number == 0 ? "k0" : "k1", &shape, 0, &error) != 0)
            fail_msg("%s", error.message);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(bench.out[i], 3 * i + number);
    }
    assert_int_equal(count_files(in_folder("cache"), NULL), before + 2);
    close_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_compiled_when_used),
                                       cmocka_unit_test(refused_kernels_say_why),
                                       cmocka_unit_test(another_program_finds_them),
                                       cmocka_unit_test(calls_that_are_expanded_count)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
