/* Files of the kernel: short texts, of which one line counts. */
#include "doctor/doctor.h"

#include "report/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ff__doctor_find(const char *root, const char *path, const char *key) {
    char *whole = ff__text("%s%s", root, path), *line = NULL, *found = NULL;
    size_t room = 0, length = strlen(key);
    FILE *file = fopen(whole, "re");
    while (file && !found && getline(&line, &room, file) > 0)
        if (strncmp(line, key, length) == 0) {
            const char *value = line + length + strspn(line + length, " \t");
            found = ff__text("%.*s", (int)strcspn(value, "\n"), value);
        }
    if (file)
        fclose(file);
    free(line);
    free(whole);
    return found;
}

uint64_t ff__doctor_number(const char *root, const char *path, const char *key) {
    char *value = ff__doctor_find(root, path, key);
    bool is_number = value && isdigit((unsigned char)value[0]);
    uint64_t number = is_number ? strtoull(value, NULL, 10) : UINT64_MAX;
    free(value);
    return number;
}
