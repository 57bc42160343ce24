/* The list of options: each row is what the rest relies on, and docs/running.md has the variables
 * that no command has as an option. */
#include "cli/options.h"
#include "learn/dataset.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "peer-link" is FARFAULT_PEER_LINK. */
static void test_names(void **state) {
    (void)state;
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        const char *name = ff__option_rows[i].name, *variable = ff__option_rows[i].variable;
        for (size_t c = 0; name && c <= strlen(variable); c++)
            if ((name[c] == '-' ? '_' : toupper(name[c])) != variable[c])
                fail_msg("--%s is not FARFAULT_%s", name, variable);
    }
}

static void test_letters(void **state) {
    (void)state;
    for (enum ff__command_id id = FF__COMMAND_RUN; id <= FF__COMMAND_PREDICT; id++)
        for (enum ff__option i = 0; i < FF__OPTIONS; i++)
            for (enum ff__option j = 0; j < i; j++)
                if (ff__command_has(id, i) && ff__command_has(id, j) && ff__option_rows[i].letter &&
                    ff__option_rows[i].letter == ff__option_rows[j].letter)
                    fail_msg("--%s and --%s of command %d have the same letter",
                             ff__option_rows[i].name, ff__option_rows[j].name, id);
}

static void test_members(void **state) {
    (void)state;
    for (enum ff__option i = 0; i < FF__OPTIONS; i++)
        for (enum ff__option j = 0; j < i; j++)
            if (ff__option_rows[i].size && ff__option_rows[j].size &&
                ff__option_rows[i].offset == ff__option_rows[j].offset)
                fail_msg("%s and %s set the same member", ff__option_rows[i].variable,
                         ff__option_rows[j].variable);
}

/* A default can be read, and members of struct ff_config can hold what is read. */
static void test_defaults(void **state) {
    static const struct {
        enum ff__option option;
        const char *fallback;
    } rows[] = {
#define FF_OPTION(KEY, name, letter, check, commands, group, value, fallback, help)                \
    {FF__OPTION_##KEY, fallback},
#define FF_SETTING(member, ...)                              FF_OPTION(__VA_ARGS__)
#define FF_ALSO(KEY, commands, group, value, fallback, help) {FF__OPTION_##KEY, fallback},
#define FF_VARIABLE(KEY, help)
#define FF_HEADING(commands, group, text)
#include "runtime/options.def"
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ff__option_row *row = &ff__option_rows[rows[i].option];
        union ff__option_value value;
        bool shares = rows[i].option == FF__OPTION_MEMORY; /* which the commands read */
        if (rows[i].fallback && !shares &&
            ff__option_read(rows[i].option, rows[i].fallback, &value))
            fail_msg("%s: cannot be %s", row->variable, rows[i].fallback);
        if (row->size && row->kind == FF__KIND_ANY)
            fail_msg("%s: a setting needs a check", row->variable);
    }
}

static void test_initial_configuration(void **state) {
    struct ff_config config;
    (void)state;
    ff_config_init(&config);
    assert_string_equal(config.system, "auto");
    assert_true(config.memory == 256u << 20 && config.granule == 2u << 20 && config.devices == 1);
    assert_true(config.spin_ns == 50000 && config.seed == 1 && config.address_space == 1ul << 39);
    assert_true(config.mechanism == FF_MECHANISM_AUTO && config.handler == FF_HANDLER_KERNELS);
    assert_true(config.link.bytes_per_second == 0 && !config.check && !config.share);
}

static void test_values(void **state) {
    struct ff_config config;
    (void)state;
    ff_config_init(&config);
    assert_int_equal(ff_config_set(&config, "handler", "sigbus", NULL), 0);
    assert_int_equal(ff_config_set(&config, "granule", "65536", NULL), 0);
    assert_int_equal(ff_config_set(&config, "peer_link", "peer=1GB/s,2us", NULL), 0);
    assert_int_equal(ff_config_set(&config, "fault_workers", "8", NULL), 0);
    assert_int_equal(ff_config_set(&config, "check", "on", NULL), 0);
    assert_int_equal(ff_config_set(&config, "touches", "on", NULL), 0); /* the member before it */
    assert_true(config.handler == FF_HANDLER_SIGBUS && config.granule == 65536);
    assert_true(config.peer_link.latency_ns == 2000 && config.fault_workers == 8);
    assert_true(config.touches && config.check && !config.explain);
    assert_int_equal(ff_config_set(&config, "fault_workers", "9", NULL), -22);
    assert_int_equal(ff_config_set(&config, "runs", "3", NULL), -22); /* of a command alone */
}

/* The number of a word is that of the enum that the commands take it for. */
static void test_words(void **state) {
    union ff__option_value value;
    (void)state;
    for (enum ff__cluster by = 0; by < FF__CLUSTERS; by++) {
        assert_int_equal(ff__option_read(FF__OPTION_CLUSTER, ff__cluster_name(by), &value), 0);
        assert_int_equal(value.number, by);
    }
    assert_int_equal(ff__option_read(FF__OPTION_SPLIT, "time", &value), 0);
    assert_int_equal(value.number, FF__SPLIT_TIME);
    assert_int_equal(ff__option_read(FF__OPTION_SPLIT, "tim", &value), -22);
    assert_int_equal(ff__option_read(FF__OPTION_SPLIT, "time|", &value), -22);
    assert_int_equal(ff__option_read(FF__OPTION_SPLIT, "", &value), -22);
}

/* ---- the document ---- */

static char text[1 << 17];
static unsigned listed;

static void expect_listed(const char *variable, const char *fallback, const char *help) {
    char line[256];
    snprintf(line, sizeof line, "\n| `FARFAULT_%s` | %s%s%s%s |\n", variable, help,
             fallback ? " (default: " : "", fallback ? fallback : "", fallback ? ")" : "");
    if (!strstr(text, line))
        fail_msg("docs/running.md lacks this line:%s", line);
    listed++;
}

static void test_document(void **state) {
    FILE *file = fopen(DOCS "/running.md", "r");
    (void)state;
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) < sizeof text - 1);
    fclose(file);
#define FF_OPTION(KEY, ...)
#define FF_ALSO(KEY, ...)
#define FF_SETTING(member, KEY, word, letter, check, commands, group, value, fallback, help)       \
    if (!ff__option_rows[FF__OPTION_##KEY].name)                                                   \
        expect_listed(#KEY, fallback, help);
#define FF_VARIABLE(KEY, help) expect_listed(#KEY, NULL, help);
#define FF_HEADING(commands, group, text)
#include "runtime/options.def"
    for (const char *at = text; (at = strstr(at, "\n| `FARFAULT_")); at++)
        listed--;
    assert_int_equal(listed, 0); /* and no line more */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_initial_configuration),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
