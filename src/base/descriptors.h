/* File descriptors of farfault's threads in the user's program. */
#ifndef FF_BASE_DESCRIPTORS_H
#define FF_BASE_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

/* Gives the calling thread, and those it starts from now on, a table of descriptors of its own with
 * only these in it (-1: none): so the program cannot close them, and they do not keep the program's
 * files, pipes and sockets open. 0, or negative errno: the table is still the program's. */
int ff__descriptors_keep_only(const int *kept, size_t count);

/* read(2), pread(2) and write(2) of such a descriptor, by the number of the system call:
 * ThreadSanitizer knows one table alone, and takes it for the program's file of that number. */
ssize_t ff__descriptor_read(int fd, void *buffer, size_t size);
ssize_t ff__descriptor_read_at(int fd, void *buffer, size_t size, off_t at);
ssize_t ff__descriptor_write(int fd, const void *buffer, size_t size);

#endif
