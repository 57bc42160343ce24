/* JSON for reports. */
#ifndef FF_REPORT_JSON_H
#define FF_REPORT_JSON_H

#include "report/text.h"

#include <jansson.h>

json_t *ff__json_number(double value); /* null unless it is finite */
json_t *ff__json_count(uint64_t value);
/* NULL is null. Names, paths and reasons are bytes; JSON is UTF-8. */
json_t *ff__json_text(const char *value);

/* A member: "", NaN or 0 where there is none of the kind. */
const char *ff__json_text_of(const json_t *object, const char *name);
double ff__json_number_of(const json_t *object, const char *name);
uint64_t ff__json_count_of(const json_t *object, const char *name);

/* Takes over `value`. */
void ff__json_set(json_t *object, const char *name, json_t *value);

/* `path` "-" is stdout. 0 or a negative errno. */
int ff__json_write(const json_t *all, const char *path);

#endif
