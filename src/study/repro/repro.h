/* Published results beside ours. */
#ifndef FF_STUDY_REPRO_REPRO_H
#define FF_STUDY_REPRO_REPRO_H

#include "study/cells.h"
#include "study/mean.h"
#include "study/outputs.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ff__repro_plan {
    const json_t *published; /* data/published/NAME.json, or the user's file */
    const char *file;        /* which one, for people */
    struct ff__study study;
    const char *parts;  /* words with commas: see --parts; NULL: the paper's default */
    const char *models; /* a folder for trained predictors, or NULL */
};

/* One paper. `run` fills `tables`, an array, with ff__repro_table() and ff__repro_row(); it returns
 * 0 or, with one line on stderr, an exit status. */
struct ff__repro {
    const char *name, *summary;
    int (*run)(const struct ff__repro_plan *plan, json_t *tables);
};

extern const struct ff__repro ff__repro_huvm, ff__repro_batches;

/* The `run` of a repro of which the file says everything. */
int ff__repro_file(const struct ff__repro_plan *plan, json_t *tables);

/* Reads a file of data. 0 or, with one line on stderr, an exit status. */
int ff__repro_read(const char *path, json_t **out);

/* Reads data/published/NAME.json. 0 or, with one line on stderr, an exit status. */
int ff__repro_published(const char *name, json_t **out);

/* Whether a list with commas has the word. */
bool ff__repro_has_word(const char *list, const char *word);

/* The new table is borrowed from `tables`. */
json_t *ff__repro_table(json_t *tables, const char *id, const char *what);

/* NaN: not known. The summary of a table is made of its rows: geometric means of the paper's values
 * and of ours, over the rows in which both are above 0. */
void ff__repro_row(json_t *table, const char *name, double paper, double ours);

/* How far a row's value may be from the published one, in percent: of the file's `tolerances`, each
 * for `tables` and `rows` whose names match a pattern (fnmatch(3); none: all), the last that fits.
 * NaN: as far as it likes. */
double ff__repro_tolerance(const json_t *published, const char *table, const char *row);

/* Sums up the tables, says which rows are out of their tolerance, and shows or writes all. 0 or an
 * exit status. */
int ff__repro_present(const char *name, const json_t *published, json_t *tables,
                      const struct ff__outputs *outputs);

#endif
