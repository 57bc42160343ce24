/* Export to Chrome's format: valid JSON, with what happened in it. */
#include "trace/fixture.h"

#include "trace/model/export.h"
#include "trace/model/oracle.h"

#include <jansson.h>

static json_t *export(const struct ff_trace_event *events, size_t count) {
    struct ff_error error = {""};
    json_error_t where;
    write_trace(in_folder("trace"), true, events, count);
    assert_int_equal(ff__trace_export(in_folder("trace"), ff__export_format(NULL),
                                      in_folder("trace.json"), &error),
                     0);
    json_t *root = json_load_file(in_folder("trace.json"), JSON_DECODE_INT_AS_REAL, &where);
    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    return root;
}

/* The how manieth event of a name. */
static json_t *find(json_t *root, const char *name, unsigned number) {
    size_t index;
    json_t *event;
    json_array_foreach(json_object_get(root, "traceEvents"), index, event) {
        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0 && number-- == 0)
            return event;
    }
    return NULL;
}

static double number_of(json_t *event, const char *key) {
    return json_number_value(json_object_get(event, key));
}

static double argument_of(json_t *event, const char *key) {
    return number_of(json_object_get(event, "args"), key);
}

static bool about(double a, double b) {
    return a > b - 1e-6 && a < b + 1e-6;
}

static void test_events(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        {.kind = FF_TRACE_RANGE, .bytes = 4096},
        {.kind = FF_TRACE_LAUNCH,
         .time_ns = 1500,
         .device = 1,
         .identity = 1,
         .name = "a\"\n\xff\xc3\xa4"},
        {.kind = FF_TRACE_LAUNCH, .time_ns = 1600, .device = 1, .identity = 2, .name = "b"},
        {.kind = FF_TRACE_ACCESS, .time_ns = 1650, .device = 1},
        {.kind = FF_TRACE_FAULT, .time_ns = 1700, .device = 1, .page = 7, .write = true},
        {.kind = FF_TRACE_MIGRATE, .time_ns = 1800, .device = 1, .page = 7, .pages = 5},
        {.kind = FF_TRACE_EVICT, .time_ns = 30000, .device = 1, .page = 7, .pages = 2},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 31000, .device = 1, .identity = 1},
        {.kind = FF_TRACE_HOST_READ, .time_ns = 32000, .bytes = 9},
    };
    json_t *root = export(events, sizeof events / sizeof events[0]);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "otherData"), "subject")),
        "fixture");
    json_t *first = find(root, "a\"\n\xc3\xbf\xc3\xa4", 0), *second = find(root, "b", 0);
    assert_non_null(first);
    assert_non_null(second);
    assert_true(about(number_of(first, "ts"), 1.5) && about(number_of(first, "dur"), 29.5));
    assert_true(about(number_of(second, "ts"), 1.6) && about(number_of(second, "dur"), 30.4));
    assert_true(about(argument_of(second, "accesses"), 1));
    assert_false(about(number_of(first, "tid"), number_of(second, "tid"))); /* they overlap */
    assert_true(about(number_of(first, "pid"), 2));
    assert_true(about(argument_of(find(root, "fault", 0), "page"), 7));
    assert_true(about(argument_of(find(root, "migrate", 0), "pages"), 5));
    assert_non_null(find(root, "host reads", 0));
    json_t *last = find(root, "resident", 0);
    for (unsigned i = 1; find(root, "resident", i); i++)
        last = find(root, "resident", i);
    assert_true(about(argument_of(last, "pages"), 3));
    json_decref(root);
}

static void test_random_is_json(void **state) {
    (void)state;
    const char *const names[] = {"", "\\", "\xed\xa0\x80\xf5", "\x01\x7f"};
    struct ff__random random = ff__random_seeded(8);
    struct ff_trace_event *events = calloc(3000, sizeof *events);
    uint64_t time_ns = 0;
    for (size_t i = 0; i < 3000; i++)
        events[i] = random_event(&random, time_ns += ff__random_below(&random, 20000), names, 4);
    json_decref(export(events, 3000));
    free(events);
}

static void test_failures(void **state) {
    (void)state;
    struct ff_error error = {""};
    struct ff_trace_event event = {.kind = FF_TRACE_RANGE, .bytes = 4096};
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    write_trace(in_folder("one"), false, &event, 1);
    assert_int_equal(
        ff__trace_export(in_folder("none"), ff__export_format(NULL), in_folder("x"), &error),
        -ENOENT);
    assert_int_equal(
        ff__trace_export(in_folder("one"), ff__export_format(NULL), "/dev/full", &error), -ENOSPC);
    assert_int_equal(ff_trace_open(in_folder("one"), &reader, &info, &error), 0);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(ff__trace_export_chrome(reader, &info, full, &error), -ENOSPC);
    fclose(full);
    ff_trace_close(reader);
    write_file(in_folder("one"),
               "\x89"
               "FFT\r\n\x1a\n",
               8);
    assert_int_equal(
        ff__trace_export(in_folder("one"), ff__export_format(NULL), in_folder("x"), &error),
        -EBADMSG);
    assert_int_not_equal(access(in_folder("x"), F_OK), 0);
}

/* Entries, pages, blocks and duplicates of each batch, on each device; what is outside of batches
 * counts for none. */
static void test_batches(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        {.kind = FF_TRACE_FAULT, .page = 9},
        {.kind = FF_TRACE_BATCH, .time_ns = 1000, .batch = 1},
        {.kind = FF_TRACE_BATCH, .time_ns = 1500, .device = 1, .batch = 1},
        {.kind = FF_TRACE_FAULT, .time_ns = 1500, .page = 7, .batch = 1},
        {.kind = FF_TRACE_FAULT, .time_ns = 1500, .page = 7, .batch = 1},
        {.kind = FF_TRACE_FAULT, .time_ns = 1500, .page = 600, .batch = 1, .instances = 3},
        {.kind = FF_TRACE_FAULT, .time_ns = 1500, .range = 1, .page = 7, .batch = 1},
        {.kind = FF_TRACE_MIGRATE, .time_ns = 1600, .pages = 16},
        {.kind = FF_TRACE_EVICT, .time_ns = 1700, .pages = 512},
        {.kind = FF_TRACE_BATCH_END, .time_ns = 4000, .batch = 1},
        {.kind = FF_TRACE_BATCH_END, .time_ns = 4000, .batch = 2}, /* has not begun */
        {.kind = FF_TRACE_BATCH_END, .time_ns = 5000, .device = 1, .batch = 1},
        {.kind = FF_TRACE_BATCH, .time_ns = 6000, .batch = 2}, /* does not end */
    };
    static const char want[] =
        "batch,device,began_ns,took_ns,entries,pages,blocks,duplicates,pages_in,pages_out\n"
        "1,0,1000,3000,6,3,3,3,16,512\n"
        "1,1,1500,3500,0,0,0,0,0,0\n";
    struct ff_error error = {""};
    size_t size;
    write_trace(in_folder("batches"), false, events, sizeof events / sizeof events[0]);
    assert_int_equal(ff__trace_export(in_folder("batches"), ff__export_format("batches"),
                                      in_folder("batches.csv"), &error),
                     0);
    char *got = (char *)read_file(in_folder("batches.csv"), &size);
    assert_string_equal(got, want);
    free(got);
    assert_null(ff__export_format("x"));
}

/* A request an access, of the page that it is to, with what asks for that next; a range that has
 * the number of one that was freed is another one. */
static void test_oracle(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        {.kind = FF_TRACE_RANGE, .range = 3, .bytes = 8192},
        {.kind = FF_TRACE_ACCESS, .range = 3, .page = 1},
        {.kind = FF_TRACE_FAULT, .range = 3, .page = 0},
        {.kind = FF_TRACE_ACCESS, .time_ns = 999999999, .range = 3, .page = 0, .write = true},
        {.kind = FF_TRACE_RANGE, .time_ns = 1000000000, .range = 4, .bytes = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 2000000000, .range = 3, .page = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 2000000000, .range = 4},
        {.kind = FF_TRACE_FREE, .time_ns = 2000000000, .range = 3},
        {.kind = FF_TRACE_RANGE, .time_ns = 2000000000, .range = 3, .bytes = 4096},
        {.kind = FF_TRACE_ACCESS, .time_ns = UINT64_MAX, .range = 3},
    };
    const int64_t next[] = {3, -1, -1, -1, -1};
    const uint32_t seconds[] = {0, 0, 2, 2, UINT32_MAX};
    struct ff_error error = {""};
    const struct ff__export_format *format = ff__export_format("oracleGeneral");
    struct ff__oracle got[5];
    size_t size;
    write_trace(in_folder("trace"), true, events, sizeof events / sizeof events[0]);
    assert_int_equal(ff__trace_export(in_folder("trace"), format, in_folder("requests"), &error),
                     0);
    unsigned char *bytes = read_file(in_folder("requests"), &size);
    assert_int_equal(size, 5 * FF__ORACLE_BYTES);
    for (unsigned i = 0; i < 5; i++) {
        got[i] = ff__oracle_decode(bytes + (size_t)i * FF__ORACLE_BYTES);
        assert_true(got[i].bytes == 4096 && got[i].next == next[i] && got[i].seconds == seconds[i]);
        for (unsigned j = 0; j < i; j++)
            assert_int_equal(got[j].object == got[i].object, j == 0 && i == 2);
    }
    free(bytes);
    write_trace(in_folder("trace"), true, &events[1], 1);
    assert_int_equal(ff__trace_export(in_folder("trace"), format, in_folder("never"), &error),
                     -EBADMSG);
    assert_non_null(strstr(error.message, "an access to range 3, which is not there"));
    write_trace(in_folder("trace"), false, events, 1);
    assert_int_equal(ff__trace_export(in_folder("trace"), format, in_folder("never"), &error),
                     -ENOTSUP);
    assert_non_null(strstr(error.message, "a trace of faults has no accesses"));
    assert_int_not_equal(access(in_folder("never"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),   cmocka_unit_test(test_batches),
        cmocka_unit_test(test_events),   cmocka_unit_test(test_random_is_json),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
