/* Device presets: those we ship, what is wrong with others, and how long transfers take. */
#include "backend/sim/machine/gpu.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB 0x1p30

/* cmocka compares floats only. */
static void check_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- the ones we ship ---- */

static void read(const char *name, struct ff__gpu *out) {
    struct ff_error error = {""};
    int status = ff__gpu_read(name, GPUS, out, &error);
    if (status)
        fail_msg("%s: %d: %s", name, status, error.message);
}

static void test_shipped(void **state) {
    (void)state;
    char names[16][32];
    struct ff__gpu gpu;
    unsigned count = ff__gpu_names(GPUS, names, 16);
    assert_int_equal(count, 6);
    for (unsigned i = 0; i < count; i++) {
        read(names[i], &gpu);
        assert_string_equal(gpu.name, names[i]);
        assert_int_equal(gpu.warps_per_sm, 64);
    }
    assert_int_equal(ff__gpu_names(GPUS, names, 2), 2);
    assert_int_equal(ff__gpu_names(GPUS "/missing", names, 16), 0);
}

static void test_uvmsmart(void **state) {
    (void)state;
    struct ff__gpu gpu;
    read("gtx1080ti", &gpu);
    assert_int_equal(gpu.sms, 28);
    check_near(gpu.clock_hz, 1481e6, 0);
    assert_int_equal(gpu.fault_cost, FF__FAULT_FLAT);
    assert_int_equal(gpu.fault_ns, 45000);
    assert_int_equal(gpu.granule, 4096);
    assert_int_equal(gpu.tlb_entries, 4096);
    assert_int_equal(gpu.tlb_page, 4096);
    assert_int_equal(gpu.walk_ns, 68);
    assert_int_equal(gpu.launch_ns, 150000);
    assert_true(gpu.write_back_clean);
    assert_int_equal(gpu.batch_ns, 0);
}

static void test_huvm(void **state) {
    (void)state;
    struct ff__gpu gpu;
    read("v100-32g", &gpu);
    assert_int_equal(gpu.fault_cost, FF__FAULT_BATCH);
    assert_int_equal(gpu.granule, 2 << 20);
    assert_int_equal(gpu.memory, UINT64_C(32) << 30);
    assert_int_equal(gpu.batch_faults, 256);
    check_near(gpu.in.latency_ns, 16700, 0);
    check_near(gpu.peer.latency_ns, 5100, 0);
    assert_int_equal(ff__link_ns(&gpu.in, 123 << 20), (uint64_t)((123 << 20) / 12.3 + 0.5));
    assert_int_equal(ff__link_ns(&gpu.peer, 401 << 20), (uint64_t)((401 << 20) / 40.1 + 0.5));
    /* one far fault, as published: 45 us */
    assert_in_range(gpu.delivery_ns + gpu.batch_ns + gpu.entry_ns + gpu.block_ns + gpu.page_ns +
                        gpu.replay_ns + (uint64_t)gpu.in.latency_ns + ff__link_ns(&gpu.in, 4096),
                    44900, 45100);
}

/* ---- links ---- */

/* The published values of UVMSmart's curve at 16 GB/s. */
static void test_curve(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        double rate, us;
    } golden[] = {{4096, 2.168, 1.76},     {16384, 6.587, 2.32},     {65536, 10.387, 5.88},
                  {262144, 11.591, 21.06}, {1 << 20, 11.898, 82.08}, {2 << 20, 11.949, 163.46}};
    struct ff__gpu gpu;
    read("gtx1080ti", &gpu);
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        double ns = (double)ff__link_ns(&gpu.in, golden[i].bytes);
        check_near(ns / 1e3, golden[i].us, 0.005);
        check_near((double)golden[i].bytes / ns * 1e9 / GIB, golden[i].rate, 0.002);
        assert_int_equal(ff__link_ns(&gpu.out, golden[i].bytes), (uint64_t)ns);
    }
}

static void test_interpolation(void **state) {
    (void)state;
    const struct ff__link_model link = {
        .latency_ns = 1e6, /* not part of holding the link */
        .point_count = 3,
        .bytes = {1024, 4096, 65536},
        .rate = {1e9, 3e9, 3e9},
    };
    assert_int_equal(ff__link_ns(&link, 0), 0);
    assert_int_equal(ff__link_ns(&link, 512), 512); /* below the first point: its rate */
    assert_int_equal(ff__link_ns(&link, 1024), 1024);
    assert_int_equal(ff__link_ns(&link, 2048), 1024); /* half way in the logarithm: 2 GB/s */
    assert_int_equal(ff__link_ns(&link, 3 << 12), 4096);
    assert_int_equal(ff__link_ns(&link, 3 << 20), 1 << 20); /* above the last: its rate */
    const struct ff__link_model one = {.point_count = 1, .bytes = {4096}, .rate = {1e9}};
    assert_int_equal(ff__link_ns(&one, 1), 1);
    assert_int_equal(ff__link_ns(&one, 1 << 20), 1 << 20);
}

/* ---- mistakes ---- */

static json_t *preset(const char *name) {
    json_error_t error;
    char path[512];
    snprintf(path, sizeof path, GPUS "/%s.json", name);
    json_t *all = json_load_file(path, 0, &error);
    assert_non_null(all);
    return all;
}

/* Takes over `all`. */
static void check_refused(json_t *all, const char *message) {
    struct ff__gpu gpu = {.sms = 7};
    struct ff_error error = {""};
    char *text = json_dumps(all, 0);
    assert_int_equal(ff__gpu_parse("x.json", text, strlen(text), &gpu, &error), -EINVAL);
    assert_string_equal(error.message, message);
    assert_int_equal(gpu.sms, 7);
    free(text);
    json_decref(all);
}

/* `value` in place of that of a member of the V100's preset. */
static void check_value(const char *name, json_t *value, const char *message) {
    json_t *all = preset("v100-16g");
    json_object_set_new(json_object_get(all, name), "value", value);
    check_refused(all, message);
}

static void check_member(const char *name, json_t *member, const char *message) {
    json_t *all = preset("v100-16g");
    if (member)
        json_object_set_new(all, name, member);
    else
        json_object_del(all, name);
    check_refused(all, message);
}

static void test_values(void **state) {
    (void)state;
    check_value("sms", json_integer(0), "x.json: sms: must be 1 to 1024");
    check_value("sms", json_integer(-1), "x.json: sms: must be 1 to 1024");
    check_value("sms", json_integer(1025), "x.json: sms: must be 1 to 1024");
    check_value("sms", json_real(2.5), "x.json: sms: must be a whole number");
    check_value("sms", json_string("80"), "x.json: sms: must be a whole number");
    check_value("clock_hz", json_true(), "x.json: clock_hz: must be a number");
    check_value("clock_hz", json_real(1530), "x.json: clock_hz: must be 1000000 to 1e+11");
    check_value("memory", json_integer(4096), "x.json: memory: must be 2097152 to 1.125899907e+15");
    check_value("memory", json_integer(INT64_MAX),
                "x.json: memory: must be 2097152 to 1.125899907e+15");
    check_value("write_back_clean", json_integer(1),
                "x.json: write_back_clean: must be true or false");
    check_value("fault_cost", json_string("x"),
                "x.json: fault_cost: must be \"batch\", \"flat\" or \"overlapped\"");
    check_value("granule", json_null(), "x.json: granule: must be a whole number");
    check_value("granule", json_integer(8192), "x.json: granule: must be 4096, 65536 or 2097152");
}

static void test_changes(void **state) {
    (void)state;
    struct ff__gpu gpu;
    struct ff_error error;
    read("gtx1080ti", &gpu);
    assert_int_equal(ff__gpu_change(&gpu, "x", "fault_cost", "overlapped", &error), 0);
    assert_int_equal(gpu.fault_cost, FF__FAULT_OVERLAPPED);
    assert_int_equal(ff__gpu_change(&gpu, "x", "sample_interval", "1K", &error), 0);
    assert_int_equal(gpu.sample_interval, 1024);
    assert_int_equal(ff__gpu_change(&gpu, "x", "copies_empty", "true", &error), 0);
    assert_true(gpu.copies_empty);
    assert_int_equal(ff__gpu_change(&gpu, "x", "clock_hz", "1.5e9", &error), 0);
    assert_true(gpu.clock_hz == 1.5e9);
    static const struct {
        const char *name, *value, *message;
    } wrong[] = {
        {"colour", "1", "x: colour: is no member of the device that can be changed"},
        {"name", "y", "x: name: is no member of the device that can be changed"},
        {"batch_ns", "1", "x: batch_ns: is no member of the device that can be changed"},
        {"sms", "0", "x: sms: must be 1 to 1024"},
        {"sms", "many", "x: sms: must be a whole number"},
        {"granule", "64K", "x: granule: must be 4096 where host is \"synchronizes\""},
        {"fault_ns", "0", "x: fault_ns: must be 1 to 1000000000"},
        {"fault_cost", "batch", "x: fault_cost: changes between \"flat\" and \"overlapped\" only"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ff__gpu other = gpu;
        assert_int_equal(ff__gpu_change(&other, "x", wrong[i].name, wrong[i].value, &error),
                         -EINVAL);
        assert_string_equal(error.message, wrong[i].message);
    }
}

/* A fault costs something, in whatever parts. */
static void test_fault_costs(void **state) {
    (void)state;
    static const char *const parts[] = {"delivery_ns", "entry_ns", "block_ns", "page_ns",
                                        "replay_ns"};
    struct ff__gpu gpu;
    struct ff_error error;
    read("v100-16g", &gpu);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_int_equal(ff__gpu_change(&gpu, "x", parts[i], "7", &error), 0);
        uint64_t ns = ff__gpu_fault_ns(&gpu);
        assert_int_equal(ff__gpu_change(&gpu, "x", parts[i], "0", &error), 0);
        assert_int_equal(ff__gpu_fault_ns(&gpu), ns - 7);
    }
    assert_int_equal(ff__gpu_fault_ns(&gpu), gpu.batch_ns);
    assert_int_equal(ff__gpu_change(&gpu, "x", "batch_ns", "0", &error), -EINVAL);
    assert_string_equal(error.message,
                        "x: batch_ns: must be 1 or more where delivery_ns, entry_ns, "
                        "block_ns, page_ns and replay_ns are 0");
}

static void test_members(void **state) {
    (void)state;
    check_member("sms", NULL, "x.json: sms: missing");
    check_member("in", NULL, "x.json: in: missing");
    check_member("batch_ns", NULL, "x.json: batch_ns: missing");
    check_member("entry_ns", NULL, "x.json: entry_ns: missing");
    check_member("fault_ns", json_pack("{s:i, s:s}", "value", 1, "source", "s"),
                 "x.json: fault_ns: is only for fault_cost \"flat\"");
    check_member("colour", json_integer(1), "x.json: colour: unknown member");
    check_member("name", json_string(""), "x.json: name: must be a text of 1 to 31 bytes");
    check_member("name", json_string("0123456789012345678901234567890123"),
                 "x.json: name: must be a text of 1 to 31 bytes");
    check_member("name", json_string("a\nb"), "x.json: name: must be one line");
    const char *form = "x.json: sms: must be {\"value\": ..., \"source\": \"where it is from\"}";
    check_member("sms", json_integer(80), form);
    check_member("sms", json_pack("{s:i}", "value", 80), form);
    check_member("sms", json_pack("{s:i, s:s, s:i}", "value", 80, "source", "s", "x", 1), form);
    check_member("sms", json_pack("{s:i, s:s}", "value", 80, "source", ""),
                 "x.json: sms: its source must be a text of 1 to 2000 bytes");
    check_member("in", json_array(), "x.json: in: must be an object with latency_ns and curve");
}

static void check_curve(json_t *points, const char *message) {
    json_t *all = preset("v100-16g");
    json_object_set_new(json_object_get(json_object_get(all, "out"), "curve"), "value", points);
    check_refused(all, message);
}

static void test_curves(void **state) {
    (void)state;
    check_curve(json_array(),
                "x.json: out.curve: must be 1 to 32 points, each [bytes, bytes per second]");
    check_curve(json_pack("[i]", 1),
                "x.json: out.curve: point 1 must be [bytes, bytes per second]");
    check_curve(json_pack("[[iiI]]", 1, 2, (json_int_t)3),
                "x.json: out.curve: point 1 must be [bytes, bytes per second]");
    check_curve(json_pack("[[ii][ii]]", 2, 1000, 2, 1000),
                "x.json: out.curve: point 2: bytes must grow from point to point");
    check_curve(json_pack("[[ii]]", 0, 1000),
                "x.json: out.curve: point 1: bytes must be 1 to 2^40");
    check_curve(json_pack("[[ii]]", 1, 0),
                "x.json: out.curve: point 1: bytes per second must be 1e3 to 1e15");
    json_t *many = json_array();
    for (int i = 1; i <= FF__LINK_POINTS + 1; i++)
        json_array_append_new(many, json_pack("[ii]", i, 1000));
    check_curve(many, "x.json: out.curve: must be 1 to 32 points, each [bytes, bytes per second]");
    json_t *all = preset("v100-16g");
    json_object_set_new(json_object_get(all, "peer"), "speed", json_integer(1));
    check_refused(all, "x.json: peer.speed: unknown member");
    all = preset("v100-16g");
    json_object_del(json_object_get(all, "peer"), "latency_ns");
    check_refused(all, "x.json: peer.latency_ns: missing");
}

static void check_text(const char *text, const char *start) {
    struct ff__gpu gpu;
    struct ff_error error = {""};
    assert_int_equal(ff__gpu_parse("x.json", text, strlen(text), &gpu, &error), -EINVAL);
    if (strncmp(error.message, start, strlen(start)) != 0)
        fail_msg("said '%s', not '%s'", error.message, start);
}

static void test_foreign(void **state) {
    (void)state;
    check_text("", "x.json: is not JSON: line 1: ");
    check_text("root:x:0:0", "x.json: is not JSON: line 1: ");
    check_text("{\"name\": \"a\",\n \"name\": \"b\"}", "x.json: is not JSON: line 2: duplicate");
    check_text("[]", "x.json: is not a device preset: it holds no object");
    check_text("{}", "x.json: name: missing");
    check_text("{\"runs\": []}", "x.json: runs: unknown member");
    check_text("{\"ru\\nns\": []}", "x.json: ru?ns: unknown member");
}

static void test_files(void **state) {
    (void)state;
    struct ff__gpu gpu;
    struct ff_error error = {""};
    assert_int_equal(ff__gpu_read(GPUS "/v100-16g.json", "/nowhere", &gpu, &error), 0);
    static const char shown[] = "see farfault list gpus, or give the path of a preset, FILE.json";
    char expected[256];
    assert_int_equal(ff__gpu_read("h100", GPUS, &gpu, &error), -ENOENT);
    snprintf(expected, sizeof expected, "there is no device 'h100'; the nearest is h100-80g; %s",
             shown);
    assert_string_equal(error.message, expected);
    assert_int_equal(ff__gpu_read("v200", "/nowhere", &gpu, &error), -ENOENT);
    snprintf(expected, sizeof expected, "there is no device 'v200'; %s", shown);
    assert_string_equal(error.message, expected);
    assert_int_equal(ff__gpu_read("missing.json", GPUS, &gpu, &error), -ENOENT);
    assert_string_equal(error.message, "missing.json: No such file or directory");
    assert_int_equal(ff__gpu_read(GPUS "/", GPUS, &gpu, &error), -EISDIR);
    assert_int_equal(ff__gpu_read("/dev/zero", GPUS, &gpu, &error), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped),       cmocka_unit_test(test_uvmsmart),
        cmocka_unit_test(test_huvm),          cmocka_unit_test(test_curve),
        cmocka_unit_test(test_interpolation), cmocka_unit_test(test_values),
        cmocka_unit_test(test_fault_costs),   cmocka_unit_test(test_changes),
        cmocka_unit_test(test_members),       cmocka_unit_test(test_curves),
        cmocka_unit_test(test_foreign),       cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
