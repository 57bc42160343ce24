#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void ff__log_line(const struct ff__log *log, enum ff_log_level level, const char *format, ...) {
    if (!log->write)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->user, level, line);
}
