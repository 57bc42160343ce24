/* Policies from shared objects: the good one, and those that must be refused without harm. The
 * objects come from module.c, by the definitions that CMakeLists.txt makes. */
#include "base/cases.h"

#include "policy/registry.h"

#include <errno.h>

static void check_refused(const char *path, int status, const char *part) {
    struct ff_error error = {""};
    int got = ff__policy_load(path, &error);
    if (got != status || !strstr(error.message, part))
        fail_msg("%s gives %d, '%s'", path, got, error.message);
    assert_int_equal(ff__policy_load(path, NULL), status);
}

static void test_files_without_a_module(void **state) {
    (void)state;
    check_refused("/nonexistent/policy.so", -ENOENT, "nonexistent");
    check_refused("/dev/null", -ENOENT, "policy file");
    check_refused("/", -ENOENT, "policy file");
    check_refused(MODULE_FILE_EMPTY, -ENOENT, "ff_policy_module");
}

static void test_another_api(void **state) {
    (void)state;
    check_refused(MODULE_FILE_OLD, -EINVAL, "rebuild");
}

static void test_malformed_tables(void **state) {
    (void)state;
    check_refused(MODULE_FILE_TAKEN, -EEXIST, "tree");
    check_refused(MODULE_FILE_COLON, -EINVAL, "name");
    check_refused(MODULE_FILE_HOOKLESS, -EINVAL, "hook");
    assert_null(ff__policy_find(FF__PLACE, "module-place"));
}

static void test_table_without_a_name(void **state) {
    (void)state;
    check_refused(MODULE_FILE_NAMELESS, -EINVAL, "name");
}

static void test_all_tables_or_none(void **state) {
    (void)state;
    assert_true(ff__policy_load(MODULE_FILE_HOOKLESS, NULL) < 0);
    assert_null(ff__policy_find(FF__PREFETCH, "module-hookless"));
}

static void test_good_one(void **state) {
    (void)state;
    struct ff_error error = {""};
    if (ff__policy_load(MODULE_FILE_GOOD, &error))
        fail_msg("%s", error.message);
    const struct ff_policy *policy = ff__policy_find(FF__PREFETCH, "module");
    assert_non_null(policy);
    assert_non_null(ff__policy_find(FF__PLACE, "module-place"));
    assert_int_equal(ff__policy_load(MODULE_FILE_GOOD, NULL), 0); /* again: no harm */
    assert_ptr_equal(ff__policy_find(FF__PREFETCH, "module"), policy);
    struct ff__system system;
    assert_int_equal(ff__system_parse("nvidia:prefetch=module,place=module-place", &system, NULL),
                     0);
    assert_ptr_equal(system.policy[FF__PREFETCH], policy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_without_a_module), cmocka_unit_test(test_another_api),
        cmocka_unit_test(test_malformed_tables),       cmocka_unit_test(test_table_without_a_name),
        cmocka_unit_test(test_all_tables_or_none),     cmocka_unit_test(test_good_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
