/* Finding an interface's own functions, and being found in their place. Each preload has one table
 * of functions, made of its hooks.def. */
#ifndef FF_PRELOAD_LOOKUP_H
#define FF_PRELOAD_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

struct ff__hook {
    const char *name;
    size_t offset; /* of the pointer to the real function, in `real` */
    void *hook;    /* NULL: not hooked */
};

/* Defined by each preload. */
extern const struct ff__hooks {
    const struct ff__hook *items;
    size_t count;
    void *real;
    const char *library; /* that has the functions */
} ff__hooks;

/* Looks the real functions up at the first call. */
void ff__hooks_load(void);

/* What the program shall have in place of `found`, which the interface has under this name. */
void *ff__hook_in_place_of(const char *name, void *found);

#endif
