/* An argument of a kernel, as launches take it. */
#ifndef EXAMPLES_HOST_ARGUMENT_H
#define EXAMPLES_HOST_ARGUMENT_H

#include <stddef.h>

struct argument {
    size_t size;
    const void *value;
};

#define ARG(variable) ((struct argument){sizeof(variable), &(variable)})

/* ARGS(ARG(a), ARG(b)) is an array and the number of its elements. */
#define ARGS(...)                                                                                  \
    (const struct argument[]){__VA_ARGS__},                                                        \
        sizeof((const struct argument[]){__VA_ARGS__}) / sizeof(struct argument)

#endif
