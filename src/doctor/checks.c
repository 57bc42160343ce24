#include "doctor/doctor.h"

#include "report/text.h"

#include <stdlib.h>
#include <string.h>

void ff__checks_add(struct ff__checks *checks, const char *name, enum ff__health health,
                    char *finding, char *advice) {
    checks->items = ff__must(realloc(checks->items, (checks->count + 1) * sizeof *checks->items));
    checks->items[checks->count++] = (struct ff__check){name, health, finding, advice};
}

void ff__checks_message(struct ff__checks *checks, const char *name, enum ff__health health,
                        const char *message) {
    const char *end = strstr(message, "; ");
    int length = end ? (int)(end - message) : (int)strlen(message);
    ff__checks_add(checks, name, health, ff__text("%.*s", length, message),
                   end ? ff__text("%s", end + 2) : NULL);
}

void ff__checks_free(struct ff__checks *checks) {
    for (unsigned i = 0; i < checks->count; i++) {
        free(checks->items[i].finding);
        free(checks->items[i].advice);
    }
    free(checks->items);
    *checks = (struct ff__checks){0};
}
