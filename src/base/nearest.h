/* The names that the user probably meant. */
#ifndef FF_BASE_NEAREST_H
#define FF_BASE_NEAREST_H

#include <farfault/farfault.h>

#define FF__NEAREST_MAX  3
#define FF__NEAREST_TEXT 128

struct ff__nearest {
    const char *word;
    const char *best[FF__NEAREST_MAX]; /* those that are equally near, by the alphabet */
    unsigned count;                    /* 0 at first */
    unsigned distance;
};

/* Offers one more name, which must stay valid while `nearest` is in use. */
void ff__nearest_offer(struct ff__nearest *nearest, const char *name);

/* "the nearest is --system" or "the nearest are bfs and bfs-levels"; `prefix` goes before each
 * name. Writes into `out` and returns it; "" if no name is near enough to be worth saying. */
const char *ff__nearest_text(const struct ff__nearest *nearest, const char *prefix,
                             char out[FF__NEAREST_TEXT]);

/* Says that there is no such `kind` of thing, the nearest ones, and the command that shows all.
 * Returns -ENOENT. */
int ff__nearest_fail(const struct ff__nearest *nearest, const char *kind, const char *command,
                     struct ff_error *error);

#endif
