/* A file that appears under its name only when it is whole. */
#ifndef FF_TRACE_PLACE_H
#define FF_TRACE_PLACE_H

#include <stddef.h>

/* The folder is held open, so that a program that changes its working directory meanwhile does not
 * change where the file goes. */
struct ff__place {
    int folder, fd;
    char *name, *part; /* in the folder: the file's name, and the one it has until then */
};

/* Makes the unfinished file PATH.PID-N.part for writing. -EEXIST: PATH is there and is no regular
 * file, so that it must not be replaced. Other negative errno. */
int ff__place_open(struct ff__place *place, const char *path);

/* Writes all of it; -ENOSPC and others. */
int ff__place_write(struct ff__place *place, const void *bytes, size_t size);

/* Closes the file, unless the caller did and set fd to -1, and gives it its name; or removes it and returns the error. Ends the place either way. */
int ff__place_keep(struct ff__place *place);

/* Removes the file; ends the place. */
void ff__place_drop(struct ff__place *place);

/* Closes what is open, and leaves the file as it is; ends the place. */
void ff__place_leave(struct ff__place *place);

#endif
