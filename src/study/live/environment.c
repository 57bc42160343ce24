#include "study/live/environment.h"

#include "study/find.h"

#include "report/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(struct ff__environment *environment, char *owned) {
    environment->items = ff__must(
        realloc(environment->items, (environment->count + 2) * sizeof *environment->items));
    environment->items[environment->count++] = owned;
    environment->items[environment->count] = NULL;
}

void ff__environment_copy(struct ff__environment *out) {
    *out = (struct ff__environment){0};
    for (char **item = environ; *item; item++)
        add(out, ff__text("%s", *item));
}

void ff__environment_free(struct ff__environment *environment) {
    for (unsigned i = 0; i < environment->count; i++)
        free(environment->items[i]);
    free(environment->items);
    *environment = (struct ff__environment){0};
}

const char *ff__environment_get(const struct ff__environment *environment, const char *name) {
    size_t length = strlen(name);
    for (unsigned i = 0; i < environment->count; i++)
        if (strncmp(environment->items[i], name, length) == 0 &&
            environment->items[i][length] == '=')
            return environment->items[i] + length + 1;
    return NULL;
}

void ff__environment_unset(struct ff__environment *environment, const char *name) {
    const char *value = ff__environment_get(environment, name);
    for (unsigned i = 0; value && i < environment->count; i++) {
        if (environment->items[i] + strlen(name) + 1 != value)
            continue;
        free(environment->items[i]);
        environment->items[i] = environment->items[--environment->count];
        environment->items[environment->count] = NULL;
        return;
    }
}

void ff__environment_set(struct ff__environment *environment, const char *name, const char *format,
                         ...) {
    va_list args;
    va_start(args, format);
    char *value = ff__text_v(format, args);
    va_end(args);
    ff__environment_unset(environment, name);
    add(environment, ff__text("%s=%s", name, value));
    free(value);
}

/* Programs find our CUDA driver before any other. */
static void add_cuda(struct ff__environment *environment) {
    char folder[PATH_MAX];
    if (!ff__find_cuda(folder))
        return;
    const char *others = ff__environment_get(environment, "LD_LIBRARY_PATH");
    char *all = others && others[0] ? ff__text("%s:%s", folder, others) : ff__text("%s", folder);
    ff__environment_set(environment, "LD_LIBRARY_PATH", "%s", all);
    free(all);
}

void ff__environment_preload(struct ff__environment *environment, const char *libraries) {
    const char *others = ff__environment_get(environment, "LD_PRELOAD");
    char *all =
        others && others[0] ? ff__text("%s:%s", libraries, others) : ff__text("%s", libraries);
    ff__environment_set(environment, "LD_PRELOAD", "%s", all);
    free(all);
}

void ff__environment_manage(struct ff__environment *environment, const char *preload,
                            unsigned devices, const struct ff__book *book, const char *summary) {
    ff__environment_preload(environment, preload);
    add_cuda(environment);
    ff__environment_set(environment, "FARFAULT_REQUIRE", "1");
    ff__environment_set(environment, "FARFAULT_ACCOUNTS", "%s", book->path);
    ff__environment_set(environment, "FARFAULT_SUMMARY", "%s", summary);
    char names[8 * sizeof "pthread"] = "pthread";
    for (unsigned i = 1; i < devices && i < 8; i++)
        strcat(names, " pthread");
    ff__environment_set(environment, "POCL_DEVICES", "%s", names);
}
