/* Text on the heap, and quantities as people write them. Tools have nothing to fall back on when
 * memory ends: these say so in one line and exit. */
#ifndef FF_REPORT_TEXT_H
#define FF_REPORT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* Passes on what an allocation returned, unless that is NULL. */
void *ff__must(void *memory);

/* The caller frees the result. */
char *ff__text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *ff__text_v(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* With more behind it; takes over `text`. */
char *ff__text_add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct ff__words {
    char **items;
    unsigned count;
};

/* Splits at commas; empty pieces are kept. Freed with ff__words_free(). */
struct ff__words ff__words_split(const char *text);
void ff__words_add(struct ff__words *words, char *owned);
void ff__words_free(struct ff__words *words);

/* Written into `out`, which is returned. */
#define FF__QUANTITY 32
const char *ff__size_text(char out[FF__QUANTITY], uint64_t bytes); /* "256 MiB", "1.5 GiB" */
const char *ff__time_text(char out[FF__QUANTITY], uint64_t ns);    /* "500us", "2s" */

#endif
