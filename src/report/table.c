#include "report/table.h"

#include "report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void ff__table_init(struct ff__table *table, const char *align) {
    *table = (struct ff__table){.columns = (unsigned)strlen(align), .align = align};
}

void ff__table_fini(struct ff__table *table) {
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct ff__table){0};
}

/* Takes over `text`. */
static void add(struct ff__table *table, char *text) {
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 64;
        table->cells = ff__must(realloc(table->cells, table->capacity * sizeof *table->cells));
    }
    table->cells[table->count++] = text;
}

void ff__table_cell(struct ff__table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(table, ff__text_v(format, args));
    va_end(args);
}

void ff__table_value(struct ff__table *table, unsigned decimals, double value, const char *unit) {
    if (isfinite(value))
        ff__table_cell(table, "%.*f%s", (int)decimals, value, unit);
    else
        ff__table_cell(table, "-");
}

void ff__table_cells(struct ff__table *table, ...) {
    va_list args;
    va_start(args, table);
    for (const char *text; (text = va_arg(args, const char *)) != NULL;)
        add(table, ff__text("%s", text));
    va_end(args);
}

static void measure(const struct ff__table *table, unsigned width[FF__TABLE_COLUMNS]) {
    for (size_t i = 0; i < table->count; i++) {
        unsigned length = (unsigned)strlen(table->cells[i]);
        unsigned column = (unsigned)(i % table->columns);
        width[column] = length > width[column] ? length : width[column];
    }
}

/* Lines end where their text ends, so cells are padded only in front of another one. */
static void print_row(const struct ff__table *table, char *const *cells, const unsigned *width,
                      FILE *out, unsigned indent) {
    unsigned last = 0, owed = indent;
    for (unsigned column = 0; column < table->columns; column++)
        last = cells[column][0] ? column : last;
    for (unsigned column = 0; column <= last; column++) {
        unsigned padding = width[column] - (unsigned)strlen(cells[column]);
        bool right = table->align[column] == 'r';
        fprintf(out, "%*s%s", (int)(owed + (right ? padding : 0)), "", cells[column]);
        owed = 2 + (right ? 0 : padding);
    }
    fputc('\n', out);
}

void ff__table_print(const struct ff__table *table, FILE *out, unsigned indent) {
    unsigned width[FF__TABLE_COLUMNS] = {0};
    measure(table, width);
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, table->cells + i, width, out, indent);
}
