/* Quantities as people write them: tables of good and bad texts, and the edges of what fits. */
#include "cases.h"

#include "base/parse.h"
#include "base/random.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT UINT64_C(0x5555AAAA1234) /* what must still be there after an error */

struct good {
    const char *text;
    uint64_t value;
};

typedef int (*parse_fn)(const char *text, uint64_t *out);

static void check_good(parse_fn parse, const struct good *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = KEPT;
        int status = parse(rows[i].text, &value);
        if (status || value != rows[i].value)
            fail_msg("'%s' gives %d, %" PRIu64 " instead of %" PRIu64, rows[i].text, status, value,
                     rows[i].value);
    }
}

static void check_bad(parse_fn parse, const char *const *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = KEPT;
        int status = parse(rows[i], &value);
        if (status != -EINVAL || value != KEPT)
            fail_msg("'%s' gives %d, %" PRIu64, rows[i], status, value);
    }
}

#define COUNT(rows) (sizeof rows / sizeof rows[0])

/* Bad whatever is read. */
static const char *const never[] = {
    "",    " ",    "x",   "-",   "+",     ".",    "-1",  "--1",      "1x",    "1 x",  "1.2.3",
    "1,5", "1;",   "1=1", "nan", "inf",   "-inf", "NaN", "infinity", "1e999", "0x",   "1\n1",
    "\n",  "0x10", " 5",  "+5",  "0x1p4", "-0",   "1e+", "1ee3",     "\xff",  "1\xff"};

static void test_sizes(void **state) {
    (void)state;
    static const struct good good[] = {
        {"0", 0},
        {"1", 1},
        {"4096", 4096},
        {"4096B", 4096},
        {"64K", 65536},
        {"64k", 65536},
        {"64KB", 65536},
        {"64KiB", 65536},
        {"64kib", 65536},
        {"256M", 268435456},
        {"170MB", 178257920},
        {"2MiB", 2097152},
        {"1.5G", 1610612736},
        {"0.5K", 512},
        {".5K", 512},
        {"5.K", 5120},
        {"1e3", 1000},
        {"1G", 1073741824},
        {"3GB", 3221225472},
        {"1T", UINT64_C(1) << 40},
        {"2TiB", UINT64_C(2) << 40},
        {"4503599627370495", UINT64_C(4503599627370495)},
    };
    static const char *const bad[] = {"K",         "KK",       "64 K", "64KK",   "64Ki",
                                      "64KiBs",    "1Q",       "1PB",  "1E",     "12b/s",
                                      "16777216T", "8388608T", "1e19", "-1K",    "-0.1",
                                      "K64",       "64K ",     "1 ",   "9.1e18", "1e300"};
    check_good(ff__parse_size, good, COUNT(good));
    check_bad(ff__parse_size, bad, COUNT(bad));
    check_bad(ff__parse_size, never, COUNT(never));
}

static void test_times(void **state) {
    (void)state;
    static const struct good good[] = {
        {"0", 0},
        {"300", 300},
        {"300ns", 300},
        {"500us", 500000},
        {"500US", 500000},
        {"1.5ms", 1500000},
        {"2s", 2000000000},
        {"0.5us", 500},
        {"0.6", 1},
        {"0.0000005s", 500},
        {"16.7us", 16700},
        {"1e-3s", 1000000},
        {"3600s", UINT64_C(3600000000000)},
    };
    static const char *const bad[] = {"us",   "1m",  "1min",  "1h", "1 us", "1uss",
                                      "1us ", "-1s", "1e10s", "1K", "µs",   "5µs"};
    check_good(ff__parse_ns, good, COUNT(good));
    check_bad(ff__parse_ns, bad, COUNT(bad));
    check_bad(ff__parse_ns, never, COUNT(never));
}

/* Every whole number that people may mean comes back as it is. */
static void test_whole_numbers_are_exact(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    for (unsigned long i = 0, count = scaled_cases(100000, 5000); i < count; i++) {
        uint64_t number = ff__random_next(&random) >> (12 + ff__random_below(&random, 52)), value;
        char text[32];
        snprintf(text, sizeof text, "%" PRIu64, number);
        assert_int_equal(ff__parse_size(text, &value), 0);
        assert_int_equal(value, number);
        assert_int_equal(ff__parse_ns(text, &value), 0);
        assert_int_equal(value, number);
    }
}

static void test_large_whole_numbers_are_exact(void **state) {
    (void)state;
    static const struct good good[] = {
        {"4503599627370497", UINT64_C(4503599627370497)},
        {"9007199254740993", UINT64_C(9007199254740993)},
        {"8999999999999999999", UINT64_C(8999999999999999999)},
    };
    check_good(ff__parse_size, good, COUNT(good));
    check_good(ff__parse_ns, good, COUNT(good));
}

/* ---- rates, integers, booleans ---- */

static void test_rates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1B/s", 1},        {"5", 5},           {"12.3GB/s", 12.3e9}, {"12.3gb/S", 12.3e9},
                {"900KB/s", 900e3}, {"1.5MB/s", 1.5e6}, {"2TB/s", 2e12},      {"0.5B/s", 0.5}};
    static const char *const bad[] = {"0",       "0GB/s", "-1GB/s", "GB/s",    "12GB", "12GiB/s",
                                      "12 GB/s", "1G/s",  "1GB/s ", "1GB/sec", "-0"};
    for (size_t i = 0; i < COUNT(good); i++) {
        double value = 0;
        assert_int_equal(ff__parse_rate(good[i].text, &value), 0);
        assert_true(fabs(value - good[i].value) <= good[i].value * 1e-12);
    }
    for (size_t i = 0; i < COUNT(bad) + COUNT(never); i++) {
        double value = 0.25;
        const char *text = i < COUNT(bad) ? bad[i] : never[i - COUNT(bad)];
        if (ff__parse_rate(text, &value) != -EINVAL || value < 0.25 || value > 0.25)
            fail_msg("'%s' is a rate of %g", text, value);
    }
}

static void test_rates_are_finite(void **state) {
    (void)state;
    static const char *const bad[] = {"1e300TB/s", "1e309B/s", "1e4930TB/s", "1e-400B/s"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double value = 0.25;
        if (ff__parse_rate(bad[i], &value) != -EINVAL || value < 0.25 || value > 0.25)
            fail_msg("'%s' is a rate of %g", bad[i], value);
    }
}

static void test_integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"7", 7},
                {"-5", -5},
                {"010", 10},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",    " ",
                                      "x",   "-",
                                      "1.5", "12a",
                                      "1 ",  "--1",
                                      "0xg", "0x10",
                                      "+7",  " 5",
                                      "1e3", "9223372036854775808",
                                      "1,0", "-9223372036854775809",
                                      "on",  "\xff"};
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t value = 99;
        assert_int_equal(ff__parse_int(good[i].text, &value), 0);
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t value = 99;
        if (ff__parse_int(bad[i], &value) != -EINVAL || value != 99)
            fail_msg("'%s' is the integer %" PRId64, bad[i], value);
    }
}

static void test_booleans(void **state) {
    (void)state;
    static const char *const good[2][8] = {{"0", "off", "no", "false", "OFF", "No", "False", "oFF"},
                                           {"1", "on", "yes", "true", "ON", "Yes", "TRUE", "oN"}};
    static const char *const bad[] = {"",    " ",   "2",  "-1",     "o",         "onn", "of",
                                      "on ", " on", "00", "yes no", "truefalse", "y"};
    for (int expected = 0; expected < 2; expected++) {
        for (size_t i = 0; i < 8; i++) {
            int64_t value = 99;
            assert_int_equal(ff__parse_bool(good[expected][i], &value), 0);
            assert_int_equal(value, expected);
        }
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t value = 99;
        assert_int_equal(ff__parse_bool(bad[i], &value), -EINVAL);
        assert_int_equal(value, 99);
    }
}

/* ---- another locale ---- */

/* Writes what glibc keeps for LC_NUMERIC, with a comma for the decimal point: no such locale may be
 * installed. */
static bool write_locale(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    enum { HEADER = 8 * 4 };
    const uint32_t head[8] = {0x20031115 ^ 1, 6,          HEADER,     HEADER + 2,
                              HEADER + 3,     HEADER + 4, HEADER + 8, HEADER + 12};
    const char strings[4] = {',', 0, 0, 0};
    const uint32_t words[2] = {',', 0};
    bool written = fwrite(head, sizeof head, 1, file) == 1 &&
                   fwrite(strings, sizeof strings, 1, file) == 1 &&
                   fwrite(words, sizeof words, 1, file) == 1 && fwrite("UTF-8", 6, 1, file) == 1;
    return fclose(file) == 0 && written;
}

static bool enter_locale_with_comma(void) {
    char folder[] = "/tmp/farfault-locale-XXXXXX", inner[64], path[80];
    if (!mkdtemp(folder))
        return false;
    snprintf(inner, sizeof inner, "%s/xx_XX", folder);
    snprintf(path, sizeof path, "%s/LC_NUMERIC", inner);
    bool entered = mkdir(inner, 0700) == 0 && write_locale(path);
    setenv("LOCPATH", folder, 1);
    entered = entered && setlocale(LC_NUMERIC, "xx_XX") && *localeconv()->decimal_point == ',';
    unsetenv("LOCPATH");
    unlink(path);
    rmdir(inner);
    rmdir(folder);
    return entered;
}

/* A program that farfault is loaded into may have called setlocale(); FARFAULT_MEMORY=1.5G means
 * the same everywhere. */
static void test_locale_does_not_matter(void **state) {
    (void)state;
    if (!enter_locale_with_comma())
        skip();
    uint64_t size = 0, comma = 0;
    int status = ff__parse_size("1.5G", &size), comma_status = ff__parse_size("1,5G", &comma);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(status, 0);
    assert_int_equal(size, 1610612736);
    assert_int_equal(comma_status, -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_whole_numbers_are_exact),
        cmocka_unit_test(test_large_whole_numbers_are_exact),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_rates_are_finite),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_booleans),
        cmocka_unit_test(test_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
