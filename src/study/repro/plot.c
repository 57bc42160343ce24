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

/* A value of each series, null at first. */
static json_t *row_of(json_t *rows, const char *name, size_t series_count) {
    json_t *row = json_object_get(rows, name);
    if (row)
        return row;
    row = ff__must(json_array());
    for (size_t i = 0; i < series_count; i++)
        json_array_append_new(row, json_null());
    ff__json_set(rows, name, row);
    return row;
}

/* By the names of rows the values of all series. */
static json_t *collect(const json_t *description, const json_t *tables) {
    const json_t *all = json_object_get(description, "series"), *series, *row;
    json_t *rows = ff__must(json_object());
    size_t i, j;
    json_array_foreach(all, i, series) {
        const json_t *table = find_table(tables, ff__json_text_of(series, "table"));
        bool published = strcmp(ff__json_text_of(series, "value"), "paper") == 0;
        json_array_foreach(json_object_get(table, "rows"), j, row) {
            char *name = group_of(row, ff__json_text_of(series, "rows"));
            double value = ff__json_number_of(row, published ? "paper" : "ours");
            if (name)
                json_array_set_new(row_of(rows, name, json_array_size(all)), i,
                                   ff__must(ff__json_number(value)));
            free(name);
        }
    }
    return rows;
}

/* Across, rows are the series, and series the groups. */
static int draw(json_t *rows, const json_t *description, const char *path) {
    const json_t *all = json_object_get(description, "series");
    bool across = json_is_true(json_object_get(description, "across"));
    size_t row_count = json_object_size(rows), series_count = json_array_size(all), row = 0;
    size_t groups = across ? series_count : row_count, count = across ? row_count : series_count;
    double *values = ff__must(calloc(groups * count + 1, sizeof *values));
    const char **names = ff__must(calloc(groups + 1, sizeof *names)), *name;
    struct ff__plot_series *series = ff__must(calloc(count + 1, sizeof *series));
    json_t *of_row;
    for (size_t s = 0; s < count; s++)
        series[s].values = values + s * groups;
    for (size_t s = 0; s < series_count; s++)
        *(across ? &names[s] : &series[s].name) = ff__json_text_of(json_array_get(all, s), "name");
    json_object_foreach(rows, name, of_row) {
        *(across ? &series[row].name : &names[row]) = name;
        for (size_t s = 0; s < series_count; s++) {
            const json_t *value = json_array_get(of_row, s);
            values[across ? row * groups + s : s * groups + row] =
                json_is_number(value) ? json_number_value(value) : (double)NAN;
        }
        row++;
    }
    const struct ff__plot plot = {.title = ff__json_text_of(description, "what"),
                                  .axis = ff__json_text_of(description, "axis"),
                                  .groups = names,
                                  .series = series,
                                  .group_count = (unsigned)groups,
                                  .series_count = (unsigned)count};
    int status = ff__plot_write(&plot, path);
    free(series);
    free(names);
    free(values);
    return status;
}

static int plot_figure(const json_t *description, const json_t *tables, const char *folder,
                       bool shows) {
    char *path = ff__text("%s/%s.svg", folder, ff__json_text_of(description, "id"));
    json_t *rows = collect(description, tables);
    bool any = json_object_size(rows) > 0;
    int status = any ? draw(rows, description, path) : 0;
    if (status)
        status = ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s", path, strerror(-status));
    else if (any && shows)
        printf("%s: %s\n", path, ff__json_text_of(description, "what"));
    json_decref(rows);
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
