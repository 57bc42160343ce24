/* A progress bar on the last line of the terminal that stderr is; nothing anywhere else. */
#ifndef FF_REPORT_PROGRESS_H
#define FF_REPORT_PROGRESS_H

#include <stdbool.h>

struct ff__progress {
    bool on;
    unsigned done, total;
};

void ff__progress_start(struct ff__progress *progress, unsigned total);

/* Draws the bar with what is being done now. */
void ff__progress_show(const struct ff__progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes the bar away, so that something else can be printed. */
void ff__progress_hide(const struct ff__progress *progress);

#endif
