#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int ff__fail(struct ff_error *error, int code, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return code;
}
