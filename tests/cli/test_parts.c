/* The parts of the command line that decide something by themselves. */
#include "base/nearest.h"
#include "report/plot.h"
#include "report/table.h"
#include "study/amount.h"
#include "study/live/child.h"
#include "study/live/result.h"
#include "study/paired.h"
#include "study/repro/plot.h"
#include "study/specs.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- children ---- */

static void count_notice(void *noticer) {
    ++*(int *)noticer;
}

/* A child that runs longer than that is noticed once, one that does not is not. */
static void test_notice(void **state) {
    static char sleep_name[] = "sleep", longer[] = "0.3", shorter[] = "0";
    char *argv[] = {sleep_name, longer, NULL};
    int noticed = 0;
    struct ff__child child = {.argv = argv,
                              .environment = environ,
                              .output = -1,
                              .errors = -1,
                              .notice_ns = 10000000,
                              .notice = count_notice,
                              .noticer = &noticed};
    struct ff__child_end end;
    (void)state;
    assert_int_equal(ff__child_run(&child, &end), 0);
    assert_int_equal(noticed, 1);
    argv[1] = shorter;
    child.notice_ns = UINT64_C(100000000000);
    assert_int_equal(ff__child_run(&child, &end), 0);
    assert_int_equal(noticed, 1);
    assert_int_equal(ff__child_exit_status(&end), 0);
}

/* ---- lists of systems ---- */

/* `expected` has the systems with spaces between them. */
static void check_split(const char *list, const char *expected) {
    struct ff__words systems;
    struct ff_error error;
    assert_int_equal(ff__specs_split(list, &systems, &error), 0);
    char joined[256] = "";
    for (unsigned i = 0; i < systems.count; i++) {
        strcat(joined, i ? " " : "");
        strcat(joined, systems.items[i]);
    }
    assert_string_equal(joined, expected);
    ff__words_free(&systems);
}

static void check_refused(const char *list, const char *message) {
    struct ff__words systems;
    struct ff_error error;
    assert_int_not_equal(ff__specs_split(list, &systems, &error), 0);
    assert_non_null(strstr(error.message, message));
}

static void test_systems(void **state) {
    (void)state;
    check_split("demand", "demand");
    check_split("demand,nvidia,nvidia-1", "demand nvidia nvidia-1");
    check_split("nvidia:threshold=25,thrashing=0,demand", "nvidia:threshold=25,thrashing=0 demand");
    check_split("nvidia:threshold=25,nvidia:threshold=75",
                "nvidia:threshold=25 nvidia:threshold=75");
    check_split("nvidia,threshold=25,demand", "nvidia:threshold=25 demand");
    check_split("demand,nvidia:evict=lrm,quirk=0,place=host",
                "demand nvidia:evict=lrm,quirk=0,place=host");
    check_split("bfs:n=4,seed=2,hotspot,pyramid=3", "bfs:n=4,seed=2 hotspot:pyramid=3");
    check_refused("", "missing");
    check_refused("demand,", "missing");
    check_refused("demand,,nvidia", "missing");
    check_refused("threshold=1,demand", "must follow");
    check_refused("demand,nvidia,demand", "twice");
}

/* ---- amounts ---- */

static void test_amounts(void **state) {
    (void)state;
    static const char *const wrong[] = {"",    "%",    "x%",   "0%",   "-1%", "5%%",
                                        "5%5", "nan%", "inf%", "1e9%", "x",   "-4M"};
    struct ff__amount amount;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_not_equal(ff__amount_parse(wrong[i], &amount), 0);
    assert_int_equal(ff__amount_parse("66.7%", &amount), 0);
    assert_int_equal(ff__amount_of(&amount, 192u << 20), 128u << 20);
    assert_int_equal(ff__amount_of(&amount, (192u << 20) - 4096), 128u << 20);
    assert_int_equal(ff__amount_parse("5M", &amount), 0);
    assert_int_equal(ff__amount_of(&amount, 0), 4u << 20);
    assert_int_equal(ff__amount_parse("1%", &amount), 0);
    assert_int_equal(ff__amount_of(&amount, 100u << 20), 1u << 20);
}

/* ---- pairs ---- */

/* Ratios of 1, 2, 4, 8 and 16: a mean of 4; logarithms of base 2 have a standard error of sqrt(2.5
 * / 5), and the 97.5 % quantile of Student's t for 4 degrees of freedom is 2.776. */
static void test_paired(void **state) {
    double logs[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        logs[i] = i * log(2);
    struct ff__paired paired = ff__paired_of(logs, 5);
    assert_int_equal(paired.pairs, 5);
    assert_float_equal(paired.ratio, 4, 1e-9);
    assert_float_equal(paired.low, (float)(4 * exp2(-2.776 * sqrt(0.5))), 0.002f);
    assert_float_equal(paired.high, (float)(4 * exp2(2.776 * sqrt(0.5))), 0.02f);
    assert_int_equal(ff__paired_of(logs, 4).pairs, 0);
}

/* ---- results ---- */

static void add_run(struct ff__result *result, double seconds) {
    struct ff__trial trial = {.good = true, .summary = {.measures = {.seconds = seconds}}};
    ff__result_add(result, &trial);
}

static void test_results(void **state) {
    (void)state;
    struct ff__result *result = calloc(1, sizeof *result);
    assert_false(ff__result_usable(result));
    add_run(result, 3);
    add_run(result, 1);
    add_run(result, 2);
    assert_float_equal(ff__result_median(result), 2, 0);
    assert_float_equal(ff__result_min(result), 1, 0);
    assert_float_equal(ff__result_max(result), 3, 0);
    add_run(result, 6);
    assert_float_equal(ff__result_median(result), 2.5, 0);
    assert_float_equal(ff__result_typical(result)->measures.seconds, 2, 0);
    static const double turns[] = {3, 1, 2, 6};
    assert_memory_equal(result->turns, turns, sizeof turns);

    struct ff__trial bad = {.good = false, .reason = "why"};
    ff__result_add(result, &bad);
    assert_false(ff__result_usable(result));
    assert_string_equal(result->reason, "why");
    free(result);
}

/* ---- names and texts ---- */

static void test_nearest(void **state) {
    (void)state;
    struct ff__nearest nearest = {.word = "comapre"};
    char text[FF__NEAREST_TEXT];
    assert_string_equal(ff__nearest_text(&nearest, "--", text), "");
    ff__nearest_offer(&nearest, "list");
    assert_string_equal(ff__nearest_text(&nearest, "--", text), "");
    ff__nearest_offer(&nearest, "compare");
    ff__nearest_offer(&nearest, "run");
    assert_int_equal(nearest.distance, 1);
    assert_string_equal(ff__nearest_text(&nearest, "--", text), "the nearest is --compare");
}

static void test_equally_near(void **state) {
    (void)state;
    struct ff__nearest nearest = {.word = "bert"};
    struct ff_error error;
    char text[FF__NEAREST_TEXT];
    ff__nearest_offer(&nearest, "gert-x");
    ff__nearest_offer(&nearest, "bert-large");
    assert_string_equal(ff__nearest_text(&nearest, "", text), "the nearest is bert-large");
    ff__nearest_offer(&nearest, "bert-base");
    assert_string_equal(ff__nearest_text(&nearest, "", text),
                        "the nearest are bert-base and bert-large");
    ff__nearest_offer(&nearest, "bert-small");
    ff__nearest_offer(&nearest, "bert-inference");
    assert_int_equal(ff__nearest_fail(&nearest, "thing", "here", &error), -ENOENT);
    assert_string_equal(error.message,
                        "there is no thing 'bert'; the nearest are bert-base, bert-inference and "
                        "bert-large; see here");
}

static void check_size(uint64_t bytes, const char *expected) {
    char text[FF__QUANTITY];
    assert_string_equal(ff__size_text(text, bytes), expected);
}

static void check_time(uint64_t ns, const char *expected) {
    char text[FF__QUANTITY];
    assert_string_equal(ff__time_text(text, ns), expected);
}

static void test_quantities(void **state) {
    (void)state;
    check_size(0, "0 B");
    check_size(1023, "1023 B");
    check_size(1536, "1.5 KiB");
    check_size(UINT64_C(256) << 20, "256 MiB");
    check_size(UINT64_C(3) << 40, "3 TiB");
    check_time(0, "0ns");
    check_time(500000, "500us");
    check_time(1500, "1500ns");
    check_time(2000000000, "2s");
}

static void test_table(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct ff__table table;
    ff__table_init(&table, "lrl");
    ff__table_cells(&table, "name", "value", "remark", NULL);
    ff__table_cells(&table, "a", NULL);
    ff__table_cell(&table, "%d", 7);
    ff__table_cells(&table, "", "longer", "123456", "last", NULL);
    ff__table_print(&table, out, 1);
    ff__table_fini(&table);
    fclose(out);
    assert_string_equal(text, " name     value  remark\n"
                              " a            7\n"
                              " longer  123456  last\n");
    free(text);
}

/* ---- drawings ---- */

/* The file's text, which the caller frees. */
static char *drawn(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

static unsigned count_of(const char *text, const char *part) {
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* A bar for each value that is known, as high as its part of the axis' 240, which ends at 4. */
static void test_plot(void **state) {
    static const char *const groups[] = {"one", "a <b> & c"};
    static const double first[] = {3.5, 1}, second[] = {NAN, 2};
    static const struct ff__plot_series series[] = {{"ours", first}, {"theirs", second}};
    static const struct ff__plot plot = {"what it is", "times", groups, series, 2, 2};
    (void)state;
    assert_int_equal(ff__plot_write(&plot, "plot.svg"), 0);
    char *text = drawn("plot.svg");
    assert_int_equal(count_of(text, "<title>"), 3);
    assert_int_equal(count_of(text, "height=\"210.0\" fill=\"#0072b2\"><title>3.5</title>"), 1);
    assert_int_equal(count_of(text, "height=\"60.0\" fill=\"#0072b2\"><title>1</title>"), 1);
    assert_int_equal(count_of(text, "height=\"120.0\" fill=\"#e69f00\"><title>2</title>"), 1);
    assert_int_equal(count_of(text, ">a &lt;b&gt; &amp; c</text>"), 1);
    assert_int_equal(count_of(text, ">what it is</text>"), 1);
    assert_true(strcmp(text + strlen(text) - 7, "</svg>\n") == 0);
    free(text);
    assert_int_equal(ff__plot_write(&plot, "no/such/folder.svg"), -ENOENT);
}

static json_t *json_of(const char *text) {
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    return value;
}

/* Groups are rows, or series; a figure without tables is left out. */
static void test_repro_plot(void **state) {
    json_t *published = json_of(
        "{\"figures\": [{\"id\": \"1\", \"what\": \"rows\", \"axis\": \"s\", \"series\": ["
        "{\"table\": \"a\", \"name\": \"A\", \"rows\": \" x\"},"
        "{\"table\": \"a\", \"name\": \"paper\", \"rows\": \" x\", \"value\": \"paper\"}]},"
        "{\"id\": \"2\", \"what\": \"series\", \"axis\": \"s\", \"across\": true, \"series\": ["
        "{\"table\": \"a\", \"name\": \"A\"}, {\"table\": \"none\", \"name\": \"B\"}]},"
        "{\"id\": \"3\", \"what\": \"\", \"axis\": \"\", \"series\": ["
        "{\"table\": \"none\", \"name\": \"B\"}]}]}");
    json_t *tables = json_of("[{\"id\": \"a\", \"rows\": ["
                             "{\"name\": \"one x\", \"paper\": 2, \"ours\": 1},"
                             "{\"name\": \"two x\", \"paper\": null, \"ours\": 3},"
                             "{\"name\": \"two y\", \"paper\": 5, \"ours\": 4}]}]");
    (void)state;
    assert_int_equal(ff__repro_plot_folder("figures"), 0);
    assert_int_equal(ff__repro_plot(published, tables, "figures", false), 0);
    char *rows = drawn("figures/1.svg"), *series = drawn("figures/2.svg");
    assert_int_equal(count_of(rows, "<title>"), 3);
    assert_int_equal(count_of(rows, "fill=\"#e69f00\"><title>2</title>"), 1);
    assert_int_equal(count_of(rows, ">two</text>"), 1);
    assert_int_equal(count_of(rows, ">two x</text>") + count_of(rows, ">two y</text>"), 0);
    assert_int_equal(count_of(series, "<title>"), 3);
    assert_int_equal(count_of(series, "fill=\"#009e73\"><title>4</title>"), 1);
    assert_int_equal(count_of(series, ">two y</text>"), 1); /* in the legend */
    assert_int_equal(rmdir("figures"), 0);                  /* nothing else was drawn */
    free(rows);
    free(series);
    json_decref(published);
    json_decref(tables);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notice),       cmocka_unit_test(test_systems),
        cmocka_unit_test(test_amounts),      cmocka_unit_test(test_paired),
        cmocka_unit_test(test_results),      cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_equally_near), cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_table),        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_repro_plot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
