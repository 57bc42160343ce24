/* What cmocka's skip() does in our tests: linked with --wrap=_skip. A case that skips leaves its
 * test's status 0, so where TEST_FORBID_SKIPS=1 it has to fail here; tests/run.sh does the same for
 * whole tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void __real__skip(const char *file, int line);
void __wrap__skip(const char *file, int line);

void __wrap__skip(const char *file, int line) {
    const char *forbidden = getenv("TEST_FORBID_SKIPS");
    if (forbidden && strcmp(forbidden, "1") == 0) {
        print_error("%s:%d: skipped, which TEST_FORBID_SKIPS=1 forbids\n", file, line);
        _fail(file, line);
    }
    __real__skip(file, line);
}
