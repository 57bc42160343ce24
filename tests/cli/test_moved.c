/* The tables of what moved, and the tip that follows from it. */
#include "report/moved.h"
#include "report/tip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MB (UINT64_C(1) << 20)

/* ---- tables ---- */

static void check_tables(const struct ff_moved_list *kernels, const struct ff_moved_list *buffers,
                         const char *expected) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ff__moved_print(kernels, buffers, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

/* The line of a buffer of 1 MiB that nothing was moved of. */
#define ROW(number)                                                                                \
    "    buffer " #number                                                                          \
    "                   1 MiB       0 B         0         0       0 B       0 B "                  \
    "    0.000  k\n"

static void test_tables(void **state) {
    static const struct ff_moved_list none = {.count = 0};
    static const struct ff_moved_list kernels = {
        .count = 2,
        .worst = {{.kernel = "a_name_that_is_longer_than_its_column",
                   .launches = 3,
                   .size = 8 * MB,
                   .faults = 7,
                   .refaults = 5,
                   .bytes_in = 24 * MB,
                   .bytes_out = MB,
                   .stall_ns = 1500000000},
                  {.launches = 1}}};
    struct ff_moved_list buffers = {
        .count = 7, .rest_count = 2, .rest = {.size = 3 * MB, .faults = 2}};
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        buffers.worst[i] = (struct ff_moved){.kernel = "k", .number = 9 - i, .size = MB};
    buffers.worst[6].faults = 1;
    check_tables(&none, &none, "");
    check_tables(&kernels, &buffers, "\
  by kernel                 launches  operands    faults  refaults        in       out  stall, s\n\
    a_name_that_is_longer_         3     8 MiB         7         5    24 MiB     1 MiB     1.500\n\
    (without a name)               1                   0         0       0 B       0 B     0.000\n\
  by buffer                     size   touched    faults  refaults        in       out  stall, s\
  first used by\n\
" ROW(9) ROW(8) ROW(7) ROW(6) ROW(5) "\
    4 more                     5 MiB       0 B         3         0       0 B       0 B     0.000\n\
  the worst first; a stall is the time in which faults were served, summed over threads\n");
}

/* ---- tip ---- */

/* A program of 100 MiB on a device of 64 MiB: one kernel that was launched ten times, and one
 * buffer. */
static struct ff__account program(void) {
    struct ff__account account = {.devices = 1, .memory = 64 * MB, .footprint = 100 * MB};
    account.stats.evictions = 1;
    account.stats.pages_in = 1000 * MB / 4096;
    account.kernels.count = account.buffers.count = 1;
    account.kernels.worst[0] =
        (struct ff_moved){.kernel = "relax", .launches = 10, .size = 100 * MB};
    account.buffers.worst[0] = (struct ff_moved){.kernel = "relax",
                                                 .number = 3,
                                                 .is_strided = true,
                                                 .launches = 10,
                                                 .size = 100 * MB,
                                                 .prefetched_bytes = 1000 * MB,
                                                 .faults = 1000};
    account.kernels.worst[0].bytes_in = account.buffers.worst[0].bytes_in = 1000 * MB;
    return account;
}

static void check_tip(const struct ff__account *account, const char *expected) {
    char tip[FF__TIP];
    assert_int_equal(ff__tip_find(account, tip), expected[0] != '\0');
    if (!strstr(tip, expected))
        fail_msg("'%s', not '%s'", tip, expected);
}

static void test_tip(void **state) {
    struct ff__account account = program();
    struct ff_moved *kernel = &account.kernels.worst[0], *buffer = &account.buffers.worst[0];
    (void)state;
    check_tip(&account, "buffer 3 (100 MiB) alone is larger than the memory of a device");
    buffer->size = 50 * MB;
    check_tip(&account, "a launch of relax has operands of 100 MiB, more than");
    kernel->launches = 100; /* each uses a tenth of them */
    check_tip(&account, "");
    kernel->launches = 2;
    check_tip(&account, "relax brought what it uses in 5.0 times a launch, most of it buffer 3 "
                        "(50 MiB): it seems to walk it by columns");
    buffer->is_strided = false;
    check_tip(&account, "buffer 3 (50 MiB), which relax seems to use at random");
    kernel->launches = 10;
    buffer->faults = 100000;
    check_tip(&account, "which relax seems to use at random");
    buffer->prefetched_bytes =
        0; /* a system that brings single pages has as many faults in a scan */
    check_tip(&account, "a launch of relax has operands");
}

static void test_little_memory(void **state) {
    struct ff__account account = program();
    (void)state;
    account.footprint = 66 * MB;
    check_tip(&account, "only 2 MiB of memory are missing for all buffers at once: with "
                        "--memory 70M nothing");
    account.devices = 2;
    check_tip(&account, "alone is larger");
    account.devices = 1;
    account.footprint = 64 * MB;
    check_tip(&account, "alone is larger");
    account.footprint = 71 * MB;
    check_tip(&account, "alone is larger");
}

/* Nothing that matters: everything came in once, or nothing had to leave. */
static void test_no_advice(void **state) {
    struct ff__account account = program();
    (void)state;
    account.stats.pages_in = 120 * MB / 4096;
    check_tip(&account, "");
    account = program();
    account.stats.evictions = 0;
    check_tip(&account, "");
    account = program();
    account.kernels.count = account.buffers.count = 0;
    check_tip(&account, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_tip),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_no_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
