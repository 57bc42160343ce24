/* The name that the user probably meant. */
#ifndef FF_BASE_NEAREST_H
#define FF_BASE_NEAREST_H

#include <stdbool.h>

struct ff__nearest {
    const char *word;
    const char *best; /* the nearest so far, NULL at first */
    unsigned distance;
};

/* Offers one more name. The first of equals stays. */
void ff__nearest_offer(struct ff__nearest *nearest, const char *name);

/* Whether the nearest is near enough to be worth saying. */
bool ff__nearest_is_close(const struct ff__nearest *nearest);

#endif
