#include "runtime/options.h"

#include "base/parse.h"
#include "engine/pipeline.h"
#include "share/protocol.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANY                     .kind = FF__KIND_ANY
#define TEXT(what)              .kind = FF__KIND_TEXT, .expected = what
#define PATH(what)              .kind = FF__KIND_PATH, .expected = what
#define FLAG                    .kind = FF__KIND_FLAG, .expected = "on or off"
#define COUNT(least, most)      .kind = FF__KIND_COUNT, .min = least, .max = most
#define SIZE(least, what)       .kind = FF__KIND_SIZE, .min = least, .expected = what
#define TIME(least, most, what) .kind = FF__KIND_TIME, .min = least, .max = most, .expected = what
#define WORDS(list)             .kind = FF__KIND_WORDS, .words = list
#define SIZES(list)             .kind = FF__KIND_SIZES, .words = list
#define LINK(prefix, example)                                                                      \
    .kind = FF__KIND_LINK, .words = prefix,                                                        \
    .expected = "a rate and a latency, such as " example " (1MB/s to 1000TB/s, up to 1s)"

#define FF_OPTION(KEY, name, letter, check, commands, group, value, fallback, help)                \
    [FF__OPTION_##KEY] = {name, #KEY, fallback, letter, 0, 0, check},
#define FF_SETTING(member, KEY, name, letter, check, commands, group, value, fallback, help)       \
    [FF__OPTION_##KEY] = {name,                                                                    \
                          #KEY,                                                                    \
                          fallback,                                                                \
                          letter,                                                                  \
                          offsetof(struct ff_config, member),                                      \
                          sizeof((struct ff_config *)0)->member,                                   \
                          check},
#define FF_VARIABLE(KEY, help) [FF__OPTION_##KEY] = {NULL, #KEY, NULL, 0, 0, 0, ANY},
#define FF_ALSO(KEY, ...)
#define FF_HEADING(commands, group, text)

const struct ff__option_row ff__option_rows[FF__OPTIONS] = {
#include "runtime/options.def"
};

/* A word's number is the value of the member. */
_Static_assert(FF_MECHANISM_AUTO == 0 && FF_MECHANISM_MOVE == 1 && FF_MECHANISM_COPY == 2,
               "the words of --mechanism");
_Static_assert(FF_HANDLER_ADAPTIVE == 0 && FF_HANDLER_SLEEP == 1 && FF_HANDLER_SIGBUS == 2 &&
                   FF_HANDLER_KERNELS == 3,
               "the words of --handler");

/* ---- reading ---- */

/* Ours: beyond these no link is real, a slip of the finger (a forgotten unit) is likely, and
 * programs would not end. */
bool ff__link_is_possible(const struct ff_link *link) {
    return link->bytes_per_second >= 1e6 && link->bytes_per_second <= 1e15 &&
           link->latency_ns <= FF__LATENCY_MAX;
}

/* "12.3GB/s", "12.3GB/s,16.7us", also with "host=" before it, or whatever the prefix is. */
static int read_link(const char *prefix, const char *text, struct ff_link *out) {
    char rate[64];
    text += strncmp(text, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    const char *comma = strchr(text, ',');
    size_t length = comma ? (size_t)(comma - text) : strlen(text);
    if (length >= sizeof rate)
        return -EINVAL;
    memcpy(rate, text, length);
    rate[length] = '\0';
    *out = (struct ff_link){0};
    bool good = ff__parse_rate(rate, &out->bytes_per_second) == 0 &&
                (!comma || ff__parse_ns(comma + 1, &out->latency_ns) == 0);
    return good && ff__link_is_possible(out) ? 0 : -EINVAL;
}

static bool is_size(const char *word, uint64_t bytes) {
    uint64_t size;
    return ff__parse_size(word, &size) == 0 && size == bytes;
}

/* Which of "gpu|cpu" it is. Sizes are given in any way, "64K" or "65536", and are in bytes. */
static int read_word(const struct ff__option_row *row, const char *text, uint64_t *out) {
    char word[32];
    bool sizes = row->kind == FF__KIND_SIZES;
    uint64_t bytes = 0, index = 0;
    if (sizes && ff__parse_size(text, &bytes))
        return -EINVAL;
    for (const char *at = row->words; *at; at += strspn(at, "|"), index++) {
        size_t length = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (sizes ? is_size(word, bytes) : strcasecmp(word, text) == 0) {
            *out = sizes ? bytes : index;
            return 0;
        }
        at += length;
    }
    return -EINVAL;
}

static int read_signed(int (*parse)(const char *, int64_t *), const char *text, uint64_t *out) {
    int64_t value;
    if (parse(text, &value) || value < 0)
        return -EINVAL;
    *out = (uint64_t)value;
    return 0;
}

static int read_number(const struct ff__option_row *row, const char *text, uint64_t *out) {
    int status = row->kind == FF__KIND_COUNT  ? read_signed(ff__parse_int, text, out)
                 : row->kind == FF__KIND_SIZE ? ff__parse_size(text, out)
                                              : ff__parse_ns(text, out);
    return status || *out < row->min || (row->max && *out > row->max) ? -EINVAL : 0;
}

int ff__option_read(enum ff__option option, const char *text, union ff__option_value *out) {
    const struct ff__option_row *row = &ff__option_rows[option];
    switch (row->kind) {
    case FF__KIND_ANY:
    case FF__KIND_TEXT:
    case FF__KIND_PATH:
        out->text = text;
        return text[0] || row->kind == FF__KIND_ANY ? 0 : -EINVAL;
    case FF__KIND_FLAG:
        return read_signed(ff__parse_bool, text, &out->number);
    case FF__KIND_WORDS:
    case FF__KIND_SIZES:
        return read_word(row, text, &out->number);
    case FF__KIND_LINK:
        return read_link(row->words, text, &out->link);
    default:
        return read_number(row, text, &out->number);
    }
}

/* "auto|move|copy" as "auto, move or copy" */
static void put_words(const char *words, char out[FF__OPTION_EXPECTED]) {
    size_t used = 0;
    for (; *words && used < FF__OPTION_EXPECTED; words++) {
        const char *between = strchr(words + 1, '|') ? ", " : " or ";
        used += *words == '|'
                    ? (size_t)snprintf(out + used, FF__OPTION_EXPECTED - used, "%s", between)
                    : (size_t)snprintf(out + used, FF__OPTION_EXPECTED - used, "%c", *words);
    }
}

const char *ff__option_expected(enum ff__option option, char out[FF__OPTION_EXPECTED]) {
    const struct ff__option_row *row = &ff__option_rows[option];
    out[0] = '\0';
    if (row->expected)
        snprintf(out, FF__OPTION_EXPECTED, "%s", row->expected);
    else if (row->words)
        put_words(row->words, out);
    else
        snprintf(out, FF__OPTION_EXPECTED, "a whole number, %llu to %llu",
                 (unsigned long long)row->min, (unsigned long long)row->max);
    return out;
}

const char *ff__option_variable(enum ff__option option) {
    char name[64];
    snprintf(name, sizeof name, FF__VARIABLE_PREFIX "%s", ff__option_rows[option].variable);
    return getenv(name);
}
