/* The options of farfault as a table, from options.def, and the reading of their values. */
#ifndef FF_RUNTIME_OPTIONS_H
#define FF_RUNTIME_OPTIONS_H

#include <farfault/farfault.h>

enum ff__option {
#define FF_OPTION(KEY, ...)          FF__OPTION_##KEY,
#define FF_SETTING(member, KEY, ...) FF__OPTION_##KEY,
#define FF_VARIABLE(KEY, help)       FF__OPTION_##KEY,
#define FF_ALSO(KEY, ...)
#define FF_HEADING(commands, group, text)
#include "runtime/options.def"
    FF__OPTIONS
};

#define FF__VARIABLE_PREFIX "FARFAULT_"

/* Limits of options that others rely on. */
#define FF__LATENCY_MAX UINT64_C(1000000000) /* ns: beyond it a forgotten unit is likely */
#define FF__RUNS_MAX    99u                  /* of a system in a comparison */

enum ff__option_kind {
    FF__KIND_ANY,   /* a text that its command checks */
    FF__KIND_TEXT,  /* a text that is not empty */
    FF__KIND_PATH,  /* the same, which other processes resolve, too */
    FF__KIND_FLAG,  /* needs no value on the command line */
    FF__KIND_COUNT, /* a whole number */
    FF__KIND_SIZE,
    FF__KIND_TIME,
    FF__KIND_WORDS, /* one of `words`; its number counts from 0 */
    FF__KIND_SIZES, /* a size that is one of `words` */
    FF__KIND_LINK,  /* a rate and a latency, perhaps after `words` */
};

struct ff__option_row {
    const char *name;     /* on the command line, without the dashes; NULL: a variable alone */
    const char *variable; /* without its prefix */
    const char *fallback; /* its value where it is not given; NULL: none */
    char letter;          /* 0: no short form */
    size_t offset, size;  /* of the member of struct ff_config; 0: none */
    enum ff__option_kind kind;
    uint64_t min, max;            /* max 0: none */
    const char *words, *expected; /* what a value must be; NULL: that follows from the rest */
};

extern const struct ff__option_row ff__option_rows[FF__OPTIONS];

union ff__option_value {
    const char *text;
    uint64_t number; /* of a flag 0 or 1 */
    struct ff_link link;
};

/* Returns 0 or -EINVAL; then *out is undefined. */
int ff__option_read(enum ff__option option, const char *text, union ff__option_value *out);

/* What a value must be: "on or off". Writes into `out` and returns it. */
#define FF__OPTION_EXPECTED 160
const char *ff__option_expected(enum ff__option option, char out[FF__OPTION_EXPECTED]);

/* The value of its variable in the environment, or NULL. */
const char *ff__option_variable(enum ff__option option);

/* A rate of 1 MB/s to 1000 TB/s, and a latency of up to 1 s. */
bool ff__link_is_possible(const struct ff_link *link);

#endif
