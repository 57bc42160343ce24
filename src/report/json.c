#include "report/json.h"

#include "base/new_file.h"

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
    json_t *string = value ? json_string(value) : json_null();
    return string ? string : json_string("(not UTF-8)");
}

void ff__json_set(json_t *object, const char *name, json_t *value) {
    json_object_set_new(object, name, ff__must(value));
}

const char *ff__json_text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

double ff__json_number_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

uint64_t ff__json_count_of(const json_t *object, const char *name) {
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static int print(FILE *stream, const void *all) {
    errno = 0;
    if (json_dumpf(all, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 &&
        putc('\n', stream) != EOF)
        return 0;
    return errno ? -errno : -EIO;
}

int ff__json_write(const json_t *all, const char *path) {
    return strcmp(path, "-") == 0 ? print(stdout, all) : ff__file_write(path, print, all);
}
