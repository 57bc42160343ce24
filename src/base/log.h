/* The library's only way to say something unasked: a callback the application may set. */
#ifndef FF_BASE_LOG_H
#define FF_BASE_LOG_H

#include <farfault/farfault.h>

struct ff__log {
    ff_log_fn write;
    void *user;
};

void ff__log_line(const struct ff__log *log, enum ff_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
