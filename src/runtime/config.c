/* Configuration from text: every setting is a row of options.def. */
#include "base/error.h"
#include "base/nearest.h"
#include "base/sized.h"
#include "runtime/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PREFIX FF__VARIABLE_PREFIX

static void store(const struct ff__option_row *row, const union ff__option_value *value,
                  struct ff_config *config) {
    void *member = (char *)config + row->offset;
    if (row->kind == FF__KIND_TEXT || row->kind == FF__KIND_PATH)
        *(const char **)member = value->text;
    else if (row->kind == FF__KIND_LINK)
        *(struct ff_link *)member = value->link;
    else if (row->size == sizeof(bool))
        *(bool *)member = value->number != 0;
    else if (row->size == sizeof(uint32_t)) /* a count or an enum */
        *(uint32_t *)member = (uint32_t)value->number;
    else
        *(uint64_t *)member = value->number;
}

void ff_config_init_sized(struct ff_config *config, size_t size) {
    struct ff_config initial = {.size = size};
    union ff__option_value value;
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        const struct ff__option_row *row = &ff__option_rows[i];
        if (row->size && row->fallback && ff__option_read(i, row->fallback, &value) == 0)
            store(row, &value, &initial);
    }
    ff__sized_put(config, size, &initial, sizeof initial);
}

/* What is wrong with the value of a setting: 0 or -EINVAL, with the name it was given by. */
static int set(struct ff_config *config, enum ff__option option, const char *prefix,
               const char *name, const char *text, struct ff_error *error) {
    const struct ff__option_row *row = &ff__option_rows[option];
    union ff__option_value value;
    char expected[FF__OPTION_EXPECTED];
    if (row->offset >= config->size)
        return ff__fail(error, -EINVAL,
                        "%s%s=%s: not known to this program, which was compiled against an older "
                        "farfault.h; compile it again",
                        prefix, name, text);
    if (ff__option_read(option, text, &value))
        return ff__fail(error, -EINVAL, "%s%s=%s: must be %s", prefix, name, text,
                        ff__option_expected(option, expected));
    store(row, &value, config);
    return 0;
}

int ff_config_set(struct ff_config *config, const char *name, const char *value,
                  struct ff_error *error) {
    for (enum ff__option i = 0; i < FF__OPTIONS; i++)
        if (ff__option_rows[i].size && strcasecmp(ff__option_rows[i].variable, name) == 0)
            return set(config, i, "", name, value, error);
    return ff__fail(error, -EINVAL, "unknown setting '%s'", name);
}

/* ---- the environment ---- */

int ff_config_from_environment(struct ff_config *config, struct ff_error *error) {
    int status = 0;
    for (enum ff__option i = 0; i < FF__OPTIONS && !status; i++) {
        const char *name = ff__option_rows[i].variable, *value = ff__option_variable(i);
        if (ff__option_rows[i].size && value)
            status = set(config, i, PREFIX, name, value, error);
    }
    return status;
}

/* The variable, given without the prefix, that is this one or most like it. */
static struct ff__nearest nearest_variable(const char *name) {
    struct ff__nearest nearest = {.word = name};
    for (enum ff__option i = 0; i < FF__OPTIONS; i++)
        ff__nearest_offer(&nearest, ff__option_rows[i].variable);
    return nearest;
}

int ff_environment_check(struct ff_error *error) {
    for (char **item = environ; item && *item; item++) {
        char name[64];
        if (strncmp(*item, PREFIX, strlen(PREFIX)) != 0)
            continue;
        const char *rest = *item + strlen(PREFIX);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "="), rest);
        struct ff__nearest nearest = nearest_variable(name);
        char text[FF__NEAREST_TEXT];
        ff__nearest_text(&nearest, PREFIX, text);
        if (strcmp(nearest.best[0], name) != 0)
            return ff__fail(error, -EINVAL,
                            "the environment has " PREFIX "%s, which is not a setting%s%s", name,
                            text[0] ? "; " : "", text);
    }
    return 0;
}
