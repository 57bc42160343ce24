/* Records as CSV: RFC 4180, with line feeds. */
#ifndef FF_REPORT_CSV_H
#define FF_REPORT_CSV_H

#include <jansson.h>

/* An array of objects: a column for each member that has a single value in some of them, in the
 * order in which they come first; null is empty. `path` "-" is stdout. 0 or a negative errno. */
int ff__csv_write(const json_t *records, const char *path);

#endif
