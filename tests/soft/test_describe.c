/* What the software device says of itself, and how it answers before anything runs. */
#include "runtime/fixture.h"

#include <string.h>
#include <unistd.h>

#include "backend/live.h"

#define MB (UINT64_C(1) << 20)

static void *open_device(const struct ff_config *config, struct ff__description *out) {
    void *self = NULL;
    struct ff_error error;
    int status = ff__soft_backend.open(config, &(struct ff__neighbours){0}, false, &self, &error);
    if (status == -EPERM || status == -ENOSYS) {
        fprintf(stderr, "skipped: %s\n", error.message);
        exit(EXIT_SKIP);
    }
    assert_int_equal(status, 0);
    ff__soft_backend.describe(self, out);
    return self;
}

static void test_tiers(void **state) {
    (void)state;
    struct ff_config config = standard_config(12 * MB);
    struct ff__description device;
    config.devices = 3;
    void *self = open_device(&config, &device);
    assert_int_equal(device.tier_count, 4);
    assert_int_equal(device.address_space, config.address_space);
    assert_int_equal(device.base % FF_BLOCK_SIZE, 0);
    assert_int_equal(device.tier[FF_TIER_HOST].memory, 0);
    for (uint32_t tier = 1; tier < 4; tier++) {
        assert_int_equal(device.tier[tier].memory, 12 * MB);
        assert_true(device.tier[tier].spare > 0);
    }
    assert_int_equal(device.tier[4].memory, 0);
    assert_int_equal(device.shows, FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_OPERANDS |
                                       FF_SEES_SAMPLES | FF_SEES_SHARERS | FF_SEES_REMOTE);
    assert_int_equal(device.controls, FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS |
                                          FF_CONTROLS_SAMPLING | FF_CONTROLS_REMOTE);
    assert_false(device.separate || device.reserves_host);
    ff__soft_backend.close(self);
}

/* A link that is not paced is as fast as memory copies, and costs what the device says of those. */
static void test_links(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff__description device;
    config.devices = 2;
    void *self = open_device(&config, &device);
    for (uint32_t tier = 1; tier < 3; tier++)
        assert_true(device.link[FF_TIER_HOST][tier].bytes_per_second >= 1000000000);
    assert_null(strstr(device.text, "paced"));
    assert_true(device.fault_ns > 0);
    assert_true(device.copies_on_processors && device.parts_cost_more);
    ff__soft_backend.close(self);
    config.link = (struct ff_link){12.5e9, 16700};
    self = open_device(&config, &device);
    for (uint32_t tier = 1; tier < 3; tier++) {
        assert_int_equal(device.link[FF_TIER_HOST][tier].bytes_per_second, 12500000000);
        assert_int_equal(device.link[tier][FF_TIER_HOST].bytes_per_second, 12500000000);
        assert_int_equal(device.link[tier][FF_TIER_HOST].latency_ns, 16700);
    }
    assert_true(device.link[1][2].bytes_per_second >= 1000000000);
    assert_non_null(strstr(device.text, "paced"));
    assert_false(device.copies_on_processors);
    assert_true(device.parts_cost_more);
    ff__soft_backend.close(self);
}

static void test_words(void **state) {
    (void)state;
    static const char *const handlers[] = {"adaptive", "sleeping", "SIGBUS", "kernels"};
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff__description device;
        void *self = open_device(&config, &device);
        assert_non_null(strstr(device.text, handlers[config.handler]));
        if (config.mechanism == FF_MECHANISM_COPY)
            assert_non_null(strstr(device.text, "COPY"));
        ff__soft_backend.close(self);
    }
}

static void test_host_file(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff__description device;
    char path[] = "/tmp/ff-describe-XXXXXX";
    assert_non_null(mkdtemp(path));
    char file[64];
    snprintf(file, sizeof file, "%s/host", path);
    config.host_file = file;
    void *self = open_device(&config, &device);
    assert_true(device.reserves_host);
    assert_non_null(strstr(device.text, "host tier in a file"));
    assert_int_equal(ff__soft_backend.reserve_host(self, 3, 700), 0);
    assert_int_equal(ff__soft_backend.open_range(self, 3, 700), 0);
    assert_int_equal(ff__soft_backend.close_range(self, 3, 700), 0);
    ff__soft_backend.close(self);
    assert_int_equal(rmdir(path), 0);
}

static void test_addresses(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff__description device;
    void *self = open_device(&config, &device);
    uint64_t end = device.base + device.address_space;
    assert_true(ff__soft_backend.owns(self, device.base, device.base + 1));
    assert_true(ff__soft_backend.owns(self, end - 1, end + 1));
    assert_true(ff__soft_backend.owns(self, 0, UINTPTR_MAX));
    assert_false(ff__soft_backend.owns(self, (uintptr_t)&config, (uintptr_t)(&config + 1)));
    ff__soft_backend.close(self);
}

static void test_too_large(void **state) {
    (void)state;
    struct ff_config config = standard_config(UINT64_C(1) << 60);
    struct ff_error error;
    void *self = NULL;
    assert_int_equal(
        ff__soft_backend.open(&config, &(struct ff__neighbours){0}, false, &self, &error), -ENOMEM);
    assert_non_null(strstr(error.message, "this machine has"));
    assert_null(self);
}

/* Stands before the C library's (see CMakeLists.txt). */
static long page_size = 4096;
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE ? page_size : __real_sysconf(name);
}

static void test_page_size(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 << 20);
    struct ff_context *context = NULL;
    struct ff_error error = {""};
    page_size = 16384;
    int status = ff_open(&config, &context, &error);
    page_size = 4096;
    assert_int_equal(status, -ENOSYS);
    assert_null(context);
    assert_non_null(strstr(error.message, "pages have 16384 bytes"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_size), cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_links),     cmocka_unit_test(test_words),
        cmocka_unit_test(test_host_file), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_too_large),
    };
    return run_or_skip(tests);
}
