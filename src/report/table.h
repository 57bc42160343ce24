/* Tables for people: columns as wide as their widest cell, numbers to the right. */
#ifndef FF_REPORT_TABLE_H
#define FF_REPORT_TABLE_H

#include <stdio.h>

#define FF__TABLE_COLUMNS 12

struct ff__table {
    unsigned columns;
    const char *align;
    char **cells;
    size_t count, capacity;
};

/* One letter a column: l or r, where its text goes; `align` is borrowed. The first row holds the
 * headings. */
void ff__table_init(struct ff__table *table, const char *align);
void ff__table_fini(struct ff__table *table);

/* The next cell; rows fill up from the left. */
void ff__table_cell(struct ff__table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number with so many decimals and its unit; "-" if it is none. */
void ff__table_value(struct ff__table *table, unsigned decimals, double value, const char *unit);

/* Several cells at once; the list ends with NULL. */
void ff__table_cells(struct ff__table *table, ...) __attribute__((sentinel));

void ff__table_print(const struct ff__table *table, FILE *out, unsigned indent);

#endif
