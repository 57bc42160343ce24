/* File descriptors of farfault's threads in the user's program. */
#ifndef FF_BASE_DESCRIPTORS_H
#define FF_BASE_DESCRIPTORS_H

#include <stddef.h>

/* Gives the calling thread, and those it starts from now on, a table of descriptors of its own with
 * only these in it (-1: none): so the program cannot close them, and they do not keep the program's
 * files, pipes and sockets open. 0, or negative errno: the table is still the program's. */
int ff__descriptors_keep_only(const int *kept, size_t count);

#endif
