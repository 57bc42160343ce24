/* Errors as values: a negative errno and one line for people. */
#ifndef FF_BASE_ERROR_H
#define FF_BASE_ERROR_H

#include <farfault/farfault.h>

/* Writes the line (error may be NULL) and returns `code`, so that callers can `return
 * ff__fail(...)`. */
int ff__fail(struct ff_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
