/* Tables of published results beside ours. */
#include "study/repro/repro.h"

#include "report/complain.h"
#include "report/json.h"
#include "report/table.h"
#include "study/find.h"
#include "study/mean.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

json_t *ff__repro_table(json_t *tables, const char *id, const char *what) {
    json_t *table = ff__must(json_object());
    ff__json_set(table, "id", ff__json_text(id));
    ff__json_set(table, "what", ff__json_text(what));
    ff__json_set(table, "rows", json_array());
    json_array_append_new(tables, table);
    return table;
}

void ff__repro_row(json_t *table, const char *name, double paper, double ours) {
    json_t *row = ff__must(json_object());
    ff__json_set(row, "name", ff__json_text(name));
    ff__json_set(row, "paper", ff__json_number(paper));
    ff__json_set(row, "ours", ff__json_number(ours));
    json_array_append_new(json_object_get(table, "rows"), row);
}

bool ff__repro_has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void summarize(json_t *table) {
    struct ff__mean paper = {0}, ours = {0};
    size_t i;
    json_t *row, *summary = ff__must(json_object());
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        double theirs = ff__json_number_of(row, "paper"), mine = ff__json_number_of(row, "ours");
        if (!(theirs > 0) || !(mine > 0))
            continue;
        ff__mean_add(&paper, theirs);
        ff__mean_add(&ours, mine);
    }
    ff__json_set(summary, "paper", ff__json_number(ff__mean_value(&paper)));
    ff__json_set(summary, "ours", ff__json_number(ff__mean_value(&ours)));
    ff__json_set(table, "summary", summary);
}

/* ---- tolerances ---- */

static bool is_for(const json_t *rule, const char *member, const char *name) {
    const char *pattern = ff__json_text_of(rule, member);
    return !*pattern || fnmatch(pattern, name, 0) == 0;
}

double ff__repro_tolerance(const json_t *published, const char *table, const char *row) {
    double percent = (double)NAN;
    size_t i;
    const json_t *rule;
    json_array_foreach(json_object_get(published, "tolerances"), i, rule) {
        if (is_for(rule, "tables", table) && is_for(rule, "rows", row))
            percent = ff__json_number_of(rule, "percent");
    }
    return percent;
}

/* Rows of which both values are known have the tolerance, if there is one, and whether they keep
 * it. */
static void judge(const json_t *published, const json_t *table) {
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        double paper = ff__json_number_of(row, "paper"), ours = ff__json_number_of(row, "ours");
        double percent = ff__repro_tolerance(published, ff__json_text_of(table, "id"),
                                             ff__json_text_of(row, "name"));
        if (!(paper > 0) || isnan(ours) || isnan(percent))
            continue;
        ff__json_set(row, "tolerance", ff__json_number(percent));
        ff__json_set(row, "within", json_boolean(100 * fabs(ours / paper - 1) <= percent));
    }
}

/* ---- for people ---- */

static void value_cell(struct ff__table *table, double value) {
    ff__table_value(table, value == floor(value) ? 0 : fabs(value) < 10 ? 3 : 1, value, "");
}

static void show_row(struct ff__table *table, const char *name, const json_t *row) {
    double paper = ff__json_number_of(row, "paper"), ours = ff__json_number_of(row, "ours");
    ff__table_cell(table, "%s", name);
    value_cell(table, paper);
    value_cell(table, ours);
    if (json_is_false(json_object_get(row, "within")))
        ff__table_cell(table, "(> %g) %+.1f %%", ff__json_number_of(row, "tolerance"),
                       100 * (ours / paper - 1));
    else if (paper > 0 && !isnan(ours))
        ff__table_cell(table, "%+.1f %%", 100 * (ours / paper - 1));
    else
        ff__table_cell(table, "-");
}

static void show_table(const json_t *table) {
    size_t i;
    json_t *row;
    struct ff__table out;
    printf("%s: %s\n", ff__json_text_of(table, "id"), ff__json_text_of(table, "what"));
    ff__table_init(&out, "lrrr");
    ff__table_cells(&out, "", "paper", "ours", "deviation", NULL);
    json_array_foreach(json_object_get(table, "rows"), i, row)
        show_row(&out, ff__json_text_of(row, "name"), row);
    show_row(&out, "geometric mean", json_object_get(table, "summary"));
    ff__table_print(&out, stdout, 2);
    ff__table_fini(&out);
    putchar('\n');
}

/* ---- files ---- */

int ff__repro_read(const char *path, json_t **out) {
    json_error_t error;
    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return 0;
    return error.line < 0
               ? ff__complain(FF__EXIT_FAILURE, "%s: %s", path, error.text)
               : ff__complain(FF__EXIT_FAILURE, "%s: line %d: %s", path, error.line, error.text);
}

int ff__repro_published(const char *name, json_t **out) {
    char path[PATH_MAX];
    char *file = ff__text("published/%s.json", name);
    int status = ff__find_data(file, path);
    free(file);
    return status ? status : ff__repro_read(path, out);
}

/* ---- all of it ---- */

/* All rows, each a run with its table's name. */
static json_t *runs_of(const json_t *tables) {
    json_t *runs = ff__must(json_array()), *table, *row;
    size_t i, j;
    json_array_foreach(tables, i, table) {
        json_array_foreach(json_object_get(table, "rows"), j, row) {
            json_t *run = ff__must(json_object());
            ff__json_set(run, "table", json_incref(json_object_get(table, "id")));
            json_object_update(run, row);
            json_array_append_new(runs, run);
        }
    }
    return runs;
}

int ff__repro_present(const char *name, const json_t *published, json_t *tables,
                      const struct ff__outputs *outputs) {
    size_t i;
    json_t *table, *all = ff__results_new("repro");
    json_array_foreach(tables, i, table) {
        summarize(table);
        judge(published, table);
        if (ff__outputs_leave_tables(outputs))
            show_table(table);
    }
    ff__json_set(all, "name", ff__json_text(name));
    ff__json_set(all, "tables", json_incref(tables));
    ff__json_set(all, "runs", runs_of(tables));
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}
