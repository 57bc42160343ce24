/* Kernels in OpenCL C, for the analysis of extents: IDs with offsets, work-groups that nobody
 * knows, options of programs, and what is no program. */
#include "base/cases.h"

#include "ptx/extent.h"
#include "ptx/opencl.h"
#include "ptx/read.h"

#include <errno.h>
#include <signal.h>

#define BASE UINT64_C(0x10000000)

static int translate(const char *source, const char *options, struct ff__ptx_module **out,
                     struct ff_error *error) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = ff__ptx_from_opencl(source, strlen(source), options, out, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

struct launched {
    struct ff__ptx_extent access; /* the first one */
    uint32_t count;
    bool complete;
};

/* Of the source's one kernel, whose parameters are a pointer, which is BASE, and an int. */
static struct launched launch(const char *source, const char *options,
                              struct ff__ptx_extent_launch how, int number) {
    struct ff__ptx_module *module;
    struct ff__ptx_extents *extents;
    struct ff__ptx_extent accesses[8];
    struct ff_error error = {0};
    struct launched out = {.count = 0};
    struct {
        uint64_t pointer;
        int number;
    } parameters = {BASE, number};
    if (translate(source, options, &module, &error) != 0)
        fail_msg("%s", error.message);
    const struct ff__ptx_function *kernel = module->functions;
    while (!kernel->is_entry)
        kernel++;
    assert_string_equal(kernel->refused, "");
    how.parameters = &parameters;
    how.parameter_size = sizeof parameters;
    assert_int_equal(ff__ptx_extents_make(kernel, &extents), 0);
    out.count = ff__ptx_extents_count(extents);
    out.complete = ff__ptx_extents_complete(extents);
    assert_in_range(out.count, 1, 8);
    ff__ptx_extents_find(extents, &how, accesses);
    out.access = accesses[0];
    ff__ptx_extents_free(extents);
    ff__ptx_module_free(module);
    return out;
}

static const struct ff__ptx_extent_launch blocks = {.grid = {8, 1, 1}, .block = {64, 1, 1}};

static void check(struct launched got, uint64_t low, uint64_t high) {
    assert_int_equal(got.access.kind, FF__PTX_EXACT);
    assert_int_equal(got.access.low, BASE + low);
    assert_int_equal(got.access.high, BASE + high);
    assert_int_equal(got.access.parameter, 0);
    assert_true(got.complete);
}

static void has_global_ids(void **state) {
    static const char source[] =
        "kernel void work(global int *a, int n) { a[get_global_id(0) + n] = 1; }";
    struct ff__ptx_extent_launch how = blocks;
    (void)state;
    check(launch(source, "", how, 0), 0, 512 * 4);
    how.offset[0] = 100;
    check(launch(source, "", how, 3), 103 * 4, 615 * 4);
    how = (struct ff__ptx_extent_launch){.grid = {500, 1, 1}, .block = {1, 1, 1}};
    how.any_block = true;
    check(launch(source, "", how, 0), 0, 500 * 4);
}

static void has_other_dimensions(void **state) {
    static const char source[] = "kernel void work(global int *a, int n) {"
                                 " a[get_global_id(0) + get_global_size(0) * get_global_id(1)"
                                 " - get_global_size(0) * get_global_offset(1)"
                                 " + (get_global_id(2) + get_global_id(3)) * n] = 1; }";
    struct ff__ptx_extent_launch how = {
        .grid = {2, 3, 5}, .block = {32, 4, 1}, .offset = {0, 7, 1}};
    (void)state;
    check(launch(source, "", how, 64 * 12), 64 * 12 * 4, 64 * 12 * 6 * 4);
}

/* What depends on them must not be taken for known. */
static void knows_when_groups_are_not_known(void **state) {
    static const char *const uses[] = {"get_local_id(0)", "get_group_id(0)", "get_local_size(0)",
                                       "get_num_groups(0)"};
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char source[200];
        struct ff__ptx_extent_launch how = blocks;
        snprintf(source, sizeof source, "kernel void work(global int *a, int n) { a[%s] = n; }",
                 uses[i]);
        assert_int_equal(launch(source, "", how, 0).access.kind, FF__PTX_EXACT);
        how.any_block = true;
        assert_int_not_equal(launch(source, "", how, 0).access.kind, FF__PTX_EXACT);
    }
}

/* Functions of the language access nothing unless they are given a pointer. */
static void knows_which_functions_access_memory(void **state) {
    (void)state;
    check(launch("kernel void work(global float *a, int n) {"
                 " float x = exp((float)n); barrier(CLK_LOCAL_MEM_FENCE);"
                 " a[get_global_id(0)] = pow(x, 2.0f); }",
                 "", blocks, 0),
          0, 512 * 4);
    struct launched got = launch("kernel void work(global float *a, int n) {"
                                 " a[get_global_id(0)] = 1; vstore4((float4)(n), n, a); }",
                                 "", blocks, 0);
    assert_false(got.complete);
    got = launch("kernel void work(global int *a, int n) { atomic_add(&a[n], 1); }", "", blocks, 5);
    check(got, 20, 24);
}

static void takes_options(void **state) {
    static const char source[] = "kernel void work(global int *a, int n) { a[AT] = n; }";
    static const char *const all[] = {"-DAT=7", "-D AT=7", "-cl-fast-relaxed-math -DAT=\"3 + 4\"",
                                      "-g -DAT='7' -cl-kernel-arg-info -cl-std=CL2.0",
                                      "-cl-std=CL1.1 -D \"AT=14 / 2\"  "};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(launch(source, all[i], blocks, 0), 28, 32);
}

static void refuses_what_is_no_program(void **state) {
    static const char *const sources[] = {"kernel void work(global int *a { }",
                                          "#include \"nowhere.h\"\n", "#error\n"};
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct ff__ptx_module *module;
        struct ff_error error = {0};
        assert_int_equal(translate(sources[i], "", &module, &error), -ENOEXEC);
        assert_non_null(strstr(error.message, "<stdin>:1:"));
        assert_null(strchr(error.message, '\n'));
    }
}

static void needs_clang(void **state) {
    struct ff__ptx_module *module;
    struct ff_error error = {0};
    char *path = strdup(getenv("PATH"));
    (void)state;
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(translate("", "", &module, &error), -ENOEXEC);
    assert_non_null(strstr(error.message, "clang"));
    setenv("PATH", path, 1);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_global_ids),
        cmocka_unit_test(has_other_dimensions),
        cmocka_unit_test(knows_when_groups_are_not_known),
        cmocka_unit_test(knows_which_functions_access_memory),
        cmocka_unit_test(takes_options),
        cmocka_unit_test(refuses_what_is_no_program),
        cmocka_unit_test(needs_clang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
