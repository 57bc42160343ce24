#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *ff__must(void *memory) {
    if (memory)
        return memory;
    fprintf(stderr, "%s: out of memory\n", program_invocation_name);
    exit(EXIT_FAILURE);
}

char *ff__text_v(const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    return ff__must(text);
}

char *ff__text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = ff__text_v(format, args);
    va_end(args);
    return text;
}

char *ff__text_add(char *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *more = ff__text_v(format, args), *all = ff__text("%s%s", text, more);
    va_end(args);
    free(text);
    free(more);
    return all;
}

void ff__words_add(struct ff__words *words, char *owned) {
    words->items = ff__must(realloc(words->items, (words->count + 1) * sizeof *words->items));
    words->items[words->count++] = owned;
}

struct ff__words ff__words_split(const char *text) {
    struct ff__words words = {0};
    for (const char *end; *(end = strchrnul(text, ',')) == ','; text = end + 1)
        ff__words_add(&words, ff__must(strndup(text, (size_t)(end - text))));
    ff__words_add(&words, ff__text("%s", text));
    return words;
}

void ff__words_free(struct ff__words *words) {
    for (unsigned i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct ff__words){0};
}

const char *ff__size_text(char out[FF__QUANTITY], uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    bool whole = value >= 100 || value == (double)(uint64_t)value;
    snprintf(out, FF__QUANTITY, "%.*f %s", whole ? 0 : 1, value, units[unit]);
    return out;
}

const char *ff__time_text(char out[FF__QUANTITY], uint64_t ns) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    unsigned unit = 0;
    while (units[unit].ns > 1 && (ns == 0 || ns % units[unit].ns))
        unit++;
    snprintf(out, FF__QUANTITY, "%llu%s", (unsigned long long)(ns / units[unit].ns),
             units[unit].name);
    return out;
}
