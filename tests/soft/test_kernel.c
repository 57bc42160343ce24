/* Kernels whose UFFDIO_MOVE is known to be wrong: which ones, and that a context says so once. */
#include "backend/soft/kernel.h"

#include <sys/utsname.h>

#include "runtime/fixture.h"

static bool says(const char *release, const char *what) {
    const char *warning = ff__kernel_move_warning(release);
    return warning && strstr(warning, what);
}

static void test_data_and_crash(void **state) {
    (void)state;
    static const char *const releases[] = {
        "6.8.0-45-generic",          "6.11.11", "6.12",    "6.12.0-55.el10.x86_64",
        "6.12.36+deb13-cloud-amd64", "6.13.12", "6.14.11", "6.15.5"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        assert_true(says(releases[i], "lose data") && says(releases[i], "crash"));
}

static void test_crash_alone(void **state) {
    (void)state;
    static const char *const releases[] = {"6.12.37", "6.12.42+deb13-amd64", "6.15.6",
                                           "6.15.10", "6.16.0-rc7",          "6.16.1"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        assert_true(says(releases[i], "crash") && !says(releases[i], "lose data"));
}

/* Mended, or older than UFFDIO_MOVE, or not a version. */
static void test_nothing_known(void **state) {
    (void)state;
    static const char *const releases[] = {"5.15.0-100-generic",
                                           "6.1.0-28-amd64",
                                           "6.7.12",
                                           "6.12.43",
                                           "6.12.99",
                                           "6.15.11",
                                           "6.16.2",
                                           "6.17",
                                           "6.17.0-5-generic",
                                           "6.18.44",
                                           "7.0.1",
                                           "10.2",
                                           "",
                                           "next"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        assert_null(ff__kernel_move_warning(releases[i]));
}

/* ---- what a context says ---- */

static const char *release; /* NULL: the real one */

int __real_uname(struct utsname *names);
int __wrap_uname(struct utsname *names);

int __wrap_uname(struct utsname *names) {
    int status = __real_uname(names);
    if (release)
        snprintf(names->release, sizeof names->release, "%s", release);
    return status;
}

static void count_warnings(void *user, enum ff_log_level level, const char *line) {
    unsigned *count = user;
    *count += level == FF_LOG_WARNING && strstr(line, "UFFDIO_MOVE") != NULL;
}

static unsigned warnings_of(enum ff_mechanism mechanism, const char *of_release) {
    unsigned count = 0;
    struct ff_config config = standard_config(UINT64_C(8) << 20);
    config.mechanism = mechanism;
    config.log = count_warnings;
    config.log_user = &count;
    release = of_release;
    ff_close(open_or_skip(&config));
    release = NULL;
    return count;
}

static void test_context_warns(void **state) {
    (void)state;
    assert_int_equal(warnings_of(FF_MECHANISM_AUTO, "6.8.0"), 1);
    assert_int_equal(warnings_of(FF_MECHANISM_AUTO, "6.18.44"), 0);
    assert_int_equal(warnings_of(FF_MECHANISM_COPY, "6.8.0"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_and_crash),
        cmocka_unit_test(test_crash_alone),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_context_warns),
    };
    return run_or_skip(tests);
}
