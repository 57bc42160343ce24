/* What `farfault repro` computes, exactly: every row of every table but for its paper's number. The papers that take
 * longer are cut to a few of their rows. */
#include "golden/golden.h"

#include "cli/repro.h"

#include <math.h>

#define JOBS 2u

/* A published list keeps only the rows with one of these names; NULL ends the names. */
static void cut(json_t *published, const char *list, const char *const *kept) {
    json_t *rows = json_object_get(published, list);
    assert_non_null(rows);
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const char *name = ff__repro_text(json_array_get(rows, i), "config");
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
        snprintf(key, sizeof key, "%s %s", ff__repro_text(table, "id"),
                 ff__repro_text(row, "name"));
        double ours =
            ff__repro_number(row, "ours"); /* means are of logarithms: 12 digits are sure */
        if (isnan(ours))
            golden_add(golden, key, "-");
        else
            golden_add(golden, key, "%.12g", ours);
    }
}

static void check(const struct ff__repro *repro, json_t *published) {
    struct golden golden = golden_open(repro->name, "table row\tours");
    const struct ff__repro_plan plan = {.published = published, .seed = 1, .jobs = JOBS};
    json_t *tables = json_array(), *table;
    size_t i;
    assert_int_equal(repro->run(&plan, tables), 0);
    json_array_foreach(tables, i, table) add_table(&golden, table);
    json_decref(tables);
    json_decref(published);
    golden_close(&golden);
}

static void test_uvmsmart(void **state) {
    (void)state;
    json_t *published;
    assert_int_equal(ff__repro_published("uvmsmart", &published), 0);
    check(&ff__repro_uvmsmart, published);
}

/* Three configurations, and of each sweep what it is measured against and one more. */
static void test_deepum(void **state) {
    (void)state;
    static const char *const configs[] = {"GPT-2 L 3", "BERT Large 16", "BERT Base 30", NULL};
    static const char *const tables[] = {"Config0", "Config9", NULL}, *const none[] = {NULL};
    json_t *published;
    assert_int_equal(ff__repro_published("deepum", &published), 0);
    cut(published, "configs", configs);
    cut(published, "largest", none);
    cut(published, "tables", tables);
    json_object_set_new(json_object_get(published, "degree"), "values", json_pack("[i, i]", 8, 32));
    check(&ff__repro_deepum, published);
}

static void keep_first(json_t *list, size_t count) {
    while (json_array_size(list) > count)
        json_array_remove(list, count);
}

/* Two programs at the lowest pressure. */
static void test_forest(void **state) {
    (void)state;
    json_t *published;
    assert_int_equal(ff__repro_published("forest", &published), 0);
    keep_first(json_object_get(published, "programs"), 2);
    keep_first(json_object_get(published, "pressures"), 1);
    check(&ff__repro_forest, published);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uvmsmart),
        cmocka_unit_test(test_deepum),
        cmocka_unit_test(test_forest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
