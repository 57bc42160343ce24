/* A matrix as tables. */
#include "study/matrix.h"

#include <math.h>

#define MIB 1048576.0

/* ---- cells ---- */

void ff__ratio_cell(struct ff__table *table, double value) {
    ff__table_value(table, 2, value, "x");
}

void ff__share_cell(struct ff__table *table, double value) {
    ff__table_value(table, 1, 100 * value, " %");
}

void ff__paired_cell(struct ff__table *table, struct ff__paired paired) {
    if (paired.pairs > 0)
        ff__table_cell(table, "%.3f (%.3f-%.3f)", paired.ratio, paired.low, paired.high);
    else
        ff__table_cell(table, "-");
}

/* False, and there is nothing to be told: nobody managed the cell's memory. */
static bool moved(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell,
                  struct ff__run_measures *out) {
    bool managed = cell >= ff__matrix_in_memory(matrix, cell);
    if (managed)
        matrix->executor->measures(matrix->self, cell, out);
    else
        ff__table_cell(table, "-");
    return managed;
}

static void faults_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    struct ff__run_measures measures;
    if (moved(table, matrix, cell, &measures))
        ff__table_cell(table, "%llu", (unsigned long long)measures.faults);
}

static void in_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    struct ff__run_measures measures;
    if (moved(table, matrix, cell, &measures))
        ff__table_cell(table, "%.1f", (double)measures.bytes_in / MIB);
}

static void out_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    struct ff__run_measures measures;
    if (moved(table, matrix, cell, &measures))
        ff__table_cell(table, "%.1f", (double)measures.bytes_out / MIB);
}

static void hits_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    struct ff__run_measures measures;
    if (moved(table, matrix, cell, &measures))
        ff__share_cell(table, measures.hit_rate);
}

static void slowdown_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__ratio_cell(table, ff__matrix_slowdown(matrix, cell));
}

const struct ff__column ff__columns_moved[FF__COLUMNS_MOVED] = {{'r', "faults", faults_cell},
                                                                {'r', "MiB in", in_cell},
                                                                {'r', "MiB out", out_cell},
                                                                {'r', "hit rate", hits_cell}};
const struct ff__column ff__column_slowdown = {'r', "x in-memory", slowdown_cell};

/* ---- tables ---- */

static void add_line(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell,
                     const struct ff__column *columns, unsigned count) {
    const struct ff__matrix_place place = ff__matrix_place(matrix, cell);
    char size[FF__QUANTITY];
    struct ff__run_measures measures;
    const char *reason = matrix->executor->measures(matrix->self, cell, &measures);
    ff__table_cells(table, place.system_name,
                    place.memory ? ff__size_text(size, place.memory) : "-", NULL);
    if (!reason) {
        for (unsigned i = 0; i < count; i++)
            columns[i].cell(table, matrix, cell);
        return;
    }
    ff__table_cell(table, "%s", matrix->executor->verdict(matrix->self, cell));
    for (unsigned i = 2; i < count; i++)
        ff__table_cell(table, "%s", "");
    ff__table_cell(table, "%s%s", matrix->executor->before_reason, reason);
}

void ff__matrix_table(const struct ff__matrix *matrix, unsigned subject, unsigned device,
                      const struct ff__column *columns, unsigned count, char *align,
                      struct ff__table *table) {
    align[0] = 'l';
    align[1] = 'r';
    for (unsigned i = 0; i < count; i++)
        align[2 + i] = columns[i].align;
    align[2 + count] = '\0';
    ff__table_init(table, align);
    ff__table_cells(table, "system", "memory", NULL);
    for (unsigned i = 0; i < count; i++)
        ff__table_cell(table, "%s", columns[i].heading);
    for (unsigned line = 0; line < ff__matrix_lines(matrix); line++)
        add_line(table, matrix, ff__matrix_cell(matrix, subject, device, line), columns, count);
}

void ff__matrix_each_mean(const struct ff__matrix *matrix,
                          void (*line)(void *self, const struct ff__matrix_place *place),
                          void *self) {
    for (unsigned device = 0; device < matrix->devices.count; device++)
        for (unsigned at = matrix->executor->first_count; at < ff__matrix_lines(matrix); at++) {
            const struct ff__matrix_place place =
                ff__matrix_place(matrix, ff__matrix_cell(matrix, 0, device, at));
            line(self, &place);
        }
}
