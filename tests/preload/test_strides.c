/* What is read of strides off kernels' sources: cases by hand, and the sources that the bundled
 * programs have in them. */
#include "base/cases.h"

#include "preload/opencl/source/strides.h"

#include <stdio.h>
#include <string.h>

#define ARGUMENTS 16

/* `fixed`: a letter for each argument, 'F' where its stride is fixed. */
struct kernel {
    const char *name, *fixed;
};

static void check_kernel(const char *what, const char *source, size_t length,
                         const struct kernel *kernel) {
    char got[ARGUMENTS + 1] = "";
    bool fixed[ARGUMENTS];
    uint32_t count = (uint32_t)strlen(kernel->fixed);
    ff__strides_read(source, length, kernel->name, fixed, count);
    for (uint32_t i = 0; i < count; i++)
        got[i] = fixed[i] ? 'F' : '-';
    if (strcmp(got, kernel->fixed) != 0)
        fail_msg("%s: kernel %s gives %s instead of %s", what, kernel->name, got, kernel->fixed);
}

/* ---- by hand ---- */

/* What a kernel's body makes of "global float *a, global int *b, uint n, uint m"; `fixed` is of a
 * and b. */
static void check_body(const char *body, const char *fixed) {
    char source[1024], all[8];
    int length = snprintf(
        source, sizeof source,
        "kernel void k(global float *a, const __global int *restrict b, uint n, const uint m) {\n"
        "const size_t x = get_global_id(0), y = get_global_id(1);\n%s\n}",
        body);
    snprintf(all, sizeof all, "%s--", fixed);
    check_kernel(body, source, (size_t)length, &(struct kernel){"k", all});
}

struct body {
    const char *text, *fixed;
};

static void check_bodies(const struct body *bodies, size_t count) {
    for (size_t i = 0; i < count; i++)
        check_body(bodies[i].text, bodies[i].fixed);
}

static void test_fixed_strides(void **state) {
    static const struct body bodies[] = {
        {"a[x] = 1;", "F-"},
        {"a[4 * x + 2] = 1;", "F-"},
        {"a[n - 1 - x] = 1;", "F-"},
        {"a[(x + n * y) * 2 - m] += 2.5f;", "F-"},
        {"a[(int)x] = 1;", "F-"},
        {"a[(x << 2) + (n >> 1)] = 1;", "F-"},
        {"if (x < n && y < m) a[y * n + x].x = 1; // a[b[x]]", "F-"},
        {"for (uint i = 0; i < n; i++) a[i * n + x] = 1;", "F-"},
        {"for (uint i = x; i < n; i += get_global_size(0)) a[i] = 1;", "F-"},
        {"uint i = x; for (; i < n; i += 2 * get_local_size(0)) a[i] = 1;", "F-"},
        {"int i; for (i = n; i > 0; --i) a[i] = 1; for (i = 0; i < 3; ++i) a[i + x] = 2;", "F-"},
        {"uint i = get_group_id(0) * get_local_size(0) + get_local_id(0); a[i] = a[i + 1];", "F-"},
        {"const uint row = get_group_id(0) * m; for (uint i = get_local_id(0); i < m; i += 64) "
         "a[row + i] = 1;",
         "F-"},
    };
    (void)state;
    check_bodies(bodies, sizeof bodies / sizeof bodies[0]);
}

static void test_nothing_is_said(void **state) {
    static const struct body bodies[] = {
        {"", "--"},
        {"a[0] = 1;", "--"},
        {"a[n * 3] = 1;", "--"},
        {"a[b[0]] = 1;", "--"},
        {"const int i = b[x] + 1; a[i] = 1;", "-F"},
        {"a[x % n] = 1;", "--"},
        {"a[x / 2] = 1;", "--"},
        {"a[x & 7] = 1;", "--"},
        {"a[x * y] = 1;", "--"},
        {"a[x < n ? x : 0] = 1;", "--"},
        {"a[min(x, n)] = 1;", "--"},
        {"a[idx(x, y)] = 1;", "--"},
        {"a[TILE * y + x] = 1;", "--"},
        {"a[x] = 1; a[x * x] = 1;", "--"},
        {"a[x] = 1; a += n;", "--"},
        {"a[x] = 1; store(a);", "--"},
        {"a[x] = 1; atomic_inc(&a[x]);", "--"},
        {"global float *c = a + x; c[0] = a[x];", "--"},
        {"*a = 1;", "--"},
        {"a[x][b[x]] = 1;", "-F"},
        {"a[x].member[b[x]] = 1;", "-F"},
        {"a[x * n] = 1; /* a row for each work-item */", "--"},
        {"for (uint i = 0; i < m; i++) a[x * m + i] = 1;", "--"},
        {"a[y + x * n + 2] = 1;", "--"},
        {"for (uint i = b[x]; i < b[x + 1]; i++) a[i] = 1;", "-F"},
        {"for (uint i = 1; i < n; i *= 2) a[i] = 1;", "--"},
        {"for (uint i = 0; i < n; i += b[i]) a[i] = 1;", "--"},
        {"for (uint i = 0; i < n; i++) { a[i] = 1; if (n == m) i++; }", "--"},
        {"uint i = 0; while (i < n) { a[i] = 1; i += 2; }", "--"},
        {"uint i = 0; if (x < n) i = x; a[i] = 1;", "--"},
        {"uint i = x; next(&i); a[i] = 1;", "--"},
        {"for (uint i = 0; i < n; i++) a[i] = 1; for (uint i = b[0]; i < n; i++) a[i] = 1;", "--"},
        {"const uchar i = x; a[i] = 1;", "--"},
        {"const float i = x; a[(int)i] = 1;", "--"},
        {"a[(uchar)x] = 1;", "--"},
        {"a[i.x] = 1;", "--"},
        {"a[get_global_id(n)] = 1;", "--"},
        {"a[get_global_id(0u)] = 1;", "--"},
        {"a[x = 3] = 1;", "--"},
        {"a[x, y] = 1;", "--"},
        {"a[1.5f * x] = 1;", "--"},
        {"a[x} = 1;", "--"},
        {"a[((x] = 1;", "--"},
    };
    (void)state;
    check_bodies(bodies, sizeof bodies / sizeof bodies[0]);
}

static void check_source(const char *source, const char *fixed) {
    check_kernel(source, source, strlen(source), &(struct kernel){"k", fixed});
}

static void test_sources(void **state) {
    (void)state;
    check_source("kernel void k(global float *a) { a[get_global_id(0)] = 1; }", "F");
    check_source("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                 "kernel void k(global float *a) { a[get_global_id(0)] = 1; }",
                 "F");
    check_source("#define N 16\nkernel void k(global float *a) { a[get_global_id(0)] = 1; }", "F");
    check_source("#define N 16\nkernel void k(global float *a) { a[get_global_id(0)] = N; }", "-");
    check_source(
        "#  define a b \\\n c\nkernel void k(global float *a) { a[get_global_id(0)] = 1; }", "-");
    check_source("#include \"x.h\"\nkernel void k(global float *a) { a[get_global_id(0)] = 1; }",
                 "-");
    check_source("#if 1\n#endif\nkernel void k(global float *a) { a[get_global_id(0)] = 1; }", "-");
    check_source("kernel void j(global float *a) { a[get_global_id(0)] = 1; }", "-");
    check_source("kernel void k(global float *a) { a[get_global_id(0)] = 1; }", "--");
    check_source("kernel void k(global float *a); "
                 "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(global float *a) { "
                 "a[get_global_id(0)] = '}'; }",
                 "F");
    check_source("kernel void k(global float *a) { a[get_global_id(0)] = 1; /*", "-");
    check_source("kernel void k(global float *a) { a[get_global_id(0)] = 1;", "-");
    check_source("kernel void k(global float *a) { a[get_global_id(0)] = \"1; }", "-");
    check_source("kernel void k(global float a[]) { a[get_global_id(0)] = 1; }", "-");
    check_source("kernel void k(void) { }", "");
}

/* ---- the bundled programs ---- */

static const struct bundled {
    const char *program;
    struct kernel kernel;
} bundled[] = {
    {"2dconv", {"convolve", "FF-"}},        {"addvectors", {"add", "FFF-"}},
    {"atax", {"row_products", "-FF--"}},    {"atax", {"column_products", "FFF--"}},
    {"backprop", {"adjust", "FFFF"}},       {"bfs", {"start", "---"}},
    {"bfs", {"expand", "---F----"}},        {"bfs", {"add_distances", "FF-"}},
    {"bicgstab", {"multiply", "F---F-"}},   {"bicgstab", {"full_step", "FFFF---"}},
    {"cg", {"multiply", "F---F-"}},         {"cg", {"advance_solution", "FFFF--"}},
    {"gmres", {"dot_product", "FFF-"}},     {"gmres", {"add_directions", "F-F-F-"}},
    {"hotspot", {"advance", "FFF-"}},       {"integral", {"sum_rows", "--"}},
    {"integral", {"sum_columns", "F--"}},   {"jacobi", {"relax", "FFF--"}},
    {"lm", {"embed", "F--F---"}},           {"lm", {"attend", "------"}},
    {"lm", {"adamw", "FFFF---"}},           {"nw", {"start_borders", "--"}},
    {"nw", {"align_tiles", "-----"}},       {"pagerank", {"share", "FFF-"}},
    {"pagerank", {"pull", "F--F--"}},       {"pathfinder", {"advance", "FFF---"}},
    {"particles", {"advance", "FF--"}},     {"ra", {"update", "----"}},
    {"srad", {"coefficients", "FFFFFF--"}}, {"srad", {"diffuse", "FFFFFF-"}},
    {"streamtriad", {"triad", "FFF--"}},    {"wave", {"advance", "FF---"}},
};

/* The text in the file that has the kernel: programs are built with their kernels' source. */
static void check_program(const struct bundled *row) {
    static char data[8 << 20];
    char path[512], start[128];
    snprintf(path, sizeof path, "%s/%s", PROGRAMS, row->program);
    snprintf(start, sizeof start, "void %s(", row->kernel.name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof data - 1, file), length;
    fclose(file);
    assert_true(size < sizeof data - 1);
    data[size] = '\0';
    for (size_t i = 0; i < size; i += length + 1) {
        length = strlen(data + i);
        if (!strstr(data + i, start))
            continue;
        check_kernel(row->program, data + i, length, &row->kernel);
        return;
    }
    fail_msg("%s has no kernel %s", row->program, row->kernel.name);
}

static void test_bundled_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bundled / sizeof bundled[0]; i++)
        check_program(&bundled[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_strides),
        cmocka_unit_test(test_nothing_is_said),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_bundled_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
