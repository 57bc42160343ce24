#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *ff__json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *ff__json_count(uint64_t value) {
    return json_integer((json_int_t)value);
}

json_t *ff__json_text(const char *value) {
    json_t *string = json_string(value);
    return string ? string : json_string("(not UTF-8)");
}

void ff__json_set(json_t *object, const char *name, json_t *value) {
    json_object_set_new(object, name, ff__must(value));
}

int ff__json_write(const json_t *all, const char *path) {
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(9);
    errno = 0;
    bool printed = strcmp(path, "-") == 0;
    FILE *file = printed ? stdout : fopen(path, "we");
    if (!file)
        return -errno;
    int status = json_dumpf(all, file, flags) || putc('\n', file) == EOF;
    if (!printed)
        status = fclose(file) == EOF || status;
    return status ? errno ? -errno : -EIO : 0;
}
