/* The environment of a child, made from our own. */
#ifndef FF_STUDY_LIVE_ENVIRONMENT_H
#define FF_STUDY_LIVE_ENVIRONMENT_H

#include "report/account.h"

struct ff__environment {
    char **items; /* "NAME=value", ends with NULL */
    unsigned count;
};

void ff__environment_copy(struct ff__environment *out);
void ff__environment_free(struct ff__environment *environment);

void ff__environment_set(struct ff__environment *environment, const char *name, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
void ff__environment_unset(struct ff__environment *environment, const char *name);

/* The value, or NULL. */
const char *ff__environment_get(const struct ff__environment *environment, const char *name);

/* Before what is preloaded already. `libraries`: as LD_PRELOAD has them. */
void ff__environment_preload(struct ff__environment *environment, const char *libraries);

/* What every program needs to run under farfault: the preload, which fails instead of stepping
 * aside, one PoCL device for each of ours, and the book for its account. `summary`: `text` if it
 * prints that, too, or `none`. */
void ff__environment_manage(struct ff__environment *environment, const char *preload,
                            unsigned devices, const struct ff__book *book, const char *summary);

#endif
