/* The line on stderr that says what is wrong, and the exit statuses that go with it. */
#ifndef FF_REPORT_COMPLAIN_H
#define FF_REPORT_COMPLAIN_H

#include <stdbool.h>

enum {
    FF__EXIT_FAILURE = 1,
    FF__EXIT_USAGE = 2,
    FF__EXIT_CANNOT_EXECUTE = 126,
    FF__EXIT_NOT_FOUND = 127,
    FF__EXIT_SIGNAL = 128, /* plus the number of the signal */
};

/* One line on stderr, after the name of the command; returns `status`, so that callers can `return
 * ff__complain(...)`. */
int ff__complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last of these lines, without the name of the command; NULL: there was none. */
const char *ff__complaint(void);

/* From now on the lines are only kept, not shown; or shown again. */
void ff__complaints_hide(bool hidden);

#endif
