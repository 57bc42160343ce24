/* Each function of a .def with one wrong argument at a time, all others being right: what a wrong
 * one gives follows from its type, or is in a list of exceptions, which are what the documentation
 * of CUDA 12.6 says. Structures by value are not made up, nor numbers whose limits are unknown. */
#ifndef FF_TESTS_CUDA_ARGUMENTS_H
#define FF_TESTS_CUDA_ARGUMENTS_H

#include "base/cases.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>

#define MOST 25 /* arguments */

struct tested {
    const char *name, *parameters; /* as they are declared, in brackets */
    void *function;
};
#define ARGUMENTS_TEXT(text)     #text /* of what `text` expands to */
#define TESTED(name, parameters) {ARGUMENTS_TEXT(name), ARGUMENTS_TEXT(parameters), (void *)(name)},

/* Arguments of which the declaration has `text` in it; the first kind that fits is meant. Handles
 * and structures are words. A wrong one gives `error`; 0: there is no wrong one. */
struct kind {
    const char *text;
    uintptr_t right, wrong;
    int error;
};
#define PLACE   UINTPTR_MAX /* as `right`: memory of the argument's own, all zero */
#define WRONG   ((uintptr_t)0x7fff0000)
#define NOWHERE ((uintptr_t)4096)

struct exception {
    const char *name, *argument; /* the first: a pattern, as of file names */
    int result;
};

struct arguments {
    const struct kind *kinds;
    size_t kind_count;
    const struct exception *exceptions;
    size_t exception_count;
    const char *left_out;  /* a function that makes an object all the same; may be NULL */
    void (*prepare)(void); /* before each call */
    const char *(*result_name)(int result);
};

static inline long do_nothing(void) {
    return 0;
}

static char arguments_memory[MOST][16384];

static const struct kind *kind_of(const struct arguments *all, const char *declared) {
    for (size_t i = 0; i < all->kind_count; i++)
        if (strstr(declared, all->kinds[i].text) != NULL)
            return &all->kinds[i];
    return NULL;
}

#define FIVE(type)      type, type, type, type, type
#define VALUES(v, from) v[from], v[(from) + 1], v[(from) + 2], v[(from) + 3], v[(from) + 4]

/* Integers and pointers are passed alike, so that one type of functions does for all. */
static int call_with(void *function, const uintptr_t *v) {
    int (*call)(FIVE(uintptr_t), FIVE(uintptr_t), FIVE(uintptr_t), FIVE(uintptr_t),
                FIVE(uintptr_t));
    memcpy(&call, &function, sizeof call);
    return call(VALUES(v, 0), VALUES(v, 5), VALUES(v, 10), VALUES(v, 15), VALUES(v, 20));
}

static char *trimmed(char *at) {
    size_t size = strlen(at);
    while (at[size - 1] == ' ')
        at[--size] = '\0';
    return at + strspn(at, " ");
}

/* The declarations of `parameters`, without what is around them. */
static int split(const char *parameters, char *copy, size_t size, char **out) {
    int count = 0;
    char *rest;
    snprintf(copy, size, "%.*s", (int)strlen(parameters) - 2, parameters + 1);
    for (char *at = strtok_r(copy, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        assert_in_range(count, 0, MOST - 1);
        out[count++] = trimmed(at);
    }
    return count == 1 && strcmp(out[0], "void") == 0 ? 0 : count;
}

static int expected_of(const struct arguments *all, const char *name, const char *declared,
                       const struct kind *kind, bool *used) {
    for (size_t i = 0; i < all->exception_count; i++) {
        const struct exception *exception = &all->exceptions[i];
        size_t ends = strlen(declared) - strlen(exception->argument);
        if (fnmatch(exception->name, name, 0) == 0 &&
            strlen(declared) > strlen(exception->argument) &&
            strcmp(declared + ends, exception->argument) == 0 && strchr(" *", declared[ends - 1])) {
            used[i] = true;
            return exception->result;
        }
    }
    return kind->error;
}

static int try_each(const struct arguments *all, const struct tested *tested, bool *used) {
    uintptr_t right[MOST] = {0}, values[MOST];
    const struct kind *kinds[MOST];
    char copy[1024], *declared[MOST];
    int count = split(tested->parameters, copy, sizeof copy, declared), failures = 0;
    for (int i = 0; i < count; i++) {
        kinds[i] = kind_of(all, declared[i]);
        if (kinds[i] == NULL)
            return 0; /* passed in memory, or in pieces */
        right[i] = kinds[i]->right != PLACE ? kinds[i]->right : (uintptr_t)arguments_memory[i];
    }
    for (int i = 0; i < count; i++) {
        if (kinds[i]->error == 0)
            continue;
        all->prepare();
        memset(arguments_memory, 0, sizeof arguments_memory);
        memcpy(values, right, sizeof values);
        values[i] = kinds[i]->wrong;
        int result = call_with(tested->function, values);
        int expected = expected_of(all, tested->name, declared[i], kinds[i], used);
        if (result != expected) {
            print_error("%s: a wrong '%s' gives %s, not %s\n", tested->name, declared[i],
                        all->result_name(result), all->result_name(expected));
            failures++;
        }
    }
    return failures;
}

static inline void check_arguments(const struct arguments *all, const struct tested *tested,
                                   size_t count, bool *used) {
    int failures = 0;
    for (size_t i = 0; i < count; i++)
        if (all->left_out == NULL || strcmp(tested[i].name, all->left_out) != 0)
            failures += try_each(all, &tested[i], used);
    for (size_t i = 0; i < all->exception_count; i++)
        if (!used[i]) {
            print_error("no function %s with '%s'\n", all->exceptions[i].name,
                        all->exceptions[i].argument);
            failures++;
        }
    assert_int_equal(failures, 0);
}

#endif
