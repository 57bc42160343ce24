/* What `farfault repro` computes, exactly: every row of every table but for its paper's number. The
 * papers that take longer are cut to a few of their rows. Of the paper that can be run whole
 * (TEST_GOLDEN=whole) the deviations are limited, too. */
#include "golden/golden.h"

#include "study/repro/repro.h"

#include <math.h>

#define JOBS 2u

/* A published list keeps only the rows whose `member` is one of these names; NULL ends the names.
 */
static void cut(json_t *published, const char *list, const char *member, const char *const *kept) {
    json_t *rows = json_object_get(published, list);
    assert_non_null(rows);
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const char *name = ff__json_text_of(json_array_get(rows, i), member);
        unsigned j = 0;
        while (kept[j] && strcmp(kept[j], name) != 0)
            j++;
        if (!kept[j])
            json_array_remove(rows, i);
    }
}

static void add_table(struct golden *golden, const json_t *table) {
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        char key[256];
        snprintf(key, sizeof key, "%s %s", ff__json_text_of(table, "id"),
                 ff__json_text_of(row, "name"));
        double ours =
            ff__json_number_of(row, "ours"); /* means are of logarithms: 12 digits are sure */
        if (isnan(ours))
            golden_add(golden, key, "-");
        else
            golden_add(golden, key, "%.12g", ours);
    }
}

/* ---- how far our numbers may be from the published ones ---- */

/* In percent; of single rows it is what the file says. */
static double mean_limit_of(const char *table) {
    if (strstr(table, ".thrashed"))
        return INFINITY;
    return strncmp(table, "programs", 8) == 0 ? 15 : 10;
}

static unsigned is_far(const char *table, const char *row, double paper, double ours,
                       double limit) {
    double deviation = 100 * fabs(ours / paper - 1);
    if (isnan(limit) || deviation <= limit)
        return 0;
    print_message("%s %s: %g, published %g: more than %g %% off\n", table, row, ours, paper, limit);
    return 1;
}

/* How many rows are too far off, and means over the rows that both have. */
static unsigned count_far(const json_t *published, const json_t *table) {
    const char *id = ff__json_text_of(table, "id");
    double logs_of_paper = 0, logs_of_ours = 0;
    unsigned far = 0, count = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        const char *name = ff__json_text_of(row, "name");
        double paper = ff__json_number_of(row, "paper"), ours = ff__json_number_of(row, "ours");
        if (paper > 0 && !isnan(ours))
            far += is_far(id, name, paper, ours, ff__repro_tolerance(published, id, name));
        if (!(paper > 0) || !(ours > 0))
            continue;
        logs_of_paper += log(paper);
        logs_of_ours += log(ours);
        count++;
    }
    return far + (count > 0 ? is_far(id, "mean", exp(logs_of_paper / count),
                                     exp(logs_of_ours / count), mean_limit_of(id))
                            : 0);
}

/* ---- papers ---- */

typedef int run_fn(const struct ff__repro_plan *plan, json_t *tables);

/* `published` is taken over; returns the tables, which the caller releases. */
static json_t *check(const char *name, run_fn *run, json_t *published, bool in_part) {
    struct golden golden = golden_open(name, "table row\tours");
    golden.in_part = in_part;
    const struct ff__repro_plan plan = {.published = published, .study = {.seed = 1, .jobs = JOBS}};
    json_t *tables = json_array(), *table;
    size_t i;
    assert_int_equal(run(&plan, tables), 0);
    json_array_foreach(tables, i, table) add_table(&golden, table);
    json_decref(published);
    golden_close(&golden);
    return tables;
}

/* In part, every configuration of every table with two programs that take little time. */
static void test_uvmsmart(void **state) {
    (void)state;
    static const char *const programs[] = {"hotspot", "fdtd", NULL};
    json_t *published, *table;
    unsigned far = 0;
    size_t i;
    bool in_part = !golden_is_whole();
    assert_int_equal(ff__repro_published("uvmsmart", &published), 0);
    if (in_part)
        json_array_foreach(json_object_get(published, "tables"), i, table)
            cut(table, "rows", "program", programs);
    json_incref(published);
    json_t *tables = check("uvmsmart", ff__repro_file, published, in_part);
    json_array_foreach(tables, i, table) far += count_far(published, table);
    json_decref(published);
    json_decref(tables);
    assert_int_equal(far, 0);
}

static int run_deepum(const struct ff__repro_plan *plan, json_t *tables) {
    struct ff__repro_plan all = *plan;
    all.parts = "paper,sweeps,batches,tensorflow";
    return ff__repro_file(&all, tables);
}

/* One configuration, of each sweep what it is measured against and one more, and one network that
 * fits. */
static void test_deepum(void **state) {
    (void)state;
    static const char *const configs[] = {"BERT Base 30", NULL};
    static const char *const none[] = {NULL};
    static const char *const networks[] = {"DCGAN (celebA)", NULL};
    json_t *published;
    assert_int_equal(ff__repro_published("deepum", &published), 0);
    json_t *sets = json_object_get(published, "sets"), *lists = json_object_get(published, "lists");
    cut(sets, "configs", "config", configs);
    cut(sets, "largest", "config", none);
    cut(sets, "tensorflow", "config", networks);
    json_object_set_new(lists, "shapes", json_pack("[s, s]", "Config0", "Config9"));
    json_object_set_new(lists, "degrees", json_pack("[s, s]", "N = 8", "N = 32"));
    json_object_set_new(lists, "sweeps", json_array());
    json_decref(check("deepum", run_deepum, published, false));
}

static int run_hlsh(const struct ff__repro_plan *plan, json_t *tables) {
    struct ff__repro_plan simulated = *plan;
    simulated.parts = "runs,window";
    return ff__repro_file(&simulated, tables);
}

/* One program, small, in the simulator, and cut at two thirds. What trains with a BLAS is left out:
 * its sums depend on the machine. */
static void test_hlsh(void **state) {
    (void)state;
    static const char *const programs[] = {"StreamTriad", NULL};
    json_t *published;
    assert_int_equal(ff__repro_published("hlsh", &published), 0);
    json_object_set_new(published, "pretraining_steps", json_integer(100));
    json_t *sets = json_object_get(published, "sets");
    cut(sets, "programs", "program", programs);
    json_t *program = json_array_get(json_object_get(sets, "programs"), 0);
    json_object_set_new(program, "workload", json_string("streamtriad:size=2M"));
    json_object_set_new(program, "instructions", json_integer(3145728));
    json_object_del(program, "cut_instructions");
    program = json_array_get(json_object_get(sets, "figure11"), 0);
    json_object_set_new(program, "instructions", json_integer(200000));
    json_decref(check("hlsh", run_hlsh, published, false));
}

static void keep_first(json_t *list, size_t count) {
    while (json_array_size(list) > count)
        json_array_remove(list, count);
}

/* Two programs at the lowest pressure, of the two systems. */
static void test_forest(void **state) {
    (void)state;
    json_t *published;
    assert_int_equal(ff__repro_published("forest", &published), 0);
    keep_first(json_object_get(json_object_get(published, "sets"), "programs"), 2);
    keep_first(json_object_get(published, "tables"), 2);
    json_decref(check("forest", ff__repro_file, published, false));
}

/* All tables, of one small program: which there are, and of which runs they are made. */
static void test_forest_tables(void **state) {
    (void)state;
    json_t *published, *set;
    const char *name;
    assert_int_equal(ff__repro_published("forest", &published), 0);
    json_object_foreach(json_object_get(published, "sets"), name, set) {
        keep_first(set, 1);
        json_object_set_new(json_array_get(set, 0), "program", json_string("BICG"));
        json_object_set_new(json_array_get(set, 0), "workload", json_string("bicg:size=4M"));
    }
    json_decref(check("forest-tables", ff__repro_file, published, false));
}

/* One job that harvests and one that yields, on a 64th of the devices' memory. */
static void test_huvm(void **state) {
    (void)state;
    static const char *const workloads[] = {
        "pagerank:scale=64,iterations=5",
        "wcc:nodes=58655849,arcs=261321071,scale=64,calls=1048576"};
    json_t *published;
    assert_int_equal(ff__repro_published("huvm", &published), 0);
    json_t *cases = json_object_get(published, "cases");
    keep_first(cases, 1);
    keep_first(json_object_get(published, "spare"), 0);
    json_object_set_new(published, "memory", json_integer(1 << 28));
    json_t *jobs = json_object_get(json_array_get(cases, 0), "jobs");
    json_array_remove(jobs, 1);
    json_array_remove(jobs, 1);
    for (size_t i = 0; i < 2; i++)
        json_object_set_new(json_array_get(jobs, i), "workload", json_string(workloads[i]));
    json_object_set_new(json_array_get(jobs, 0), "start_s", json_real(0.05));
    json_decref(check("huvm", ff__repro_huvm.run, published, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uvmsmart),      cmocka_unit_test(test_deepum),
        cmocka_unit_test(test_hlsh),          cmocka_unit_test(test_forest),
        cmocka_unit_test(test_forest_tables), cmocka_unit_test(test_huvm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
