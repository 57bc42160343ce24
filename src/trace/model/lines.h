/* Text files, line by line and word by word, without trust. */
#ifndef FF_TRACE_MODEL_LINES_H
#define FF_TRACE_MODEL_LINES_H

#include <farfault/farfault.h>
#include <stdio.h>

#define FF__LINE_MAX 65536

struct ff__lines {
    FILE *file;
    const char *name; /* for messages */
    unsigned long number;
    struct ff_error *error;
    char text[FF__LINE_MAX]; /* the line, without its end */
};

/* Opens a file for reading; -EINVAL: it is not a regular one. */
int ff__open_regular(const char *path, FILE **out, struct ff_error *error);

/* 1: a line is there; 0: the end; -EBADMSG: it is too long or no text; or another negative errno.
 */
int ff__next_line(struct ff__lines *lines);

/* "NAME:NUMBER: WHAT" and -EBADMSG. */
int ff__bad_line(struct ff__lines *lines, const char *what);

/* The next word of a line, words being apart by blanks; *at goes behind it. Its length, 0 at the
 * end of the line. */
size_t ff__next_word(const char **at, const char **word);

/* A number in base 10 or 16 (with or without 0x) that is the whole next word. False: it is not. */
bool ff__next_number(const char **at, int base, uint64_t *out);
bool ff__next_signed(const char **at, int64_t *out);

/* A number at the beginning of some text; *at goes behind it. */
bool ff__take_number(const char **at, int base, uint64_t *out);

#endif
