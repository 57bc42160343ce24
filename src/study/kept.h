/* Results in a file, so that a long command that was interrupted goes on where it was.
 *
 * A line a result: a checksum, the identity of what made it, its bytes, its key. A line is written
 * at once and believed if its checksum is right, so that one that was cut off by a crash, or by a
 * full disk, counts for nothing, and the next one begins behind it. Several processes may add to
 * one file. */
#ifndef FF_STUDY_KEPT_H
#define FF_STUDY_KEPT_H

#include <stdbool.h>
#include <stddef.h>

struct ff__kept;

/* Reads the results of this identity, a text without spaces, from a file that need not exist.
 * Results of other identities are dropped from it; `fresh`: all are. 0 or a negative errno. The
 * caller closes it. */
int ff__kept_open(const char *path, const char *identity, bool fresh, struct ff__kept **out);
void ff__kept_close(struct ff__kept *kept);

/* The bytes of a result, which stay the file's; NULL: it is not there, or `kept` is NULL. Results
 * that were added after opening are not found. */
const void *ff__kept_find(const struct ff__kept *kept, const char *key, size_t *size);

/* Adds a result, from any thread; the key has no line ends. 0 or a negative errno; `kept` may be
 * NULL. */
int ff__kept_add(struct ff__kept *kept, const char *key, const void *bytes, size_t size);

#endif
