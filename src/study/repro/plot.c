/* A published file describes its figures in `figures`: objects with `id` (of the file), `what` (the
 * title), `axis` and `series`, each with
 *   table   the table whose rows are its bars
 *   name    in the legend
 *   value   "paper" for the published values; else ours
 *   rows    what the names of its rows end with, for a table with rows of several series
 * A group of bars is a row's name; if the figure has `"across": true`, it is a series, and the
 * legend has the rows. */
#include "study/repro/plot.h"

#include "report/complain.h"
#include "report/json.h"
#include "report/plot.h"
#include "study/repro/repro.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Values by row and series, before it is known which of them are the groups. */
struct figure_values {
    const char **series;
    char **rows;
    double *values; /* [series][row_count] */
    unsigned series_count, row_count;
};

static const json_t *find_table(const json_t *tables, const char *id) {
    size_t i;
    json_t *table;
    json_array_foreach(tables, i,
                       table) if (strcmp(ff__json_text_of(table, "id"), id) == 0) return table;
    return NULL;
}

/* The row's name without what marks its series; NULL: it is of another one. To be freed. */
static char *group_of(const json_t *row, const char *ending) {
    const char *name = ff__json_text_of(row, "name");
    size_t length = strlen(name), end = strlen(ending);
    if (length < end || strcmp(name + length - end, ending) != 0)
        return NULL;
    return ff__text("%.*s", (int)(length - end), name);
}

/* The number of the row, which is added if it is new. Takes over `name`. */
static unsigned row_number(struct figure_values *figure, char *name) {
    for (unsigned i = 0; i < figure->row_count; i++)
        if (strcmp(figure->rows[i], name) == 0) {
            free(name);
            return i;
        }
    figure->rows = ff__must(realloc(figure->rows, (figure->row_count + 1) * sizeof(char *)));
    figure->rows[figure->row_count] = name;
    return figure->row_count++;
}

typedef void value_visit(struct figure_values *figure, unsigned series, unsigned row, double value);

static void each_value(struct figure_values *figure, const json_t *description,
                       const json_t *tables, value_visit *visit) {
    size_t i, j;
    json_t *series, *row;
    json_array_foreach(json_object_get(description, "series"), i, series) {
        const json_t *table = find_table(tables, ff__json_text_of(series, "table"));
        bool published = strcmp(ff__json_text_of(series, "value"), "paper") == 0;
        figure->series[i] = ff__json_text_of(series, "name");
        json_array_foreach(json_object_get(table, "rows"), j, row) {
            char *name = group_of(row, ff__json_text_of(series, "rows"));
            if (name)
                visit(figure, (unsigned)i, row_number(figure, name),
                      ff__json_number_of(row, published ? "paper" : "ours"));
        }
    }
}

static void count_only(struct figure_values *figure, unsigned series, unsigned row, double value) {
    (void)figure;
    (void)series;
    (void)row;
    (void)value;
}

static void keep(struct figure_values *figure, unsigned series, unsigned row, double value) {
    figure->values[series * figure->row_count + row] = value;
}

/* Rows first, because they say how much room values need. */
static void collect(struct figure_values *figure, const json_t *description, const json_t *tables) {
    figure->series_count = (unsigned)json_array_size(json_object_get(description, "series"));
    figure->series = ff__must(calloc(figure->series_count + 1, sizeof *figure->series));
    each_value(figure, description, tables, count_only);
    size_t count = (size_t)figure->series_count * figure->row_count;
    figure->values = ff__must(calloc(count + 1, sizeof *figure->values));
    for (size_t i = 0; i < count; i++)
        figure->values[i] = (double)NAN;
    each_value(figure, description, tables, keep);
}

static void free_values(struct figure_values *figure) {
    for (unsigned i = 0; i < figure->row_count; i++)
        free(figure->rows[i]);
    free(figure->rows);
    free(figure->series);
    free(figure->values);
}

/* Rows become series, and series rows. */
static double *turned(const struct figure_values *figure) {
    double *values = ff__must(
        calloc((size_t)figure->series_count * figure->row_count + 1, sizeof *figure->values));
    for (unsigned s = 0; s < figure->series_count; s++)
        for (unsigned r = 0; r < figure->row_count; r++)
            values[r * figure->series_count + s] = figure->values[s * figure->row_count + r];
    return values;
}

static int draw(const struct figure_values *figure, const json_t *description, const char *path) {
    bool across = json_is_true(json_object_get(description, "across"));
    unsigned groups = across ? figure->series_count : figure->row_count,
             count = across ? figure->row_count : figure->series_count;
    const char *const *rows = (const char *const *)figure->rows;
    double *values = across ? turned(figure) : NULL;
    struct ff__plot_series *series = ff__must(calloc(count + 1, sizeof *series));
    for (unsigned s = 0; s < count; s++)
        series[s] =
            (struct ff__plot_series){across ? rows[s] : figure->series[s],
                                     (across ? values : figure->values) + (size_t)s * groups};
    const struct ff__plot plot = {.title = ff__json_text_of(description, "what"),
                                  .axis = ff__json_text_of(description, "axis"),
                                  .groups = across ? figure->series : rows,
                                  .series = series,
                                  .group_count = groups,
                                  .series_count = count};
    int status = ff__plot_write(&plot, path);
    free(series);
    free(values);
    return status;
}

static int plot_figure(const json_t *description, const json_t *tables, const char *folder,
                       bool shows) {
    struct figure_values figure = {0};
    char *path = ff__text("%s/%s.svg", folder, ff__json_text_of(description, "id"));
    collect(&figure, description, tables);
    int status = figure.row_count > 0 ? draw(&figure, description, path) : 0;
    if (status)
        status = ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s", path, strerror(-status));
    else if (figure.row_count > 0 && shows)
        printf("%s: %s\n", path, ff__json_text_of(description, "what"));
    free_values(&figure);
    free(path);
    return status;
}

int ff__repro_plot_folder(const char *folder) {
    return mkdir(folder, 0777) && errno != EEXIST
               ? ff__complain(FF__EXIT_FAILURE, "cannot make %s: %s", folder, strerror(errno))
               : 0;
}

int ff__repro_plot(const json_t *published, const json_t *tables, const char *folder, bool shows) {
    int status = 0;
    size_t i;
    json_t *description;
    json_array_foreach(json_object_get(published, "figures"), i, description) if (!status) status =
        plot_figure(description, tables, folder, shows);
    return status;
}
