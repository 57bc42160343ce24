/* What farfault doctor finds on machines that lack something: files of the kernel as they are
 * there, below a folder of the test's own. */
#include "doctor/doctor.h"
#include "report/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* ---- a machine ---- */

static int set_up(void **state) {
    char *root = strdup("doctor-XXXXXX");
    *state = root;
    return root && mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    char *command = ff__text("rm -r %s", (char *)*state);
    int status = system(command);
    free(command);
    free(*state);
    return status;
}

static void put(const char *root, const char *path, const char *content) {
    char *whole = ff__text("%s%s", root, path);
    for (char *slash = strchr(whole, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(whole, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
    free(whole);
}

/* The check of this name is so, and says so. */
static void expect(struct ff__checks *checks, const char *name, enum ff__health health,
                   const char *finding, const char *advice) {
    for (unsigned i = 0; i < checks->count; i++) {
        const struct ff__check *check = &checks->items[i];
        if (strcmp(check->name, name) != 0)
            continue;
        assert_int_equal(check->health, health);
        assert_non_null(strstr(check->finding, finding));
        assert_int_equal(check->advice != NULL, advice != NULL);
        if (advice)
            assert_non_null(strstr(check->advice, advice));
        ff__checks_free(checks);
        return;
    }
    fail_msg("there is no check of %s", name);
}

static struct ff__checks memory_of(const char *root, uint64_t needed) {
    struct ff__checks checks = {0};
    ff__doctor_memory(&checks, root, needed);
    return checks;
}

static struct ff__checks limits_of(const char *root) {
    struct ff__checks checks = {0};
    ff__doctor_limits(&checks, root);
    return checks;
}

/* ---- memory ---- */

static void test_huge_pages(void **state) {
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    struct ff__checks checks = memory_of(*state, 0);
    expect(&checks, "huge pages", FF__HEALTH_LIMITED, "this kernel has none", "a kernel with");
    put(*state, path, "always madvise [never]\n");
    checks = memory_of(*state, 0);
    expect(&checks, "huge pages", FF__HEALTH_LIMITED, "switched off", "echo madvise >/sys/");
}

static void test_free_memory(void **state) {
    put(*state, "/proc/meminfo",
        "MemTotal:       4194304 kB\nMemFree: 1 kB\nMemAvailable:    524288 kB\nSwapFree: 0 kB\n");
    struct ff__checks checks = memory_of(*state, 512 * MIB);
    expect(&checks, "memory", FF__HEALTH_GOOD, "512 MiB of 4 GiB available, 0 B of swap", NULL);
    checks = memory_of(*state, 513 * MIB);
    expect(&checks, "memory", FF__HEALTH_LIMITED, "512 MiB of 4 GiB", "take 513 MiB");
}

/* The group that has least left counts, be it one that ours lies in. */
static void test_cgroup(void **state) {
    struct ff__checks checks = memory_of(*state, 512 * MIB);
    expect(&checks, "cgroup", FF__HEALTH_GOOD, "no limit", NULL);
    put(*state, "/proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
    put(*state, "/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put(*state, "/sys/fs/cgroup/outer/inner/memory.current", "1048576\n");
    checks = memory_of(*state, 512 * MIB);
    expect(&checks, "cgroup", FF__HEALTH_GOOD, "no limit", NULL);
    put(*state, "/sys/fs/cgroup/outer/memory.max", "1073741824\n");
    put(*state, "/sys/fs/cgroup/outer/memory.current", "805306368\n");
    checks = memory_of(*state, 512 * MIB);
    expect(&checks, "cgroup", FF__HEALTH_LIMITED, "1 GiB of memory, 256 MiB left", "allow it more");
    put(*state, "/sys/fs/cgroup/outer/inner/memory.max", "2097152\n");
    checks = memory_of(*state, MIB);
    expect(&checks, "cgroup", FF__HEALTH_GOOD, "2 MiB of memory, 1 MiB left", NULL);
}

static void test_cgroup_of_version_1(void **state) {
    put(*state, "/proc/self/cgroup", "12:cpu,cpuacct:/y\n3:memory:/x\n0::/\n");
    put(*state, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(*state, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    struct ff__checks checks = memory_of(*state, 512 * MIB);
    expect(&checks, "cgroup", FF__HEALTH_GOOD, "no limit", NULL);
    put(*state, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2097152\n");
    put(*state, "/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "2097152\n");
    checks = memory_of(*state, 512 * MIB);
    expect(&checks, "cgroup", FF__HEALTH_LIMITED, "2 MiB of memory, 0 B left", "allow it more");
}

/* ---- limits ---- */

/* A limit that is none in fact, but is one, so that sanitizers run under it. */
static void test_addresses(void **state) {
    struct rlimit before, limit;
    struct ff__checks checks = limits_of(*state);
    expect(&checks, "addresses", FF__HEALTH_GOOD, "not limited", NULL);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = RLIM_INFINITY - 1;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    checks = limits_of(*state);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    expect(&checks, "addresses", FF__HEALTH_LIMITED, "TiB", "ulimit -v unlimited");
    put(*state, "/proc/sys/vm/overcommit_memory", "2\n");
    checks = limits_of(*state);
    expect(&checks, "addresses", FF__HEALTH_LIMITED, "vm.overcommit_memory is 2", "sysctl");
}

static void test_files(void **state) {
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 20;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct ff__checks checks = limits_of(*state);
    expect(&checks, "files", FF__HEALTH_LIMITED, "20 open", "ulimit -n");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = MIB;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    checks = limits_of(*state);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect(&checks, "files", FF__HEALTH_LIMITED, "none larger than 1 MiB", "ulimit -f");
}

static void test_mappings(void **state) {
    put(*state, "/proc/sys/vm/max_map_count", "1000\n");
    struct ff__checks checks = limits_of(*state);
    expect(&checks, "mappings", FF__HEALTH_LIMITED, "1000", "vm.max_map_count=65530");
}

/* ---- UFFDIO_MOVE ---- */

static void test_move(void **state) {
    struct ff__checks checks = {0};
    (void)state;
    ff__doctor_move(&checks, "6.12.43", true);
    expect(&checks, "MOVE", FF__HEALTH_GOOD, "no known defect", NULL);
    ff__doctor_move(&checks, "6.12.10", true);
    expect(&checks, "MOVE", FF__HEALTH_LIMITED, "can lose data", "update the kernel");
    ff__doctor_move(&checks, "6.1.0-18-amd64", false);
    expect(&checks, "MOVE", FF__HEALTH_LIMITED, "pages are copied", "Linux 6.8");
}

/* ---- samples ---- */

static void test_samples(void **state) {
    struct ff__checks checks = {0};
    (void)state;
    ff__doctor_samples(&checks, 0);
    expect(&checks, "samples", FF__HEALTH_GOOD, "of pages that stay (RWP)", NULL);
    ff__doctor_samples(&checks, -ENOSYS);
    expect(&checks, "samples", FF__HEALTH_GOOD, "of faults alone, as on all kernels", NULL);
    ff__doctor_samples(&checks, -EPROTO);
    expect(&checks, "samples", FF__HEALTH_LIMITED, "went wrong (Protocol error)", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_huge_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_free_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cgroup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cgroup_of_version_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mappings, set_up, tear_down),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
