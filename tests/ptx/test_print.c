/* vprintf() of device code, against the C library's for the same arguments. */
#include "base/cases.h"

#include "base/random.h"
#include "ptx/print.h"
#include "ptx/services.h"
#include <limits.h>
#include <math.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- catching ---- */

static char caught[4096];

/* Prints with stdout going to a file, and reads that. */
static int print(const char *format, const void *arguments) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    int taken = ff__ptx_services.print(NULL, format, arguments);
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    rewind(file);
    caught[fread(caught, 1, sizeof caught - 1, file)] = 0;
    fclose(file);
    return taken;
}

static size_t put(uint8_t *to, size_t at, const void *value, size_t size) {
    at = (at + size - 1) / size * size;
    memcpy(to + at, value, size);
    return at + size;
}

/* `types` has a letter for each argument: i int, w long long, r double, p pointer. */
static void check(const char *types, const char *format, ...) {
    uint8_t arguments[256] __attribute__((aligned(8)));
    memset(arguments, 0xa5, sizeof arguments);
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    size_t at = 0;
    for (const char *type = types; *type != 0; type++) {
        if (*type == 'i')
            at = put(arguments, at, &(int){va_arg(list, int)}, sizeof(int));
        else if (*type == 'w')
            at = put(arguments, at, &(long long){va_arg(list, long long)}, sizeof(long long));
        else if (*type == 'r')
            at = put(arguments, at, &(double){va_arg(list, double)}, sizeof(double));
        else
            at = put(arguments, at, &(void *){va_arg(list, void *)}, sizeof(void *));
    }
    char expected[sizeof caught];
    vsnprintf(expected, sizeof expected, format, again);
    va_end(again);
    va_end(list);
    assert_int_equal(print(format, arguments), strlen(types));
    if (strcmp(caught, expected) != 0)
        fail_msg("'%s' printed '%s', not '%s'", format, caught, expected);
}

/* ---- cases ---- */

static void prints_what_c_prints(void **state) {
    (void)state;
    static char text[] = "text";
    check("", "plain 100%% text\n");
    check("i", "thread %d\n", -7);
    check("ir", "%d is %f", 3, 0.5);
    check("irirp", "%d %g|%u %e %s", 1, 1e300, 2, -0.0, text);
    check("iwiw", "%c%lld%x%lu", 'q', LLONG_MIN, 0xffffffff, 1ll << 40);
    check("iii", "%hd %hhu %hx", 0x12345, 0x1ff, -1);
    check("www", "%zu %jd %td", -1ll, -2ll, -3ll);
    check("ipi", "%o %p %X", 8, (void *)text, 255);
    check("rrrr", "%a %A %E %G", 1.5, -3.25, 12345.678, 1e-9);
    check("iii", "[%*d][%-5d]", 6, 42, 42);
    check("iiri", "[%*.*f][%d]", 9, 2, 3.14159, 5);
    check("iir", "[%-*.*e]", -14, 3, 2.0);
    check("pp", "[%10.2s][%-6s]", text, text);
    check("iii", "[%+d][% d][%08d]", 5, 5, -5);
    check("ii", "[%#x][%#o]", 255, 8);
    check("ir", "%c%lf", 'a', 1.0);
}

static void any_flags_width_and_precision(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    static const char *const integers[] = {"d", "i", "o", "u", "x", "X"};
    static const char *const sizes[] = {"", "h", "hh", "l", "ll"};
    static const char *const reals[] = {"e", "E", "f", "F", "g", "G", "a", "A"};
    for (unsigned long i = 0; i < scaled_cases(1500, 150); i++) {
        char format[64];
        size_t used = (size_t)snprintf(format, sizeof format, "%%d<%%");
        for (const char *flag = "-+ 0#"; *flag != 0; flag++)
            if (ff__random_below(&random, 3) == 0)
                format[used++] = *flag;
        if (ff__random_below(&random, 2))
            used += (size_t)snprintf(format + used, 8, "%u", 1 + ff__random_below(&random, 30));
        if (ff__random_below(&random, 2))
            used += (size_t)snprintf(format + used, 8, ".%u", ff__random_below(&random, 20));
        const char *integer = integers[ff__random_below(&random, 6)];
        uint32_t size = ff__random_below(&random, 5);
        long long value = (long long)(ff__random_next(&random) >> ff__random_below(&random, 64));
        if (i % 2 == 0) {
            snprintf(format + used, 16, "%s>", reals[ff__random_below(&random, 8)]);
            check("ir", format, (int)i, ldexp((double)value, -(int)(i % 70)));
        } else {
            snprintf(format + used, 16, "%s%s>", sizes[size], integer);
            if (size < 3)
                check("ii", format, (int)i, (int)value);
            else
                check("iw", format, (int)i, value);
        }
    }
}

/* What CUDA has not is written as it stands, and takes nothing. */
static void other_conversions(void **state) {
    (void)state;
    static const struct {
        const char *format, *text;
        int taken;
    } rows[] = {{"%n%d", "%n7", 1},         {"%y %d", "%y 7", 1},
                {"%5.3k|%d", "%5.3k|7", 1}, {"%*q %d", "%*q 7", 1},
                {"%d%", "7%", 1},           {"%d %-", "7 %-", 1},
                {"%%d %%%d", "%d %7", 1},   {"%-%d", "%-7", 1},
                {"%ll", "%ll", 0},          {"", "", 0},
                {"%00000+++++d", "+7", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(print(rows[i].format, &(int){7}), rows[i].taken);
        assert_string_equal(caught, rows[i].text);
    }
}

static void says_that_it_could_not(void **state) {
    (void)state;
    assert_int_equal(print(NULL, NULL), -1);
    assert_string_equal(caught, "");
    assert_int_equal(print("text %99999999999999d", &(int){7}), -2);
    assert_string_equal(caught, "");
    assert_int_equal(print("text %.*f", &(int[4]){INT_MIN}), -2);
    assert_int_equal(print("text %.*f", &(int[4]){1 << 21}), -2);
    assert_int_equal(print("no arguments", NULL), 0);
    assert_int_equal(print("%s\n", &(const char *){NULL}), 1);
    assert_string_equal(caught, "(null)\n");
}

/* Even where stdout keeps nothing back. */
static void one_write_a_call(void **state) {
    (void)state;
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(sockets[1], STDOUT_FILENO);
        setvbuf(stdout, NULL, _IONBF, 0);
        ff__ptx_print(NULL, "block %d\nthread %d\n", (const uint8_t *)(const int[]){1, 2});
        _exit(0);
    }
    assert_true(child > 0);
    close(sockets[1]);
    char text[64] = "";
    assert_true(recv(sockets[0], text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, "block 1\nthread 2\n");
    close(sockets[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_clock_advances(void **state) {
    (void)state;
    uint64_t before = ff__ptx_services.clock();
    usleep(1000);
    assert_in_range(ff__ptx_services.clock() - before, 1000000, 60000000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_c_prints), cmocka_unit_test(any_flags_width_and_precision),
        cmocka_unit_test(other_conversions),    cmocka_unit_test(says_that_it_could_not),
        cmocka_unit_test(one_write_a_call),     cmocka_unit_test(the_clock_advances),
    };
    return cmocka_run_group_tests_name("ptx.print", tests, NULL, NULL);
}
