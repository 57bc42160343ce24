#include "report/csv.h"

#include "base/new_file.h"
#include "report/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_single(const json_t *value) {
    return !json_is_object(value) && !json_is_array(value);
}

/* The columns' names, as the members of an object, which keeps their order. The caller owns it. */
static json_t *columns_of(const json_t *records) {
    json_t *columns = ff__must(json_object()), *record, *value;
    const char *name;
    size_t i;
    json_array_foreach(records, i, record)
        json_object_foreach(record, name, value) if (is_single(value))
            ff__json_set(columns, name, json_true());
    return columns;
}

static void put_text(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_value(FILE *file, const json_t *value) {
    if (json_is_string(value))
        put_text(file, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(file, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(file, "%.9g", json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", file);
}

/* One line: of values, or, without a record, of the columns' names. */
static void put_line(FILE *file, json_t *columns, const json_t *record) {
    const char *name, *separator = "";
    json_t *unused;
    json_object_foreach(columns, name, unused) {
        fputs(separator, file);
        if (record)
            put_value(file, json_object_get(record, name));
        else
            put_text(file, name);
        separator = ",";
    }
    fputc('\n', file);
}

static int print(FILE *stream, const void *self) {
    const json_t *records = self;
    json_t *columns = columns_of(records), *record;
    size_t i;
    errno = 0;
    put_line(stream, columns, NULL);
    json_array_foreach(records, i, record) put_line(stream, columns, record);
    json_decref(columns);
    return !ferror(stream) ? 0 : errno ? -errno : -EIO;
}

int ff__csv_write(const json_t *records, const char *path) {
    return strcmp(path, "-") == 0 ? print(stdout, records) : ff__file_write(path, print, records);
}
