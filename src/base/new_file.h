/* Files that appear under their names only when they are whole and on the disk: whatever is killed
 * meanwhile, program or machine, there is then the old file, or none, or the new one. */
#ifndef FF_BASE_NEW_FILE_H
#define FF_BASE_NEW_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

/* ---- a file that is written bit by bit ---- */

/* The folder is held open, so that a program that changes its working directory meanwhile does not
 * change where the file goes. */
struct ff__new_file {
    int folder, fd;
    char *name, *part; /* in the folder: the file's name, and the one it has until then */
};

/* Makes the unfinished file PATH.PID-N.part for writing; it may be used as the file that it
 * replaces may. -EEXIST: PATH is there and is no regular file, so that it must not be replaced.
 * Other negative errno. */
int ff__new_file_open(struct ff__new_file *file, const char *path);

/* Writes all of it; -ENOSPC and others. */
int ff__new_file_write(struct ff__new_file *file, const void *bytes, size_t size);

/* Waits for the disk, and gives the file its name; or removes it and returns the error. Ends it
 * either way. */
int ff__new_file_keep(struct ff__new_file *file);

/* Removes the file; ends it. */
void ff__new_file_drop(struct ff__new_file *file);

/* ---- one that is written at once ---- */

/* Writes what a file holds: 0 or a negative errno. Errors of the stream are found without it. */
typedef int ff__file_print(FILE *stream, const void *self);

/* Makes an empty file with a name of its own, in TMPDIR or /tmp. 0 or a negative errno. */
int ff__file_temporary(char path[PATH_MAX]);

/* One that prints bytes. */
struct ff__file_bytes {
    const void *start;
    size_t size;
};
int ff__file_print_bytes(FILE *stream, const void *bytes);

/* A link is followed; a device or a pipe is written to in its place, and a pipe that nobody reads
 * is an error. 0 or a negative errno: then the file is as it was. */
int ff__file_write(const char *path, ff__file_print *print, const void *self);

/* Whether ff__file_write() can begin, which a command asks before hours of work: 0 or a negative
 * errno. Changes nothing. */
int ff__file_check(const char *path);

#endif
