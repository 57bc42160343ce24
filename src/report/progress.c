#include "report/progress.h"

#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_WIDTH 20u

void ff__progress_start(struct ff__progress *progress, unsigned total) {
    *progress = (struct ff__progress){.on = isatty(STDERR_FILENO) == 1, .total = total};
}

static unsigned terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void ff__progress_show(const struct ff__progress *progress, const char *format, ...) {
    if (!progress->on)
        return;
    va_list args;
    va_start(args, format);
    char *label = ff__text_v(format, args);
    va_end(args);
    char bar[BAR_WIDTH + 1];
    for (unsigned i = 0; i < BAR_WIDTH; i++)
        bar[i] = i * progress->total < progress->done * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    char *line = ff__text("[%s] %u/%u  %s", bar, progress->done, progress->total, label);
    /* a line that wraps could not be erased */
    fprintf(stderr, "\r\033[K%.*s", (int)terminal_width() - 1, line);
    fflush(stderr);
    free(line);
    free(label);
}

void ff__progress_hide(const struct ff__progress *progress) {
    if (progress->on)
        fputs("\r\033[K", stderr);
}
