#include "report/complain.h"
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static char *last;
static bool hides;

int ff__complain(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = ff__text_v(format, args);
    va_end(args);
    if (!hides)
        fprintf(stderr, "%s: %s\n", program_invocation_name, text);
    free(last);
    last = text;
    return status;
}

const char *ff__complaint(void) {
    return last;
}

void ff__complaints_hide(bool hidden) {
    hides = hidden;
}
