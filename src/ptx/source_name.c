/* Names as the source has them. Symbols of C++ are read by the C++ run time, which programs in C++
 * have loaded, and others find on nearly every machine. */
#include "ptx/source_name.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* __cxa_demangle() of the C++ ABI: text in malloc()'s memory, or NULL. */
typedef char *demangle_fn(const char *symbol, char *buffer, size_t *size, int *status);
static demangle_fn *demangle;
static pthread_once_t looked_up = PTHREAD_ONCE_INIT;

static void look_up(void) {
    void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    void *runtime = found != NULL ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (runtime != NULL)
        found = dlsym(runtime, "__cxa_demangle");
    memcpy(&demangle, &found, sizeof demangle);
}

/* Types may have parentheses of their own. */
static void cut_parameters(char *name) {
    size_t end = strlen(name), depth = 0;
    if (end == 0 || name[end - 1] != ')')
        return;
    do {
        end--;
        depth += name[end] == ')';
        depth -= name[end] == '(';
    } while (depth > 0 && end > 0);
    if (end > 0)
        name[end] = '\0';
}

/* Only what a template makes has the type of its result. */
static void cut_void(char *name) {
    const char type[] = "void ";
    size_t length = sizeof type - 1;
    if (strncmp(name, type, length) == 0)
        memmove(name, name + length, strlen(name + length) + 1);
}

/* Those of arguments of templates stay. */
static void cut_scopes(char *name) {
    char *last = name;
    size_t depth = 0;
    for (char *at = name; *at != '\0'; at++) {
        depth += *at == '<' || *at == '(' || *at == '{';
        depth -= depth > 0 && (*at == '>' || *at == ')' || *at == '}');
        if (depth == 0 && at[0] == ':' && at[1] == ':')
            last = at + 2;
    }
    memmove(name, last, strlen(last) + 1);
}

char *ff__ptx_source_name(const char *symbol, bool whole) {
    int status;
    pthread_once(&looked_up, look_up);
    bool is_mangled = demangle != NULL && strncmp(symbol, "_Z", 2) == 0;
    char *name = is_mangled ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (name == NULL)
        return strdup(symbol);
    cut_void(name);
    if (!whole) {
        cut_parameters(name);
        cut_scopes(name);
    }
    return name;
}
