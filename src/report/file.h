/* Whole files in memory. */
#ifndef FF_REPORT_FILE_H
#define FF_REPORT_FILE_H

#include <stddef.h>

struct ff__file {
    char *bytes;
    size_t size;
};

/* The caller frees out->bytes, NULL at first, whatever comes back: 0 or, with one line on stderr,
 * an exit status. */
int ff__file_read(const char *path, struct ff__file *out);

#endif
