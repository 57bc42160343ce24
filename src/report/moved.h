/* What moved by kernel and by buffer, as tables for people. */
#ifndef FF_REPORT_MOVED_H
#define FF_REPORT_MOVED_H

#include <farfault/farfault.h>

#include <stdio.h>

#define FF__MOVED_NAME 96u

/* "buffer 3". */
const char *ff__moved_buffer_name(char out[FF__MOVED_NAME], const struct ff_moved *buffer);

/* The worst five of each, and the others in one line. Nothing of an empty list. */
void ff__moved_print(const struct ff_moved_list *kernels, const struct ff_moved_list *buffers,
                     FILE *file);

#endif
